{{ config(materialized='cdc_current', unique_key=['id'], origins_share_keys='yes') }}
select * from {{ ref('arrived') }}
