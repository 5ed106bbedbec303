{{ config(materialized='ephemeral') }}
{{ arrived(whole=true) }}
