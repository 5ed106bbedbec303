{{ config(materialized='incremental', incremental_strategy='append') }}
{{ sample_messages('canal') }}
