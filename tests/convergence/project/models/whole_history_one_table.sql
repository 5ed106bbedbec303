{{ config(materialized='cdc_history', unique_key=['log', 'id']) }}
{{ arrived(whole=true, one_table=true) }}
