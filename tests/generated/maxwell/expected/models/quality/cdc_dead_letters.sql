{{ config(materialized='cdc_view') }}
{{ spark_cdc.dead_letters(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__contacts_changes'),
           ref('stg_crm__events_changes'),
       ]
   ) }}
