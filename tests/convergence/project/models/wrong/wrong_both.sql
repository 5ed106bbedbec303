{{ config(materialized='cdc_history', unique_key=['id'], track_columns=['amount'], keep_unchanged=true) }}
select * from {{ ref('arrived') }}
