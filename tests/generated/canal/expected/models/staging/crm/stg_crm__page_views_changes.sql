{{ config(materialized='cdc_view') }}
-- no key is known: name columns that identify a row before you build tables
{{ spark_cdc.changes(messages=ref('stg_crm__messages'), format='canal', table='page_views', key=[],
       columns={'url': 'string', 'seen_at': 'timestamp_ntz'}) }}
