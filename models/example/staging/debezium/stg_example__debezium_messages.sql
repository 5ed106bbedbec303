{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(
    ref('example__raw_debezium'),
    format='debezium',
    raw_columns={'headers': 'headers'}
) }}
