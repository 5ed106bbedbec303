{{ config(materialized='ephemeral') }}
{{ arrived(one_table=true) }}
