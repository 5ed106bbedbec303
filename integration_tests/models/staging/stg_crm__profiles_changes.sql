{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(
    source('raw', 'profiles'),
    format='debezium',
    schema='public',
    table='profiles',
    key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'bio': 'string'},
    raw_columns={'headers': 'headers'}
) }}
