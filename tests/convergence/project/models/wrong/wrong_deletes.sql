{{ config(materialized='cdc_history', unique_key=['id'], hard_deletes='close') }}
select * from {{ ref('arrived') }}
