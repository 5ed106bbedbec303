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
    unapplied_messages         messages with rows of the table after it; null if no model of `current` reads the table
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
    {%- set nothing_less = 'coalesce(sequence, cast(array() as array<decimal(20,0)>))' -%}
    {%- set of_table = of_partition + ['database_name', 'schema_name', 'table_name'] -%}
with messages as (

    {%- for relation in messages %}
    select
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
        max(coalesce(committed_at, timestamp)) as alive_at
    from messages
    group by topic, partition

),

read_tables as (

    select {{ of_table | join(', ') }}, max(offset) as table_offset
    from messages
    where kind = 'rows'
    group by {{ of_table | join(', ') }}

),

newest_offsets as (

    select topic, partition, read_offset as offset from read_partitions

    union

    select topic, partition, table_offset as offset from read_tables

),

newest_messages as (

    select
        topic,
        partition,
        offset,
        max(timestamp) as timestamp,
        max(committed_at) as committed_at,
        max(loaded_at) as loaded_at
    from messages
    left semi join newest_offsets on {{ spark_cdc._same('messages', 'newest_offsets', of_partition + ['offset']) }}
    group by topic, partition, offset

),

applied_positions as (

    {%- for relation in current %}
    {% set reads = [] %}
    {%- for node in spark_cdc._models_upstream(relation, 'cdc_current') %}
    {%- for changes in spark_cdc._nodes_below(node, 'changes') %}
    {%- do reads.append(spark_cdc._condition_of(changes)) %}
    {%- endfor %}
    {%- endfor %}
    select
        {{ spark_cdc._qualified('read_tables', of_table) }},
        held.sequence,
        held.sequence_of_topic,
        held.offset,
        held.committed_at
    from read_tables
    left join (
        select
            _cdc_topic as topic,
            _cdc_partition as partition,
            max(_cdc_sequence) as sequence,
            max(max(_cdc_sequence)) over (partition by _cdc_topic) as sequence_of_topic,
            max_by(_cdc_offset, _cdc_sequence) as offset,
            max_by(_cdc_committed_at, _cdc_sequence) as committed_at
        from {{ relation }}
        group by _cdc_topic, _cdc_partition
    ) as held
        on {{ spark_cdc._same('read_tables', 'held', of_partition) }}
    where {{ reads | join(' or ') or 'false' }}
    {{ 'union all' if not loop.last }}
    {%- else %}
    select
        {{ spark_cdc._qualified('read_tables', of_table) }},
        cast(null as array<decimal(20,0)>) as sequence,
        cast(null as array<decimal(20,0)>) as sequence_of_topic,
        cast(null as bigint) as offset,
        cast(null as timestamp) as committed_at
    from read_tables
    where false
    {%- endfor %}

),

-- several tables over one source table: the one that is least far
applied as (

    select
        {{ of_table | join(', ') }},
        min({{ nothing_less }}) as sequence,
        min(coalesce(sequence_of_topic, cast(array() as array<decimal(20,0)>))) as sequence_of_topic,
        min_by(offset, {{ nothing_less }}) as applied_offset,
        min_by(committed_at, {{ nothing_less }}) as applied_committed_at
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
    newest_of_partition.timestamp as read_at,
    newest_of_partition.loaded_at,
    landed.landed_offset - coalesce(read_partitions.read_offset, landed.first_offset - 1) as unread_offsets,
    {{ spark_cdc._seconds_between('newest_of_partition.timestamp', 'landed.landed_at') }} as unread_seconds,
    read_partitions.alive_at,
    {{ spark_cdc._seconds_between('read_partitions.alive_at', 'current_timestamp()') }} as silent_seconds,
    read_tables.table_offset,
    newest_of_table.committed_at as table_committed_at,
    {{ spark_cdc._seconds_between('newest_of_table.committed_at', 'newest_of_table.timestamp') }} as landing_seconds,
    {{ spark_cdc._seconds_between('newest_of_table.timestamp', 'newest_of_table.loaded_at') }} as loading_seconds,
    unapplied.applied_offset,
    unapplied.applied_committed_at,
    unapplied.unapplied_messages
from landed
full outer join read_partitions
    on {{ spark_cdc._same('landed', 'read_partitions', of_partition) }}
left join newest_messages as newest_of_partition
    on {{ spark_cdc._same('read_partitions', 'newest_of_partition', of_partition) }}
    and read_partitions.read_offset = newest_of_partition.offset
left join read_tables
    on {{ spark_cdc._same('read_partitions', 'read_tables', of_partition) }}
left join newest_messages as newest_of_table
    on {{ spark_cdc._same('read_tables', 'newest_of_table', of_partition) }}
    and read_tables.table_offset = newest_of_table.offset
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
            {%- do queries.append(
                'select ' ~ raw.topic ~ ' as topic, ' ~ raw.partition ~ ' as partition, ' ~ raw.offset ~ ' as offset, ' ~ raw.timestamp
                ~ ' as timestamp from ' ~ (graph.sources.get(id) or graph.nodes[id]).relation_name
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not queries -%}
        {%- do queries.append('select topic, partition, offset, timestamp from messages where false') -%}
    {%- endif -%}
    {{- return(queries | join('\n\nunion all\n\n')) -}}
{%- endmacro -%}

{%- macro _qualified(relation, names) -%}
    {{- return(relation ~ '.' ~ names | join(', ' ~ relation ~ '.')) -}}
{%- endmacro -%}

{#- Seconds with three digits after the point. -#}
{%- macro _seconds_between(begin, end) -%}
    {%- set micros = 'unix_micros(cast(' ~ end ~ ' as timestamp)) - unix_micros(cast(' ~ begin ~ ' as timestamp))' -%}
    {{- return('cast((' ~ micros ~ ') / 1000000 as decimal(18,3))') -}}
{%- endmacro -%}
