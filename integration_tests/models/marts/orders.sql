{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('stg_shop__orders_changes') }}
