{{ config(materialized='cdc_current', unique_key=['log', 'id']) }}
{{ arrived(whole=true, one_table=true) }}
