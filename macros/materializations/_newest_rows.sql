{#-
    The rows of a table, made from new changes that have their whole rows (or say that there is none): a key's newest change is
    then its row. Most batches of most current tables are like this. A mapping whose `to_merge` is what `_rows_to_merge` returns;
    or none if a change needs more: the values before it, a place among the stored rows, or a truncate that may come after it.

    Of the table only the sequence of each key is read, and nothing if all new changes come after all that the table has. A
    change that comes before its key's stored row alters nothing, if all changes that the table ever read have their whole rows
    (decision 0031).
-#}
{%- macro _newest_rows(table, read, all_changes, target_relation, file_format, temporaries) -%}
    {%- set pending = read.pending -%}
    {%- if table.has_truncates or not (table.newest_is_row and pending.are_whole) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set new_changes = spark_cdc._new_changes(
        table, temporaries, read, all_changes, target_relation, file_format,
        is_read_often=not pending.are_last and not all_changes.is_table
    ) -%}
    {%- set operations = spark_cdc._operations_in_place(table, read, new_changes, target_relation) -%}
    {%- set is_read_once = spark_cdc._is_read_once(pending) -%}
    {%- set newest = '(' ~ operations ~ ')' if is_read_once else spark_cdc._cached_view(temporaries, 'newest', operations) -%}
    {%- if not pending.are_last and spark_cdc._has_rows(
        newest ~ ' where _cdc_is_late_arriving', spark_cdc._step('looking for late-arriving changes')
    ) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set rows = '(select ' ~ spark_cdc._quoted(table.columns_of(table.columns)) ~ ', false as _cdc_is_obsolete from '
        ~ newest ~ ' where _cdc_is_newest' ~ (' and not _cdc_is_superseded' if not pending.are_last) ~ ')' -%}
    {%- if is_read_once -%}
        {{- return({'to_merge': {
            'rows': rows, 'condition': spark_cdc._is_listed(table, pending.key_list), 'are_open': false
        }}) -}}
    {%- endif -%}
    {{- return({'to_merge': spark_cdc._rows_to_merge(table, rows)}) -}}
{%- endmacro -%}

{#-
    Whether the MERGE can compute its rows, because what else it needs is known of the new changes: the keys that narrow it, and
    that it has rows to write. A batch of one log is one commit, so the keys are those of these changes. Very many keys are not
    listed anyway; their number is approximate, and off by much less than a quarter.
-#}
{%- macro _is_read_once(pending) -%}
    {%- set has_many_keys = pending.key_count > 1.25 * spark_cdc._most_listed_keys() -%}
    {%- set changes = spark_cdc._nodes_below(model, 'changes') -%}
    {%- set is_one_log = changes | length < 2 and (not changes or spark_cdc._messages_of_view(changes[0]) | length < 2) -%}
    {{- return(is_one_log and pending.loaded_at and pending.are_last and pending.operations and (pending.key_list or has_many_keys)) -}}
{%- endmacro -%}

{#-
    The same where the newest change alone is not the row, if all new changes come after all that the table has and none takes
    values of another key: each key continues from its last row, so the new rows need not be compared with the stored ones. In a
    history that row ends or is confirmed. If the list of keys names each key whole, it selects the last rows, too, and the
    changes are read only once.
-#}
{%- macro _continued_rows(table, read, all_changes, target_relation, file_format, temporaries) -%}
    {%- set pending = read.pending -%}
    {%- set hides_deletes = table.options.get('hard_deletes', 'new_record') != 'new_record' -%}
    {%- if table.has_truncates or not pending.are_last or pending.inherit_values or hides_deletes -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- if pending.are_whole -%}
        {%- set table = dict(table, patched=[]) -%}
    {%- elif table.patched -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set is_read_once = spark_cdc._is_read_once(pending) -%}
    {%- set is_listed = spark_cdc._is_listed(table, pending.key_list) -%}
    {%- set keys = is_listed if is_read_once and table.key | length == 1 -%}
    {%- set new_changes = spark_cdc._new_changes(
        table, temporaries, read, all_changes, target_relation, file_format, is_read_often=not keys and not all_changes.is_table
    ) -%}
    {%- set operations = '(' ~ spark_cdc._batch(table, new_changes, target_relation, pending.stored_up_to, keys) ~ ')' -%}
    {%- set rows = 'select *, false as _cdc_is_obsolete, _cdc_sequence <= ' ~ spark_cdc._sequence_literal(pending.stored_up_to)
        ~ ' as _cdc_is_stored from ('
        ~ spark_cdc._table_rows(table, operations, all_changes, false, pending.are_whole) ~ ')' -%}
    {%- if is_read_once -%}
        {{- return({'to_merge': {
            'rows': '(' ~ rows ~ ')', 'condition': is_listed, 'are_open': table.row_key
        }}) -}}
    {%- endif -%}
    {{- return({'to_merge': spark_cdc._rows_to_merge(
        table, spark_cdc._scratch_table(temporaries, target_relation, 'rows', file_format, rows), are_open=true
    )}) -}}
{%- endmacro -%}

{#-
    New operations: `_cdc_is_newest`, whether each is its key's last. If some may come before stored rows, also two more:

    _cdc_is_superseded     the stored row comes after it and stays as it is. If any change that the table ever read lacks
                           columns, that is not known, and it is false; so it is if all changes are read again, because the
                           stored rows may be wrong
    _cdc_is_late_arriving  it may alter what is stored: it comes before the stored row (if that is not known to stay) or has the
                           row's very sequence, or the key's row may have left the table
-#}
{%- macro _operations_in_place(table, read, new_changes, target_relation) -%}
    {%- set rows_stay = read.partial == 0 and read.condition != 'true' -%}
    select
        {{ spark_cdc._quoted(table.columns_of(table.columns), 'operations.') }},
        lead(operations._cdc_sequence) over (
            partition by {{ spark_cdc._quoted(table.key, 'operations.') }}
            order by {{ spark_cdc._order_of_operations('operations.') }}
        ) is null as _cdc_is_newest
        {%- if not read.pending.are_last %},
        {{ 'coalesce(operations._cdc_sequence < stored._cdc_sequence, false)' if rows_stay else 'false' }} as _cdc_is_superseded,
        coalesce(operations._cdc_sequence {{ '=' if rows_stay else '<=' }} stored._cdc_sequence, false)
            {{- ' or operations._cdc_sequence <= ' ~ spark_cdc._sequence_literal(table.deleted_keys_gone) if table.deleted_keys_gone }}
            as _cdc_is_late_arriving
        {%- endif %}
    from ({{ spark_cdc._key_operations(new_changes, table.key, table.columns) }}) as operations
    {%- if not read.pending.are_last %}
    left join (
        select {{ spark_cdc._quoted(table.key, 'stored.') }}, stored._cdc_sequence
        from {{ target_relation }} as stored
        left semi join ({{ spark_cdc._key_operations(new_changes, table.key, table.key) }}) as touched
            on {{ spark_cdc._same_key(table.key, 'stored', 'touched') }}
    ) as stored
        on {{ spark_cdc._same_key(table.key, 'operations', 'stored') }}
    {%- endif %}
{%- endmacro -%}
