{{ config(materialized='cdc_current', unique_key=['id'], on_schema_change='sync_all_columns') }}
select * from {{ ref('stg_profiles_changes') }}
