{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(
    messages=ref('stg_example__canal_messages'),
    format='canal',
    database='cdc',
    table='t_pk',
    key=['k1', 'k2'],
    columns={'k1': 'string', 'k2': 'int', 'n': 'decimal(20,4)'}
) }}
