{{ config(materialized='cdc_view') }}
-- a guess: id, price, at, day, big, flag (the messages name no type)
-- a guess: nothing (no message has a value)
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='maxwell', table='events', key=['id'],
       columns={
           'id': 'bigint',
           'zip': 'string',
           'price': 'decimal(20,4)',
           'at': 'timestamp_ntz',
           'day': 'date',
           'big': 'decimal(38,0)',
           'flag': 'boolean',
           'nothing': 'string',
           'mixed': 'string',
       }) }}
