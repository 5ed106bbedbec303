{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(source('raw', 'messages'), format='canal') }}
