{#-
    A row returned is a message without an outcome. The test checks that the raw table and the messages model have the same
    messages, and that no run has read one more often than the raw table has it. It also checks that a changes model has each
    message with row changes, or with a truncate, of the tables that it reads. Messages older than all that the raw table has of
    their partition count as deleted there since. Two simultaneous runs may both append a message: the second copy is a
    duplicate in the reconciliation, and not an error.

    The test sees from a changes model's messages which tables it reads: a table of which it has no message counts as not read.
    If a format sends an update as two messages, the update that they became accounts for both.
-#}
{%- test every_message_accounted_for(model, raw=none, raw_columns=none, changes=none, raw_is_growing=false) -%}
    {%- set test = 'every_message_accounted_for' -%}
    {%- do spark_cdc._require_relation(test, 'raw', raw) -%}
    {%- do spark_cdc._require_raw_columns(test, raw_columns) -%}
    {%- if changes is not none and not spark_cdc._is_list(changes) -%}
        {%- do spark_cdc._raise(
            test, 'changes', 'a list of models', spark_cdc._show(changes), 'Write changes: [ref(\'...\')].'
        ) -%}
    {%- endif -%}
    {%- for relation in changes or [] -%}
        {%- do spark_cdc._require_relation(test, 'changes', relation) -%}
    {%- endfor -%}
    {%- do spark_cdc._require_one_of(test, 'raw_is_growing', raw_is_growing, [true, false]) -%}
    {%- do spark_cdc._require_model(
        test, 'a model made by spark_cdc.messages,', ['topic', 'partition', 'offset', 'kind', 'loaded_at'], model
    ) -%}
    {%- for relation in changes or [] -%}
        {%- do spark_cdc._require_model(
            test, 'a list of models made by spark_cdc.changes,', ['_cdc_topic', '_cdc_offsets'], relation, 'changes'
        ) -%}
    {%- endfor -%}
    {%- set query = adapter.dispatch('test_every_message_accounted_for', 'spark_cdc')(
        model, raw, raw_columns, changes or [], raw_is_growing
    ) -%}
    {{- return(spark_cdc._with_reasons('every_message_accounted_for', query, ['topic', 'partition', 'offset'])) -}}
{%- endtest -%}

{%- macro default__test_every_message_accounted_for(model, raw, raw_columns, changes, raw_is_growing) -%}
    {%- do spark_cdc._only_spark('every_message_accounted_for') -%}
{%- endmacro -%}

{%- macro spark__test_every_message_accounted_for(model, raw, raw_columns, changes, raw_is_growing) -%}
    {%- set upstream = spark_cdc._models_upstream(model, 'messages') -%}
    {%- set readers = upstream if raw_columns is none else [] -%}
    {%- set names = spark_cdc._raw_columns(
        readers[0].config.meta['spark_cdc.raw_columns'] if readers | length == 1 else raw_columns
    ) -%}
    {%- set topics_read = spark_cdc._topics_condition(
        raw_columns or upstream[0].config.meta['spark_cdc.raw_columns'], upstream[0].config.meta.get('spark_cdc.topics')
    ) if upstream | length == 1 else none -%}
    {%- if execute and flags.WHICH in ['test', 'build', 'retry'] -%}
        {%- set kept = ['topic', 'partition', 'offset'] | reject('in', raw_columns or {}) | list if readers | length != 1 else [] -%}
        {%- do spark_cdc._require_found(
            'every_message_accounted_for', 'raw', raw, kept, 'a table with the columns ' ~ kept | join(', '),
            'Name those of another name: raw_columns: {offset: position}.'
        ) -%}
        {%- do spark_cdc._require_raw_columns_in('every_message_accounted_for', raw, raw_columns) -%}
    {%- endif -%}
with messages as (

    select * from {{ model }}

),

raw_messages as (

    select
        {{ names.topic }} as topic,
        {{ names.partition }} as partition,
        {{ names.offset }} as offset
    from {{ raw }}
    {%- if topics_read %}
    where {{ topics_read }}
    {%- endif %}

),

raw_positions as (

    select topic, partition, offset, count(*) as times
    from raw_messages
    group by topic, partition, offset

),

read_positions as (

    select topic, partition, offset, max(times) as times
    from (
        select topic, partition, offset, count_if(not error.code <=> 'offset_reused') as times
        from messages
        group by topic, partition, offset, loaded_at
    )
    group by topic, partition, offset

),

first_positions as (

    select topic, partition, min(offset) as offset
    from raw_messages
    group by topic, partition

),

last_positions as (

    select topic, partition, max(offset) as offset
    from messages
    group by topic, partition

),

not_in_messages as (

    select raw_positions.topic, raw_positions.partition, raw_positions.offset, 'the messages model lacks it' as reason
    from raw_positions
    left anti join read_positions
        on raw_positions.topic <=> read_positions.topic
        and raw_positions.partition <=> read_positions.partition
        and raw_positions.offset <=> read_positions.offset
    {%- if raw_is_growing %}
    inner join last_positions
        on raw_positions.topic <=> last_positions.topic
        and raw_positions.partition <=> last_positions.partition
        and raw_positions.offset < last_positions.offset
    {%- endif %}

),

only_in_messages as (

    select read_positions.topic, read_positions.partition, read_positions.offset, 'the raw table lacks it' as reason
    from read_positions
    inner join first_positions
        on read_positions.topic <=> first_positions.topic
        and read_positions.partition <=> first_positions.partition
        and read_positions.offset > first_positions.offset
        -- given other offsets since, those of a recreated topic were read once more
        and read_positions.times > 0
    left anti join raw_positions
        on raw_positions.topic <=> read_positions.topic
        and raw_positions.partition <=> read_positions.partition
        and raw_positions.offset <=> read_positions.offset

),

more_than_once_in_a_run as (

    select
        read_positions.topic,
        read_positions.partition,
        read_positions.offset,
        concat('one run read it ', read_positions.times, ' times, the raw table has it ', raw_positions.times) as reason
    from read_positions
    inner join raw_positions
        on raw_positions.topic <=> read_positions.topic
        and raw_positions.partition <=> read_positions.partition
        and raw_positions.offset <=> read_positions.offset
    where read_positions.times > raw_positions.times

),
{%- if changes %}

changes as (
    {% for relation in changes %}
    {{ spark_cdc._messages_of_changes(relation, [spark_cdc._literal(relation.identifier) ~ ' as changes_model']) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

change_messages as (

    select * from messages where kind in ('rows', 'truncate')

),

positions_in_changes as (

    select topic, partition, offset, collect_set(changes_model) as models
    from changes
    group by topic, partition, offset

),

-- the changes are read once only: to plan their queries takes longer than all else here
read_messages as (

    select
        change_messages.topic,
        change_messages.partition,
        change_messages.offset,
        positions_in_changes.models,
        flatten(collect_set(positions_in_changes.models) over (
            partition by change_messages.database_name, change_messages.schema_name, change_messages.table_name
        )) as models_of_table
    from change_messages
    left join positions_in_changes
        on change_messages.topic = positions_in_changes.topic
        and change_messages.partition = positions_in_changes.partition
        and change_messages.offset = positions_in_changes.offset

),

not_in_changes as (

    select topic, partition, offset, concat(changes_model, ' lacks it') as reason
    from read_messages
    lateral view explode(array_except(models_of_table, coalesce(models, array()))) exploded as changes_model

),
{%- endif %}

messages_not_accounted_for as (

    select * from not_in_messages

    union all

    select * from only_in_messages

    union all

    select * from more_than_once_in_a_run
    {%- if changes %}

    union all

    select * from not_in_changes
    {%- endif %}

)

select * from messages_not_accounted_for
{%- endmacro -%}
