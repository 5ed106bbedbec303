{{ config(materialized='cdc_append') }}
{{ spark_cdc.run_summary(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__archive_customers_changes'),
           ref('stg_crm__sales_customers_changes'),
           ref('stg_crm__visits_changes'),
       ],
       current=[
           ref('archive_customers'),
           ref('sales_customers'),
           ref('visits'),
       ]
   ) }}
