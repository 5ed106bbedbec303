{{ config(materialized='cdc_view') }}
-- a guess: paid_on (a value does not fit the type that the source names)
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='canal', table='orders', key=['id'],
       columns={
           'id': 'bigint',
           'customer_id': 'decimal(20,0)',
           'amount': 'decimal(12,2)',
           'placed_at': 'timestamp_ntz',
           'paid_on': 'string',
           'note': 'string',
       }) }}
