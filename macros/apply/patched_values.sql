{#-
    The CTE `patched_events` and those before it: events with `_cdc_patched`, a map of column -> its value after the event's
    patch. A patch changes the result of the patches before it, which start from the last value that a message had as a whole.
    If there is no such value, or if a patch does not fit it, the column is not known.

    A run is such a value with the patches up to the next one. In a long run, the value at each hundredth patch is computed
    first, so that no patch is applied more than a hundred times.

    row_identity  the columns that distinguish rows
-#}
{%- macro _patched_value_ctes(events, row_identity, patched, variants) -%}
    {%- set identity = spark_cdc._quoted(row_identity) -%}
patch_steps as (

    select
        {{ identity }},
        _cdc_sequence,
        _cdc_step.column as _cdc_column,
        _cdc_step.patch as _cdc_patch,
        _cdc_step.known as _cdc_known,
        count(_cdc_step.known) over (
            partition by {{ identity }}, _cdc_step.column order by _cdc_sequence
            rows between unbounded preceding and current row
        ) as _cdc_run
    from {{ events }}
    lateral view explode(array(
        {%- for name in patched %}
        named_struct(
            'column', {{ spark_cdc._literal(name) }},
            'patch', {{ spark_cdc._fitting_patch(name, variants) }},
            'known', {{ spark_cdc._known_text(name, variants) }}
        ){{ ',' if not loop.last }}
        {%- endfor %}
    )) exploded as _cdc_step
    where _cdc_step.patch is not null or _cdc_step.known is not null

),

patch_runs as (

    select
        {{ identity }},
        _cdc_column,
        max(_cdc_known) as _cdc_base,
        sort_array(collect_list(
            case when _cdc_patch is not null then struct(_cdc_sequence as sequence, _cdc_patch as patch) end
        )) as _cdc_steps
    from patch_steps
    group by {{ identity }}, _cdc_column, _cdc_run
    having count(_cdc_patch) > 0

),

patch_hundreds as (

    select
        *,
        transform(
            sequence(0, cast((size(_cdc_steps) - 1) div 100 as int)), number -> slice(_cdc_steps, number * 100 + 1, 100)
        ) as _cdc_hundreds
    from patch_runs

),

patch_bases as (

    select
        {{ identity }},
        _cdc_column,
        _cdc_hundred,
        case when _cdc_number = 0 then _cdc_base.document else get(_cdc_states, _cdc_number - 1).document end as _cdc_document,
        _cdc_base.is_known and (_cdc_number = 0 or get(_cdc_states, _cdc_number - 1).is_known) as _cdc_is_known
    from patch_hundreds
    -- explode, so that no filter and no field that is read calls the function again
    lateral view explode(array(cdc_mongo_patched(
        case when size(_cdc_hundreds) > 1 then _cdc_base.document end,
        transform(slice(_cdc_hundreds, 1, size(_cdc_hundreds) - 1), hundred -> hundred.patch)
    ))) patched as _cdc_states
    lateral view posexplode(_cdc_hundreds) exploded as _cdc_number, _cdc_hundred

),

patch_states as (

    select {{ identity }}, _cdc_column, _cdc_is_known, _cdc_step.sequence as _cdc_sequence, get(_cdc_states, 0) as _cdc_state
    from patch_bases
    lateral view posexplode(_cdc_hundred) exploded as _cdc_number, _cdc_step
    lateral view explode(array(cdc_mongo_patched(
        _cdc_document, array(slice(_cdc_hundred.patch, 1, _cdc_number + 1))
    ))) patched as _cdc_states

),

patched_values as (

    select
        {{ identity }},
        _cdc_sequence,
        map_from_entries(collect_list(struct(_cdc_column, case
            when _cdc_is_known and _cdc_state.is_known then _cdc_state
            else named_struct('document', cast(null as string), 'is_known', false)
        end))) as _cdc_patched
    from patch_states
    group by {{ identity }}, _cdc_sequence

),

patched_events as (

    select {{ events }}.*, patched_values._cdc_patched
    from {{ events }}
    left join patched_values
        on {{ spark_cdc._same_key(row_identity, events, 'patched_values') }}
        and {{ events }}._cdc_sequence = patched_values._cdc_sequence

)
{%- endmacro -%}
