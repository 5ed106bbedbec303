{{ config(materialized='cdc_history', unique_key=['id'], keep_unchanged='yes') }}
select * from {{ ref('arrived') }}
