{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.messages(source('raw', 'messages'), format='canal') }}
