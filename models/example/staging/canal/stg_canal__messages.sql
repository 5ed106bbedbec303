{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.messages(ref('raw_messages__canal'), format='canal') }}
