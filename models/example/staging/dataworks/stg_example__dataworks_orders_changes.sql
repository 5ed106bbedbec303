{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(
    messages=ref('stg_example__dataworks_messages'),
    format='dataworks',
    database='shop',
    table='orders',
    key=['id'],
    columns={
        'id': 'bigint',
        'customer': 'string',
        'amount': 'decimal(20,4)',
        'placed_at': 'timestamp',
        'note': 'binary',
    }
) }}
