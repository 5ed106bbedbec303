{{ config(materialized='cdc_history', unique_key=['id'], hard_deletes='invalidate') }}
select * from {{ ref('arrived_whole') }}
