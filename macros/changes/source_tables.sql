{#- Condition on an envelope: it belongs to the source tables that the arguments of `changes` name. -#}
{%- macro _name_condition(database, schema, table) -%}
    {%- set parts = [] -%}
    {%- for column, name in [('database_name', database), ('schema_name', schema), ('table_name', table if table != '*' else none)]
        if name is not none -%}
        {%- do parts.append(spark_cdc._has_name(column, name)) -%}
    {%- endfor -%}
    {{- return(parts | join(' and ') if parts else 'true') -}}
{%- endmacro -%}

{%- macro _has_name(column, name) -%}
    {%- if spark_cdc._is_pattern(name) -%}
        {%- set pattern = name | replace('\\', '\\\\') | replace('%', '\\%') | replace('_', '\\_') | replace('*', '%') -%}
        {{- return(column ~ ' like ' ~ spark_cdc._literal(pattern)) -}}
    {%- endif -%}
    {{- return(column ~ ' = ' ~ spark_cdc._literal(name)) -}}
{%- endmacro -%}

{#- The condition of an existing changes model, from the arguments in its meta. -#}
{%- macro _condition_of(changes) -%}
    {%- set noted = changes.config.meta['spark_cdc.arguments'] -%}
    {{- return('(' ~ spark_cdc._name_condition(noted.database or none, noted.schema or none, noted.table) ~ ')') -}}
{%- endmacro -%}

{#- Condition on an envelope: it is one of these tables, and has changes of theirs. -#}
{%- macro _messages_with_changes(of_tables) -%}
    {{- return("kind in ('rows', 'truncate') and " ~ of_tables) -}}
{%- endmacro -%}

{#- The columns of a message that name its source table. -#}
{%- macro _names_of_a_table() -%}
    {{- return(['database_name', 'schema_name', 'table_name']) -}}
{%- endmacro -%}

{#- The source tables that it reads, for a sentence. -#}
{%- macro _tables_of(changes) -%}
    {%- set noted = changes.config.meta['spark_cdc.arguments'] -%}
    {{- return([noted.database, noted.schema, noted.table] | select | join('.')) -}}
{%- endmacro -%}

{#- Whether a model reads several source tables, so that a row's source table is part of its key. -#}
{%- macro _has_source_table(database, schema, table) -%}
    {{- return(spark_cdc._is_pattern(database) or spark_cdc._is_pattern(schema) or spark_cdc._is_pattern(table)) -}}
{%- endmacro -%}

{#- Whether a name matches several source tables. A star alone is not a pattern: it says that the messages name no table. -#}
{%- macro _is_pattern(name) -%}
    {{- return(name is string and '*' in name and name != '*') -}}
{%- endmacro -%}
