{#-
    The CTE `placed_messages`: `messages` with `is_taken`, true of a message that stands at a topic, partition and offset where
    an older one stands. Kafka gives an offset once: the topic was deleted and made anew, and where its messages belong
    among those of the old topic is not told. So it is of later messages of that partition at offsets that the old topic had left
    out, below those that it is known to have had.
-#}
{%- macro _taken_offsets_ctes(messages, reading) -%}
{%- set has_late = reading and spark_cdc._has_late(reading) %}
taken_offsets as (

    select topic, partition, offset, min(timestamp) as first_timestamp, max(timestamp) as last_timestamp
    from (
        select topic, partition, offset, timestamp from raw_messages
        {%- if has_late and reading.counts_copies %}
        union all
        -- one that was taken before is still in raw, at that offset or at the one that it was given since
        select topic, partition, offset, timestamp from positions_read where not is_taken
        {%- endif %}
    )
    -- as the join says it of one of the two that read this, so that they share one aggregation
    where offset is not null
    group by topic, partition, offset
    having min(timestamp) < max(timestamp)

),

{#- Mostly there is none, and Spark leaves out both joins while it runs. #}
partitions_made_anew as (

    select
        taken_offsets.topic,
        taken_offsets.partition,
        min(taken_offsets.last_timestamp) as made_anew_at,
        {%- if has_late %}
        greatest(max(taken_offsets.offset), max(partitions_to_read.after_offset)) as last_offset
        {%- else %}
        max(taken_offsets.offset) as last_offset
        {%- endif %}
    from taken_offsets
    {%- if has_late %}
    left join partitions_to_read
        on taken_offsets.topic <=> partitions_to_read.topic and taken_offsets.partition <=> partitions_to_read.partition
    {%- endif %}
    group by taken_offsets.topic, taken_offsets.partition

),

placed_messages as (

    select /*+ broadcast(taken_offsets, partitions_made_anew) */
        messages.*,
        coalesce(messages.timestamp > taken_offsets.first_timestamp, false)
            or coalesce(
                messages.timestamp >= partitions_made_anew.made_anew_at and messages.offset <= partitions_made_anew.last_offset, false
            ) as is_taken
    from {{ messages }} as messages
    left join taken_offsets
        on messages.topic <=> taken_offsets.topic
        and messages.partition <=> taken_offsets.partition
        and messages.offset = taken_offsets.offset
    left join partitions_made_anew
        on messages.topic <=> partitions_made_anew.topic and messages.partition <=> partitions_made_anew.partition

),
{%- endmacro -%}
