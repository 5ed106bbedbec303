{{ config(materialized='cdc_current', unique_key=['k1', 'k2'], tags=['demo']) }}
select * from {{ ref('stg_example__canal_t_pk_changes') }}
