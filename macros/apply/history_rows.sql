{#-
    Row changes -> the versions that a history table gets from them (SCD2): one row per key and version, valid over
    [valid_from, valid_to), columns as `_history_columns()`. A deleted key has a version with `_cdc_is_deleted`.

    Versions follow the sequence. valid_from is the commit time, never earlier than the version before it; versions with
    equal times keep their order by the sequence. A change that changes no column makes no version: it moves
    `_cdc_last_sequence` (and topic, partition and offset) of the version that it confirms, so that a change that comes late
    still finds its place.

    A key that gets a late change is built anew from all its changes; every other key goes on from its open version.

    The result has `_cdc_obsolete` rows beside the versions: stored versions that a late change made void.
-#}
{%- macro history_rows(changes, key, columns, all_changes=none, stored=none) -%}
    {{- return(adapter.dispatch('history_rows', 'spark_cdc')(changes, key, columns, all_changes or changes, stored)) -}}
{%- endmacro -%}

{%- macro default__history_rows(changes, key, columns, all_changes, stored) -%}
    {%- do spark_cdc._only_spark('history_rows') -%}
{%- endmacro -%}

{%- macro spark__history_rows(changes, key, columns, all_changes, stored) -%}
    {%- set others = columns | reject('in', key) | list -%}
    {%- set event_columns = spark_cdc._effect_columns() -%}
with {{ spark_cdc._effect_ctes(
    changes, all_changes, key, columns, '(select * from ' ~ stored ~ ' where valid_to is null)' if stored else none
) }},

touched_keys as (

    select {{ spark_cdc._quoted(key) }}, min(_cdc_sequence) as _cdc_first_sequence
    from effects
    group by {{ spark_cdc._quoted(key) }}

),
{%- if stored %}

open_versions as (

    select stored.*, touched_keys._cdc_first_sequence <= stored._cdc_last_sequence as _cdc_gets_late_change
    from {{ stored }} as stored
    left join touched_keys on {{ spark_cdc._same_key(key, 'stored', 'touched_keys') }}
    left join (
        select max(_cdc_sequence) as _cdc_sequence from {{ changes }} where _cdc_op = 'truncate' and _cdc_error is null
    ) as new_truncate
    where
        stored.valid_to is null
        and (
            touched_keys._cdc_first_sequence is not null
            or (not stored._cdc_is_deleted and stored._cdc_last_sequence < new_truncate._cdc_sequence)
        )

),

late_keys as (

    select {{ spark_cdc._quoted(key) }} from open_versions where _cdc_gets_late_change

),

effects_of_late_keys as (

    select {{ spark_cdc._quoted(columns + event_columns, 'every.') }}
    from (
        {{ spark_cdc._effects(all_changes, key, columns) | trim | indent(4) }}
    ) as every
    left semi join late_keys on {{ spark_cdc._same_key(key, 'every', 'late_keys') }}

),
{%- endif %}

events as (

    select {{ spark_cdc._quoted(columns + event_columns, 'effects.') }}, false as _cdc_is_stored,
        cast(null as timestamp) as valid_from, _cdc_sequence as _cdc_last_sequence
    from effects
    {%- if stored %}
    left anti join late_keys on {{ spark_cdc._same_key(key, 'effects', 'late_keys') }}

    union all

    select {{ spark_cdc._quoted(columns + event_columns) }}, false, cast(null as timestamp), _cdc_sequence
    from effects_of_late_keys

    union all

    select {{ spark_cdc._quoted(columns + event_columns) }}, true, valid_from, _cdc_last_sequence
    from open_versions
    where not coalesce(_cdc_gets_late_change, false)
    {%- endif %}

),

{#- A truncate is a delete of every key that has a row at that point. #}
events_and_truncates as (

    select * from events

    union all

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %}, null as {{ spark_cdc._quote(name) }}{% endfor %}
        {%- for name in event_columns %},
        {% if name == '_cdc_op' %}'truncate'{% elif name == '_cdc_is_deleted' %}true{% elif name == '_cdc_absent' %}null
        {%- else %}event.{{ name }}{% endif %} as {{ name }}
        {%- endfor %},
        false as _cdc_is_stored,
        cast(null as timestamp) as valid_from,
        event._cdc_sequence as _cdc_last_sequence
    from (
        select {{ spark_cdc._quoted(key) }}, min(_cdc_sequence) as _cdc_first_sequence
        from events
        group by {{ spark_cdc._quoted(key) }}
    )
    cross join truncates
    lateral view explode(filter(truncates, event -> event._cdc_sequence > _cdc_first_sequence)) exploded as event

),

distinct_events as (

    select * except (_cdc_rank)
    from (
        select
            *,
            row_number() over (
                partition by {{ spark_cdc._quoted(key) }}, _cdc_sequence order by _cdc_is_stored desc, _cdc_is_deleted
            ) as _cdc_rank
        from events_and_truncates
    )
    where _cdc_rank = 1

),

filled as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        last_value({{ spark_cdc._known(name) }}) ignore nulls over so_far as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in event_columns %},
        {{ name }}
        {%- endfor %},
        _cdc_last_sequence,
        valid_from
    from distinct_events
    window so_far as (
        partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence rows between unbounded preceding and current row
    )

),

