{{ config(materialized='cdc_current', unique_key=['id'], tags=['demo']) }}
select * from {{ ref('stg_example__dataworks_orders_changes') }}
