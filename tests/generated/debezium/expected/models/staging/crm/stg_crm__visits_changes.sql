{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='debezium', table='visits', key=['id'],
       columns={'id': 'bigint', 'seen_at': 'timestamp', 'is_open': 'boolean'}) }}
