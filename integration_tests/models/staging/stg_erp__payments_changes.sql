{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    source('raw', 'payments'),
    format='dataworks',
    database='erp',
    table='payments',
    key=['id'],
    columns={'id': 'bigint', 'state': 'string', 'cents': 'bigint'}
) }}
