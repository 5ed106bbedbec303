{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(
    messages=ref('stg_example__debezium_messages'),
    format='debezium',
    schema='public',
    table='t_pk_full',
    key=['k1', 'k2'],
    columns={'k1': 'string', 'k2': 'int', 'v': 'string', 'n': 'decimal(10,2) from base64'}
) }}
