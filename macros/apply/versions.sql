{#-
    The states of each key's row -> its versions: the CTE `versions` and those before it. A state that changes a tracked value
    begins a version, unless it only ends one (`invalidate`).
-#}
{%- macro _version_ctes(key, columns, variants, options) -%}
    {%- set others = columns | reject('in', key) | list -%}
    {%- set hard_deletes = options.hard_deletes or 'new_record' -%}
    {#- No named windows: Spark does not find them if a model is a view. -#}
    {%- set so_far = '(partition by ' ~ spark_cdc._quoted(key) ~ ' order by _cdc_sequence)' -%}
    {%- set of_version = '(partition by ' ~ spark_cdc._quoted(key) ~ ', _cdc_version order by _cdc_sequence '
        ~ 'rows between unbounded preceding and unbounded following)' -%}
    {%- set is_version = '_cdc_is_change'
        if hard_deletes == 'new_record' else '_cdc_is_change and (_cdc_is_first or not _cdc_is_deleted)' -%}
    {%- set tracked_values = ['_cdc_is_deleted'] -%}
    {%- for name in options.track_columns or others if name in others -%}
        {%- do tracked_values.append(spark_cdc._comparable(name, variants)) -%}
    {%- endfor -%}
    {%- set tracked_values = 'struct(' ~ tracked_values | join(', ') ~ ')' -%}
    {%- if hard_deletes == 'ignore' -%}
        {%- set tracked_values = 'last_value(case when not _cdc_is_deleted then ' ~ tracked_values ~ ' end) ignore nulls over ' ~ so_far -%}
    {%- endif -%}
row_states_with_tracked_values as (

    select
        {{ spark_cdc._quoted(columns + spark_cdc._key_operation_columns()) }},
        coalesce(_cdc_stored_last_sequence, _cdc_sequence) as _cdc_last_sequence,
        coalesce(_cdc_stored_valid_from, _cdc_committed_at) as _cdc_happened_at,
        lag(_cdc_sequence) over {{ so_far }} is null as _cdc_is_first,
        {{ tracked_values }} as _cdc_tracked_values
    from row_states

),

row_states_compared as (

    select
        *,
        _cdc_is_first or (
            {{ 'true' if options.keep_unchanged else 'not _cdc_tracked_values <=> lag(_cdc_tracked_values) over ' ~ so_far }}
            {{- ' and not _cdc_is_deleted' if hard_deletes == 'ignore' }}
        ) as _cdc_is_change
    from row_states_with_tracked_values

),

row_states_in_time as (

    select
        *,
        {{ is_version }} as _cdc_is_version,
        count_if({{ is_version }}) over {{ so_far }} as _cdc_version,
        coalesce(
            max(case when _cdc_is_change then _cdc_happened_at end) over {{ so_far }}, timestamp'1970-01-01 00:00:00 UTC'
        ) as valid_from
    from row_states_compared

),

{#- A null that a message has begins no version after an unknown value, but from then on the value is known. #}
versions_confirmed as (

    select
        *,
        max(_cdc_last_sequence) over {{ of_version }} as _cdc_confirmed_by,
        last_value(case when _cdc_is_version or not _cdc_is_deleted then
            struct({{ spark_cdc._quoted(others + ['_cdc_missing_columns']) }})
        end) ignore nulls over {{ of_version }} as _cdc_version_values,
        last_value(struct(_cdc_is_deleted, _cdc_topic, _cdc_partition, _cdc_offset)) over {{ of_version }} as _cdc_last,
        min(case when _cdc_is_deleted then valid_from end) over {{ of_version }} as _cdc_deleted_at
    from row_states_in_time

),

versions as (

    select
        {{ spark_cdc._quoted(key) }},
        {%- for name in others + ['_cdc_missing_columns'] %}
        _cdc_version_values.{{ spark_cdc._quote(name) }},
        {%- endfor %}
        _cdc_op,
        {{ '_cdc_last.' if hard_deletes == 'ignore' }}_cdc_is_deleted,
        _cdc_sequence,
        _cdc_committed_at,
        _cdc_transaction_id,
        _cdc_last._cdc_topic,
        _cdc_last._cdc_partition,
        _cdc_last._cdc_offset,
        _cdc_confirmed_by as _cdc_last_sequence,
        valid_from,
        {%- set next_version = 'lead(valid_from) over (partition by ' ~ spark_cdc._quoted(key) ~ ' order by _cdc_sequence)' %}
        {%- if hard_deletes == 'invalidate' %}
        coalesce(_cdc_deleted_at, {{ next_version }}) as valid_to
        {%- elif hard_deletes == 'ignore' %}
        case when _cdc_is_deleted then valid_from else {{ next_version }} end as valid_to
        {%- else %}
        {{ next_version }} as valid_to
        {%- endif %}
    from versions_confirmed
    where _cdc_is_version

)
{%- endmacro -%}
