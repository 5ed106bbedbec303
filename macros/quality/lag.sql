{#-
    How far each stage has come: one row for each topic, partition and source table, from the newest messages.

    messages  list of models made by `messages`; what they read is looked up in the project, so that the raw tables need not be named
    current   list of models materialised as cdc_current, over changes of these messages

    landed_offset, landed_at   newest message of the partition in the raw table, and its timestamp; null if the messages model does not
                               read exactly one source or model
    read_offset, read_at       newest message of the partition that a run has read, and its timestamp
    loaded_at                  when that run began
    unread_offsets             offsets landed after it
    unread_seconds             from `read_at` to `landed_at`
    alive_at                   newest commit time, or timestamp if there is none, of any message: heartbeats and marks of transactions
                               are signs of life, too
    silent_seconds             from `alive_at` to now: when the model is built, or a view is queried
    table_offset, table_committed_at  newest message with rows of the table
    landing_seconds            from its commit time to its timestamp
    loading_seconds            from its timestamp to the begin of the run that read it
    applied_offset, applied_committed_at  newest message of the partition that the current table holds
    unapplied_messages         messages with rows of the table after it; null if no model of `current` reads the table over the
                               messages model that has it
-#}
{%- macro lag(messages=none, current=[]) -%}
    {%- do spark_cdc._require_arguments('lag', varargs, kwargs, ['messages', 'current']) -%}
    {%- do spark_cdc._require_relations(
        'lag', dict({'messages': messages}, **({'current': current} if current != [] else {}))
    ) -%}
    {{- return(adapter.dispatch('lag', 'spark_cdc')(messages, current)) -}}
{%- endmacro -%}

{%- macro default__lag(messages, current) -%}
    {%- do spark_cdc._only_spark('lag') -%}
{%- endmacro -%}

{%- macro spark__lag(messages, current) -%}
    {%- set of_partition = ['topic', 'partition'] -%}
    {%- set nothing = 'cast(array() as array<decimal(20,0)>)' -%}
    {%- set numbers_of_readers = spark_cdc._current_readers(current, messages) -%}
    {%- set of_table = of_partition + spark_cdc._names_of_a_table() -%}
with messages as (

    {%- for relation in messages %}
    select
        {{ loop.index }} as messages_number,
        topic,
        partition,
        offset,
        timestamp,
        kind,
        database_name,
        schema_name,
        table_name,
        sequence,
        committed_at,
        loaded_at
    from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

landed as (

    select
        topic,
        partition,
        min(offset) as first_offset,
        max(offset) as landed_offset,
        max_by(timestamp, offset) as landed_at
    from (
        {{ spark_cdc._raw_positions(messages) | indent(8) }}
    )
    group by topic, partition

),

read_partitions as (

    select
        topic,
        partition,
        max(offset) as read_offset,
        max_by(timestamp, offset) as read_at,
        max_by(loaded_at, offset) as loaded_at,
        max(coalesce(committed_at, timestamp)) as alive_at
    from messages
    group by topic, partition

),

read_tables as (

    select
        {{ of_table | join(', ') }},
        max(offset) as table_offset,
        max_by(timestamp, offset) as timestamp,
        max_by(committed_at, offset) as committed_at,
        max_by(loaded_at, offset) as loaded_at,
        collect_set(messages_number) as messages_numbers
    from messages
    where kind = 'rows'
    group by {{ of_table | join(', ') }}

),

readers as (

    select {{ of_table | join(', ') }}, reader
    from read_tables
    lateral view explode(array_compact(cast(array({{ numbers_of_readers | indent(4) }}) as array<int>))) exploded as reader

),

held as (

    {%- for relation in current %}
    select
        {{ loop.index }} as reader,
        _cdc_topic as topic,
        _cdc_partition as partition,
        max(_cdc_sequence) as sequence,
        max(case when _cdc_op = 'truncate' then _cdc_sequence end) as sequence_of_truncate,
        max_by(_cdc_offset, _cdc_sequence) as offset,
        max_by(_cdc_committed_at, _cdc_sequence) as committed_at
    from {{ relation }}
    group by _cdc_topic, _cdc_partition
    {{ 'union all' if not loop.last }}
    {%- else %}
    select
        0 as reader,
        cast(null as string) as topic,
        cast(null as int) as partition,
        cast(null as array<decimal(20,0)>) as sequence,
        cast(null as array<decimal(20,0)>) as sequence_of_truncate,
        cast(null as bigint) as offset,
        cast(null as timestamp) as committed_at
    where false
    {%- endfor %}

),

held_of_topics as (

    select reader, topic, max(sequence) as sequence, max(sequence_of_truncate) as sequence_of_truncate
    from held
    group by reader, topic

),

applied_positions as (

    select
        {{ spark_cdc._qualified('readers', of_table) }},
        -- a truncate is applied to the rows of all partitions
        coalesce(array_max(array(held.sequence, held_of_topics.sequence_of_truncate)), {{ nothing }}) as sequence,
        coalesce(held_of_topics.sequence, {{ nothing }}) as sequence_of_topic,
        held.offset,
        held.committed_at
    from readers
    left join held
        on readers.reader = held.reader
        and {{ spark_cdc._same('readers', 'held', of_partition) }}
    left join held_of_topics
        on readers.reader = held_of_topics.reader
        and readers.topic <=> held_of_topics.topic

),

applied as (

    select
        {{ of_table | join(', ') }},
        min(sequence) as sequence,
        min(sequence_of_topic) as sequence_of_topic,
        min_by(offset, sequence) as applied_offset,
        min_by(committed_at, sequence) as applied_committed_at
    from applied_positions
    group by {{ of_table | join(', ') }}

),

unapplied as (

    select
        {{ spark_cdc._qualified('applied', of_table) }},
        first(applied.applied_offset) as applied_offset,
        first(applied.applied_committed_at) as applied_committed_at,
        -- without a sequence, offsets order the messages of one partition only
        count(distinct case
            when concat(messages.sequence, array(cast(messages.offset as decimal(20,0))))
                > case when size(messages.sequence) > 0 then applied.sequence_of_topic else applied.sequence end
                then messages.offset
        end) as unapplied_messages
    from applied
    inner join messages
        on messages.kind = 'rows'
        and {{ spark_cdc._same('messages', 'applied', of_table) }}
    group by {{ spark_cdc._qualified('applied', of_table) }}

)

select
    coalesce(landed.topic, read_partitions.topic) as topic,
    coalesce(landed.partition, read_partitions.partition) as partition,
    read_tables.database_name,
    read_tables.schema_name,
    read_tables.table_name,
    landed.landed_offset,
    landed.landed_at,
    read_partitions.read_offset,
    read_partitions.read_at,
    read_partitions.loaded_at,
    landed.landed_offset - coalesce(read_partitions.read_offset, landed.first_offset - 1) as unread_offsets,
    {{ spark_cdc._seconds_between('read_partitions.read_at', 'landed.landed_at') }} as unread_seconds,
    read_partitions.alive_at,
    {{ spark_cdc._seconds_between('read_partitions.alive_at', 'current_timestamp()') }} as silent_seconds,
    read_tables.table_offset,
    read_tables.committed_at as table_committed_at,
    {{ spark_cdc._seconds_between('read_tables.committed_at', 'read_tables.timestamp') }} as landing_seconds,
    {{ spark_cdc._seconds_between('read_tables.timestamp', 'read_tables.loaded_at') }} as loading_seconds,
    unapplied.applied_offset,
    unapplied.applied_committed_at,
    unapplied.unapplied_messages
from landed
full outer join read_partitions
    on {{ spark_cdc._same('landed', 'read_partitions', of_partition) }}
left join read_tables
    on {{ spark_cdc._same('read_partitions', 'read_tables', of_partition) }}
left join unapplied
    on {{ spark_cdc._same('read_tables', 'unapplied', of_table) }}
{%- endmacro -%}

{#- Query: the positions in the raw tables that messages models read. -#}
{%- macro _raw_positions(messages) -%}
    {%- set queries = [] -%}
    {%- for relation in messages -%}
        {%- for node in spark_cdc._models_upstream(relation, 'messages') if node.depends_on.nodes | length == 1 -%}
            {%- set id = node.depends_on.nodes[0] -%}
            {%- set raw = spark_cdc._raw_columns(node.config.meta['spark_cdc.raw_columns']) -%}
            {%- set of_topics = spark_cdc._topics_condition(
                node.config.meta['spark_cdc.raw_columns'], node.config.meta.get('spark_cdc.topics')
            ) -%}
            {%- do queries.append(
                'select ' ~ raw.topic ~ ' as topic, ' ~ raw.partition ~ ' as partition, ' ~ raw.offset ~ ' as offset, ' ~ raw.timestamp
                ~ ' as timestamp from ' ~ (graph.sources.get(id) or graph.nodes[id]).relation_name
                ~ (' where ' ~ of_topics if of_topics else '')
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not queries -%}
        {%- do queries.append('select topic, partition, offset, timestamp from messages where false') -%}
    {%- endif -%}
    {{- return(queries | join('\n\nunion all\n\n')) -}}
{%- endmacro -%}

{#-
    For a source table, the numbers of the current tables whose changes read it over a messages model that has it: a list of
    expressions, NULL for those that do not. Two topics may have a table of one name.
-#}
{%- macro _current_readers(current, messages) -%}
    {%- set readers, numbers = [], {} -%}
    {%- for relation in messages -%}
        {%- set number = loop.index -%}
        {%- for node in spark_cdc._models_upstream(relation, 'messages') -%}
            {%- do numbers.setdefault(node.unique_id, []).append(number) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for relation in current -%}
        {%- set conditions, number = [], loop.index -%}
        {%- for node in spark_cdc._models_upstream(relation, 'cdc_current') -%}
            {%- for changes in spark_cdc._nodes_below(node, 'changes') -%}
                {%- for read in spark_cdc._nodes_below(changes, 'messages') -%}
                    {%- for of_messages in numbers.get(read.unique_id, []) -%}
                        {%- do conditions.append(
                            '(array_contains(messages_numbers, ' ~ of_messages ~ ') and ' ~ spark_cdc._condition_of(changes) ~ ')'
                        ) -%}
                    {%- endfor -%}
                {%- endfor -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- do readers.append('case when ' ~ (conditions | join(' or ') or 'false') ~ ' then ' ~ number ~ ' end') -%}
    {%- endfor -%}
    {{- return(readers | join(',\n    ')) -}}
{%- endmacro -%}

{%- macro _qualified(relation, names) -%}
    {{- return(relation ~ '.' ~ names | join(', ' ~ relation ~ '.')) -}}
{%- endmacro -%}

{#- Seconds with three digits after the point. -#}
{%- macro _seconds_between(begin, end) -%}
    {%- set micros = 'unix_micros(cast(' ~ end ~ ' as timestamp)) - unix_micros(cast(' ~ begin ~ ' as timestamp))' -%}
    {{- return('cast((' ~ micros ~ ') / 1000000 as decimal(18,3))') -}}
{%- endmacro -%}
