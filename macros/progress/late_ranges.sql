{#-
    The rows of `_partitions_to_read`, each with `late_ranges`: the ranges of offsets among which its late-arriving messages are.
    A run reads these and what comes after `after_offset`, and no other message of a long topic. `late_ranges` is none if the
    whole partition has to be read, because it has no late-arriving messages or too many ranges of them.

    A range is a block of 10,000 offsets in which `relation` has other messages than were read. If there is none, messages are
    gone from `relation`, and none is late. `reading` has `positions_read` and `counts_copies`, see `_new_messages_ctes`.
-#}
{%- macro _with_late_ranges(partitions, relation, raw_columns, where, reading) -%}
    {%- set late = partitions | selectattr('has_late_messages') | list -%}
    {%- if not late or not spark_cdc._fit_a_condition(partitions, []) -%}
        {{- return(partitions) -}}
    {%- endif -%}
    {%- set most_ranges = 100 -%}
    {%- set found = run_query(
        spark_cdc._step('finding late-arriving messages')
        ~ spark_cdc._different_blocks(late, relation, raw_columns, where, reading) ~ ' limit ' ~ (most_ranges + 1)
    ).rows -%}
    {%- set narrowed = [] -%}
    {%- for partition in partitions -%}
        {%- set ranges = [] -%}
        {%- for row in found if partition.has_late_messages and (row[0], row[1]) == (partition.topic, partition.partition) -%}
            {%- do ranges.append([row[2] | int, row[3] | int]) -%}
        {%- endfor -%}
        {%- if partition.has_late_messages and found | length <= most_ranges -%}
            {%- do narrowed.append(dict(partition, late_ranges=ranges, has_late_messages=ranges | length > 0)) -%}
        {%- else -%}
            {%- do narrowed.append(partition) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(narrowed) -}}
{%- endmacro -%}

{#-
    Query: topic, partition, first_offset and last_offset of the blocks that differ. If copies count, both sides have one row a
    message, and two sums say whether they are the same. A changes model has several rows of one message, and reads no copy: its
    offsets are compared, each once, and a block with copies always differs.
-#}
{%- macro _different_blocks(late, relation, raw_columns, where, reading) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set timestamp = 'timestamp' if reading.counts_copies else '0' -%}
    select topic, partition, block * 10000 as first_offset, block * 10000 + 9999 as last_offset
    from (
        select
            topic,
            partition,
            offset div 10000 as block,
            side,
            {{ spark_cdc._message_fingerprint('offset', timestamp) }} as fingerprint,
            {{ '1' if reading.counts_copies else 'count(*)' }} as copies
        from (
            select
                'raw' as side, {{ raw.topic }} as topic, {{ raw.partition }} as partition, {{ raw.offset }} as offset,
                {{ raw.timestamp if reading.counts_copies else '0' }} as timestamp
            from {{ relation }}
            {{- ' where ' ~ where if where }}

            union all

            select 'read' as side, topic, partition, offset, {{ timestamp }} as timestamp
            from ({{ reading.positions_read }}) as positions_read
        ) as positions
        where
            {%- for row in late %}
            {%- set is_partition = spark_cdc._is_partition({'topic': 'topic', 'partition': 'partition'}, row) %}
            {{ 'or ' if not loop.first }}({{ is_partition }} and offset <= {{ row.after_offset | int }})
            {%- endfor %}
        {{- ' group by topic, partition, offset, side' if not reading.counts_copies }}
    ) as blocks
    group by topic, partition, block
    having
        count_if(side = 'raw') > 0
        and (
            coalesce(sum(fingerprint) filter (where side = 'raw'), 0) <> coalesce(sum(fingerprint) filter (where side = 'read'), 0)
            or max(copies) filter (where side = 'raw') > 1
        )
{%- endmacro -%}
