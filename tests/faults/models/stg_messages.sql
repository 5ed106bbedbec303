{{ config(materialized='cdc_log') }}
{{ spark_cdc.messages(ref('raw_profiles'), format='debezium', raw_columns={'headers': 'headers'}) }}
