{{ config(materialized='cdc_append', on_schema_change='sync_all_columns') }}
{{ spark_cdc.changes(
    messages=ref('stg_messages'),
    format='debezium',
    schema='public',
    table='profiles',
    key=['id'],
    columns=var('columns', {'id': 'bigint', 'name': 'string', 'bio': 'string'})
) }}
