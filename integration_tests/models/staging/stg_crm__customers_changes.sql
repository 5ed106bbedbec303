{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    source('raw', 'customers'),
    format='debezium',
    schema='public',
    table='customers',
    key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'bio': 'string'},
    raw_columns={'headers': 'headers'}
) }}
