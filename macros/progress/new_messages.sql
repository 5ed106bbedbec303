{#- Rows of `_partitions_to_read` as a relation. -#}
{%- macro _partition_values(partitions) -%}
select * from values
    {%- for row in partitions %}
    (
        {{- spark_cdc._literal_or_null(row.topic) }}, {{ row.partition | int if row.partition is not none else 'null' }}, {# -#}
        cast({{ row.after_offset | int if row.after_offset is not none else 'null' }} as bigint), {# -#}
        cast({{ row.up_to_offset | int }} as bigint), cast({{ row.fingerprint | int }} as bigint), {{ row.has_late_messages }}
    ){{ ',' if not loop.last }}
    {%- endfor %}
    as partitions_to_read(topic, partition, after_offset, up_to_offset, fingerprint, has_late_messages)
{%- endmacro -%}

{#- Condition on the relation's own columns, so that its other files are not read; none if it would be too long. -#}
{%- macro _read_condition(partitions, raw, read_again) -%}
    {%- if not spark_cdc._fit_a_condition(partitions, read_again) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set places = [] -%}
    {%- for row in partitions -%}
        {%- set ranges = row.get('late_ranges') or [] -%}
        {%- set after = [raw.offset ~ ' > ' ~ row.after_offset | int] if row.after_offset is not none else [] -%}
        {%- for range in ranges -%}
            {%- do after.append(raw.offset ~ ' between ' ~ range | join(' and ')) -%}
        {%- endfor -%}
        {%- set reads_all = row.after_offset is none or (row.has_late_messages and not ranges) -%}
        {%- set after = '' if reads_all else ' and ' ~ after[0] if not ranges else ' and (' ~ after | join(' or ') ~ ')' -%}
        {%- do places.append(spark_cdc._is_partition(raw, row) ~ after ~ ' and ' ~ raw.offset ~ ' <= ' ~ row.up_to_offset | int) -%}
    {%- endfor -%}
    {%- for row in read_again -%}
        {%- do places.append(spark_cdc._is_partition(raw, row) ~ ' and ' ~ raw.offset ~ ' = ' ~ row.offset | int) -%}
    {%- endfor -%}
    {{- return(spark_cdc._of_this_run('(' ~ places | join(') or (') ~ ')', raw.offset)) -}}
{%- endmacro -%}

{%- macro _fit_a_condition(partitions, read_again) -%}
    {{- return(partitions | length <= 200 and read_again | length <= 500) -}}
{%- endmacro -%}

{#- Whether that condition selects exactly the new messages. Mostly it does, and nothing has to be joined. -#}
{%- macro _condition_says_all(reading) -%}
    {{- return(
        spark_cdc._fit_a_condition(reading.partitions, []) and not reading.read_again and not spark_cdc._has_late_messages(reading)
    ) -}}
{%- endmacro -%}

{%- macro _is_partition(raw, row) -%}
    {{- return(
        raw.topic ~ ' <=> ' ~ spark_cdc._literal_or_null(row.topic) ~ ' and ' ~ raw.partition ~ ' <=> '
        ~ (row.partition | int if row.partition is not none else 'null')
    ) -}}
{%- endmacro -%}

{#-
    The CTEs after `raw_messages` up to `new_messages`: the messages that `_partitions_to_read` found. `reading` is a mapping:

    partitions      its rows, as `_with_late_ranges` returns them
    positions_read  query of topic, partition, offset and is_reused of the messages read before, to find late-arriving ones.
                    With `counts_copies` also timestamp, and one row for each time: a message that lands again is read again
    values_unread   with `counts_copies`: query of topic, partition, offset, timestamp and value_hash of unreadable messages
    read_again      rows of topic, partition, offset that are read although they were read before
-#}
{%- macro _new_messages_ctes(reading) -%}
    {%- set identity = ['topic', 'partition', 'offset'] + (['timestamp'] if reading.counts_copies else []) -%}
    {%- set raw_position = 'raw_messages.' ~ identity | join(', raw_messages.') -%}
partitions_to_read as (

    {{ spark_cdc._partition_values(reading.partitions) | indent(4) }}

),
{%- if spark_cdc._has_late_messages(reading) %}

positions_read as (

    select {{ identity | join(', ') }}, count(*) as copies, bool_or(is_reused) as is_reused
    from ({{ reading.positions_read | indent(4) }})
    {%- set condition = spark_cdc._read_condition(
        reading.partitions, spark_cdc._raw_columns({}), reading.read_again or []
    ) %}
    {{- '\n    where ' ~ condition if condition }}
    group by {{ identity | join(', ') }}

),

late_arriving_positions as (

    select
        {{ raw_position }}
        {%- if reading.counts_copies %},
        count(*) - coalesce(max(positions_read.copies), 0) as copies
        {%- endif %}
    from raw_messages
    inner join partitions_to_read
        on raw_messages.topic <=> partitions_to_read.topic
        and raw_messages.partition <=> partitions_to_read.partition
        and raw_messages.offset <= partitions_to_read.after_offset
        and partitions_to_read.has_late_messages
    left join positions_read
        on {{ spark_cdc._same('raw_messages', 'positions_read', identity) }}
    group by {{ raw_position }}
    {%- if reading.counts_copies %}
    having copies > 0
    {%- else %}
    having
        max(positions_read.copies) is null
        or (min(raw_messages.timestamp) < max(raw_messages.timestamp) and not bool_or(positions_read.is_reused))
    {%- endif %}

),
{%- if not reading.counts_copies %}

late_arriving_messages as (

    select raw_messages.*
    from raw_messages
    left semi join late_arriving_positions
        on {{ spark_cdc._same('raw_messages', 'late_arriving_positions', identity) }}

),
{%- else %}

values_unread as (

    select {{ identity | join(', ') }}, collect_set(value_hash) as value_hashes
    from ({{ reading.values_unread }})
    group by {{ identity | join(', ') }}

),

late_arriving_messages as (

    select numbered.* except (copy)
    from (
        select
            raw_messages.*,
            row_number() over (
                partition by {{ raw_position }}
                -- of a message that was cut and landed again, whole, the copy that was not read before
                order by
                    coalesce(array_contains(values_unread.value_hashes, xxhash64(cast(raw_messages.value as string))), false),
                    length(raw_messages.value) desc
            ) as copy
        from raw_messages
        left join values_unread
            on {{ spark_cdc._same('raw_messages', 'values_unread', identity) }}
    ) as numbered
    inner join late_arriving_positions
        on {{ spark_cdc._same('numbered', 'late_arriving_positions', identity) }}
        and numbered.copy <= late_arriving_positions.copies

),
{%- endif %}
{%- endif %}

new_messages as (

    select raw_messages.*
    from raw_messages
    inner join partitions_to_read
        on raw_messages.topic <=> partitions_to_read.topic and raw_messages.partition <=> partitions_to_read.partition
    where
        raw_messages.offset <= partitions_to_read.up_to_offset
        and (partitions_to_read.after_offset is null or raw_messages.offset > partitions_to_read.after_offset)
    {%- if spark_cdc._has_late_messages(reading) %}

    union all

    select * from late_arriving_messages
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

{%- macro _has_late_messages(reading) -%}
    {{- return(reading.partitions | selectattr('has_late_messages') | list | length > 0) -}}
{%- endmacro -%}
