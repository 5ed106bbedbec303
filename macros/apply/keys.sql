{%- macro _has_key(key) -%}
    {%- set known = [] -%}
    {%- for name in key -%}
        {%- do known.append(spark_cdc._quote(name) ~ ' is not null') -%}
    {%- endfor -%}
    {{- return(known | join(' and ')) -}}
{%- endmacro -%}

{#- Condition on an update: it has the key before the update, and that key was another one. -#}
{%- macro _key_changes(key) -%}
    {%- set known, same = [], [] -%}
    {%- for name in key -%}
        {%- do known.append(spark_cdc._key_before(name) ~ ' is not null') -%}
        {%- do same.append(spark_cdc._key_before(name) ~ ' = ' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(known | join(' and ') ~ ' and not coalesce(' ~ same | join(' and ') ~ ', false)') -}}
{%- endmacro -%}

{#- No update moves a row from one source table to another. -#}
{%- macro _key_before(name) -%}
    {{- return(spark_cdc._quote(name) if name == '_cdc_source_table' else '_cdc_before.' ~ spark_cdc._quote(name)) -}}
{%- endmacro -%}

{%- macro _key_fields(key, prefix) -%}
    {%- set fields = [] -%}
    {%- for name in key -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ prefix ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(fields | join(', ')) -}}
{%- endmacro -%}

{%- macro _same_key(key, left, right) -%}
    {%- set conditions = [] -%}
    {%- for name in key -%}
        {%- do conditions.append(left ~ '.' ~ spark_cdc._quote(name) ~ ' = ' ~ right ~ '.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(conditions | join(' and ')) -}}
{%- endmacro -%}
