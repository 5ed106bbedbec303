{#-
    Key operations -> each key's row after each operation: the CTE `row_states`, from which both kinds of table are made, and
    the CTEs before it. A truncate is one more operation on each key that has a row at that point.

    A column that a message lacks keeps the value that the same row had before. A deleted row has no values, so that no value
    passes from before a delete to after it.

    operations    a relation with `_event_columns()`
    changes       all changes; truncates are read from it, because they also act on late-arriving changes. None if no truncate
                  comes after any of the operations: nothing but these is read then
    carries_over  whether a row may inherit values from the key that it had before (`_cdc_inherits_values`)
    variants      the columns that are VARIANT
    patched       the columns that a change may patch in part
    are_whole     whether each operation has its whole row and no truncate comes after any: the row's state is then the operation
-#}
{%- macro _row_state_ctes(operations, changes, key, columns, carries_over, variants=[], patched=[], are_whole=false) -%}
    {%- if are_whole -%}
        {{- return(spark_cdc._whole_row_state_ctes(operations, key)) -}}
    {%- endif -%}
    {%- set others = columns | reject('in', key) | list -%}
    {%- set row_identity = ['_cdc_first_key', '_cdc_first_row_start'] if carries_over else key -%}
    {%- set order = 'coalesce(_cdc_copied_from, _cdc_sequence), _cdc_sequence' if carries_over else '_cdc_sequence' -%}
    {%- set so_far = '(partition by ' ~ spark_cdc._quoted(row_identity) ~ ' order by ' ~ order
        ~ ' rows between unbounded preceding and current row)' -%}
    {%- set events = 'events_with_lineage' if carries_over else 'events' -%}
{{ spark_cdc._truncated_event_ctes(operations, changes, key, columns, patched)
    if changes else spark_cdc._event_ctes(operations, key, columns, patched) }},
{%- if carries_over %}

{{ spark_cdc._row_lineage_ctes('events', key) }},
{%- endif %}
{%- if patched %}

{{ spark_cdc._patched_value_ctes(events, row_identity, patched, variants) }},
{%- endif %}

known_values as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        last_value({{ spark_cdc._known_or_patched(name, variants) if name in patched else spark_cdc._known(name) }}) {# -#}
            ignore nulls over {{ so_far }} as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in spark_cdc._key_operation_columns() %},
        {{ name }}
        {%- endfor %},
        _cdc_stored_last_sequence,
        _cdc_stored_valid_from
    from {{ 'patched_events' if patched else events }}

),

row_states as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        {{ spark_cdc._quote(name) }}.value as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in spark_cdc._key_operation_columns() if name != '_cdc_missing_columns' %},
        {{ name }}
        {%- endfor %},
        {{ spark_cdc._still_absent('_cdc_missing_columns', others, 'known_values') }} as _cdc_missing_columns,
        _cdc_stored_last_sequence,
        _cdc_stored_valid_from
    from known_values

)
{%- endmacro -%}

{%- macro _whole_row_state_ctes(operations, key) -%}
{{ spark_cdc._ordered_operations_cte(operations, key) }},

row_states as (

    select *
    from ordered_operations
    where not _cdc_sequence <=> _cdc_next_sequence

)
{%- endmacro -%}

{%- macro _ordered_operations_cte(operations, key) -%}
ordered_operations as (

    select
        *,
        lead(_cdc_sequence) over (
            partition by {{ spark_cdc._quoted(key) }}
            order by {{ spark_cdc._order_of_operations() }}
        ) as _cdc_next_sequence
    from {{ operations }}

)
{%- endmacro -%}

{#- Two copies of a message have one sequence and are one operation. -#}
{%- macro _event_ctes(operations, key, columns, patched) -%}
{{ spark_cdc._ordered_operations_cte(operations, key) }},

events as (

    select {{ spark_cdc._quoted(spark_cdc._event_columns(columns, patched)) }}
    from ordered_operations
    where not _cdc_sequence <=> _cdc_next_sequence

)
{%- endmacro -%}

{%- macro _truncated_event_ctes(operations, changes, key, columns, patched) -%}
    {%- set others = columns | reject('in', key) | list -%}
    {%- set source_table = '_cdc_source_table' if '_cdc_source_table' in columns else "'the only one'" -%}
truncates as (

    select {{ source_table }} as _cdc_truncated_table, array_sort(collect_list(named_struct(
        '_cdc_sequence', _cdc_sequence, '_cdc_committed_at', _cdc_committed_at, '_cdc_transaction_id', _cdc_transaction_id,
        '_cdc_topic', _cdc_topic, '_cdc_partition', _cdc_partition, '_cdc_offset', _cdc_offset
    ))) as _cdc_truncates
    from {{ changes }}
    where _cdc_op = 'truncate' and _cdc_error is null
    group by _cdc_truncated_table

),

{{ spark_cdc._ordered_operations_cte(operations, key) }},

{#-
    Two copies of a message have one sequence and are one operation. A truncate does nothing to a key without a row, and nothing
    to the rows of another source table.
#}
operations_and_truncates as (

    select /*+ broadcast(truncates) */
        ordered_operations.*,
        explode(concat(array(null), filter(
            array(case when not _cdc_is_deleted then {{ spark_cdc._first_after(
                '_cdc_truncates', 'coalesce(_cdc_stored_last_sequence, ordered_operations._cdc_sequence)'
            ) | indent(12) }} end),
            event -> event is not null and (_cdc_next_sequence is null or event._cdc_sequence < _cdc_next_sequence)
        ))) as _cdc_truncate
    from ordered_operations
    left join truncates on {{ source_table }} <=> truncates._cdc_truncated_table
    where not _cdc_sequence <=> _cdc_next_sequence

),

events as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        case when _cdc_truncate is null then {{ spark_cdc._quote(name) }} end as {{ spark_cdc._quote(name) }}
        {%- endfor %},
        case when _cdc_truncate is null then _cdc_op else 'truncate' end as _cdc_op,
        _cdc_is_deleted or _cdc_truncate is not null as _cdc_is_deleted
        {%- for name in [
            '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_topic', '_cdc_partition', '_cdc_offset',
        ] %},
        case when _cdc_truncate is null then {{ name }} else _cdc_truncate.{{ name }} end as {{ name }}
        {%- endfor %}
        {%- for name in [
            '_cdc_missing_columns', '_cdc_inherits_values', '_cdc_inherited_by', '_cdc_stored_last_sequence', '_cdc_stored_valid_from',
        ] + (['_cdc_patches'] if patched else []) %},
        case when _cdc_truncate is null then {{ name }} end as {{ name }}
        {%- endfor %}
    from operations_and_truncates

)
{%- endmacro -%}

{#-
    SQL: the first of `events`, an array in the order of its sequences, that comes after `sequence`; null if there is none. Each
    step halves the range where it can be: a table may have been emptied thousands of times.
-#}
{%- macro _first_after(events, sequence) -%}
    {%- set middle = 'cast((range.low + range.high) div 2 as int)' -%}
aggregate(
    sequence(1, length(bin(size({{ events }})))),
    named_struct('low', 0, 'high', coalesce(size({{ events }}), 0)),
    (range, step) -> case
        when range.low >= range.high then range
        when get({{ events }}, {{ middle }})._cdc_sequence > {{ sequence }} then named_struct('low', range.low, 'high', {{ middle }})
        else named_struct('low', {{ middle }} + 1, 'high', range.high)
    end,
    range -> get({{ events }}, range.low)
)
{%- endmacro -%}
