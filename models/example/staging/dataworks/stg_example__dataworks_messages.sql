{{ config(materialized='cdc_log') }}
{{ spark_cdc.messages(ref('example__raw_dataworks'), format='dataworks') }}
