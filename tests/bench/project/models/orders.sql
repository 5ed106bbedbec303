{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('orders_changes') }}
