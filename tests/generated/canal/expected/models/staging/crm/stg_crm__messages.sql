{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(source('crm', 'raw'), format='canal') }}
