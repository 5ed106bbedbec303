{{ config(materialized='cdc_current', unique_key=['k1', 'k2'], tags=['demo']) }}
select * from {{ ref('stg_canal__t_pk_changes') }}
