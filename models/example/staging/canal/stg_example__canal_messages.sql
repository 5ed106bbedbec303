{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.messages(ref('example__raw_canal'), format='canal') }}
