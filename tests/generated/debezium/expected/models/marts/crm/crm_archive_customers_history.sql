{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('stg_crm__crm_archive_customers_changes') }}
