{#-
    The CTE `events_with_lineage`: events, each with the first key of its row and the place at which that row began. A key's row
    begins after a delete, or if it inherits values: it then continues a row of its old key. That row may continue a row of a
    third key, and so on: hence `with recursive`.
-#}
{%- macro _row_lineage_ctes(events, key) -%}
    {#- No named windows: Spark does not find them if a model is a view. -#}
    {%- set in_order = 'partition by ' ~ spark_cdc._quoted(key) ~ ' order by _cdc_sequence' -%}
    {%- set so_far = '(' ~ in_order ~ ' rows between unbounded preceding and current row)' -%}
key_rows as (

    select
        *,
        named_struct({{ spark_cdc._key_fields(key, '') }}) as _cdc_key,
        coalesce(
            last_value(case when _cdc_is_deleted or _cdc_inherits_values then _cdc_sequence end) ignore nulls over {{ so_far }},
            cast(array() as array<decimal(20,0)>)
        ) as _cdc_row_start,
        last_value(case when _cdc_is_deleted or _cdc_inherits_values then coalesce(_cdc_inherits_values, false) end) ignore nulls
            over {{ so_far }} as _cdc_row_inherits_values,
        lag(_cdc_is_deleted) over ({{ in_order }}) as _cdc_was_deleted
    from {{ events }}

),

rows_before as (

    select
        *,
        last_value(case when not _cdc_is_deleted then
            named_struct('row_start', _cdc_row_start, 'inherits_values', coalesce(_cdc_row_inherits_values, false))
        end) ignore nulls over {{ so_far }} as _cdc_last_row_start,
        last_value(case when _cdc_is_deleted and not coalesce(_cdc_was_deleted, false) then _cdc_sequence end) ignore nulls
            over {{ so_far }} as _cdc_last_row_ended_at
    from key_rows

),

{#- Debezium deletes the old key in a message of its own, at the same position of the source's log: that row still exists. #}
moved_rows as (

    select
        _cdc_inherited_by.key as _cdc_key,
        _cdc_inherited_by.sequence as _cdc_row_start,
        _cdc_key as _cdc_key_before,
        struct(_cdc_sequence as place, slice(_cdc_last_row_ended_at, 1, size(_cdc_sequence)) as first_place) as _cdc_move,
        case
            when _cdc_last_row_ended_at = _cdc_sequence
                or (
                    size(_cdc_sequence) > 1
                    and slice(_cdc_last_row_ended_at, 1, size(_cdc_sequence) - 1)
                        = {{ spark_cdc._place_of_message() }}
                )
                then _cdc_last_row_start
        end as _cdc_row_start_before
    from rows_before
    where _cdc_inherited_by is not null

),

row_lineages max recursion level 1000000 as (

    select
        _cdc_key,
        _cdc_row_start,
        case when _cdc_row_start_before is null then _cdc_key else _cdc_key_before end as _cdc_first_key,
        coalesce(_cdc_row_start_before.row_start, _cdc_row_start) as _cdc_first_row_start,
        case when _cdc_row_start_before is not null then _cdc_move end as _cdc_move
    from moved_rows
    where _cdc_row_start_before is null or not _cdc_row_start_before.inherits_values

    union all

    select moved._cdc_key, moved._cdc_row_start, row_lineages._cdc_first_key, row_lineages._cdc_first_row_start, moved._cdc_move
    from row_lineages
    inner join moved_rows as moved
        on row_lineages._cdc_key = moved._cdc_key_before
        and row_lineages._cdc_row_start = moved._cdc_row_start_before.row_start
        and moved._cdc_row_start_before.inherits_values

),

{#-
    A message that is produced again moves its row again. Its changes are kept apart from those of the first copy
    (`_cdc_copied_from`): what the first copy did to the row after this place is not known yet.
#}
events_with_lineage as (

    select
        key_rows.*,
        coalesce(row_lineages._cdc_first_key, key_rows._cdc_key) as _cdc_first_key,
        coalesce(row_lineages._cdc_first_row_start, key_rows._cdc_row_start) as _cdc_first_row_start,
        case
            when row_lineages._cdc_move is null then null
            when slice(key_rows._cdc_sequence, 1, size(row_lineages._cdc_move.place)) = row_lineages._cdc_move.place then concat(
                row_lineages._cdc_move.first_place,
                slice(key_rows._cdc_sequence, size(row_lineages._cdc_move.place) + 1, size(key_rows._cdc_sequence))
            )
        end as _cdc_copied_from
    from key_rows
    left join row_lineages on key_rows._cdc_key = row_lineages._cdc_key and key_rows._cdc_row_start = row_lineages._cdc_row_start

)
{%- endmacro -%}
