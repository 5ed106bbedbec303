{#-
    The rows that a MERGE has to write, as `_rows_to_merge` returns them, or none. A key continues from its last row if all its
    new operations come after that row and none of them needs another key's values. Any other key is rebuilt from all its
    changes.
-#}
{%- macro _changed_rows(table, read, all_changes, target_relation, file_format, temporaries) -%}
    {%- set new_changes = spark_cdc._new_changes(table, temporaries, read, all_changes, target_relation, file_format) -%}
    {%- set operations = spark_cdc._cached_view(
        temporaries, 'batch', spark_cdc._batch(table, new_changes, target_relation)
    ) -%}
    {%- set counted_changes = spark_cdc._counted_changes(read, all_changes) -%}
    {%- set rebuilt_keys = spark_cdc._keys_to_rebuild(table, operations, counted_changes) -%}
    {%- if rebuilt_keys -%}
        {#- They have their earlier changes again, and a truncate may come after those. -#}
        {%- set table = dict(table, has_truncates=read.truncates > 0) -%}
        {%- set operations = spark_cdc._scratch_table(
            temporaries, target_relation, 'operations', file_format,
            spark_cdc._with_rebuilt_keys(table, operations, counted_changes, rebuilt_keys)
        ) -%}
    {%- endif -%}
    {%- set carries_over = rebuilt_keys is not none and spark_cdc._has_rows(operations ~ ' where _cdc_inherits_values') -%}
    {%- set are_whole = read.pending.are_whole and rebuilt_keys is none and not table.has_truncates -%}
    {#- What runs at once wrote twice is looked for when all changes are read, as they are after such runs. -#}
    {%- set finds_copies = read.condition == 'true' -%}
    {%- set rows = spark_cdc._scratch_table(temporaries, target_relation, 'rows', file_format, spark_cdc._different_rows(
        table,
        spark_cdc._table_rows(table, operations, counted_changes, carries_over, are_whole),
        spark_cdc._stored_rows(table, operations, target_relation, rebuilt_keys),
        finds_copies
    )) -%}
    {{- return(spark_cdc._rows_to_merge(table, rows, are_open=not rebuilt_keys and not finds_copies, has_copies=finds_copies)) -}}
{%- endmacro -%}

{#- The stored rows that the new rows are compared with: the last one of each key, and all rows of a rebuilt key. -#}
{%- macro _stored_rows(table, operations, target_relation, rebuilt_keys) -%}
    {%- set columns = spark_cdc._quoted(table.columns_of(table.columns), 'stored.') -%}
    select {{ columns }}
    from (
        select
            *
            {%- for name, value in table.stored_columns.items() %},
            {{ value }} as {{ name }}
            {%- endfor %}
        from {{ operations }}
        where _cdc_stored_last_sequence is not null
    ) as stored
    {%- if rebuilt_keys %}

    union all

    select {{ columns }}
    from {{ target_relation }} as stored
    left semi join {{ operations }} as operations
        on operations._cdc_is_rebuilt and {{ spark_cdc._same_key(table.key, 'stored', 'operations') }}
    {%- endif %}
{%- endmacro -%}
