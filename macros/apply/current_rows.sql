{#-
    Row changes -> the rows of a current-state table: one row per key, the declared columns, then `_key_operation_columns()`. A
    deleted key stays as a row with `_cdc_is_deleted`, so that a late-arriving change finds it.

    changes       a relation or a query in parentheses; it is read several times
    carries_over  false if no message both changes a key and leaves columns out: the query is then much smaller
    variants      the columns that are VARIANT
    patched_columns
                  the columns whose parts `_cdc_patches` may change
-#}
{%- macro current_rows(changes, key, columns, carries_over=true, variants=[], patched_columns=[]) -%}
    {{- return(adapter.dispatch('current_rows', 'spark_cdc')(
        changes, key, columns, carries_over, variants, patched_columns
    )) -}}
{%- endmacro -%}

{%- macro default__current_rows(changes, key, columns, carries_over, variants, patched_columns) -%}
    {%- do spark_cdc._only_spark('current_rows') -%}
{%- endmacro -%}

{%- macro spark__current_rows(changes, key, columns, carries_over, variants, patched_columns) -%}
    {{- return(spark_cdc._current_rows_of_operations(
        '(' ~ spark_cdc._key_operations(changes, key, columns, patched_columns) ~ ')', changes, key, columns, carries_over,
        variants, patched_columns
    )) -}}
{%- endmacro -%}

{%- macro _current_rows_of_operations(
    operations, changes, key, columns, carries_over, variants=[], patched=[], options={}, are_whole=false
) -%}
with {{ 'recursive ' if carries_over }}{{ spark_cdc._row_state_ctes(
    operations, changes, key, columns, carries_over, variants, patched, are_whole
) }},

row_states_in_order as (

    select
        {{ spark_cdc._quoted(spark_cdc._current_columns(columns)) }},
        lead(_cdc_sequence) over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence) is null as _cdc_is_last
    from row_states

)

select {{ spark_cdc._quoted(spark_cdc._current_columns(columns)) }}
from row_states_in_order
where _cdc_is_last
{%- endmacro -%}

{%- macro _current_columns(columns) -%}
    {{- return(columns + spark_cdc._key_operation_columns()) -}}
{%- endmacro -%}
