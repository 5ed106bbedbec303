{{ config(materialized='cdc_current', unique_key=['order_id', 'line']) }}
select * from {{ ref('stg_crm__order_items_changes') }}
