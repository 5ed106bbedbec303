{#- Statements that change a table's columns, and what they may change. -#}

{%- macro _alter(relation, change) -%}
    {%- call statement('alter') -%}
        alter table {{ relation }} {{ change }}
    {%- endcall -%}
{%- endmacro -%}

{#- `has_text` is true for a history: it has its arrays as a text, too. -#}
{%- macro _mark_absent(relation, names, live_rows, has_text) -%}
    {%- set absent = 'array_union(coalesce(_cdc_missing_columns, cast(array() as array<string>)), array('
        ~ spark_cdc._literals(names) ~ '))' -%}
    update {{ relation }}
    set
        _cdc_missing_columns = {{ absent }}
        {%- if has_text %},
        _cdc_resume_state = {{ spark_cdc._resume_state(absent) }}
        {%- endif %}
    where
        {{ live_rows }}
        and size(array_except(array({{ spark_cdc._literals(names) }}), coalesce(_cdc_missing_columns, cast(array() as array<string>)))) > 0
{%- endmacro -%}

{#- Iceberg has no integers below 32 bits. -#}
{%- macro _stored_type(type, file_format) -%}
    {{- return('int' if file_format == 'iceberg' and type in ['tinyint', 'smallint'] else type) -}}
{%- endmacro -%}

{#-
    Whether a column's type can be changed in place with no value changed. Not from float to double: 0.1 would become
    0.10000000149011612, which no message held.
-#}
{%- macro _is_wider(stored, declared, file_format) -%}
    {%- set integers = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if file_format not in ['iceberg', 'delta'] -%}
        {{- return(false) -}}
    {%- elif stored in integers and declared in integers -%}
        {{- return(integers.index(declared) > integers.index(stored)) -}}
    {%- endif -%}
    {%- set old = modules.re.match('^decimal\\(([0-9]+),([0-9]+)\\)$', stored) -%}
    {%- set new = modules.re.match('^decimal\\(([0-9]+),([0-9]+)\\)$', declared) -%}
    {%- if not old or not new -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set more_digits = new.group(1) | int - old.group(1) | int -%}
    {%- set more_scale = new.group(2) | int - old.group(2) | int -%}
    {{- return(more_digits >= more_scale and more_scale >= 0 and (more_scale == 0 or file_format == 'delta')) -}}
{%- endmacro -%}
