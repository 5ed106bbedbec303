{#-
    The CTE `events_of_first_lives`: events, each with the key and the life in which its row was born. A life of a key begins
    with a delete, or with a row that takes values over; that row's life goes on from one under its old key, which may go on
    from a third one, and so on: hence `with recursive`.
-#}
{%- macro _first_life_ctes(events, key) -%}
    {#- No named windows: Spark does not find them where a model is a view. -#}
    {%- set in_order = 'partition by ' ~ spark_cdc._quoted(key) ~ ' order by _cdc_sequence' -%}
    {%- set so_far = '(' ~ in_order ~ ' rows between unbounded preceding and current row)' -%}
lives as (

    select
        *,
        named_struct({{ spark_cdc._key_fields(key, '') }}) as _cdc_key,
        coalesce(
            last_value(case when _cdc_is_deleted or _cdc_takes_over then _cdc_sequence end) ignore nulls over {{ so_far }},
            cast(array() as array<decimal(20,0)>)
        ) as _cdc_life,
        last_value(case when _cdc_is_deleted or _cdc_takes_over then coalesce(_cdc_takes_over, false) end) ignore nulls
            over {{ so_far }} as _cdc_life_takes_over,
        lag(_cdc_is_deleted) over ({{ in_order }}) as _cdc_was_deleted
    from {{ events }}

),

lives_before as (

    select
        *,
        last_value(case when not _cdc_is_deleted then
            named_struct('life', _cdc_life, 'takes_over', coalesce(_cdc_life_takes_over, false))
        end) ignore nulls over {{ so_far }} as _cdc_last_life,
        last_value(case when _cdc_is_deleted and not coalesce(_cdc_was_deleted, false) then _cdc_sequence end) ignore nulls
            over {{ so_far }} as _cdc_last_life_ended_at
    from lives

),

{#- Debezium deletes the old key in a message of its own, at the same place of the source's log: that row is not gone. #}
moved_lives as (

    select
        _cdc_taken_over_by.key as _cdc_key,
        _cdc_taken_over_by.sequence as _cdc_life,
        _cdc_key as _cdc_key_before,
        struct(_cdc_sequence as place, slice(_cdc_last_life_ended_at, 1, size(_cdc_sequence)) as first_place) as _cdc_move,
        case
            when _cdc_last_life_ended_at = _cdc_sequence
                or (
                    size(_cdc_sequence) > 1
                    and slice(_cdc_last_life_ended_at, 1, size(_cdc_sequence) - 1)
                        = {{ spark_cdc._place_of_message() }}
                )
                then _cdc_last_life
        end as _cdc_life_before
    from lives_before
    where _cdc_taken_over_by is not null

),

first_lives max recursion level 1000000 as (

    select
        _cdc_key,
        _cdc_life,
        case when _cdc_life_before is null then _cdc_key else _cdc_key_before end as _cdc_first_key,
        coalesce(_cdc_life_before.life, _cdc_life) as _cdc_first_life,
        case when _cdc_life_before is not null then _cdc_move end as _cdc_move
    from moved_lives
    where _cdc_life_before is null or not _cdc_life_before.takes_over

    union all

    select moved._cdc_key, moved._cdc_life, first_lives._cdc_first_key, first_lives._cdc_first_life, moved._cdc_move
    from first_lives
    inner join moved_lives as moved
        on first_lives._cdc_key = moved._cdc_key_before
        and first_lives._cdc_life = moved._cdc_life_before.life
        and moved._cdc_life_before.takes_over

),

{#-
    A message that is produced again moves its row again. Its changes stand beside those of its first copy (`_cdc_copied_from`):
    what that one did to the row behind this place is not known yet.
#}
events_of_first_lives as (

    select
        lives.*,
        coalesce(first_lives._cdc_first_key, lives._cdc_key) as _cdc_first_key,
        coalesce(first_lives._cdc_first_life, lives._cdc_life) as _cdc_first_life,
        case
            when first_lives._cdc_move is null then null
            when slice(lives._cdc_sequence, 1, size(first_lives._cdc_move.place)) = first_lives._cdc_move.place then concat(
                first_lives._cdc_move.first_place,
                slice(lives._cdc_sequence, size(first_lives._cdc_move.place) + 1, size(lives._cdc_sequence))
            )
        end as _cdc_copied_from
    from lives
    left join first_lives on lives._cdc_key = first_lives._cdc_key and lives._cdc_life = first_lives._cdc_life

)
{%- endmacro -%}
