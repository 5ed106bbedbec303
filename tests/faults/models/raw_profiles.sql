{#- A landing model: what the broker has behind the highest offset that has landed. The broker is a file. -#}
{{ config(
    materialized='incremental',
    incremental_strategy='append',
    pre_hook="create or replace temporary view broker (
        topic string, `partition` int, `offset` bigint, key string, value string,
        headers array<struct<key: string, value: string>>
    ) using json options (path '" ~ env_var('SHOP_BROKER', 'broker.json') ~ "')"
) }}
select
    broker.topic,
    broker.`partition`,
    broker.`offset`,
    timestamp'2026-01-01 00:00:00 UTC' as timestamp,
    unbase64(broker.key) as key,
    unbase64(broker.value) as value,
    transform(headers, header -> named_struct('key', header.key, 'value', unbase64(header.value))) as headers
from broker
{% if is_incremental() -%}
left join (
    select `partition`, max(`offset`) as `offset` from {{ this }} group by `partition`
) as landed on broker.`partition` = landed.`partition`
where landed.`offset` is null or broker.`offset` > landed.`offset`
{%- endif %}
