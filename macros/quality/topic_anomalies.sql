{#-
    One row for each anomaly in the messages of a topic: topic, partition, anomaly, offset, advice (what happened, and the next
    command or line), acknowledge (the text for `acknowledged` of `topics_intact`, once the anomaly is settled).

    recreated        messages reuse offsets of earlier messages, or came with such messages: see the error code offset_reused. Or a
                     later run than for all others of their partition read them, and they have later timestamps but lower offsets. A
                     topic recreated once more is another anomaly: the advice adds 1,000,000,000 to the offsets each time, and the
                     space between two such steps is not an offset gap
    partition_added  a partition whose first message was read in a later run than the topic's first. Its messages are read, but a
                     key may have moved to it, and offsets do not order changes of two partitions
    offset_gap       offsets between the messages of two runs were never read: they were deleted before they were landed, mostly by
                     retention. Kafka itself leaves gaps, for transactions and compaction. So a gap counts only if it is wider than
                     one offset and than all earlier gaps of its topic between messages of one run
    position_back    a row has a lower position in the source's log than a message of its key, or a truncate of its table, at an
                     earlier offset; the row loses against that message. The source's log was replaced, reset or restored. Rows that
                     a restarted connector sends again do not count: an earlier message has their position and second. They do count
                     if the first copy was unreadable or was pruned. One anomaly per partition: the first such message

    messages  list of models made by `messages`, as `cdc_append`: their column `loaded_at` shows which run read a message
-#}
{%- macro topic_anomalies(messages=none) -%}
    {%- do spark_cdc._require_arguments('topic_anomalies', varargs, kwargs, ['messages']) -%}
    {%- do spark_cdc._require_relations('topic_anomalies', {'messages': messages}) -%}
    {{- return(adapter.dispatch('topic_anomalies', 'spark_cdc')(messages)) -}}
{%- endmacro -%}

{%- macro default__topic_anomalies(messages) -%}
    {%- do spark_cdc._only_spark('topic_anomalies') -%}
{%- endmacro -%}

{%- macro spark__topic_anomalies(messages) -%}
with messages as (

    {%- for relation in messages %}
    select
        topic,
        partition,
        offset,
        timestamp,
        loaded_at,
        error,
        key,
        format,
        kind,
        database_name,
        schema_name,
        table_name,
        sequence,
        committed_at
    from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

first_readings as (

    select topic, partition, offset, min(loaded_at) as loaded_at
    from messages
    group by topic, partition, offset

),

neighbours as (

    select
        topic,
        partition,
        offset,
        loaded_at,
        -- no named window: Spark does not find it where the model is a view
        lag(offset) over (partition by topic, partition order by offset) as previous_offset,
        lag(loaded_at) over (partition by topic, partition order by offset) as previous_loaded_at,
        greatest(loaded_at, lag(loaded_at) over (partition by topic, partition order by offset)) as last_loaded_at
    from first_readings

),

own_gaps as (

    select topic, last_loaded_at, max(width) over (partition by topic order by last_loaded_at) as width
    from (
        select
            topic,
            last_loaded_at,
            greatest(max(case
                when loaded_at = previous_loaded_at and {{ spark_cdc._step_of('offset') }} = {{ spark_cdc._step_of('previous_offset') }}
                    then offset - previous_offset - 1
            end), 1) as width
        from neighbours
        group by topic, last_loaded_at
    )

),

partitions as (

    select
        topic,
        partition,
        min(loaded_at) as loaded_at,
        min(offset) as offset,
        min(min(loaded_at)) over (partition by topic) as first_loaded_at
    from first_readings
    group by topic, partition

),

added_partitions as (

    select
        topic,
        partition,
        'partition_added' as anomaly,
        offset,
        concat(
            'Partition ', partition, ' of topic ', topic, ' was first read at ', loaded_at, ', later than the topic: it was added, ',
            'and is read. ',
            case when offset % 1000000000 > 0 then concat(
                'Its first message has offset ', offset, ': if the partition was new, those before it were never read. '
            ) else '' end,
            'Where the format is ordered by offset, test its changes models with spark_cdc.one_partition_per_key.'
        ) as advice
    from partitions
    where loaded_at > first_loaded_at

),

runs as (

    select
        topic,
        partition,
        loaded_at,
        min(offset) as first_offset,
        max(offset) as last_offset,
        max(timestamp) as last_timestamp
    from messages
    group by topic, partition, loaded_at

),

earlier_runs as (

    select
        topic,
        partition,
        loaded_at,
        min(first_offset) over (
            partition by topic, partition order by loaded_at rows between unbounded preceding and 1 preceding
        ) as first_offset,
        coalesce(
            max(last_offset) over (
                partition by topic, partition order by loaded_at rows between unbounded preceding and 1 preceding
            ),
            last_offset
        ) as last_offset,
        max(last_timestamp) over (
            partition by topic, partition order by loaded_at rows between unbounded preceding and 1 preceding
        ) as last_timestamp
    from runs

),

messages_of_new_topics as (

    select messages.*, messages.error.code <=> 'offset_reused' as is_reused, earlier_runs.last_offset
    from messages
    inner join earlier_runs
        on messages.topic <=> earlier_runs.topic
        and messages.partition <=> earlier_runs.partition
        and messages.loaded_at <=> earlier_runs.loaded_at
    where
        messages.error.code = 'offset_reused'
        or (messages.offset < earlier_runs.first_offset and messages.timestamp > earlier_runs.last_timestamp)

),

new_topics as (

    select
        topic,
        partition,
        {{ spark_cdc._step_of('offset') }} as step,
        min(offset) as offset,
        -- of all its partitions: the line that gives other offsets is of the topic
        min(min(timestamp)) over (partition by topic, {{ spark_cdc._step_of('offset') }}) as recreated_at,
        min(min(loaded_at)) over (partition by topic, {{ spark_cdc._step_of('offset') }}) as loaded_at,
        min(last_offset) as last_offset,
        every(is_reused) as are_reused
    from messages_of_new_topics
    group by topic, partition, {{ spark_cdc._step_of('offset') }}

),

read_as_the_old_ones as (

    select distinct new_topics.topic, new_topics.step
    from messages
    inner join new_topics
        on messages.topic <=> new_topics.topic and {{ spark_cdc._step_of('messages.offset') }} = new_topics.step
    where
        messages.loaded_at >= new_topics.loaded_at
        and messages.timestamp >= new_topics.recreated_at
        and not messages.error.code <=> 'offset_reused'

),

recreated_topics as (

    select
        new_topics.topic,
        new_topics.partition,
        'recreated' as anomaly,
        new_topics.offset,
        concat(
            'Topic ', new_topics.topic, ' was deleted and recreated: from ', recreated_at, ' on, messages of partition ',
            new_topics.partition,
            case when are_reused then ' have offsets that others had before, or came with such'
                else ' have lower offsets than older ones, or offsets that others had before' end,
            '. Give them offsets after those in raw_columns of the models that read it, {',
            '\'offset\': "offset + case when topic = \'', replace(new_topics.topic, '\'', '\'\''), '\' and timestamp >= \'',
            recreated_at, '\' then ', ({{ spark_cdc._step_of('last_offset') }} + 1) * 1000000000, ' else 0 end"}, ',
            case when offset >= 1000000000 then 'in one `case` with what is there, the latest time first, ' else '' end,
            case when read_as_the_old_ones.step is null then 'and the next dbt run reads them.'
                else 'and rebuild these models, dbt run --full-refresh: some were read as part of the old topic.' end
        ) as advice
    from new_topics
    left join read_as_the_old_ones
        on new_topics.topic <=> read_as_the_old_ones.topic and new_topics.step = read_as_the_old_ones.step

),

offset_gaps as (

    select
        neighbours.topic,
        neighbours.partition,
        'offset_gap' as anomaly,
        neighbours.offset,
        concat(
            'Offsets ', neighbours.previous_offset + 1, ' to ', neighbours.offset - 1, ' of partition ', neighbours.partition,
            ' of topic ', neighbours.topic, ' were never read: they were deleted between two runs. Land them from a copy of the ',
            'topic, which the next dbt run reads; or let the source send the rows of its tables again.'
        ) as advice
    from neighbours
    inner join own_gaps on neighbours.topic <=> own_gaps.topic and neighbours.last_loaded_at <=> own_gaps.last_loaded_at
    left anti join recreated_topics
        on neighbours.topic <=> recreated_topics.topic
        and {{ spark_cdc._step_of('neighbours.offset') }} > {{ spark_cdc._step_of('neighbours.previous_offset') }}
    where
        not neighbours.loaded_at <=> neighbours.previous_loaded_at
        and neighbours.offset - neighbours.previous_offset - 1 > own_gaps.width

),

positions as (

    select
        *,
        max(sequence) over (
            partition by topic, partition, database_name, schema_name, table_name, key
            order by offset rows between unbounded preceding and 1 preceding
        ) as highest_of_key,
        max(sequence) over (
            partition by topic, partition, database_name, schema_name, table_name
            order by offset rows between unbounded preceding and 1 preceding
        ) as highest_of_table,
        max(case when kind = 'truncate' then sequence end) over (
            partition by topic, partition, database_name, schema_name, table_name
            order by offset rows between unbounded preceding and 1 preceding
        ) as highest_truncate,
        -- a version of the connector may write milliseconds, and the next one microseconds
        row_number() over (
            partition by
                topic, partition, database_name, schema_name, table_name, key, sequence, date_trunc('second', committed_at)
            order by offset
        ) as times_sent
    from messages
    where
        {{ spark_cdc._has_position_in_log() }}
        and error is null
        and kind in ('rows', 'truncate')
        and size(sequence) > 0

),

positions_back as (

    select
        topic,
        partition,
        'position_back' as anomaly,
        min(offset) as offset,
        concat(
            'Partition ', partition, ' of topic ', topic, ' has a change at offset ', min(offset), ' with a lower position than an ',
            'earlier change of the same key or table: the connector reads the log of another server, or a log that was reset or restored. ',
            'The change loses against the earlier one. ',
            'Let the source send the rows of its tables to a new topic, and read that one',
            case when min(format) = 'debezium'
                then concat(
                    '; or, of a connector of Debezium, set dialect=\'by_offset\' in the models that read the topic, and rebuild them ',
                    'and the tables over them: dbt run --full-refresh.'
                )
                else '.'
            end
        ) as advice
    from positions
    where
        times_sent = 1
        and (
            sequence < highest_of_key
            or sequence < highest_truncate
            or kind = 'truncate' and sequence < highest_of_table
        )
    group by topic, partition

),

anomalies as (

    select * from offset_gaps

    union all

    select * from positions_back

    union all

    select * from added_partitions

    union all

    select * from recreated_topics

)

select
    topic,
    partition,
    anomaly,
    offset,
    advice,
    concat_ws(' ', anomaly, topic, partition, offset) as acknowledge
from anomalies
{%- endmacro -%}

{#- How often a topic was recreated before the message at an offset, if its offsets were moved as the advice says. -#}
{%- macro _step_of(offset) -%}
    {{- return('(' ~ offset ~ ' div 1000000000)') -}}
{%- endmacro -%}
