{{ config(materialized='cdc_history', unique_key=['id']) }}
{{ arrived() }}
