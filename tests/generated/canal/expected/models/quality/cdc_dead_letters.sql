{{ config(materialized='cdc_view') }}
{{ spark_cdc.dead_letters(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__order_items_changes'),
           ref('stg_crm__orders_changes'),
           ref('stg_crm__page_views_changes'),
       ]
   ) }}
