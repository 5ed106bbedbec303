{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.messages(ref('raw_profiles'), format='debezium', raw_columns={'headers': 'headers'}) }}
