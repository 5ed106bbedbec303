{{ config(materialized='cdc_history', unique_key=['k1', 'k2'], tags=['demo']) }}
select * from {{ ref('stg_example__debezium_t_pk_full_changes') }}
