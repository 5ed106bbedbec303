{#-
    The messages that an incremental run has to read: one row for each topic and partition with

    after_offset    the highest offset that was read before; null for a new partition
    up_to_offset    the highest offset now: messages that land while the model runs are for the next run
    fingerprint     of all messages that the partition has now
    has_late_messages  true if the messages up to `after_offset` are not those of the earlier read: some landed later, landed
                    again, or are gone
    messages        the number of messages after `after_offset`
    has_copies      true if two of the messages after `after_offset` have one offset; with `finds_copies`

    One query over four columns of the relation is the whole cost of most runs of most tables; planning the model's own query
    takes seconds. `read_before` is the result of `_positions_read_before`; if it says that the relation did not change, there
    is no query.
-#}
{%- macro _partitions_to_read(relation, raw_columns, read_before, where=none, finds_copies=true) -%}
    {%- if read_before.has_all -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set is_behind = 'read_before.offset is null or raw_messages.offset > read_before.offset' -%}
    {%- set query -%}
    {{ spark_cdc._step('finding new messages') }}
    select
        raw_messages.topic,
        raw_messages.partition,
        max(read_before.offset) as after_offset,
        max(raw_messages.offset) as up_to_offset,
        sum(raw_messages.fingerprint) as fingerprint,
        coalesce(
            coalesce(sum(raw_messages.fingerprint) filter (where raw_messages.offset <= read_before.offset), 0)
                <> max(read_before.fingerprint),
            false
        ) as has_late_messages,
        count(raw_messages.offset) filter (where {{ is_behind }}) as messages
        {%- if finds_copies %},
        count(raw_messages.offset) filter (where {{ is_behind }})
            > count(distinct case when {{ is_behind }} then raw_messages.offset end) as has_copies
        {%- endif %}
    from (
        select
            {{ raw.topic }} as topic,
            {{ raw.partition }} as partition,
            {{ raw.offset }} as offset,
            {{ spark_cdc._message_fingerprint(raw.offset, raw.timestamp) }} as fingerprint
        from {{ relation }}
        {{- ' where ' ~ where if where }}
    ) as raw_messages
    left join ({{ read_before.query }}) as read_before
        on raw_messages.topic <=> read_before.topic and raw_messages.partition <=> read_before.partition
    group by raw_messages.topic, raw_messages.partition
    having after_offset is null or up_to_offset > after_offset or has_late_messages
    {%- endset -%}
    {%- set partitions = [] -%}
    {%- for row in run_query(query).rows -%}
        {%- do partitions.append({
            'topic': row[0], 'partition': row[1], 'after_offset': row[2], 'up_to_offset': row[3], 'fingerprint': row[4],
            'has_late_messages': row[5], 'messages': row[6] | int, 'has_copies': finds_copies and row[7],
        }) -%}
    {%- endfor -%}
    {{- return(partitions) -}}
{%- endmacro -%}

{#- The number of messages that a run reads; none if late-arriving ones are among them, which its own query finds. -#}
{%- macro _number_of_messages(partitions) -%}
    {{- return(
        none if partitions | selectattr('has_late_messages') | list else partitions | map(attribute='messages') | sum
    ) -}}
{%- endmacro -%}

{#-
    Sums of it show which messages were added, and how often. It has 32 bits, so that the sum of 2 billion fits a bigint. It
    includes the timestamp, because a recreated topic has the offsets of the old one, which raw may no longer hold.
-#}
{%- macro _message_fingerprint(offset, timestamp) -%}
    {{- return('(xxhash64(cast(' ~ offset ~ ' as bigint), ' ~ timestamp ~ ') & 4294967295)') -}}
{%- endmacro -%}

{#-
    The CTE `topics_read`: the state of the partitions that this run read, for the next run, as a map per topic. A first build
    reads all of `source`. The values are JSON texts: a lake reads such a column many times faster than a column of structs.
-#}
{%- macro _read_positions_cte(source, reading) -%}
topics_read as (

    select
        topic,
        map_from_entries(collect_list(struct(
            partition, to_json(struct(partition, up_to_offset as offset, fingerprint))
        ))) as partitions
    from {% if reading -%}
    partitions_to_read
    {%- else -%}
    (
        select
            topic,
            partition,
            max(offset) as up_to_offset,
            sum({{ spark_cdc._message_fingerprint('offset', 'timestamp') }}) as fingerprint
        from {{ source }}
        group by topic, partition
    )
    {%- endif %}
    where partition is not null
    group by topic

)
{%- endmacro -%}

{#- Whether that CTE is needed: if a run reads few partitions, their state is a literal in its query. -#}
{%- macro _joins_read_positions(is_kept, reading) -%}
    {{- return(is_kept and not (reading and spark_cdc._condition_says_all(reading))) -}}
{%- endmacro -%}

{#- The state of a topic's partitions for the next run, as a map of texts. -#}
{%- macro _partitions_read(topic, reading) -%}
    {%- if spark_cdc._joins_read_positions(true, reading) -%}
        {{- return('topics_read.partitions') -}}
    {%- endif -%}
    {%- set topics = {} -%}
    {%- for row in reading.partitions if row.partition is not none -%}
        {%- set text = '{"partition":' ~ row.partition | int ~ ',"offset":' ~ row.up_to_offset | int ~ ',"fingerprint":'
            ~ row.fingerprint | int ~ '}' -%}
        {%- do topics.setdefault(row.topic, []).append(row.partition | int ~ ', ' ~ spark_cdc._literal(text)) -%}
    {%- endfor -%}
    {%- set cases = ['when false then map(0, \'\')'] -%}
    {%- for name, entries in topics.items() -%}
        {%- do cases.append(
            'when ' ~ topic ~ ' <=> ' ~ spark_cdc._literal_or_null(name) ~ ' then map(' ~ entries | join(', ') ~ ')'
        ) -%}
    {%- endfor -%}
    {{- return('(case ' ~ cases | join(' ') ~ ' end)') -}}
{%- endmacro -%}

{#- `_cdc_read_positions` and `read_positions`: written from the texts of some partitions, and read. -#}
{%- macro _as_read_positions(texts) -%}
    {{- return("concat('[', " ~ texts ~ ", ']')") -}}
{%- endmacro -%}

{%- macro _read_positions(column) -%}
    {{- return('from_json(' ~ column ~ ", 'array<struct<partition: int, offset: bigint, fingerprint: bigint>>')") -}}
{%- endmacro -%}
