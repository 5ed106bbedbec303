{{ config(materialized='incremental', incremental_strategy='append') }}
{{ sample_messages(source('kafka', 'canal_mysql')) }}
