{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('stg_crm__contacts_changes') }}
