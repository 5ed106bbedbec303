{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('arrived_whole') }}
