{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('stg_crm__crm_archive_customers_changes') }}
