{#-
    Messages -> one row per change of one source table, with typed columns and the row before the change.

    relation     raw messages (see `messages`), for a topic of one table or a few
    messages     instead of `relation`: a model made by `messages`, so that the model of one table reads only its own messages
    format       the shape of the messages: see `formats()`
    table        the source table's name, exactly as the messages write it; '*' if they name none, or for every table
    database, schema  further parts of the name, if the topic holds several tables with one name
                 A star inside a name matches any text: 'orders_*' are all shards of one table. The model then has the column
                 _cdc_source_table, the source table as database.schema.table (a dot inside a name is doubled). Current and history
                 tables add it to their key
    key          the columns that identify a row: ['id']; [] for a table without a key: its changes are kept, and a current or
                 history table over them names the columns that replace the key
    columns      {'id': 'bigint', 'amount': 'decimal(20,4)', 'placed_at': 'timestamp_ntz from microseconds'}
    time_zone    the zone of local times if an instant is declared, and of instants if a local time is declared

    One row has the declared columns (of a delete: the deleted row's), then `change_columns()`:
    _cdc_op          insert, update, delete, snapshot, truncate
    _cdc_sequence    the source's own order: compare it, never a timestamp
    _cdc_before      the row before the change, as far as the message has it; null if it does not
    _cdc_missing_columns  declared columns that the message does not have: their stored value stays; null if it has all
    _cdc_patches     of formats whose updates change parts of nested values (MongoDB): column -> the changes of its parts.
                     Such a column is in _cdc_missing_columns too; null if there is none
    _cdc_error       code and detail; such a row is not applied. Details name columns and types, never values
    _cdc_topic, _cdc_partition, _cdc_offset  the message; _cdc_offsets has partition and offset of both messages of an update
    _cdc_loaded_at   when the run began that wrote this row. A model whose runs do not append (`cdc_view`, dbt's `view` and `table`)
                     has the run that read the message into the messages model
    _cdc_read_positions  the state of the messages' partitions when they were read, from which the next run finds new messages;
                     null in a model whose runs do not append

    With `relation`, an unreadable message is a row with an error, because it may have been this table's. Otherwise only the
    messages model has it.
-#}
{%- macro changes(
    relation=none, format=none, table=none, key=none, columns=none, database=none, schema=none, dialect=none,
    messages=none, raw_columns=none, time_zone='UTC'
) -%}
    {%- do spark_cdc._require_arguments('changes', varargs, kwargs, [
        'relation', 'format', 'table', 'key', 'columns', 'database', 'schema', 'dialect', 'messages', 'raw_columns', 'time_zone',
    ]) -%}
    {%- set fmt = spark_cdc._format(format, dialect, 'changes') -%}
    {%- if (relation is none) == (messages is none) -%}
        {%- do spark_cdc._raise(
            'changes', 'relation', 'given when `messages` is not, and only then',
            'both' if messages is not none else 'neither',
            'Pass a raw table first, or messages=ref(...) of a model made by spark_cdc.messages.'
        ) -%}
    {%- endif -%}
    {%- if messages is not none and raw_columns is not none -%}
        {%- do spark_cdc._raise(
            'changes', 'raw_columns', 'left out with `messages`', spark_cdc._show(raw_columns),
            'A messages model has Kafka\'s own names: give raw_columns to spark_cdc.messages.'
        ) -%}
    {%- endif -%}
    {%- for argument, source in {'relation': relation, 'messages': messages}.items() if source is not none -%}
        {%- do spark_cdc._require_source('changes', argument, source) -%}
    {%- endfor -%}
    {%- if messages is not none -%}
        {%- do spark_cdc._require_kind('changes', 'messages', [messages]) -%}
    {%- endif -%}
    {%- do spark_cdc._require_raw_columns('changes', raw_columns) -%}
    {%- for argument, name in {'database': database, 'schema': schema, 'table': table}.items()
        if name is not none or argument == 'table' -%}
        {%- do spark_cdc._require_text('changes', argument, name, 'Write the source ' ~ argument ~ '\'s name as its messages do.') -%}
    {%- endfor -%}
    {%- if key != [] -%}
        {%- do spark_cdc._require_names(
            'changes', 'key', key, 'Name the columns that identify a row, such as key=[\'id\'], or key=[] where there are none.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_time_zone('changes', time_zone) -%}
    {%- set parsed_columns = spark_cdc._columns(columns, 'changes') -%}
    {%- if this is not none -%}
        {%- do spark_cdc._require_names_of_a_table('changes', columns) -%}
    {%- endif -%}
    {%- for name in key -%}
        {%- do spark_cdc._require_one_of(
            'changes', 'key', name, columns.keys() | list, 'Declare it in `columns`, or take it out of `key`.'
        ) -%}
    {%- endfor -%}
    {%- do spark_cdc._note_kind('changes', {
        'spark_cdc.key': key, 'spark_cdc.raw_columns': raw_columns or {}, 'spark_cdc.arguments': spark_cdc._as_noted({
            'format': format, 'dialect': fmt.dialect, 'database': database, 'schema': schema,
            'table': table, 'key': key, 'time_zone': time_zone,
        }, raw_columns, parsed_columns),
    }) -%}
    {%- do spark_cdc._require_spark('changes') -%}
    {%- set types = {} -%}
    {%- for column in parsed_columns -%}
        {%- do types.update({column.name: column.type}) -%}
    {%- endfor -%}
    {%- set rebuilt_for = spark_cdc._reasons_to_rebuild_log(types) -%}
    {%- set appends = not rebuilt_for and spark_cdc._is_incremental_run() -%}
    {%- if rebuilt_for -%}
        {%- do spark_cdc._note_state('rebuild', rebuilt_for) -%}
    {%- else -%}
        {%- do spark_cdc._refuse_append_of_other_arguments('changes') -%}
    {%- endif -%}
    {%- if messages is none -%}
        {%- do spark_cdc._require_raw_table('changes', relation, raw_columns) -%}
    {%- else -%}
        {%- do spark_cdc._require_columns_in(
            'changes', 'messages', messages, spark_cdc._message_columns(), 'a model made by spark_cdc.messages',
            'A raw table is the first argument, `relation`.'
        ) -%}
        {%- do spark_cdc._require_format_of_messages(fmt, messages) -%}
    {%- endif -%}
    {%- set stored = spark_cdc._columns_after_schema_change(
        parsed_columns, types, key, spark_cdc._has_source_table(database, schema, table), fmt.rows.patches is not none, appends
    ) -%}
    {%- if spark_cdc._is_run() and (rebuilt_for or spark_cdc._is_full_refresh()) -%}
        {%- do spark_cdc._refuse_history_loss(
            'changes', spark_cdc._messages_of_changes(this),
            spark_cdc._positions_of_messages(relation or messages, none if messages else raw_columns), relation or messages,
            rebuilt_for
        ) -%}
    {%- endif -%}
    {%- set query = spark_cdc._as_stored(adapter.dispatch('changes', 'spark_cdc')(
        relation, fmt, table, key, stored.columns, database, schema, messages, raw_columns, time_zone, appends
    ), stored) -%}
    {%- do spark_cdc._require_functions('changes', format, query) -%}
    {{- return(spark_cdc._with_short_lines(query)) -}}
{%- endmacro -%}

{#- If the messages model reads another format, all messages would be errors; with another dialect some values might be wrong. -#}
{%- macro _require_format_of_messages(fmt, messages) -%}
    {%- set dialects = {} -%}
    {%- for node in spark_cdc._models_upstream(messages, 'messages') -%}
        {%- for name, found in node.config.meta['spark_cdc.dialect_of'].items() -%}
            {%- do dialects.setdefault(name, []).append(found) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set of_messages = 'that of the messages in ' ~ spark_cdc._show(spark_cdc._name_of_relation(messages)) ~ ', ' -%}
    {%- if dialects and fmt.name not in dialects -%}
        {%- do spark_cdc._raise(
            'changes', 'format', of_messages ~ dialects | sort | join(', '), spark_cdc._show(fmt.name),
            'Write format=\'' ~ dialects | sort | first ~ '\', or name other messages.'
        ) -%}
    {%- elif dialects and fmt.dialect not in dialects[fmt.name] -%}
        {%- do spark_cdc._raise(
            'changes', 'dialect', of_messages ~ dialects[fmt.name][0], spark_cdc._show(fmt.named_dialect),
            'Write dialect=\'' ~ dialects[fmt.name][0] ~ '\' in both models, or name other messages.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro default__changes(
    relation, fmt, table, key, columns, database, schema, messages, raw_columns, time_zone, appends
) -%}
    {%- do spark_cdc._only_spark('changes') -%}
{%- endmacro -%}

{%- macro spark__changes(
    relation, fmt, table, key, columns, database, schema, messages, raw_columns, time_zone, appends
) -%}
    {%- set is_kept = spark_cdc._is_log() -%}
    {%- set of_this_table = spark_cdc._name_condition(database, schema, table) -%}
    {%- set source_columns = spark_cdc._columns_of_source(messages, raw_columns) -%}
    {%- set where = spark_cdc._messages_with_changes(of_this_table) if messages else none -%}
    {%- set has_source_table = spark_cdc._has_source_table(database, schema, table) -%}
    {%- set reading = none -%}
    {%- if appends -%}
        {%- set reading = spark_cdc._messages_to_read(
            relation or messages, source_columns, where, fmt.header.splits_updates, has_source_table,
            [fmt.name, fmt.named_dialect, of_this_table], finds_copies=messages is none
        ) -%}
        {%- if not reading.partitions and spark_cdc._is_run() -%}
            {{- return(spark_cdc._nothing_new()) -}}
        {%- endif -%}
        {%- do spark_cdc._note_state(
            'append', read_positions=reading.positions_after, messages=spark_cdc._number_of_messages(reading.partitions)
        ) -%}
        {%- set reading = reading if reading.partitions else none -%}
    {%- endif -%}
    {%- set parts = spark_cdc._parts_to_type(fmt, columns) -%}
    {%- if has_source_table or fmt.header.splits_updates -%}
        {%- set parts = spark_cdc._names_of_a_table() + parts -%}
    {%- endif -%}
    {%- set unread = ['op', 'key_columns', 'column_types', 'ddl'] | reject('in', parts) | list -%}
with {% if reading and reading.read_again -%}
read_again as (

    {{ reading.read_again_query | indent(4) }}

),

{% endif -%}
{% if messages -%}
{{ spark_cdc._stored_messages(
    messages, where, reading, keeps_loaded_at=not is_kept,
    leaves_out=unread + (['timestamp', 'key', 'value', 'headers'] + spark_cdc._names_of_a_table()) | reject('in', parts) | list
) }},
{%- else -%}
{{ spark_cdc._raw_envelopes(
    relation, fmt, source_columns,
    reading=reading,
    leaves_out=unread,
    finds_reused_offsets=true
) }},

{{ spark_cdc._message_rows(fmt) }},
{%- endif %}

{{ spark_cdc._row_changes(
    fmt,
    none if messages else '(' ~ spark_cdc._messages_with_changes(of_this_table) ~ ") or kind = 'unreadable'",
    columns, key, parts
) }},

{{ spark_cdc._typed_changes(
    spark_cdc._last_changes(fmt), fmt, key, columns, time_zone, has_source_table
) }}
{%- set joins_read_positions = spark_cdc._joins_read_positions(is_kept, reading) %}
{%- if joins_read_positions %},

{{ spark_cdc._read_positions_cte('raw_messages', reading) }}
{%- endif %}

select{{ ' /*+ broadcast(topics_read) */' if joins_read_positions }}
    typed_changes.*,
    {{ spark_cdc._read_positions_of_change(fmt.header.splits_updates, reading) if is_kept else 'cast(null as string)' -}}
        {{ ' as _cdc_read_positions' }}
from typed_changes
{%- if joins_read_positions %}
left join topics_read on typed_changes._cdc_topic <=> topics_read.topic
{%- endif %}
{%- if reading and reading.read_again %}
-- a part that still waits for its partner has its row already, and so has what still cannot be read
left anti join read_again
    on (typed_changes._cdc_error.code = 'unpaired_update' or typed_changes._cdc_op is null)
    and typed_changes._cdc_topic = read_again.topic
    and typed_changes._cdc_partition = read_again.partition
    and typed_changes._cdc_offset = read_again.offset
{%- endif %}
{%- endmacro -%}

{#-
    The fields of a message that typing reads besides the rows, from `column_types`, `key`, `value` and `headers`: the types
    that the message names, and the texts that show whether a value has quotes. Fields that typing does not read are left out.
-#}
{%- macro _parts_to_type(fmt, columns) -%}
    {%- set parts, typed = [], [] -%}
    {%- if fmt.rows.plain_text -%}
        {{- return(['column_types']) -}}
    {%- endif -%}
    {%- for column in columns -%}
        {%- do typed.append(spark_cdc._decoded(fmt, 'text', column, 'UTC')) -%}
    {%- endfor -%}
    {%- for name in ['column_types', 'key', 'value', 'headers'] if modules.re.search('\\b' ~ name ~ '\\b', typed | join(' ')) -%}
        {%- do parts.append(name) -%}
    {%- endfor -%}
    {{- return(parts) -}}
{%- endmacro -%}

{#- A messages model has Kafka's own column names. -#}
{%- macro _columns_of_source(messages, raw_columns) -%}
    {{- return({'headers': 'headers'} if messages else raw_columns) -}}
{%- endmacro -%}
