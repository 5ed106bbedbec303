{#- The query of a table's rows from operations; `table`: see `_apply_changes`. Without truncates it reads nothing else. -#}
{%- macro _table_rows(table, operations, all_changes, carries_over, are_whole=false) -%}
    {{- return(table.rows_of(
        operations, all_changes if table.has_truncates else none, table.key, table.columns, carries_over, table.variants,
        spark_cdc._patched_in(table, operations), table.options, are_whole
    )) -}}
{%- endmacro -%}

{#- The table's columns that its operations patch: mostly none, and then no patch is computed. -#}
{%- macro _patched_in(table, operations) -%}
    {%- set patched = [] -%}
    {%- if table.patched -%}
        {%- for row in run_query('select distinct explode(map_keys(_cdc_patches)) from ' ~ operations).rows -%}
            {%- do patched.append(row[0]) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(table.columns | select('in', table.patched) | select('in', patched) | list) -}}
{%- endmacro -%}
