{#-
    Rows of a query for the Python part, which runs this macro as an operation and catches what it logs: a JSON object for each
    row. Debug level, which no terminal shows. Spark's own formats of times would cut microseconds.
-#}
{%- macro _rows_as_json(sql) -%}
    {%- for row in run_query('select to_json(struct(*), ' ~ spark_cdc._json_options() ~ ') as row from (' ~ sql ~ ')').rows -%}
        {%- do spark_cdc._log_row(row[0]) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- SQL of the options of to_json: nothing is left out or cut, and a value has one text whatever the session's time zone is. -#}
{%- macro _json_options() -%}
    {%- set options = {
        'ignoreNullFields': 'false', 'timeZone': 'UTC', 'timestampFormat': "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        'timestampNTZFormat': "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    } -%}
    {{- return('map(' ~ spark_cdc._literals(options.items() | sum(start=())) ~ ')') -}}
{%- endmacro -%}

{#- The columns of a relation with their types. -#}
{%- macro _columns_as_json(relation) -%}
    {%- for row in run_query('describe query select * from ' ~ relation).rows -%}
        {%- do spark_cdc._log_row(tojson({'name': row[0], 'type': row[1]})) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- For macros of operations that find their rows themselves. -#}
{%- macro _log_row(json) -%}
    {%- do log('spark_cdc.row ' ~ json) -%}
{%- endmacro -%}
