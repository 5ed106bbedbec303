{#-
    The rows of `_partitions_to_read`, each with `late_ranges`: the ranges of offsets, first and last, among which its late-arriving
    messages are. A run reads these and what comes after `after_offset`, and no other message of a long topic. `late_ranges` is
    none if the whole partition has to be read: it has no late-arriving messages, or the run would have too many ranges.

    A range is made of blocks of 10,000 offsets in which `relation` has other messages than were read. If there is none, whole
    blocks are gone from `relation`, and no message is late. `reading` is the mapping for `_new_messages_ctes`.
-#}
{%- macro _with_late_ranges(partitions, relation, raw_columns, where, reading) -%}
    {%- set late = partitions | selectattr('has_late_messages') | list -%}
    {%- if not late or not spark_cdc._fit_a_condition(partitions, reading.read_again or []) -%}
        {{- return(partitions) -}}
    {%- endif -%}
    {%- set most_blocks, most_ranges = 2000, 200 -%}
    {%- set blocks = run_query(
        spark_cdc._step('finding late-arriving messages')
        ~ spark_cdc._different_blocks(late, relation, raw_columns, where, reading) ~ ' limit ' ~ (most_blocks + 1)
    ).rows -%}
    {%- if blocks | length > most_blocks -%}
        {{- return(partitions) -}}
    {%- endif -%}
    {%- set narrowed, all_ranges = [], [] -%}
    {%- for partition in partitions -%}
        {%- set ranges = [] -%}
        {%- for row in blocks if partition.has_late_messages and (row[0], row[1]) == (partition.topic, partition.partition) -%}
            {%- set first = row[2] | int -%}
            {%- if ranges and ranges[-1][1] + 1 == first -%}
                {%- do ranges.append([ranges.pop()[0], first + 9999]) -%}
            {%- else -%}
                {%- do ranges.append([first, first + 9999]) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- do all_ranges.extend(ranges) -%}
        {%- do narrowed.append(
            dict(partition, late_ranges=ranges, has_late_messages=ranges | length > 0) if partition.has_late_messages else partition
        ) -%}
    {%- endfor -%}
    {{- return(narrowed if all_ranges | length <= most_ranges else partitions) -}}
{%- endmacro -%}

{#-
    Query: topic, partition and first offset of the blocks that differ. If copies count, both sides have one row a message, and
    two sums say whether they are the same. A changes model has several rows of one message, and reads no copy: its offsets are
    compared, each once, and a block with copies always differs. So does a block with messages of a recreated topic: what else is
    rejected with them depends on all of them.
-#}
{%- macro _different_blocks(late, relation, raw_columns, where, reading) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set timestamp = 'timestamp' if reading.counts_copies else '0' -%}
    select topic, partition, first_offset
    from (
        select
            topic,
            partition,
            offset - pmod(offset, 10000) as first_offset,
            side,
            {{ spark_cdc._message_fingerprint('offset', timestamp) }} as fingerprint,
            {{ '1' if reading.counts_copies else 'count(*)' }} as copies,
            {{ 'is_reused' if reading.counts_copies else 'bool_or(is_reused)' }} as is_reused
        from (
            select
                'raw' as side,
                {{ raw.topic }} as topic,
                {{ raw.partition }} as partition,
                {{ raw.offset }} as offset,
                {{ raw.timestamp if reading.counts_copies else '0' }} as timestamp,
                false as is_reused
            from {{ relation }}
            {{- ' where ' ~ where if where }}

            union all

            select 'read' as side, topic, partition, offset, {{ timestamp }} as timestamp, is_reused
            from ({{ reading.positions_read }}) as positions_read
        ) as positions
        where
            {%- for row in late %}
            {%- set is_partition = spark_cdc._is_partition({'topic': 'topic', 'partition': 'partition'}, row) %}
            {{ 'or ' if not loop.first }}({{ is_partition }} and offset <= {{ row.after_offset | int }})
            {%- endfor %}
        {{- ' group by topic, partition, offset, side' if not reading.counts_copies }}
    ) as blocks
    group by topic, partition, first_offset
    having
        count_if(side = 'raw') > 0
        and (
            coalesce(sum(fingerprint) filter (where side = 'raw'), 0) <> coalesce(sum(fingerprint) filter (where side = 'read'), 0)
            or max(copies) filter (where side = 'raw') > 1
            or bool_or(is_reused)
        )
    order by topic, partition, first_offset
{%- endmacro -%}
