{#- Single columns of `_patched_value_ctes`: what goes in, what comes out, and which they are. -#}

{#- As `_known`, with the value as the text that is patched. -#}
{%- macro _known_text(name, variants) -%}
    {{- return(spark_cdc._known(name, 'document', spark_cdc._comparable(name, variants))) -}}
{%- endmacro -%}

{%- macro _known_or_patched(name, variants) -%}
    {%- set state = '_cdc_patched[' ~ spark_cdc._literal(name) ~ ']' -%}
    {%- set value = 'try_parse_json(' ~ state ~ '.document)' if name in variants else state ~ '.document' -%}
    {%- set is_known = state ~ '.is_known'
        ~ (' and (' ~ state ~ '.document is null or ' ~ value ~ ' is not null)' if name in variants) -%}
    {{- return(
        'case when ' ~ state ~ " is not null then named_struct('value', " ~ value ~ ", 'is_known', " ~ is_known ~ ') else '
        ~ spark_cdc._known(name) ~ ' end'
    ) -}}
{%- endmacro -%}

{#- Those of a table's columns that its effects patch: mostly none, and then nothing of this is computed. -#}
{%- macro _patched_in(table, effects) -%}
    {%- set patched = [] -%}
    {%- if table.patched -%}
        {%- for row in run_query('select distinct explode(map_keys(_cdc_patches)) from ' ~ effects).rows -%}
            {%- do patched.append(row[0]) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(table.columns | select('in', table.patched) | select('in', patched) | list) -}}
{%- endmacro -%}
