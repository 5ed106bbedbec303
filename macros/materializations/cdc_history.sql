{#-
    Every version of each key (SCD2), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    One row is one version, valid over [valid_from, valid_to); valid_to is null while it is open. A delete closes the version
    and opens one with `_cdc_is_deleted`, so that each key has exactly one open version, which is its row in cdc_current.
-#}
{%- materialization cdc_history, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes('cdc_history', spark_cdc.history_rows, spark_cdc._merge_history)) }}
{%- endmaterialization -%}

{%- macro _merge_history(target_relation, rows, key, columns) -%}
    {%- set all_columns = spark_cdc._history_columns(columns) -%}
    merge into {{ target_relation }} as stored
    using {{ rows }} as versions
    on {{ spark_cdc._same_key(key, 'stored', 'versions') }} and stored._cdc_sequence = versions._cdc_sequence
    when matched and versions._cdc_obsolete then delete
    when matched then update set
        {%- for name in all_columns if name not in key %}
        {{ spark_cdc._quote(name) }} = versions.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    when not matched and not versions._cdc_obsolete then insert ({{ spark_cdc._quoted(all_columns) }})
        values ({{ spark_cdc._quoted(all_columns, 'versions.') }})
{%- endmacro -%}
