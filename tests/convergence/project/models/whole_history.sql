{{ config(materialized='cdc_history', unique_key=['id']) }}
select * from {{ ref('arrived_whole') }}
