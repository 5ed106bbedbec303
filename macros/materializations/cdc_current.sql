{#-
    The latest state of each key (SCD1), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=..., source_tables_share_keys=false)

    Deleted keys stay, with `_cdc_is_deleted`: select `where not _cdc_is_deleted` for the existing rows. If the changes come
    from several source tables, `_cdc_source_table` is part of the key unless source_tables_share_keys is true.
-#}
{%- materialization cdc_current, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes(spark_cdc._target_kind('cdc_current'))) }}
{%- endmaterialization -%}
