{{ config(materialized='cdc_current', unique_key=['id'], hard_deletes='ignore') }}
select * from {{ ref('arrived') }}
