{#-
    dbt run-operation spark_cdc.replay --args '{model: stg_shop__messages}'

    Reads the rejected messages of a messages model again from raw and appends those that can be read now, as if they had landed
    again, whole. The next run applies them, counts the rejected copies as duplicates and closes their dead letters. One append is
    one commit: a killed replay has appended all of them or none, and a second one finds nothing more to append.

    model      the name of a model made by spark_cdc.messages that runs append to
    code       only messages with this error code
    table      only messages that are of this source table, now that they can be read; a star matches any text
    topic, partition, from_offset, to_offset
               only messages from there; both offsets are included
    dry_run    true counts and appends nothing

    A row that a changes model rejects needs no replay: its message was read. Do not use it while a run writes the same table.
-#}
{%- macro replay(
    model=none, code=none, table=none, topic=none, partition=none, from_offset=none, to_offset=none, dry_run=false
) -%}
    {%- do spark_cdc._require_arguments('replay', varargs, kwargs, [
        'model', 'code', 'table', 'topic', 'partition', 'from_offset', 'to_offset', 'dry_run',
    ]) -%}
    {%- set node = spark_cdc._model_named('replay', model, ['messages']) -%}
    {%- for argument, value in {'code': code, 'table': table, 'topic': topic}.items() if value is not none -%}
        {%- do spark_cdc._require_text('replay', argument, value, 'Leave it out for all.') -%}
    {%- endfor -%}
    {%- for argument, value in {'partition': partition, 'from_offset': from_offset, 'to_offset': to_offset}.items()
        if value is not none and not spark_cdc._is_count(value) -%}
        {%- do spark_cdc._raise('replay', argument, 'a whole number from 0 on', spark_cdc._show(value), 'Leave it out for all.') -%}
    {%- endfor -%}
    {%- do spark_cdc._require_one_of('replay', 'dry_run', dry_run, [true, false]) -%}
    {{- return(adapter.dispatch('replay', 'spark_cdc')(
        node, {'code': code, 'topic': topic, 'partition': partition, 'from_offset': from_offset, 'to_offset': to_offset}, table, dry_run
    )) -}}
{%- endmacro -%}

{%- macro default__replay(node, places, table, dry_run) -%}
    {%- do spark_cdc._only_spark('replay') -%}
{%- endmacro -%}

{%- macro spark__replay(node, places, table, dry_run) -%}
    {%- set source = spark_cdc._source_of_replay(node) -%}
    {%- set relation = spark_cdc._relation_of('replay', node) -%}
    {%- do spark_cdc._refuse_replay_of_other_arguments(node, relation) -%}
    {%- set unread = spark_cdc._unread_messages_of(relation, places) -%}
    {%- set found = run_query(
        'select topic, partition, min(offset), max(offset), count(*) from (' ~ unread ~ ') group by topic, partition'
    ).rows -%}
    {%- set ctes = spark_cdc._replayed_ctes(node, source, unread, found, table) if found -%}
    {%- set outcomes = spark_cdc._outcomes_of_replay(ctes) if found else {} -%}
    {%- set count = outcomes.values() | map(attribute='read_now') | sum -%}
    {%- if count and not dry_run -%}
        {%- do spark_cdc._append_replayed(node, relation, ctes) -%}
    {%- endif -%}
    {%- do print(
        'spark_cdc.replay: ' ~ relation ~ ': ' ~ spark_cdc._number_of(found | map(attribute=4) | map('int') | sum, 'rejected message')
        ~ (', ' ~ count ~ ' can be read now.' if found else '.')
    ) -%}
    {%- for code, outcome in outcomes.items() -%}
        {%- do print('    ' ~ code ~ ': ' ~ outcome.words | join(', ')) -%}
    {%- endfor -%}
    {%- if not count -%}
        {%- do print('spark_cdc.replay: nothing to replay.') -%}
    {%- elif dry_run -%}
        {%- do print('spark_cdc.replay: nothing was appended. Run it again with dry_run: false.') -%}
    {%- else -%}
        {%- do print('spark_cdc.replay: ' ~ spark_cdc._number_of(count, 'message') ~ ' appended. Run dbt build, which applies '
            ~ ('it.' if count == 1 else 'them.')) -%}
    {%- endif -%}
{%- endmacro -%}

{#- One commit. What the model has read of raw is still so: the property says it of the new commit, too (decision 0008). -#}
{%- macro _append_replayed(node, relation, ctes) -%}
    {%- set file_format = spark_cdc._file_format(relation) -%}
    {%- set notes_positions = node.config.materialized == 'cdc_append' and file_format != 'other' -%}
    {%- set state = spark_cdc._state_of_table(relation, file_format) if notes_positions else none -%}
    {%- set names = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- call statement('replay') -%}
    insert into {{ relation }}
    with {{ ctes }}

    select {{ spark_cdc._quoted(names) }}
    from (select *, cast(null as string) as read_positions from replayed where is_replayed and copy = 1)
    {%- endcall -%}
    {%- if state and state.is_known -%}
        {%- set own = spark_cdc._new_commits(relation, file_format, state.commit) -%}
        {%- if own and own | length == 1 -%}
            {%- call statement('note_commit') -%}
            alter table {{ relation }} set tblproperties ('spark_cdc.read_commit' = '{{ own[0].id }}')
            {%- endcall -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    The CTE `replayed`: each copy that raw has of an unread message, as the model's own query reads it. `is_replayed` says
    whether it is to be appended. Only `offset_reused` of a position's own messages can be seen here, and a message that was read
    with that error is not replayed: the topic was recreated, and the way on is another one.
-#}
{%- macro _replayed_ctes(node, source, unread, found, table) -%}
    {%- set raw = spark_cdc._raw_columns(source.raw_columns) -%}
    {%- set bounds = [] -%}
    {%- for row in found -%}
        {%- do bounds.append(
            spark_cdc._is_partition(raw, {'topic': row[0], 'partition': row[1]}) ~ ' and ' ~ raw.offset ~ ' between ' ~ row[2] | int
            ~ ' and ' ~ row[3] | int
        ) -%}
    {%- endfor -%}
    {%- set conditions = ['exists (select 1 from unread_messages where _cdc_topic = ' ~ raw.topic ~ ' and _cdc_partition = '
        ~ raw.partition ~ ' and _cdc_offset = ' ~ raw.offset ~ ')'] -%}
    {%- if found | length <= 200 -%}
        {%- do conditions.append('((' ~ bounds | join(') or (') ~ '))') -%}
    {%- endif -%}
    {%- set topics = spark_cdc._topics_condition(source.raw_columns, source.topics) -%}
    {%- if topics -%}
        {%- do conditions.append('(' ~ topics ~ ')') -%}
    {%- endif -%}
    {%- set of_table = 'true' -%}
    {%- if table not in [none, '*'] -%}
        {%- set of_table = 'coalesce(' ~ spark_cdc._has_name('message_rows.table_name', table) ~ ', false)' -%}
    {%- endif -%}
    {%- set query -%}
unread_messages as (

    select
        topic as _cdc_topic,
        partition as _cdc_partition,
        offset as _cdc_offset,
        timestamp as _cdc_timestamp,
        code as _cdc_code
    from ({{ unread | indent(4) }})

),

{{ spark_cdc._raw_envelopes(
    source.relation_name, source.fmt, source.raw_columns, finds_reused_offsets=true, where=conditions | join('\n    and ')
) }},

{{ spark_cdc._message_rows(source.fmt) }},

replayed as (

    select
        message_rows.*,
        unread_messages.*,
        message_rows.topic is not null and message_rows.error is null as is_read,
        message_rows.topic is not null and message_rows.error is null and {{ of_table }} as is_replayed,
        row_number() over (
            partition by _cdc_topic, _cdc_partition, _cdc_offset, _cdc_timestamp
            order by message_rows.error is null desc, length(message_rows.value) desc
        ) as copy
    from unread_messages
    left join message_rows
        on unread_messages._cdc_topic = message_rows.topic
        and unread_messages._cdc_partition = message_rows.partition
        and unread_messages._cdc_offset = message_rows.offset
        and unread_messages._cdc_timestamp <=> message_rows.timestamp

)
    {%- endset -%}
    {{- return(query) -}}
{%- endmacro -%}

{#- Rejected messages of which the table has no whole copy, each once, with the code of the copy that was read last. -#}
{%- macro _unread_messages_of(relation, places) -%}
    {%- set conditions = ["unread.error.code <> 'offset_reused'"] -%}
    {%- for column, value in {'topic': places.topic, 'error.code': places.code}.items() if value is not none -%}
        {%- do conditions.append('unread.' ~ column ~ ' = ' ~ spark_cdc._literal(value)) -%}
    {%- endfor -%}
    {%- for condition, value in {
        'partition =': places.partition, 'offset >=': places.from_offset, 'offset <=': places.to_offset,
    }.items() if value is not none -%}
        {%- do conditions.append('unread.' ~ condition ~ ' ' ~ value) -%}
    {%- endfor -%}
    {{- return(
        'select unread.topic, unread.partition, unread.offset, unread.timestamp, max_by(unread.error.code, unread.loaded_at) as code from '
        ~ relation ~ ' as unread left anti join ' ~ relation ~ ' as whole on ' ~ spark_cdc._is_whole_message('whole', 'unread') ~ ' where '
        ~ conditions | join(' and ') ~ ' and unread.topic is not null and unread.partition is not null and unread.offset is not null '
        ~ 'group by unread.topic, unread.partition, unread.offset, unread.timestamp'
    ) -}}
{%- endmacro -%}

{#- Code -> `read_now`, and in `words` what a replay finds of its messages. -#}
{%- macro _outcomes_of_replay(ctes) -%}
    {%- set query -%}
    with {{ ctes }}

    select
        _cdc_code,
        case
            when is_replayed then 'can be read now'
            when is_read then 'of other tables'
            when topic is null then 'not in the raw table with this offset and timestamp'
            else concat('still rejected as ', error.code)
        end as outcome,
        count(*),
        count_if(is_replayed)
    from replayed
    where copy = 1
    group by 1, 2
    order by 1, 4 desc, 2
    {%- endset -%}
    {%- set outcomes = {} -%}
    {%- for row in run_query(query).rows -%}
        {%- set outcome = outcomes.setdefault(row[0], {'read_now': 0, 'words': []}) -%}
        {%- do outcome.update({'read_now': outcome.read_now + row[3] | int}) -%}
        {%- do outcome.words.append(row[2] | int ~ ' ' ~ row[1]) -%}
    {%- endfor -%}
    {{- return(outcomes) -}}
{%- endmacro -%}

{#-
    What a messages model reads, and how: `relation_name`, `fmt`, `raw_columns` and `topics`, from its meta.
-#}
{%- macro _source_of_replay(node) -%}
    {%- set sources = [] -%}
    {%- for id in node.depends_on.nodes -%}
        {%- do sources.append(graph.sources.get(id) or graph.nodes.get(id)) -%}
    {%- endfor -%}
    {%- if not spark_cdc._is_one_call(node, 'messages')
        or sources | length != 1 or not sources[0].relation_name or node.config.materialized not in spark_cdc._logs() -%}
        {%- do spark_cdc._raise(
            'replay', 'model', "a model that is materialized='cdc_append' and is one call of spark_cdc.messages over a table or a view, "
            ~ 'without SQL of its own', spark_cdc._show(node.name), 'Rebuild it: dbt run --full-refresh --select ' ~ node.name ~ '+'
        ) -%}
    {%- endif -%}
    {%- set format, dialect = (node.config.meta['spark_cdc.dialect_of'].items() | list)[0] -%}
    {{- return({
        'relation_name': sources[0].relation_name,
        'fmt': spark_cdc._format(format, dialect or none, 'replay'),
        'raw_columns': node.config.meta['spark_cdc.raw_columns'] or none,
        'topics': node.config.meta.get('spark_cdc.topics'),
    }) -}}
{%- endmacro -%}

{#- As a run does: what was read with another argument may be wrong in the messages that were not rejected, too. -#}
{%- macro _refuse_replay_of_other_arguments(node, relation) -%}
    {%- set now = spark_cdc._built_with(node) -%}
    {%- for name, value in spark_cdc._built_with_of(spark_cdc._table_properties(relation)).items() if now.get(name, value) != value -%}
        {%- do spark_cdc._raise(
            'replay', 'model', 'a model with the arguments that its rows were made with',
            spark_cdc._show(node.name) ~ ', whose ' ~ name ~ ' was ' ~ spark_cdc._show(value or none) ~ ' and is '
            ~ spark_cdc._show(now[name] or none),
            'All its messages have to be read again: dbt run --full-refresh --select ' ~ node.name ~ '+'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}
