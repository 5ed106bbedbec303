{{ config(materialized='cdc_history', unique_key=['id'], hard_deletes='ignore') }}
select * from {{ ref('arrived') }}
