{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(ref('example__raw_dataworks'), format='dataworks') }}
