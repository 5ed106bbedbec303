{{ config(materialized='cdc_append') }}
{{ spark_cdc.run_summary(
       messages=[ref('stg_crm__messages')],
       changes=[
           ref('stg_crm__contacts_changes'),
           ref('stg_crm__events_changes'),
       ],
       current=[
           ref('contacts'),
           ref('events'),
       ]
   ) }}