compared as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        {{ spark_cdc._quote(name) }}.value as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in event_columns if name != '_cdc_absent' %},
        {{ name }}
        {%- endfor %},
        {{ spark_cdc._still_absent('_cdc_absent', others, 'filled') }} as _cdc_absent,
        coalesce(valid_from, _cdc_committed_at) as valid_from,
        _cdc_last_sequence,
        _cdc_op = 'truncate' and coalesce(lag(_cdc_is_deleted) over in_order, false) as _cdc_says_nothing,
        not coalesce(
            (_cdc_is_deleted and lag(_cdc_is_deleted) over in_order)
            or (
                not _cdc_is_deleted and not lag(_cdc_is_deleted) over in_order
                {%- for name in others %}
                and {{ spark_cdc._quote(name) }}.value <=> lag({{ spark_cdc._quote(name) }}.value) over in_order
                {%- endfor %}
            ),
            false
        ) as _cdc_is_version
    from filled
    window in_order as (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence)

),

numbered as (

    select
        *,
        count_if(_cdc_is_version) over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence) as _cdc_version
    from compared
    -- a truncate of a key that is deleted already is no event of that key
    where not _cdc_says_nothing

),

confirmed as (

    select
        * except (_cdc_last_sequence, _cdc_absent, _cdc_topic, _cdc_partition, _cdc_offset),
        max(_cdc_last_sequence) over of_version as _cdc_last_sequence,
        -- a null that was sent makes no version of one that was not, but it is known from now on
        last_value(_cdc_absent) over of_version as _cdc_absent,
        last_value(_cdc_topic) over of_version as _cdc_topic,
        last_value(_cdc_partition) over of_version as _cdc_partition,
        last_value(_cdc_offset) over of_version as _cdc_offset
    from numbered
    window of_version as (
        partition by {{ spark_cdc._quoted(key) }}, _cdc_version order by _cdc_last_sequence
        rows between unbounded preceding and unbounded following
    )

),

versions_in_time as (

    select
        * except (valid_from),
        coalesce(
            max(valid_from) over (
                partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence
                rows between unbounded preceding and current row
            ),
            timestamp'1970-01-01 00:00:00 UTC'
        ) as valid_from
    from confirmed
    where _cdc_is_version

),

versions as (

    select
        {{ spark_cdc._quoted(columns + event_columns) }},
        _cdc_last_sequence,
        valid_from,
        lead(valid_from) over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence) as valid_to
    from versions_in_time

)

select {{ spark_cdc._quoted(spark_cdc._history_columns(columns)) }}, false as _cdc_obsolete
from versions
{%- if stored %}

union all

select {{ spark_cdc._quoted(spark_cdc._history_columns(columns), 'stored.') }}, true as _cdc_obsolete
from {{ stored }} as stored
left semi join late_keys on {{ spark_cdc._same_key(key, 'stored', 'late_keys') }}
left anti join versions
    on {{ spark_cdc._same_key(key, 'stored', 'versions') }} and stored._cdc_sequence = versions._cdc_sequence
{%- endif %}
{%- endmacro -%}

{%- macro _history_columns(columns) -%}
    {{- return(columns + ['valid_from', 'valid_to'] + spark_cdc._effect_columns() + ['_cdc_last_sequence']) -}}
{%- endmacro -%}
