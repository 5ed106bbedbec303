{{ config(materialized='cdc_landing') }}
{{ spark_cdc.file_messages(path='captured') }}
