{#-
    One row for each fault that the messages of a topic show: topic, partition, fault, offset, sentence (what happened, and the command
    or line that comes next), accept (the text for `accepted` of `topics_whole`, once the fault is settled).

    made_anew        messages stand at offsets that others had before, or came with such: see the error code offset_taken. Or they
                     were read in a later run than all others of their partition, and are later, but stand before them. A topic made
                     anew once more is a fault of its own: the sentence moves each one's offsets by a thousand million more, and what
                     lies between two of these steps is no hole
    partition_added  a partition whose first message was read in a later run than the topic's first: its messages are read,
                     but a key may have moved to it, and offsets do not order changes of two partitions
    hole             offsets that were never read lie between the messages of two runs: they were deleted, by retention
                     mostly, before they were landed. Kafka itself leaves gaps, of transactions and of compaction; a gap counts
                     only if it is wider than all gaps of its topic between messages of one run, of those up to then, and than one
                     offset
    position_back    a row has a lower position in the source's log than a message of its key, or a truncate of its table, at an
                     earlier offset; the row loses against that message. The log is another server's, or was reset or restored. Rows
                     that a restarted connector sends once more do not count: their position and second were there before. They do
                     where the first copy could not be read or was pruned. One fault a partition: the first such message

    messages  list of models made by `messages`, as `cdc_log`: what runs read is told by their column `batch`
-#}
{%- macro topic_faults(messages=none) -%}
    {%- do spark_cdc._require_arguments('topic_faults', varargs, kwargs, ['messages']) -%}
    {%- do spark_cdc._require_relations('topic_faults', {'messages': messages}) -%}
    {{- return(adapter.dispatch('topic_faults', 'spark_cdc')(messages)) -}}
{%- endmacro -%}

{%- macro default__topic_faults(messages) -%}
    {%- do spark_cdc._only_spark('topic_faults') -%}
{%- endmacro -%}

{%- macro spark__topic_faults(messages) -%}
with messages as (

    {%- for relation in messages %}
    select
        topic,
        partition,
        offset,
        timestamp,
        batch,
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

    select topic, partition, offset, min(batch) as batch
    from messages
    group by topic, partition, offset

),

neighbours as (

    select
        topic,
        partition,
        offset,
        batch,
        -- no named window: Spark does not find it where the model is a view
        lag(offset) over (partition by topic, partition order by offset) as previous_offset,
        lag(batch) over (partition by topic, partition order by offset) as previous_batch,
        greatest(batch, lag(batch) over (partition by topic, partition order by offset)) as last_batch
    from first_readings

),

own_gaps as (

    select topic, last_batch, max(width) over (partition by topic order by last_batch) as width
    from (
        select
            topic,
            last_batch,
            greatest(max(case
                when batch = previous_batch and {{ spark_cdc._step_of('offset') }} = {{ spark_cdc._step_of('previous_offset') }}
                    then offset - previous_offset - 1
            end), 1) as width
        from neighbours
        group by topic, last_batch
    )

),

partitions as (

    select
        topic,
        partition,
        min(batch) as batch,
        min(offset) as offset,
        min(min(batch)) over (partition by topic) as first_batch
    from first_readings
    group by topic, partition

),

added_partitions as (

    select
        topic,
        partition,
        'partition_added' as fault,
        offset,
        concat(
            'Partition ', partition, ' of topic ', topic, ' was first read at ', batch, ', later than the topic: it was added, ',
            'and is read. ',
            case when offset % 1000000000 > 0 then concat(
                'Its first message stands at offset ', offset, ': if the partition was new, those before it were never read. '
            ) else '' end,
            'Where the format is ordered by offset, test its changes models with spark_cdc.one_partition_per_key.'
        ) as sentence
    from partitions
    where batch > first_batch

),

runs as (

    select
        topic,
        partition,
        batch,
        min(offset) as first_offset,
        max(offset) as last_offset,
        max(timestamp) as last_timestamp
    from messages
    group by topic, partition, batch

),

earlier_runs as (

    select
        topic,
        partition,
        batch,
        min(first_offset) over (
            partition by topic, partition order by batch rows between unbounded preceding and 1 preceding
        ) as first_offset,
        coalesce(
            max(last_offset) over (
                partition by topic, partition order by batch rows between unbounded preceding and 1 preceding
            ),
            last_offset
        ) as last_offset,
        max(last_timestamp) over (
            partition by topic, partition order by batch rows between unbounded preceding and 1 preceding
        ) as last_timestamp
    from runs

),

messages_of_new_topics as (

    select messages.*, messages.error.code <=> 'offset_taken' as is_taken, earlier_runs.last_offset
    from messages
    inner join earlier_runs
        on messages.topic <=> earlier_runs.topic
        and messages.partition <=> earlier_runs.partition
        and messages.batch <=> earlier_runs.batch
    where
        messages.error.code = 'offset_taken'
        or (messages.offset < earlier_runs.first_offset and messages.timestamp > earlier_runs.last_timestamp)

),

new_topics as (

    select
        topic,
        partition,
        {{ spark_cdc._step_of('offset') }} as step,
        min(offset) as offset,
        -- of all its partitions: the line that gives other offsets is of the topic
        min(min(timestamp)) over (partition by topic, {{ spark_cdc._step_of('offset') }}) as made_anew_at,
        min(min(batch)) over (partition by topic, {{ spark_cdc._step_of('offset') }}) as batch,
        min(last_offset) as last_offset,
        every(is_taken) as are_taken
    from messages_of_new_topics
    group by topic, partition, {{ spark_cdc._step_of('offset') }}

),

read_as_the_old_ones as (

    select distinct new_topics.topic, new_topics.step
    from messages
    inner join new_topics
        on messages.topic <=> new_topics.topic and {{ spark_cdc._step_of('messages.offset') }} = new_topics.step
    where
        messages.batch >= new_topics.batch
        and messages.timestamp >= new_topics.made_anew_at
        and not messages.error.code <=> 'offset_taken'

),

topics_made_anew as (

    select
        new_topics.topic,
        new_topics.partition,
        'made_anew' as fault,
        new_topics.offset,
        concat(
            'Topic ', new_topics.topic, ' was deleted and made anew: from ', made_anew_at, ' on, messages of partition ',
            new_topics.partition,
            case when are_taken then ' stand at offsets that others had before, or came with such'
                else ' stand before older ones, or at offsets that others had before' end,
            '. Give them offsets behind those in raw_columns of the models that read it, {',
            '\'offset\': "offset + case when topic = \'', replace(new_topics.topic, '\'', '\'\''), '\' and timestamp >= \'',
            made_anew_at, '\' then ', ({{ spark_cdc._step_of('last_offset') }} + 1) * 1000000000, ' else 0 end"}, ',
            case when offset >= 1000000000 then 'in one `case` with what stands there, the latest time first, ' else '' end,
            case when read_as_the_old_ones.step is null then 'and the next dbt run reads them.'
                else 'and build these models anew, dbt run --full-refresh: some were read as the old topic\'s.' end
        ) as sentence
    from new_topics
    left join read_as_the_old_ones
        on new_topics.topic <=> read_as_the_old_ones.topic and new_topics.step = read_as_the_old_ones.step

),

holes as (

    select
        neighbours.topic,
        neighbours.partition,
        'hole' as fault,
        neighbours.offset,
        concat(
            'Offsets ', neighbours.previous_offset + 1, ' to ', neighbours.offset - 1, ' of partition ', neighbours.partition,
            ' of topic ', neighbours.topic, ' were never read: they are gone from between two runs. Land them from a copy of the ',
            'topic, which the next dbt run reads; or let the source send the rows of its tables anew.'
        ) as sentence
    from neighbours
    inner join own_gaps on neighbours.topic <=> own_gaps.topic and neighbours.last_batch <=> own_gaps.last_batch
    left anti join topics_made_anew
        on neighbours.topic <=> topics_made_anew.topic
        and {{ spark_cdc._step_of('neighbours.offset') }} > {{ spark_cdc._step_of('neighbours.previous_offset') }}
    where
        not neighbours.batch <=> neighbours.previous_batch
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
        'position_back' as fault,
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
        ) as sentence
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

faults as (

    select * from holes

    union all

    select * from positions_back

    union all

    select * from added_partitions

    union all

    select * from topics_made_anew

)

select
    topic,
    partition,
    fault,
    offset,
    sentence,
    concat_ws(' ', fault, topic, partition, offset) as accept
from faults
{%- endmacro -%}

{#- How often a topic was made anew before the message at an offset, if the offsets are those that the sentence gives. -#}
{%- macro _step_of(offset) -%}
    {{- return('(' ~ offset ~ ' div 1000000000)') -}}
{%- endmacro -%}
