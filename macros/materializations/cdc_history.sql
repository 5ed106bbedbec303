{#-
    Every version of each key (SCD2), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    One row is one version, valid over [valid_from, valid_to); valid_to is null while it is open. A delete closes the version
    and opens one with `_cdc_is_deleted`, so that each key has exactly one open version, which is its row in cdc_current.
-#}
{%- materialization cdc_history, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes(spark_cdc._form('cdc_history', config))) }}
{%- endmaterialization -%}
