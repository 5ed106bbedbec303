{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    source('raw', 'orders'), format='canal', table='orders', key=['id'],
    columns={
        'id': 'bigint', 'customer': 'string', 'amount': 'decimal(20,4)', 'note': 'string', 'size': 'int',
        'placed_at': 'timestamp_ntz'
    }
) }}
