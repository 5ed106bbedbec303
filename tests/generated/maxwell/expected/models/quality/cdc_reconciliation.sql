{{ config(materialized='table') }}
{{ spark_cdc.reconciliation(
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
