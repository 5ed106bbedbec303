{{ config(materialized='cdc_current', unique_key=['id'], source_tables_share_keys='yes') }}
select * from {{ ref('arrived') }}
