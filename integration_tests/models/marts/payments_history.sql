{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('stg_erp__payments_changes') }}
