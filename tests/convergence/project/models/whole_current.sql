{{ config(materialized='cdc_current', unique_key=['id']) }}
{{ arrived(whole=true) }}
