{#-
    New key operations and, as a key operation, the last stored row of each key that they or a new truncate touch: later steps
    read these and not the table. Only a truncate has to look at each stored row; otherwise only the rows of the batch's keys
    are read. `_cdc_is_late_arriving` is true if a key has an operation that belongs before its stored row.

    stored_up_to  the last sequence that the table has, if all new changes come after it: nothing is late then. A stored row that
                  comes after it was written by another run meanwhile, and is an error
    keys          condition on a stored row: whether it is of a key that the new changes touch. None: they are read for that, too
-#}
{%- macro _batch(table, new_changes, target_relation, stored_up_to=none, keys=none) -%}
    {%- set event_columns = spark_cdc._quoted(spark_cdc._event_columns(table.columns, table.patched)) -%}
    {%- set has_source_tables = '_cdc_source_table' in table.columns -%}
    {%- set hides_deletes = table.options.hard_deletes in ['invalidate', 'ignore'] -%}
    {%- set has_truncates = table.has_truncates and spark_cdc._has_rows(
        new_changes ~ " where _cdc_op = 'truncate'", spark_cdc._step('looking for truncates')
    ) -%}
    {#- a truncate compares its sequence with that of every row -#}
    {%- set arrays = spark_cdc._from_resume_state() if table.options.hard_deletes == 'new_record' and not has_truncates else {} -%}
    {%- set last_sequence = arrays[table.last_sequence] or 'stored.' ~ table.last_sequence -%}
    {%- set stored_last_sequence = last_sequence if not stored_up_to else (
        'case when ' ~ last_sequence ~ ' > ' ~ spark_cdc._sequence_literal(stored_up_to) ~ ' then raise_error(' ~ spark_cdc._literal(
            spark_cdc._another_run_wrote(table.materialization, target_relation, ', which has written nothing. Run `dbt retry`.')
        ) ~ ') else ' ~ last_sequence ~ ' end'
    ) -%}
    {%- set is_deleted = 'stored.valid_to is not null' if table.options.hard_deletes == 'invalidate' else 'stored._cdc_is_deleted' -%}
with new_operations as (

    select {{ event_columns }}, false as _cdc_needs_all_changes
    from ({{ spark_cdc._key_operations(new_changes, table.key, table.columns, table.patched) }})

),
{%- if not keys %}

touched_keys as (

    select {{ spark_cdc._quoted(table.key) }}, true as _cdc_is_touched
    from new_operations
    group by {{ spark_cdc._quoted(table.key) }}

),
{%- endif %}
{%- if has_truncates %}

truncates as (

    select
        {{ '_cdc_source_table, ' if has_source_tables }}min(_cdc_sequence) as _cdc_first_sequence,
        max(_cdc_sequence) as _cdc_last_sequence
    from {{ new_changes }}
    where _cdc_op = 'truncate'
    {{ 'group by _cdc_source_table' if has_source_tables }}

),
{%- endif %}

last_rows as (

    select
        {%- for name in table.columns + spark_cdc._key_operation_columns() %}
        {{ stored_last_sequence if name == table.last_sequence else arrays[name] or 'stored.' ~ spark_cdc._quote(name) }}
            {{- ' as ' ~ spark_cdc._quote(name) }},
        {%- endfor %}
        false as _cdc_inherits_values,
        null as _cdc_inherited_by,
        {{ stored_last_sequence }} as _cdc_stored_last_sequence,
        {{ table.valid_from }} as _cdc_stored_valid_from,
        {%- if table.patched %}
        cast(null as map<string,string>) as _cdc_patches,
        {%- endif %}
        {{ 'coalesce(truncates._cdc_first_sequence < ' ~ last_sequence ~ ', false)' if has_truncates else 'false' }}
            {{- ' or ' ~ is_deleted if hides_deletes }} as _cdc_needs_all_changes
    from {{ spark_cdc._last_rows(table, target_relation) }} as stored
    {%- if keys %}
    where {{ keys }}
    {%- else %}
    {{ 'left' if has_truncates else 'inner' }} join touched_keys
        on {{ spark_cdc._same_key(table.key, 'stored', 'touched_keys') }}
    {%- if has_truncates %}
    left join truncates
        on {{ 'stored._cdc_source_table <=> truncates._cdc_source_table' if has_source_tables else 'true' }}
    where
        touched_keys._cdc_is_touched
        or truncates._cdc_first_sequence < {{ last_sequence }}
        or (not {{ is_deleted }} and truncates._cdc_last_sequence > {{ last_sequence }})
    {%- endif %}
    {%- endif %}

),

operations as (

    select * from new_operations
    union all
    select * from last_rows

)

select
    *
    {%- if not stored_up_to %},
    coalesce(
        min(case when _cdc_stored_last_sequence is null then _cdc_sequence end) over of_key
            <= max(_cdc_stored_last_sequence) over of_key,
        {%- if table.deleted_keys_gone %}
        min(_cdc_sequence) over of_key <= {{ spark_cdc._sequence_literal(table.deleted_keys_gone) }},
        {%- endif %}
        false
    ) or max(_cdc_needs_all_changes) over of_key as _cdc_is_late_arriving
    {%- endif %}
from operations
{%- if not stored_up_to %}
window of_key as (partition by {{ spark_cdc._quoted(table.key) }})
{%- endif %}
{%- endmacro -%}

{#-
    The row from which each key continues. If a deleted key has no open version, its last one only shows where it ended: the key
    does not continue from it.
-#}
{%- macro _last_rows(table, target_relation) -%}
    {%- if table.options.hard_deletes != 'invalidate' -%}
        {#- a key may have no other version than one of no length -#}
        {%- set never_there = ' or stored._cdc_is_deleted and stored.valid_to = stored.valid_from'
            if table.options.hard_deletes == 'ignore' else '' -%}
        {{- return('(select * from ' ~ target_relation ~ ' as stored where ' ~ table.last_row ~ never_there ~ ')') -}}
    {%- endif -%}
    {{- return(
        '(select * from (select *, lead(_cdc_sequence) over (partition by ' ~ spark_cdc._quoted(table.key)
        ~ ' order by _cdc_sequence) is null as _cdc_is_last from ' ~ target_relation ~ ') where _cdc_is_last)'
    ) -}}
{%- endmacro -%}
