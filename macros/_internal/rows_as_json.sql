{#-
    Rows of a query for the Python part, which runs this macro as an operation and catches what it logs: a JSON object for each
    row. Debug level, which no terminal shows. Spark's own formats of times would cut microseconds.
-#}
{%- macro _rows_as_json(sql) -%}
    {%- set options = {
        'ignoreNullFields': 'false', 'timestampFormat': "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        'timestampNTZFormat': "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    } -%}
    {%- set texts = spark_cdc._literals(options.items() | sum(start=())) -%}
    {%- for row in run_query('select to_json(struct(*), map(' ~ texts ~ ')) as row from (' ~ sql ~ ')').rows -%}
        {%- do spark_cdc._log_row(row[0]) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- For macros of operations that find their rows themselves. -#}
{%- macro _log_row(json) -%}
    {%- do log('spark_cdc.row ' ~ json) -%}
{%- endmacro -%}
