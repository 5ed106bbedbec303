{#-
    What a target has read of its changes stands in its table properties, set after its rows are written: the latest batch, and
    how many changes there were up to it. A run that dies between the two reads the same changes again, which changes nothing.

    A mapping: `batch` and `count`, for the properties; `condition`, which is true of the changes that are new: those of later
    batches. It is all of them where the count no longer holds: a run that began earlier has ended later, or changes were
    built anew or deleted. It is none where nothing is new.
-#}
{%- macro _changes_to_apply(all_changes, existing_relation) -%}
    {%- set before = spark_cdc._read_before(existing_relation) if existing_relation else none -%}
    {%- set found = run_query(
        'select unix_micros(max(_cdc_batch)), count(*), count_if(_cdc_batch <= timestamp_micros(' ~ (before.batch if before else 0)
        ~ ')) from ' ~ all_changes
    ).rows[0] -%}
    {%- set batch, count = (found[0] or 0) | int, found[1] | int -%}
    {%- set condition = none -%}
    {%- if flags.EMPTY -%}
        {#- dbt run --empty reads no row of any model -#}
    {%- elif not before or found[2] | int != before.count -%}
        {%- set condition = 'true' -%}
    {%- elif count > before.count -%}
        {%- set condition = '(_cdc_batch is null or _cdc_batch > timestamp_micros(' ~ before.batch ~ '))' -%}
    {%- endif -%}
    {{- return({'batch': batch, 'count': count, 'condition': condition}) -}}
{%- endmacro -%}

{%- macro _read_before(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {%- if 'spark_cdc.read_batch' in properties -%}
        {{- return({
            'batch': properties['spark_cdc.read_batch'] | int, 'count': properties['spark_cdc.read_count'] | int,
        }) -}}
    {%- endif -%}
    {{- return(none) -}}
{%- endmacro -%}

{%- macro _set_read(target_relation, read) -%}
    alter table {{ target_relation }} set tblproperties (
        'spark_cdc.read_batch' = '{{ read.batch }}', 'spark_cdc.read_count' = '{{ read.count }}'
    )
{%- endmacro -%}
