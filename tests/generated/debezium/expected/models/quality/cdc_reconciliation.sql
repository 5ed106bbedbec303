{{ config(materialized='table') }}
{{ spark_cdc.reconciliation(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__crm_archive_customers_changes'),
           ref('stg_crm__crm_sales_customers_changes'),
           ref('stg_crm__visits_changes'),
       ],
       current=[
           ref('crm_archive_customers'),
           ref('crm_sales_customers'),
           ref('visits'),
       ]
   ) }}
