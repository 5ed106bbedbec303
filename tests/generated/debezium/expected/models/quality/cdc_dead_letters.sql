{{ config(materialized='cdc_view') }}
{{ spark_cdc.dead_letters(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__archive_customers_changes'),
           ref('stg_crm__sales_customers_changes'),
           ref('stg_crm__visits_changes'),
       ]
   ) }}
