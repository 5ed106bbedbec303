{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('stg_crm__contacts_changes') }}
