{#-
    The latest state of each key (SCD1), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    Deleted keys stay, with `_cdc_is_deleted`: select `where not _cdc_is_deleted` for the live rows.
-#}
{%- materialization cdc_current, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes(spark_cdc._form('cdc_current', config))) }}
{%- endmaterialization -%}
