{{ config(materialized='ephemeral') }}
{{ arrived(whole=true, one_table=true) }}
