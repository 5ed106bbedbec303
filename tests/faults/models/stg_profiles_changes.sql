{{ config(materialized='cdc_log') }}
{{ spark_cdc.changes(
    messages=ref('stg_messages'),
    format='debezium',
    schema='public',
    table='profiles',
    key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'bio': 'string'}
) }}
