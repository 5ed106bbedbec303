{{ config(materialized='cdc_history', unique_key=['id'], tags=['demo']) }}
select * from {{ ref('stg_dataworks__orders_changes') }}
