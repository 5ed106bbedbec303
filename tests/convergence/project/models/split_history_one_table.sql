{{ config(materialized='cdc_history', unique_key=['log', 'id']) }}
select * from {{ ref('arrived_one_table') }}
