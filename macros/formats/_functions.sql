{#- The formats that Python functions read. Not every session has these functions. -#}

{#- `sql` is the model's query. A Thrift server, for example, has no session that could register Python functions. -#}
{%- macro _require_functions(macro, format, sql) -%}
    {%- set needed = modules.re.findall('\\bcdc_(?:' ~ spark_cdc._function_names() | join('|') ~ ')(?=\\()', sql) -%}
    {%- if needed and spark_cdc._is_run() and not spark_cdc._has_function(needed[0]) -%}
        {%- do spark_cdc._raise(
            macro, 'format', 'one that built-in SQL reads, where the session has no Python functions', spark_cdc._show(format),
            'These formats need the functions: ' ~ spark_cdc._formats_with_functions() | join(', ') ~ '. Run their models with a '
            ~ 'target of `method: session`, which may be a local Spark, a cluster or Spark Connect, and install dbt-spark-cdc '
            ~ 'next to dbt. With thrift, http and odbc there are no such functions; all other formats work there.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The functions that models call, without the prefix `cdc_`. -#}
{%- macro _function_names() -%}
    {{- return(['dts_avro', 'mongo_fields', 'mongo_update', 'mongo_update_description', 'mongo_patched']) -}}
{%- endmacro -%}

{%- macro _formats_with_functions() -%}
    {%- set names = [] -%}
    {%- for format in spark_cdc.formats() -%}
        {%- set header = spark_cdc._format(format).header -%}
        {%- if header.document or header.event_calls_python -%}
            {%- do names.append(format) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(names | sort) -}}
{%- endmacro -%}
