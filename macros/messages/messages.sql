{#-
    Raw Kafka messages -> one row per message with its envelope read.

    relation     the raw table: topic, partition, offset, timestamp, key, value
    format       the shape of the messages: see `formats()`
    dialect      the product that wrote the messages, if products write the format differently
    raw_columns  {'value': 'payload', ...}: SQL expressions for columns that have another name in the raw table
    topics       a topic, a list of them, or regular expressions: the messages of other topics are not this model's

    One row has: topic, partition, offset, timestamp, key, value as in Kafka, JSON without the wrapping of a converter; format;
    kind (rows, ddl, truncate, begin, commit, heartbeat, tombstone, other, unreadable); database_name, schema_name, table_name;
    op as the vendor writes it; sequence (the vendor's order in parts); committed_at; transaction_id; key_columns; column_types;
    ddl; error (code, detail), which is not null exactly for unreadable messages; rows (the row changes in the message, exact
    and untyped: see `_message_rows`); loaded_at (when the run that read the message began); read_positions (the state of its
    topic and partition at that time, from which the next run finds new messages).

    A `cdc_append` model reads each message of the raw table once, also one that lands late or lands again.
-#}
{%- macro messages(relation=none, format=none, dialect=none, raw_columns=none, topics=none) -%}
    {%- do spark_cdc._require_arguments(
        'messages', varargs, kwargs, ['relation', 'format', 'dialect', 'raw_columns', 'topics']
    ) -%}
    {%- do spark_cdc._require_source('messages', 'relation', relation) -%}
    {%- set fmt = spark_cdc._format(format, dialect, 'messages') -%}
    {%- do spark_cdc._require_raw_columns('messages', raw_columns) -%}
    {%- do spark_cdc._require_topics('messages', topics) -%}
    {%- do spark_cdc._note_kind('messages', {
        'spark_cdc.dialect_of': {format: fmt.dialect}, 'spark_cdc.raw_columns': raw_columns or {},
        'spark_cdc.topics': topics,
        'spark_cdc.arguments': spark_cdc._as_noted(dict(
            {'format': format, 'dialect': fmt.dialect}, **spark_cdc._vars_of_rows(format)
        ), raw_columns),
    }) -%}
    {%- do spark_cdc._require_spark('messages') -%}
    {%- do spark_cdc._refuse_append_of_other_arguments('messages') -%}
    {%- do spark_cdc._refuse_append_to_other_rows() -%}
    {%- do spark_cdc._require_raw_table('messages', relation, raw_columns) -%}
    {%- if spark_cdc._is_run() and spark_cdc._is_full_refresh() -%}
        {%- do spark_cdc._refuse_history_loss(
            'messages', spark_cdc._positions_of_messages(this), spark_cdc._positions_of_messages(relation, raw_columns), relation
        ) -%}
    {%- endif -%}
    {%- set query = adapter.dispatch('messages', 'spark_cdc')(relation, fmt, raw_columns, topics) -%}
    {%- do spark_cdc._require_functions('messages', format, query) -%}
    {{- return(spark_cdc._with_short_lines(query)) -}}
{%- endmacro -%}

{%- macro default__messages(relation, fmt, raw_columns, topics=none) -%}
    {%- do spark_cdc._only_spark('messages') -%}
{%- endmacro -%}

{%- macro spark__messages(relation, fmt, raw_columns, topics=none) -%}
    {%- set is_kept = spark_cdc._is_log() -%}
    {%- set where = spark_cdc._topics_condition(raw_columns, topics) -%}
    {%- set reading = none -%}
    {%- if spark_cdc._is_incremental_run() -%}
        {%- set read_before = spark_cdc._positions_read_before(
            relation, 'topic', 'read_positions', [fmt.name, fmt.named_dialect, raw_columns] + ([topics] if topics else [])
        ) -%}
        {%- set partitions = spark_cdc._partitions_to_read(relation, raw_columns, read_before, where) -%}
        {%- if not partitions and spark_cdc._is_run() -%}
            {{- return(spark_cdc._nothing_new()) -}}
        {%- endif -%}
        {%- do spark_cdc._note_state(
            'append', read_positions=spark_cdc._positions_after(read_before, partitions),
            messages=spark_cdc._number_of_messages(partitions)
        ) -%}
        {%- set reading = {
            'counts_copies': true,
            'positions_read': "select topic, partition, offset, timestamp, error.code <=> 'offset_reused' as is_reused from " ~ this,
            'values_unread': "select topic, partition, offset, timestamp, xxhash64(value) as value_hash from " ~ this
                ~ " where kind = 'unreadable'",
        } -%}
        {%- set reading = dict(
            reading, partitions=spark_cdc._with_late_ranges(partitions, relation, raw_columns, where, reading)
        ) if partitions else none -%}
    {%- endif -%}
with {{ spark_cdc._raw_envelopes(relation, fmt, raw_columns, reading=reading, finds_reused_offsets=true, where=where) }},

{{ spark_cdc._message_rows(fmt) }}
{%- set joins_read_positions = spark_cdc._joins_read_positions(is_kept, reading) %}
{%- if joins_read_positions %},

{{ spark_cdc._read_positions_cte('raw_messages', reading) }}
{%- endif %}

select {{ '/*+ broadcast(topics_read) */' if joins_read_positions }}
    message_rows.topic,
    partition,
    offset,
    timestamp,
    key,
    value,
    headers,
    format,
    kind,
    {%- for name in spark_cdc._header_columns() %}
    {{ name }},
    {%- endfor %}
    error,
    rows,
    loaded_at,
    {{ spark_cdc._as_read_positions(spark_cdc._partitions_read('message_rows.topic', reading) ~ '[partition]')
        if is_kept else 'cast(null as string)' }} as read_positions
from message_rows
{%- if joins_read_positions %}
left join topics_read on message_rows.topic <=> topics_read.topic
{%- endif %}
{%- endmacro -%}

{#- Columns of a messages model that a changes model reads. -#}
{%- macro _message_columns() -%}
    {{- return(
        ['topic', 'partition', 'offset', 'timestamp', 'key', 'value', 'headers', 'kind']
        + spark_cdc._header_columns() | list + ['error', 'rows', 'loaded_at']
    ) -}}
{%- endmacro -%}

{#- The rows that another version of this package wrote may have other fields. Spark's own error would print the types of both. -#}
{%- macro _refuse_append_to_other_rows() -%}
    {%- if spark_cdc._is_run() and spark_cdc._is_incremental_run() -%}
        {%- set fields = [] -%}
        {%- for name, type in spark_cdc._row_fields().items() -%}
            {%- do fields.append(name ~ ':' ~ type) -%}
        {%- endfor -%}
        {#- `describe` would shorten the type where spark.sql.debug.maxToStringFields says so. -#}
        {%- set type = run_query('select typeof(any_value(rows)) from ' ~ this ~ ' where false').rows[0][0] -%}
        {%- if type != 'array<struct<' ~ fields | join(',') ~ '>>' -%}
            {%- do exceptions.raise_compiler_error(
                'spark_cdc.messages: the rows in ' ~ this ~ ' are of another version of this package and have other fields. '
                ~ 'Rebuild it and all that is downstream: dbt run --full-refresh --select ' ~ model.name ~ '+'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
