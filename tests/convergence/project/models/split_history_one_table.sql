{{ config(materialized='cdc_history', unique_key=['log', 'id']) }}
{{ arrived(one_table=true) }}
