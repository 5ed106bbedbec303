{{ config(materialized='cdc_history', unique_key=['id'], track_columns='amount') }}
select * from {{ ref('arrived') }}
