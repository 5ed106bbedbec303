{#-
    What a run of an incremental model has to read: per topic and partition, one row with

    after_offset    the highest offset that was read before; null of a partition that is new
    up_to_offset    the highest offset that is there now: what lands while the model runs is for the next run
    fingerprint     of all offsets that are there now
    has_late        true where the offsets up to `after_offset` are not those that were there when they were read: messages
                    have landed behind it, or again, or are gone

    One query over three columns of the relation, which is all that most runs of most tables cost: to plan the model's own
    query takes seconds. `read_before` is a query of topic, partition and `seen`, a struct of offset and fingerprint.
-#}
{%- macro _partitions_to_read(relation, raw_columns, read_before, where=none) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set query -%}
    select
        raw_messages.topic,
        raw_messages.partition,
        max(read_before.seen.offset) as after_offset,
        max(raw_messages.offset) as up_to_offset,
        sum({{ spark_cdc._offset_fingerprint('raw_messages.offset') }}) as fingerprint,
        coalesce(
            coalesce(sum({{ spark_cdc._offset_fingerprint('raw_messages.offset') }})
                filter (where raw_messages.offset <= read_before.seen.offset), 0) <> max(read_before.seen.fingerprint),
            false
        ) as has_late
    from (
        select {{ raw.topic }} as topic, {{ raw.partition }} as partition, {{ raw.offset }} as offset
        from {{ relation }}
        {{- ' where ' ~ where if where }}
    ) as raw_messages
    left join ({{ read_before }}) as read_before
        on raw_messages.topic <=> read_before.topic and raw_messages.partition <=> read_before.partition
    group by raw_messages.topic, raw_messages.partition
    having after_offset is null or up_to_offset > after_offset or has_late
    {%- endset -%}
    {%- set partitions = [] -%}
    {%- for row in run_query(query).rows -%}
        {%- do partitions.append({
            'topic': row[0], 'partition': row[1], 'after_offset': row[2], 'up_to_offset': row[3], 'fingerprint': row[4],
            'has_late': row[5],
        }) -%}
    {%- endfor -%}
    {{- return(partitions) -}}
{%- endmacro -%}

{#- Sums of it tell which offsets were added, and how often; 32 bits each, so that the sum of 2 billion fits a bigint. -#}
{%- macro _offset_fingerprint(offset) -%}
    {{- return('(xxhash64(cast(' ~ offset ~ ' as bigint)) & 4294967295)') -}}
{%- endmacro -%}

{#-
    The CTE `topics_seen`: what the next run has to know of the partitions that this one read, as a map per topic. `source` is
    all of a first build.
-#}
{%- macro _seen_cte(source, reading) -%}
topics_seen as (

    select
        topic,
        map_from_entries(collect_list(struct(
            partition, named_struct('partition', partition, 'offset', up_to_offset, 'fingerprint', fingerprint)
        ))) as partitions
    from {% if reading -%}
    partitions_to_read
    {%- else -%}
    (
        select topic, partition, max(offset) as up_to_offset, sum({{ spark_cdc._offset_fingerprint('offset') }}) as fingerprint
        from {{ source }}
        group by topic, partition
    )
    {%- endif %}
    where partition is not null
    group by topic

)
{%- endmacro -%}

{%- macro _nothing_seen() -%}
    {{- return('cast(null as array<struct<partition: int, offset: bigint, fingerprint: bigint>>)') -}}
{%- endmacro -%}

{#- Rows of `_partitions_to_read` as a relation. -#}
{%- macro _partition_values(partitions) -%}
select * from values
    {%- for row in partitions %}
    (
        {{- spark_cdc._literal_or_null(row.topic) }}, {{ row.partition | int if row.partition is not none else 'null' }}, {# -#}
        cast({{ row.after_offset | int if row.after_offset is not none else 'null' }} as bigint), {# -#}
        cast({{ row.up_to_offset | int }} as bigint), cast({{ row.fingerprint | int }} as bigint), {{ row.has_late }}
    ){{ ',' if not loop.last }}
    {%- endfor %}
    as partitions_to_read(topic, partition, after_offset, up_to_offset, fingerprint, has_late)
{%- endmacro -%}

{#- Condition on the relation's own columns that leaves its other files unread; none where it would grow too long. -#}
{%- macro _read_condition(partitions, raw, read_again) -%}
    {%- if partitions | length > 200 or read_again | length > 500 -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set places = [] -%}
    {%- for row in partitions -%}
        {%- set after = ' and ' ~ raw.offset ~ ' > ' ~ row.after_offset | int if row.after_offset is not none and not row.has_late else '' -%}
        {%- do places.append(spark_cdc._is_partition(raw, row) ~ after ~ ' and ' ~ raw.offset ~ ' <= ' ~ row.up_to_offset | int) -%}
    {%- endfor -%}
    {%- for row in read_again -%}
        {%- do places.append(spark_cdc._is_partition(raw, row) ~ ' and ' ~ raw.offset ~ ' = ' ~ row.offset | int) -%}
    {%- endfor -%}
    {{- return('(' ~ places | join(') or (') ~ ')') -}}
{%- endmacro -%}

{%- macro _is_partition(raw, row) -%}
    {{- return(
        raw.topic ~ ' <=> ' ~ spark_cdc._literal_or_null(row.topic) ~ ' and ' ~ raw.partition ~ ' <=> '
        ~ (row.partition | int if row.partition is not none else 'null')
    ) -}}
{%- endmacro -%}

{%- macro _literal_or_null(text) -%}
    {{- return('cast(null as string)' if text is none else spark_cdc._literal(text)) -}}
{%- endmacro -%}

{#-
    The CTEs from `raw_messages` to `new_messages`: what `_partitions_to_read` found. `reading` is a mapping:

    partitions      its rows
    positions_read  query of topic, partition, offset and is_taken of what was read before, for messages that landed late.
                    With `counts_copies` also of timestamp, a row for each time: what lands again is then read again
    read_again      rows of topic, partition, offset that are read although they were read before
-#}
{%- macro _new_messages_ctes(reading) -%}
    {%- set identity = ['topic', 'partition', 'offset'] + (['timestamp'] if reading.counts_copies else []) -%}
partitions_to_read as (

    {{ spark_cdc._partition_values(reading.partitions) | indent(4) }}

),
{%- if spark_cdc._has_late(reading) %}

positions_read as (

    select {{ identity | join(', ') }}, count(*) as copies, bool_or(is_taken) as is_taken
    from ({{ reading.positions_read | indent(4) }})
    group by {{ identity | join(', ') }}

),

late_positions as (

    select
        {% for name in identity -%}
        raw_messages.{{ name }},
        {% endfor -%}
        count(*){{ ' - coalesce(max(positions_read.copies), 0)' if reading.counts_copies }} as copies
    from raw_messages
    inner join partitions_to_read
        on raw_messages.topic <=> partitions_to_read.topic
        and raw_messages.partition <=> partitions_to_read.partition
        and raw_messages.offset <= partitions_to_read.after_offset
        and partitions_to_read.has_late
    left join positions_read
        on {% for name in identity -%}
        {{ 'and ' if not loop.first }}raw_messages.{{ name }} <=> positions_read.{{ name }}
        {% endfor -%}
    group by raw_messages.{{ identity | join(', raw_messages.') }}
    {%- if reading.counts_copies %}
    having copies > 0
    {%- else %}
    having
        max(positions_read.copies) is null
        or (min(raw_messages.timestamp) < max(raw_messages.timestamp) and not bool_or(positions_read.is_taken))
    {%- endif %}

),

late_messages as (

    select numbered.* except (copy)
    from (
        select *, row_number() over (partition by {{ identity | join(', ') }} order by offset) as copy
        from raw_messages
    ) as numbered
    inner join late_positions
        on {% for name in identity -%}
        {{ 'and ' if not loop.first }}numbered.{{ name }} <=> late_positions.{{ name }}
        {% endfor -%}
        and numbered.copy <= late_positions.copies

),
{%- endif %}

new_messages as (

    select raw_messages.*
    from raw_messages
    inner join partitions_to_read
        on raw_messages.topic <=> partitions_to_read.topic and raw_messages.partition <=> partitions_to_read.partition
    where
        raw_messages.offset <= partitions_to_read.up_to_offset
        and (partitions_to_read.after_offset is null or raw_messages.offset > partitions_to_read.after_offset)
    {%- if spark_cdc._has_late(reading) %}

    union all

    select * from late_messages
    {%- endif %}
    {%- if reading.read_again %}

    union all

    select raw_messages.*
    from raw_messages
    left semi join read_again
        on raw_messages.topic <=> read_again.topic
        and raw_messages.partition <=> read_again.partition
        and raw_messages.offset = read_again.offset
    {%- endif %}

),
{%- endmacro -%}

{%- macro _has_late(reading) -%}
    {{- return(reading.partitions | selectattr('has_late') | list | length > 0) -}}
{%- endmacro -%}

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

{#- When the run began that reads: one value for all that it reads. -#}
{%- macro _batch_started_at() -%}
    {{- return("timestamp'" ~ run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f') ~ " UTC'") -}}
{%- endmacro -%}
