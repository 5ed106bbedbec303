{{ config(materialized='cdc_current', unique_key=['id'], tags=['demo']) }}
select * from {{ ref('stg_dataworks__orders_changes') }}
