{#-
    Row changes -> operations on single keys. One row is one operation on one key: it holds the key's row from `_cdc_sequence`
    on, or has `_cdc_is_deleted` if the key has no row from then on.

    An update that changes the key is two operations: it retracts the old key and upserts the new one. The retraction's
    sequence lacks the last part (the position in the message), so it comes before the upserts of its message: if two rows swap
    their keys in one statement, both arrive.

    If the source also deletes the old key in a message of its own (position -1), that message may be in another partition, and
    no offset shows which one came first. The retraction's sequence is then the source's position alone, before all messages of
    the old key at that position. A row that inherits values is an exception: the offset shows from which row.

    A deleted key keeps its key columns only, so that the result does not depend on how much of the row a delete has.

    An update that changes the key and lacks columns inherits their values from the row under the old key: it has
    `_cdc_inherits_values`, and the retraction names in `_cdc_inherited_by` the row that continues the one that it ends.

    patched     the columns that `_cdc_patches` may name; none if the changes have no such column
-#}
{%- macro _key_operations(changes, key, columns, patched=[]) -%}
    {%- set others = columns | reject('in', key) | list -%}
    select
        {%- for name in key %}
        case when _cdc_is_retraction then {{ spark_cdc._key_before(name) }} else {{ spark_cdc._quote(name) }} end
            as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        {%- for name in others %}
        case when not _cdc_is_retraction and _cdc_op <> 'delete' then {{ spark_cdc._quote(name) }} end
            as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        case when _cdc_is_retraction then 'delete' else _cdc_op end as _cdc_op,
        _cdc_is_retraction or _cdc_op = 'delete' as _cdc_is_deleted,
        case
            when not _cdc_is_retraction then _cdc_sequence
            when _cdc_inherits_values then {{ spark_cdc._place_of_message() }}
            else {{ spark_cdc._place_of_retraction() }}
        end as _cdc_sequence,
        _cdc_committed_at,
        _cdc_transaction_id,
        case when not _cdc_is_retraction and _cdc_op <> 'delete' then _cdc_missing_columns end as _cdc_missing_columns,
        _cdc_topic,
        _cdc_partition,
        _cdc_offset,
        not _cdc_is_retraction and _cdc_inherits_values as _cdc_inherits_values,
        case when _cdc_is_retraction and _cdc_inherits_values then
            named_struct('key', named_struct({{ spark_cdc._key_fields(key, '') }}), 'sequence', _cdc_sequence)
        end as _cdc_inherited_by,
        cast(null as array<decimal(20,0)>) as _cdc_stored_last_sequence,
        cast(null as timestamp) as _cdc_stored_valid_from
        {%- if patched %},
        case when not _cdc_is_retraction and _cdc_op <> 'delete' then _cdc_patches end as _cdc_patches
        {%- endif %}
    from (
        select
            *,
            {{ spark_cdc._inherits_values(key) }} as _cdc_inherits_values,
            explode(
                case when _cdc_op = 'update' and {{ spark_cdc._key_changes(key) }} then array(true, false)
                    else array(false) end
            ) as _cdc_is_retraction
        from {{ changes }}
        where _cdc_error is null and _cdc_op <> 'truncate'
    )
    -- a column that stands in for a key may be null; the old key's row has ended all the same
    where
        _cdc_is_retraction
        or ({{ spark_cdc._has_key(key) }})
{%- endmacro -%}

{#- Condition on a change: it takes values of the row under its old key. -#}
{%- macro _inherits_values(key) -%}
_cdc_op = 'update' and _cdc_missing_columns is not null and coalesce({{ spark_cdc._key_changes(key) }}, false)
{%- endmacro -%}

{#- Condition on a change that is not a truncate: it is an operation on a key. -#}
{%- macro _is_key_operation(key) -%}
    {{- return('(' ~ spark_cdc._has_key(key) ~ ") or (_cdc_op = 'update' and " ~ spark_cdc._key_changes(key) ~ ')') -}}
{%- endmacro -%}

{#- A sequence without its last part, the position in the message: all rows of a message share it. -#}
{%- macro _place_of_message() -%}
    {{- return('slice(_cdc_sequence, 1, size(_cdc_sequence) - 1)') -}}
{%- endmacro -%}

{#- Without the offset, too, if another message deletes the old key. -#}
{%- macro _place_of_retraction() -%}
    {{- return(
        'slice(_cdc_sequence, 1, size(_cdc_sequence) - case when element_at(_cdc_sequence, -1) < 0 and size(_cdc_sequence) > 2 '
        ~ 'then 2 else 1 end)'
    ) -}}
{%- endmacro -%}

{#-
    The order of a key's operations. If a message is there twice, or one message both leaves and takes a key, the row that stays
    is the last one.
-#}
{%- macro _order_of_operations(prefix='') -%}
    {{- return(
        prefix ~ '_cdc_sequence, ' ~ prefix ~ '_cdc_is_deleted desc, ' ~ prefix ~ '_cdc_topic, ' ~ prefix ~ '_cdc_partition'
    ) -}}
{%- endmacro -%}
