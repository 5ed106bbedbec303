{{ config(materialized='cdc_history', unique_key=['id'], track_columns=['id']) }}
select * from {{ ref('arrived') }}
