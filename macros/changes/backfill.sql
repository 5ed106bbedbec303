{#-
    dbt run --vars '{spark_cdc__backfill: [stg_shop__orders_changes]}': the named changes models read all of their source again
    and write the rows that a first build would write. Use it after a column was added, a type widened or an encoding corrected.
    Rows whose messages the source no longer has stay as they are; a full refresh would lose them.

    Changed rows get the `_cdc_loaded_at` of this run: models over the changes then read them again.
-#}
{%- macro _is_backfill() -%}
    {{- return(
        spark_cdc._is_run() and spark_cdc._is_incremental_run()
        and spark_cdc._is_named_in('spark_cdc__backfill', without=['cdc_current', 'cdc_history'])
    ) -}}
{%- endmacro -%}

{%- macro _backfill(query, reading) -%}
    {%- if reading.undeclared -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.changes: ' ~ this ~ ' cannot be backfilled, because it has columns that model ' ~ model.name
            ~ ' does not declare: ' ~ reading.undeclared | join(', ') ~ '. Declare them again, or drop them with '
            ~ 'on_schema_change=\'sync_all_columns\'.'
        ) -%}
    {%- endif -%}
    {%- set identity = ['_cdc_topic', '_cdc_partition', '_cdc_offset', '_cdc_sequence'] -%}
    {%- set names = reading.columns | map(attribute='name') | list -%}
    {%- set variants = reading.columns | selectattr('family', 'equalto', 'variant') | map(attribute='name') | list -%}
    {#- Spark cannot compare a map, as `_cdc_patches` is, either. -#}
    {%- set variants = (variants + ['_cdc_before'] if variants else []) + ['_cdc_patches'] -%}
    {%- set columns = names + spark_cdc._contract_columns(reading) -%}
    {%- set kept = identity + ['_cdc_loaded_at', '_cdc_read_positions'] -%}
    {%- set same = [] -%}
    {%- for name in columns if name not in kept -%}
        {%- do same.append(
            spark_cdc._comparable(name, variants, 'stored.') ~ ' <=> ' ~ spark_cdc._comparable(name, variants, 'made.')
        ) -%}
    {%- endfor -%}
    {%- call statement('backfill') -%}
    merge into {{ this }} as stored
    using (
        select
            *,
            row_number() over (partition by {{ identity | join(', ') }}, is_unpaired order by _cdc_offset) as copy
        from ({{ query }})
        -- not a column of its own: Spark follows those a merge is joined on down to all that they are made of
        lateral view explode(array(_cdc_error.code <=> 'unpaired_update')) exploded as is_unpaired
    ) as made
        on {% for name in identity -%}
        stored.{{ name }} <=> made.{{ name }} and {% endfor -%}
        (stored._cdc_error.code <=> 'unpaired_update') = made.is_unpaired and made.copy = 1
    when matched and not ({{ same | join(' and ') }}) then update set
        {%- for name in columns if name not in kept %}
        {{ spark_cdc._quote(name) }} = made.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
        {%- if '_cdc_loaded_at' in columns %},
        _cdc_loaded_at = {{ spark_cdc._loaded_at() }}
        {%- endif %}
    when not matched and made.copy = 1 then insert ({{ spark_cdc._quoted(columns) }})
        values ({{ spark_cdc._quoted(columns, 'made.') }})
    {%- endcall -%}
{%- endmacro -%}
