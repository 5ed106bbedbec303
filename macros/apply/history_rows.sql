{#-
    Row changes -> the rows of a history table (SCD2): one row per key and version, valid over [valid_from, valid_to),
    columns as `_history_columns()`. A deleted key has a version with `_cdc_is_deleted`.

    Versions follow the sequence. valid_from is the commit time, never earlier than the version before it; versions with
    equal times keep their order by the sequence. A change that changes no column makes no version: it moves
    `_cdc_last_sequence` (and topic, partition and offset) of the version that it confirms, so that a change that comes late
    still finds its place.

    changes       a relation or a query in parentheses; it is read several times
    carries_over  false where no message changes a key and leaves columns out: the query is then much smaller
    variants      those of the columns that are VARIANT, which Spark does not compare
-#}
{%- macro history_rows(changes, key, columns, carries_over=true, variants=[]) -%}
    {{- return(adapter.dispatch('history_rows', 'spark_cdc')(changes, key, columns, carries_over, variants)) -}}
{%- endmacro -%}

{%- macro default__history_rows(changes, key, columns, carries_over, variants) -%}
    {%- do spark_cdc._only_spark('history_rows') -%}
{%- endmacro -%}

{%- macro spark__history_rows(changes, key, columns, carries_over, variants) -%}
    {{- return(spark_cdc._history_rows_of_effects(
        '(' ~ spark_cdc._effects(changes, key, columns) ~ ')', changes, key, columns, carries_over, variants
    )) -}}
{%- endmacro -%}

{%- macro _history_rows_of_effects(effects, changes, key, columns, carries_over, variants=[]) -%}
    {%- set others = columns | reject('in', key) | list -%}
with {{ 'recursive ' if carries_over }}{{ spark_cdc._row_state_ctes(effects, changes, key, columns, carries_over) }},

row_states_compared as (

    select
        {{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }},
        coalesce(_cdc_stored_valid_from, _cdc_committed_at) as _cdc_valid_from,
        coalesce(_cdc_stored_last_sequence, _cdc_sequence) as _cdc_last_sequence,
        not coalesce(
            (_cdc_is_deleted and lag(_cdc_is_deleted) over in_order)
            or (
                not _cdc_is_deleted and not lag(_cdc_is_deleted) over in_order
                {%- for name in others %}
                and {{ spark_cdc._comparable(name, variants) }}
                    <=> lag({{ spark_cdc._comparable(name, variants) }}) over in_order
                {%- endfor %}
            ),
            false
        ) as _cdc_is_version
    from row_states
    window in_order as (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence)

),

row_states_numbered as (

    select
        *,
        count_if(_cdc_is_version) over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence) as _cdc_version
    from row_states_compared

),

row_states_confirmed as (

    select
        * except (_cdc_last_sequence, _cdc_absent, _cdc_topic, _cdc_partition, _cdc_offset),
        max(_cdc_last_sequence) over of_version as _cdc_last_sequence,
        -- a null that was sent makes no version of one that was not, but it is known from now on
        last_value(_cdc_absent) over of_version as _cdc_absent,
        last_value(_cdc_topic) over of_version as _cdc_topic,
        last_value(_cdc_partition) over of_version as _cdc_partition,
        last_value(_cdc_offset) over of_version as _cdc_offset
    from row_states_numbered
    window of_version as (
        partition by {{ spark_cdc._quoted(key) }}, _cdc_version order by _cdc_last_sequence
        rows between unbounded preceding and unbounded following
    )

),

versions_in_time as (

    select
        *,
        coalesce(
            max(_cdc_valid_from) over (
                partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence
                rows between unbounded preceding and current row
            ),
            timestamp'1970-01-01 00:00:00 UTC'
        ) as valid_from
    from row_states_confirmed
    where _cdc_is_version

),

versions as (

    select
        {{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }},
        _cdc_last_sequence,
        valid_from,
        lead(valid_from) over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence) as valid_to
    from versions_in_time

)

select {{ spark_cdc._quoted(spark_cdc._history_columns(columns)) }}
from versions
{%- endmacro -%}

{%- macro _history_columns(columns) -%}
    {{- return(columns + ['valid_from', 'valid_to'] + spark_cdc._effect_columns() + ['_cdc_last_sequence']) -}}
{%- endmacro -%}

{#- A column as Spark compares it. -#}
{%- macro _comparable(name, variants, prefix='') -%}
    {%- set column = prefix ~ spark_cdc._quote(name) -%}
    {{- return('to_json(' ~ column ~ ')' if name in variants else column) -}}
{%- endmacro -%}
