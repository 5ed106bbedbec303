{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='debezium', schema='archive', table='customers',
       key=['id'],
       columns={
           'id': 'int',
           'name': 'string',
           'credit': 'decimal(38,2)',
           'created_at': 'timestamp_ntz',
           'born_on': 'date',
           'tags': 'string',
       }) }}
