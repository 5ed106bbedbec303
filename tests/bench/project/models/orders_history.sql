{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('orders_changes') }}
