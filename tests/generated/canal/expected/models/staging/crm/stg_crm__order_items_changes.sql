{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='canal', table='order_items', key=['order_id', 'line'],
       columns={'order_id': 'bigint', 'line': 'int', 'sku': 'string', 'quantity': 'bigint'}) }}
