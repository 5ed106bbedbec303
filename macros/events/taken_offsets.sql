{#-
    The CTE `placed_messages`: `messages` with `is_taken`, true of a message that stands at a topic, partition and offset where
    an older one stands. Kafka gives an offset once: the topic was deleted and made anew, and where its messages belong
    among those of the old topic is not told.
-#}
{%- macro _taken_offsets_ctes(messages, reading) -%}
taken_offsets as (

    select topic, partition, offset, min(timestamp) as first_timestamp
    from (
        select topic, partition, offset, timestamp from raw_messages
        {%- if reading and reading.counts_copies and spark_cdc._has_late(reading) %}
        union all
        select topic, partition, offset, timestamp from positions_read
        {%- endif %}
    )
    group by topic, partition, offset
    having min(timestamp) < max(timestamp)

),

placed_messages as (

    select /*+ broadcast(taken_offsets) */
        messages.*,
        coalesce(messages.timestamp > taken_offsets.first_timestamp, false) as is_taken
    from {{ messages }} as messages
    left join taken_offsets
        on messages.topic <=> taken_offsets.topic
        and messages.partition <=> taken_offsets.partition
        and messages.offset = taken_offsets.offset

),
{%- endmacro -%}
