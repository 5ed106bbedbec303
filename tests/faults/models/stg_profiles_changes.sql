{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.changes(
    messages=ref('stg_messages'),
    format='debezium',
    schema='public',
    table='profiles',
    key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'bio': 'string'}
) }}
