{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('stg_erp__payments_changes') }}
