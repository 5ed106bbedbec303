{#-
    Raw messages -> the same messages with their envelope read. Every macro that reads raw messages calls this one.

    Returns the text of the CTEs: `raw_messages`, with `reading` those up to `new_messages`, then those of `_envelopes_of`. The
    caller adds its own `select`. `leaves_out` names columns of `_header_columns` that the caller does not read. With
    `finds_reused_offsets` a message is an error if an older message has its offset. With `names_sequence` there is the column
    `sequence_names` too, see `_format`. `where` is a condition on the relation.
-#}
{%- macro _raw_envelopes(
    relation, fmt, raw_columns, reading=none, leaves_out=[], finds_reused_offsets=false, names_sequence=false, where=none
) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set is_joined = reading and not spark_cdc._condition_says_all(reading) -%}
    {%- set messages = 'new_messages' if is_joined else 'raw_messages' -%}
    {%- set finds_reused_offsets = finds_reused_offsets and spark_cdc._may_be_reused(reading) -%}
    {%- set condition = spark_cdc._read_condition(reading.partitions, raw, reading.read_again) if reading -%}
raw_messages as (

    select
        {{ raw.topic }} as topic,
        {{ raw.partition }} as partition,
        {{ raw.offset }} as offset,
        {{ raw.timestamp }} as timestamp,
        cast({{ raw.key }} as string) as key,
        {{ raw.value if fmt.header.document else 'cast(' ~ raw.value ~ ' as string)' }} as value,
        {{ raw.headers or "cast(null as array<struct<key: string, value: binary>>)" }} as headers
    from {{ relation }}
    {%- for condition in [where, condition] | select %}
    {{ 'where' if loop.first else 'and' }} ({{ condition }})
    {%- endfor %}

),

{% if is_joined -%}
{{ spark_cdc._new_messages_ctes(reading) }}

{% endif -%}
{% if finds_reused_offsets -%}
{{ spark_cdc._reused_offsets_ctes(messages, reading) }}

{% endif -%}
{{ spark_cdc._envelopes_of(
    'placed_messages' if finds_reused_offsets else messages, fmt, leaves_out, finds_reused_offsets, names_sequence
) }}
{%- endmacro -%}
