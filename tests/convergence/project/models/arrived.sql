{{ config(materialized='ephemeral') }}
{{ arrived() }}
