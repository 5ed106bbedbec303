{#- Condition on an envelope: it is of the source tables that the arguments of `changes` name. -#}
{%- macro _name_condition(database, schema, table) -%}
    {%- set parts = [] -%}
    {%- for column, name in [('database_name', database), ('schema_name', schema), ('table_name', table if table != '*' else none)] -%}
        {%- if spark_cdc._is_pattern(name) -%}
            {%- set pattern = name | replace('\\', '\\\\') | replace('%', '\\%') | replace('_', '\\_') | replace('*', '%') -%}
            {%- do parts.append(column ~ ' like ' ~ spark_cdc._literal(pattern)) -%}
        {%- elif name is not none -%}
            {%- do parts.append(column ~ ' = ' ~ spark_cdc._literal(name)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(parts | join(' and ') if parts else 'true') -}}
{%- endmacro -%}

{#- Whether a model is of several source tables, so that the origin of a row is part of its key. -#}
{%- macro _has_origin(database, schema, table) -%}
    {{- return(spark_cdc._is_pattern(database) or spark_cdc._is_pattern(schema) or spark_cdc._is_pattern(table)) -}}
{%- endmacro -%}

{#- Whether a name stands for several source tables. A star alone is no name: it says that the messages have none. -#}
{%- macro _is_pattern(name) -%}
    {{- return(name is string and '*' in name and name != '*') -}}
{%- endmacro -%}
