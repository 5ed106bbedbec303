{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('stg_crm__sales_customers_changes') }}
