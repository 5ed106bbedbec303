{#-
    The CTE `placed_messages`: `messages` with `is_reused`, true if an older message has the same topic, partition and offset.
    Kafka gives an offset once, so the topic was deleted and recreated, and nobody knows the order between the old topic's
    messages and the new ones. `is_reused` is therefore also true for all later messages of that topic in the same read, in any
    partition and at any offset.
-#}
{%- macro _reused_offsets_ctes(messages, reading) -%}
reused_offsets as (

    select topic, partition, offset, min(timestamp) as first_timestamp, max(timestamp) as last_timestamp
    from (
        select topic, partition, offset, timestamp from raw_messages
        {%- if reading and reading.counts_copies and spark_cdc._has_late_messages(reading) %}
        union all
        -- one that was taken before is still in raw, at that offset or at the one that it was given since
        select topic, partition, offset, timestamp from positions_read where not is_reused
        {%- endif %}
    )
    -- as the join says it of one of the two that read this, so that they share one aggregation
    where offset is not null
    group by topic, partition, offset
    having min(timestamp) < max(timestamp)

),

{#- Mostly there is none, and then Spark removes both joins at run time. #}
recreated_topics as (

    select topic, min(last_timestamp) as recreated_at
    from reused_offsets
    group by topic

),

placed_messages as (

    select /*+ broadcast(reused_offsets, recreated_topics) */
        messages.*,
        coalesce(messages.timestamp > reused_offsets.first_timestamp, false)
            or coalesce(messages.timestamp >= recreated_topics.recreated_at, false) as is_reused
    from {{ messages }} as messages
    left join reused_offsets
        on messages.topic <=> reused_offsets.topic
        and messages.partition <=> reused_offsets.partition
        and messages.offset = reused_offsets.offset
    left join recreated_topics on messages.topic <=> recreated_topics.topic

),
{%- endmacro -%}

{#- False if all messages have offsets after those read before, and no two of them share one. -#}
{%- macro _may_be_reused(reading) -%}
    {{- return(
        not reading or not spark_cdc._condition_says_all(reading)
        or reading.partitions | selectattr('has_copies') | list | length > 0
    ) -}}
{%- endmacro -%}
