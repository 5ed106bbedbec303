{{ config(materialized='cdc_current', unique_key=['log', 'id']) }}
{{ arrived(one_table=true) }}
