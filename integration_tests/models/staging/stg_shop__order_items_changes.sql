{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    messages=ref('stg_shop__messages'),
    format='canal',
    database='shop',
    table='order_items',
    key=['order_id', 'line'],
    columns={'order_id': 'bigint', 'line': 'int', 'sku': 'string', 'quantity': 'int'}
) }}
