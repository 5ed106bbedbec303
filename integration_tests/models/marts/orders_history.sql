{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('stg_shop__orders_changes') }}
