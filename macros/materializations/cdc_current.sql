{#-
    The latest state of each key (SCD1), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=..., origins_share_keys=false)

    Deleted keys stay, with `_cdc_is_deleted`: select `where not _cdc_is_deleted` for the live rows. Of changes from several
    source tables `_cdc_origin` is part of the key unless origins_share_keys is true.
-#}
{%- materialization cdc_current, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes({
        'materialization': 'cdc_current',
        'rows_of': spark_cdc._current_rows_of_effects,
        'columns_of': spark_cdc._current_columns,
        'row_key': [],
        'last_row': 'true',
        'last_sequence': '_cdc_sequence',
        'valid_from': 'cast(null as timestamp)',
        'stored_columns': {},
    })) }}
{%- endmaterialization -%}
