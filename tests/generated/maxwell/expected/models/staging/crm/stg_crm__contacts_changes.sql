{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='maxwell', table='contacts', key=['id'],
       columns={'id': 'bigint', 'name': 'string', 'balance': 'decimal(14,3)', 'since': 'date'}) }}
