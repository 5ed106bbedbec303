{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(ref('raw_profiles'), format='debezium', raw_columns={'headers': 'headers'}) }}
