{{ config(materialized='cdc_append') }}
{{ spark_cdc.run_summary(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__order_items_changes'),
           ref('stg_crm__orders_changes'),
           ref('stg_crm__page_views_changes'),
       ],
       current=[
           ref('order_items'),
           ref('orders'),
       ]
   ) }}
