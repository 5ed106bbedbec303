{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    messages=ref('stg_shop__messages'),
    format='canal',
    database='shop',
    table='orders',
    key=['id'],
    columns={'id': 'bigint', 'customer': 'string', 'amount': 'decimal(20,4)', 'placed_at': 'timestamp_ntz'}
) }}
