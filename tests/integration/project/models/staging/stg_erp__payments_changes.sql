{{ config(materialized='cdc_log') }}
{{ spark_cdc.changes(
    source('raw', 'payments'),
    format='dataworks',
    database='erp',
    table='payments',
    key=['id'],
    columns={'id': 'bigint', 'state': 'string', 'cents': 'bigint'}
) }}
