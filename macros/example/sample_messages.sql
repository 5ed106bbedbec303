{#- Replaces a Kafka sink: lands the lines of a file of sample messages that have not landed yet. -#}
{%- macro sample_messages(file) -%}
with lines as (

    select from_json(
        value,
        'topic string, partition int, offset bigint, timestamp bigint, key string, value string, headers array<array<string>>'
    ) as line
    from {{ file }}

)

select
    line.topic,
    line.partition,
    line.offset,
    timestamp_millis(line.timestamp) as timestamp,
    line.key,
    line.value,
    transform(line.headers, header -> named_struct('key', header[0], 'value', cast(header[1] as binary))) as headers
from lines
{%- if is_incremental() %}
left anti join {{ this }} as landed
    on lines.line.topic = landed.topic
    and lines.line.partition = landed.partition
    and lines.line.offset = landed.offset
{%- endif %}
{%- endmacro -%}
