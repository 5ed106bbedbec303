{#-
    Every message that could not be read or applied, with its reason and its raw text, and what has become of it.

    messages      list of models made by `messages`, or of views over them
    changes       list of models made by `changes` from these messages. A changes model that reads a raw table directly has its
                  unreadable messages as its own rows with `_cdc_error`, without their text
    acknowledged  list of mappings: the dead letters that nobody will repair. Each names at least one of code, model, table, topic,
                  partition, from_offset, to_offset, and all that it names has to match; because: a text for the reader

    One row per message, reason and row key: topic, partition, offset, timestamp, code, detail, value, key (Kafka's), then

    database_name, schema_name, table_name
                  null if the message itself could not be read
    row_key       JSON of the key columns of a rejected row; null if the message itself could not be read
    model         the messages or changes model that rejected it
    loaded_at     when the run that read it first began
    state         open; closed, if no table lacks it any more; acknowledged
    closed_by     whole_copy: the message landed again, whole, or was replayed. update_partner: an update part whose partner came
    acknowledged_because  the text of the acknowledgement
    dead_letter_id        one text for a snapshot: dbt's snapshot of this model keeps what a rebuild removes (decision 0028)
-#}
{%- macro dead_letters(messages=none, changes=[], acknowledged=[]) -%}
    {%- do spark_cdc._require_arguments('dead_letters', varargs, kwargs, ['messages', 'changes', 'acknowledged']) -%}
    {%- do spark_cdc._require_acknowledged(acknowledged) -%}
    {%- do spark_cdc._require_relations(
        'dead_letters', dict({'messages': messages}, **({'changes': changes} if changes != [] else {}))
    ) -%}
    {%- if acknowledged -%}
        {#- for no_open_dead_letters, which names those that match nothing -#}
        {%- do config(meta={'spark_cdc.acknowledged': acknowledged}) -%}
    {%- endif -%}
    {{- return(adapter.dispatch('dead_letters', 'spark_cdc')(messages, changes, acknowledged)) -}}
{%- endmacro -%}

{%- macro default__dead_letters(messages, changes, acknowledged=[]) -%}
    {%- do spark_cdc._only_spark('dead_letters') -%}
{%- endmacro -%}

{%- macro spark__dead_letters(messages, changes, acknowledged=[]) -%}
with messages as (

    {%- for relation in messages %}
    select
        topic,
        partition,
        offset,
        timestamp,
        cast(value as string) as value,
        key,
        database_name,
        schema_name,
        table_name,
        loaded_at,
        error,
        {{ spark_cdc._literal(spark_cdc._name_of_model(relation, 'messages')) }} as model
    from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

rejected_messages as (

    select
        unread.topic,
        unread.partition,
        unread.offset,
        unread.timestamp,
        unread.error.code as code,
        unread.error.detail as detail,
        max_by(unread.value, unread.loaded_at) as value,
        max_by(unread.key, unread.loaded_at) as key,
        unread.database_name,
        unread.schema_name,
        unread.table_name,
        cast(null as string) as row_key,
        unread.model,
        min(unread.loaded_at) as loaded_at,
        max(case when whole.topic is not null then 'whole_copy' end) as closed_by
    from messages as unread
    left join messages as whole on {{ spark_cdc._is_whole_message('whole', 'unread') }}
    where unread.error is not null
    group by 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13

),

rejected_changes as (

    {%- for relation in changes %}
    {%- set closes = spark_cdc._ways_to_close(relation) %}
    select
        rejected._cdc_topic as topic,
        rejected._cdc_partition as partition,
        rejected._cdc_offset as offset,
        rejected._cdc_error.code as code,
        rejected._cdc_error.detail as detail,
        {{ spark_cdc._row_key_of_rejected(relation) }} as row_key,
        {{ spark_cdc._literal(spark_cdc._name_of_model(relation, 'changes')) }} as model,
        min(rejected._cdc_loaded_at) as loaded_at,
        {%- if closes %}
        max(case
            {%- for closed_by in closes %}
            when {{ closed_by }}._cdc_topic is not null then '{{ closed_by }}'
            {%- endfor %}
        end) as closed_by
        {%- else %}
        cast(null as string) as closed_by
        {%- endif %}
    from {{ relation }} as rejected
    {%- for closed_by, condition in closes.items() %}
    left join {{ relation }} as {{ closed_by }} on {{ condition }}
    {%- endfor %}
    where rejected._cdc_error is not null
    group by {{ range(1, 8) | join(', ') }}
    {{ 'union all' if not loop.last }}
    {%- else %}
    select
        cast(null as string) as topic,
        cast(null as int) as partition,
        cast(null as bigint) as offset,
        cast(null as string) as code,
        cast(null as string) as detail,
        cast(null as string) as row_key,
        cast(null as string) as model,
        cast(null as timestamp) as loaded_at,
        cast(null as string) as closed_by
    where false
    {%- endfor %}

),

rejected_rows as (

    select
        messages.topic,
        messages.partition,
        messages.offset,
        messages.timestamp,
        rejected_changes.code,
        rejected_changes.detail,
        max_by(messages.value, messages.loaded_at) as value,
        max_by(messages.key, messages.loaded_at) as key,
        messages.database_name,
        messages.schema_name,
        messages.table_name,
        rejected_changes.row_key,
        rejected_changes.model,
        min(rejected_changes.loaded_at) as loaded_at,
        max(rejected_changes.closed_by) as closed_by
    from rejected_changes
    inner join messages
        on rejected_changes.topic = messages.topic
        and rejected_changes.partition = messages.partition
        and rejected_changes.offset = messages.offset
        and messages.error is null
    group by 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13

),

rejected as (

    select * from rejected_messages

    union all

    select * from rejected_rows

),

acknowledgements as (

    select *, {{ spark_cdc._acknowledgement(acknowledged) | indent(4) }} as acknowledgement from rejected

)

select
    * except (closed_by, acknowledgement),
    case when closed_by is not null then 'closed' when acknowledgement is not null then 'acknowledged' else 'open' end as state,
    closed_by,
    case when closed_by is null then acknowledgement.because end as acknowledged_because,
    sha2(
        to_json(
            struct(topic, partition, offset, timestamp, model, code, detail, row_key),
            {{ spark_cdc._json_options() }}
        ),
        256
    ) as dead_letter_id
from acknowledgements
{%- endmacro -%}

{#-
    What closes a rejected row of a changes model, each with its condition. Only updates of some formats are two messages, and only
    a model over raw has rows of unreadable messages: the others need not look, which would type all their changes again.
-#}
{%- macro _ways_to_close(relation) -%}
    {%- set ways = {
        'update_partner': spark_cdc._completes_update('update_partner', 'rejected'),
        'whole_copy': spark_cdc._is_whole_copy('whole_copy', 'rejected'),
    } -%}
    {%- set found = spark_cdc._models_upstream(relation, 'changes') -%}
    {%- if found | length == 1 -%}
        {%- set noted = found[0].config.meta['spark_cdc.arguments'] -%}
        {%- if not spark_cdc._format(noted.format, noted.dialect or none).header.splits_updates -%}
            {%- do ways.pop('update_partner') -%}
        {%- endif -%}
        {%- if spark_cdc._nodes_below(found[0], 'messages') -%}
            {%- do ways.pop('whole_copy') -%}
        {%- endif -%}
    {%- endif -%}
    {{- return(ways) -}}
{%- endmacro -%}

{#- The name of the model whose rows a relation shows, for `--args` of an operation; or the relation's own name. -#}
{%- macro _name_of_model(relation, kind) -%}
    {%- set found = spark_cdc._models_upstream(relation, kind) -%}
    {{- return(found[0].name if found | length == 1 else relation.identifier or relation | string) -}}
{%- endmacro -%}

{#- The key of a rejected row as JSON. A view over the model may have other columns, so only the model itself is asked. -#}
{%- macro _row_key_of_rejected(relation) -%}
    {%- set found = spark_cdc._models_upstream(relation, 'changes') -%}
    {%- set key = found[0].config.meta.get('spark_cdc.key') if found | length == 1
        and found[0].relation_name == spark_cdc._name_of_relation(relation) | string else none -%}
    {%- if not key -%}
        {{- return('cast(null as string)') -}}
    {%- endif -%}
    {{- return(
        'case when rejected._cdc_op is not null then to_json(struct(' ~ spark_cdc._quoted(key, 'rejected.') ~ '), '
        ~ spark_cdc._json_options() ~ ') end'
    ) -}}
{%- endmacro -%}

{#- SQL: struct<because: string> of the first acknowledgement that matches a dead letter, or NULL. -#}
{%- macro _acknowledgement(acknowledged) -%}
    {%- set cases = [] -%}
    {%- for entry in acknowledged -%}
        {%- do cases.append(
            '\n    when ' ~ spark_cdc._is_acknowledged(entry) ~ " then named_struct('because', "
            ~ spark_cdc._literal_or_null(entry.because) ~ ')'
        ) -%}
    {%- endfor -%}
    {{- return('case' ~ cases | join ~ '\nend' if cases else 'cast(null as struct<because: string>)') -}}
{%- endmacro -%}

{#- Condition on a dead letter: it has all that the entry names. -#}
{%- macro _is_acknowledged(entry) -%}
    {%- set conditions = [] -%}
    {%- for name, column in {'code': 'code', 'model': 'model', 'table': 'table_name', 'topic': 'topic'}.items() if name in entry -%}
        {%- do conditions.append(column ~ ' = ' ~ spark_cdc._literal(entry[name])) -%}
    {%- endfor -%}
    {%- for name, condition in {'partition': 'partition =', 'from_offset': 'offset >=', 'to_offset': 'offset <='}.items()
        if name in entry -%}
        {%- do conditions.append(condition ~ ' ' ~ entry[name]) -%}
    {%- endfor -%}
    {{- return(conditions | join(' and ')) -}}
{%- endmacro -%}

{%- macro _require_acknowledged(acknowledged) -%}
    {%- set texts, numbers = ['code', 'model', 'table', 'topic'], ['partition', 'from_offset', 'to_offset'] -%}
    {%- set allowed = 'a list of mappings such as {\'code\': \'not_json\', \'topic\': \'shop\', \'partition\': 0, \'from_offset\': 4, '
        ~ '\'to_offset\': 9, \'because\': \'a test of the producer\'}' -%}
    {%- if not spark_cdc._is_list(acknowledged) -%}
        {%- do spark_cdc._raise('dead_letters', 'acknowledged', allowed, spark_cdc._show(acknowledged), 'Leave it out for none.') -%}
    {%- endif -%}
    {%- for entry in acknowledged -%}
        {%- set wrong = [] -%}
        {%- for name, value in (entry.items() if entry is mapping else []) -%}
            {%- if name in texts + ['because'] and (value is not string or not value | trim)
                or name in numbers and not spark_cdc._is_count(value)
                or name not in texts + numbers + ['because'] -%}
                {%- do wrong.append(name) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if entry is not mapping or wrong or not entry.keys() | reject('equalto', 'because') | list -%}
            {%- do spark_cdc._raise(
                'dead_letters', 'acknowledged', allowed, spark_cdc._show(entry),
                'Each names one or more of ' ~ (texts + numbers) | join(', ') ~ '; offsets and partitions are whole numbers.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
