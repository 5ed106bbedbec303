{#-
    Every version of each key (SCD2), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=..., source_tables_share_keys=false,
           track_columns=[...], keep_unchanged=false, hard_deletes='new_record'|'invalidate'|'ignore')

    One row is one version, valid over [valid_from, valid_to); valid_to is null while it is open. A delete closes the version
    and opens one with `_cdc_is_deleted`, so that each key has exactly one open version, which is its row in cdc_current.

    track_columns       a change of these begins a version; the others have the values of the version's last change
    keep_unchanged      true: a change that changes nothing begins a version, too
    hard_deletes        the words of dbt snapshots. new_record: as above. invalidate: a delete closes the version and opens none.
                        ignore: the version stays open, and `_cdc_is_deleted` shows that the row is deleted. With the last two, a
                        key whose first change is a delete begins with a version of no length, valid at no time
    source_tables_share_keys  true: with changes from several source tables `_cdc_source_table` is not part of the key
    To change one of these later, run with --full-refresh.
-#}
{%- materialization cdc_history, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes(spark_cdc._target_kind('cdc_history'))) }}
{%- endmaterialization -%}
