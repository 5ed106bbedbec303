{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.messages(ref('raw_messages__dataworks'), format='dataworks') }}
