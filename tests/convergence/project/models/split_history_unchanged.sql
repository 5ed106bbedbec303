{{ config(materialized='cdc_history', unique_key=['id'], keep_unchanged=true) }}
select * from {{ ref('arrived') }}
