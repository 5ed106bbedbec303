{#- Single columns of `_patched_value_ctes`: what goes in, what comes out, and which they are. -#}

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
