{{ config(materialized='cdc_log') }}
{{ spark_cdc.messages(source('raw', 'messages'), format='canal') }}
