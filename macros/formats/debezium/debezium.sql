{#-
    Debezium: the row before and after a change, with or without the converter's schema, or flattened to the row alone.
    Facts: debezium.io/documentation, the connectors' "data change events"; docs/formats/debezium.md.

    Order: the position in the source's log as numbers, by connector. The delete and the insert of a key change share a
    position: the offset orders them. A snapshot row has the position at which the snapshot was taken and comes before a change
    at that same position.

    Dialects: `envelope` (default; bare or inside {schema, payload}, also mixed in one topic), `by_offset` (the same, ordered by
    Kafka's offset alone, for topics whose positions do not compare: another server's log, incremental snapshots without
    positions), `flat` (ExtractNewRecordState: the row and `__` fields; the producer loses truncates), `cloudcanal` (CloudCanal
    writes op i for an insert, a for DDL and {} for a missing row; ordered by the offset, because its page does not say that
    every row has file and pos) and `cockroachdb` (CockroachDB's own changefeeds).

    Other files: whose messages are read (connectors.sql), the connectors' positions (order.sql), the dialects flat and
    cockroachdb (flat.sql, cockroachdb.sql), the semantic types (values.sql) and the format debezium_mongodb (mongodb.sql).
-#}
{%- macro default__debezium_schema(dialect, with_types) -%}
    {%- if dialect == 'flat' -%}
        {{- return('map<string,string>') -}}
    {%- elif dialect == 'cockroachdb' -%}
        {{- return(spark_cdc._debezium_cockroachdb_schema()) -}}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._debezium_event_fields().items() -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- endfor -%}
    {%- set event = fields | join(',\n    ') -%}
    {%- set field = 'field: string, type: string, name: string, parameters: struct<scale: string>' -%}
    {%- set types = ',\n    `schema`: struct<fields: array<struct<field: string, fields: array<struct<' ~ field ~ '>>>>>' -%}
    {{- return(
        'struct<\n    ' ~ event ~ ',\n    payload: struct<\n    ' ~ event ~ '>' ~ (types if with_types else '') ~ '\n>'
    ) -}}
{%- endmacro -%}

{#- Debezium's fields: at the root, or in `payload` if the message has the converter's schema. -#}
{%- macro _debezium_event_fields() -%}
    {%- set source -%}
        struct<
            connector: string, snapshot: string, origin: string, db: string, keyspace: string, `schema`: string, `table`: string,
            collection: string, ts_ms: bigint, ts_us: bigint, sequence: string, file: string, pos: bigint, lsn: string,
            commit_lsn: string, change_lsn: string, event_serial_no: string, scn: string, commit_scn: string, txId: string,
            gtid: string, commit_ts: string, owner: string
        >
    {%- endset -%}
    {{- return({
        'op': 'string', 'before': 'map<string,string>', 'after': 'map<string,string>', 'source': source,
        'transaction': 'struct<id: string>', 'ddl': 'string', 'historyRecord': 'string', 'databaseName': 'string',
        'schemaName': 'string', 'tableChanges': 'string', 'status': 'string', 'id': 'string', 'ts_ms': 'string',
    }) -}}
{%- endmacro -%}

{%- macro default__debezium_header(dialect) -%}
    {%- if dialect == 'flat' -%}
        {{- return(spark_cdc._debezium_flat_header()) -}}
    {%- elif dialect == 'cockroachdb' -%}
        {{- return(spark_cdc._debezium_cockroachdb_header()) -}}
    {%- endif -%}
    {%- set event_fields = [] -%}
    {%- for name in spark_cdc._debezium_event_fields() -%}
        {%- do event_fields.append("'" ~ name ~ "', message." ~ name) -%}
    {%- endfor -%}
    {%- set is_cloudcanal = dialect == 'cloudcanal' -%}
    {%- set is_by_offset = dialect == 'by_offset' -%}
    {%- set ddl = "coalesce(event.ddl, get_json_object(event.historyRecord, '$.ddl'))" -%}
    {#- Vitess leaves `db` empty: its databases are keyspaces. -#}
    {%- set database = "coalesce(nullif(event.source.db, ''), event.source.keyspace, event.source.db)" -%}
    {%- set qualifier = "coalesce(nullif(event.source.schema, ''), " ~ database ~ ')' -%}
    {%- set kind -%}
        case
            when event.op in ({{ spark_cdc._debezium_ops(dialect).rows }}) then 'rows'
            when event.op = 't' then 'truncate'
            when event.op = 'm' then 'other'
            {#-
                MySQL's connector leaves `t` out by default, and TiCDC and CloudCanal have none. Two truncates at one position
                do no harm.
            -#}
            when {{ spark_cdc._debezium_may_truncate(dialect) }} and statement_kind = 'truncate' then 'truncate'
            {%- if is_cloudcanal %}
            when event.op = 'a' then 'ddl'
            {%- endif %}
            when event.status = 'BEGIN' then 'begin'
            when event.status = 'END' then 'commit'
            when {{ spark_cdc._debezium_is_ddl() }} then 'ddl'
            else 'heartbeat'
        end
    {%- endset -%}
    {%- set transaction_id -%}
        coalesce(
            event.transaction.id, event.source.gtid, event.source.txId, case when event.status is not null then event.id end
        )
    {%- endset -%}
    {#- A message of the operation m, which a program wrote into the log, is of no table. -#}
    {%- set beside_event = dict(
        {
            'rows_of_keys': spark_cdc._debezium_rows_of_keys(),
            'connector': "case when not event.op <=> 'm' then event.source.connector end",
        },
        **spark_cdc._debezium_quotes_of_event()
    ) -%}
    {%- if not is_cloudcanal -%}
        {%- set beside_event = dict(beside_event, **spark_cdc._debezium_known_rows()) -%}
    {%- endif -%}
    {{- return({
        'event': 'coalesce(message.payload, named_struct(\n    ' ~ event_fields | join(',\n    ') ~ '\n))',
        'beside_event': beside_event,
        'nested': "case when contains(value, '\"payload\"') or contains(value, '\\\\u') then "
            ~ spark_cdc._keys_of('payload') ~ ' end',
        'nested_in': 'payload',
        'kind': kind,
        'database_name': 'coalesce(' ~ database ~ ', event.databaseName)',
        'schema_name': 'coalesce(event.source.schema, event.schemaName)',
        'table_name': 'coalesce(event.source.table, event.source.collection)',
        'names_table': is_cloudcanal,
        'op': 'event.op',
        'sequence': 'cast(array() as array<decimal(20,0)>)' if is_cloudcanal or is_by_offset
            else spark_cdc._debezium_sequence('event.source', 'event.op'),
        'sequence_names': none if is_cloudcanal or is_by_offset else spark_cdc._debezium_sequence_names('event.source'),
        'committed_at': 'coalesce(' ~ spark_cdc._instant('nullif(event.source.ts_us, 0)', 'microseconds') ~ ', '
            ~ spark_cdc._instant('nullif(event.source.ts_ms, 0)', 'milliseconds') ~ ')',
        'transaction_id': transaction_id,
        'key_columns': 'map_keys(rows_of_keys[0])',
        'column_types': spark_cdc._debezium_types(
            "get(filter(message.`schema`.fields, part -> part.field in ('after', 'before')), 0).fields"
        ),
        'statement': {'text': ddl, 'table': 'event.source.table', 'qualifier': qualifier},
        'sql_dialect': spark_cdc._debezium_sql_dialect(),
        'ddl': 'statement',
        'errors': spark_cdc._debezium_errors(dialect),
    }) -}}
{%- endmacro -%}

{#- The operations of `op` by what they are, as literals; `known` are all of them. -#}
{%- macro _debezium_ops(dialect) -%}
    {%- set inserts = ['c', 'i'] if dialect == 'cloudcanal' else ['c'] -%}
    {%- set rows = inserts + ['u', 'd', 'r'] -%}
    {%- set others = ['t', 'm'] + (['a'] if dialect == 'cloudcanal' else []) -%}
    {{- return({
        'rows': spark_cdc._literals(rows),
        'rows_and_truncate': spark_cdc._literals(rows + ['t']),
        'with_after': spark_cdc._literals(inserts + ['u', 'r']),
        'inserts_and_snapshot': spark_cdc._literals(inserts + ['r']),
        'known': spark_cdc._literals(rows + others),
    }) -}}
{%- endmacro -%}

{#-
    Conditions on a message without an operation. A table's own columns can make its messages look alike. Such a message is
    neither: it has no databaseName, or more than a time.
-#}
{%- macro _debezium_is_ddl() -%}
    {%- set is_ddl -%}
        (event.databaseName is not null and (event.tableChanges is not null or event.ddl is not null)
        or event.source.connector is not null and event.historyRecord is not null)
    {%- endset -%}
    {{- return(is_ddl) -}}
{%- endmacro -%}

{%- macro _debezium_is_heartbeat() -%}
    {%- set is_heartbeat -%}
        (event.ts_ms is not null and event.source is null
        and size(json_object_keys(coalesce(get_json_object(value, '$.payload'), value))) = 1)
    {%- endset -%}
    {{- return(is_heartbeat) -}}
{%- endmacro -%}

{%- macro _debezium_may_truncate(dialect) -%}
    {{- return(
        '(event.op is null and ' ~ spark_cdc._debezium_is_ddl() ~ (" or event.op = 'a'" if dialect == 'cloudcanal' else '') ~ ')'
    ) -}}
{%- endmacro -%}

{#- The rules that reject a message, by error code. -#}
{%- macro _debezium_errors(dialect) -%}
    {%- set is_cloudcanal = dialect == 'cloudcanal' -%}
    {%- set ops, may_truncate = spark_cdc._debezium_ops(dialect), spark_cdc._debezium_may_truncate(dialect) -%}
    {%- set no_after = 'coalesce(size(event.after), 0) < 1' if is_cloudcanal else 'event.after is null' -%}
    {#- In the format debezium_mongodb the documents are read first, and its own header checks the row of a delete. -#}
    {%- set no_row_before = "event.op = 'd' and coalesce(size(event.before), 0) < 1 and "
        ~ ('coalesce(size(event.after), 0) < 1 and ' if is_cloudcanal else '')
        ~ 'coalesce(size(rows_of_keys[0]), 0) < 1' -%}
    {%- set unsupported = spark_cdc._debezium_unsupported('connector', dialect) -%}
    {%- do unsupported.update({
        'source.owner: oracdc writes it, which is not read as Debezium':
            'event.source.connector is null and event.source.owner is not null',
        'source.origin: cockroachdb is read by the dialect cockroachdb': "event.source.origin = 'cockroachdb'",
        'source.connector: missing, and the columns are cells, which are not read as Debezium':
            'event.op is not null and event.source is not null and event.source.connector is null and '
            ~ spark_cdc._debezium_holds_cells('value'),
        'source.connector: postgresql, and the columns are cells, as YugabyteDB writes them':
            "event.source.connector = 'postgresql' and " ~ spark_cdc._debezium_holds_set_cells('value'),
    }) -%}
    {%- set union = ": the row is under Value, as Avro's JSON encoding writes unions" -%}
    {%- set unknown_op = {'op: not one that the format has': 'event.op not in (' ~ ops.known ~ ')'} -%}
    {%- if dialect == 'by_offset' -%}
        {%- do unknown_op.update({
            'op: a truncate, which has no place in the order of the offsets': "event.op = 't'",
            'ddl: a TRUNCATE, which has no place in the order of the offsets':
                may_truncate ~ " and startswith(statement_kind, 'truncate')",
        }) -%}
    {%- endif -%}
    {%- set errors = {
        'duplicate_key': {'source: names a field twice': spark_cdc._debezium_names_twice()},
        'unsupported_connector': unsupported,
        'wrong_format': {
            'after' ~ union: spark_cdc._is_avro_record('event.after'),
            'before' ~ union: spark_cdc._is_avro_record('event.before'),
            'payload: ' ~ spark_cdc._wrappings().text_of_object ~ '; the object has to be the value':
                "event.op is null and value rlike r'\"payload\"\\s*+:\\s*+\"\\s*+\\{'",
            'op: missing, and the message is no heartbeat, mark of a transaction or schema change':
                "event.op is null and not (coalesce(event.status in ('BEGIN', 'END'), false) or " ~ spark_cdc._debezium_is_ddl()
                ~ ' or ' ~ spark_cdc._debezium_is_heartbeat() ~ ')',
        },
        'unknown_op': unknown_op,
        'missing_after': {'after: missing': 'event.op in (' ~ ops.with_after ~ ') and ' ~ no_after},
        'key_missing': {'before: missing, and the Kafka key does not name the row': no_row_before},
    } -%}
    {%- set ddl_fault = 'case when ' ~ may_truncate ~ ' then ' ~ spark_cdc._statement_fault('ddl') ~ ' end' -%}
    {%- set structure = spark_cdc._debezium_unexpected_structure(dialect, ops) -%}
    {%- if is_cloudcanal or dialect == 'by_offset' -%}
        {{- return(dict(errors, unexpected_structure=structure, fault=ddl_fault)) -}}
    {%- endif -%}
    {%- set no_place -%}
        case
            when event.op in ({{ ops.rows_and_truncate }}) or {{ may_truncate }} and startswith(statement_kind, 'truncate')
                then {{ spark_cdc._debezium_no_place('event.source', 'event.op') | indent(16) }}
        end
    {%- endset -%}
    {{- return(dict(errors, fault='coalesce(' ~ no_place ~ ', ' ~ ddl_fault ~ ')', unexpected_structure=structure)) -}}
{%- endmacro -%}

{#- If a message has a row that its operation does not have, nobody knows which of the two is right. -#}
{%- macro _debezium_unexpected_structure(dialect, ops) -%}
    {%- set is_cloudcanal = dialect == 'cloudcanal' -%}
    {#- Flink's writers name no source at all: the topic is then the table. -#}
    {%- set no_table = 'event.source is not null and event.op in (' ~ ops.rows_and_truncate
        ~ ") and coalesce(event.source.table, event.source.collection, '') = ''" -%}
    {%- set two_events = 'message.payload is not null and (message.op is not null or message.source is not null '
        ~ 'or message.before is not null or message.after is not null)' -%}
    {%- set two_old_keys = 'case when size(headers) > 1 then '
        ~ 'size(array_distinct(' ~ spark_cdc._debezium_old_keys() ~ ')) > 1 else false end' -%}
    {%- set rules = {
        'ts_ms: not a whole number': 'event.op is null and event.source is null and event.ts_ms is not null '
            ~ 'and try_cast(event.ts_ms as bigint) is null',
        'source.table: missing': no_table,
        'payload: an event, and another one at the root': two_events,
        'headers: two of the name __debezium.oldkey that differ': two_old_keys,
        'source.ts_ms: not a time in milliseconds': spark_cdc._is_no_time('event.source.ts_ms', 'milliseconds'),
        'source.ts_us: not a time in microseconds': spark_cdc._is_no_time('event.source.ts_us', 'microseconds'),
        'before: has a row, which the operation does not have': "event.op in ('t', " ~ ops.inserts_and_snapshot
            ~ ') and coalesce(size(event.before) > 0, false)',
        'after: has a row, which the operation does not have': 'event.op in (' ~ ("'t'" if is_cloudcanal else "'t', 'd'")
            ~ ') and coalesce(size(event.after) > 0, false)',
    } -%}
    {%- for name in ['db', 'keyspace', 'schema', 'table', 'collection'] -%}
        {%- do rules.update({'source.' ~ name ~ ': not a text': spark_cdc._is_nested({name: 'event.source.' ~ name})}) -%}
    {%- endfor -%}
    {%- if is_cloudcanal -%}
        {#- CloudCanal's page swaps the meanings of before and after, compared with its sample: a delete has one row. -#}
        {%- do rules.update({
            'before: another row than in after': "event.op = 'd' and size(event.before) > 0 and size(event.after) > 0 "
                ~ 'and not array_sort(map_entries(event.before)) <=> array_sort(map_entries(event.after))',
            'ddl: a schema change with a row': "(event.op = 'a' or event.op is null and event.ddl is not null) "
                ~ 'and coalesce(size(event.after) > 0 or size(event.before) > 0, false)',
            'ddl: a row with a statement': 'event.op in (' ~ ops.rows ~ ") and trim(event.ddl) <> ''",
            'databaseName: another one than source.db': 'event.op is null and event.databaseName <> event.source.db',
        }) -%}
    {%- endif -%}
    {{- return(rules) -}}
{%- endmacro -%}

{#- What the source's database speaks, from the stored message. CloudCanal writes the names of connectors with capitals. -#}
{%- macro _debezium_sql_dialect() -%}
case lower(coalesce(get_json_object(value, '$.source.connector'), get_json_object(value, '$.payload.source.connector')))
    when 'mysql' then 'mysql'
    when 'mariadb' then 'mysql'
    when 'ticdc' then 'mysql'
    when 'oracle' then 'oracle'
    when 'postgresql' then 'postgres'
    when 'sqlserver' then 'tsql'
end
{%- endmacro -%}

{#-
    Whether `source` names a field twice. A search cuts out its text first, because parsing the whole message again is slow. If
    the cut text is not an object (blanks, a brace inside a text) or may be a column of that name, the whole message is parsed.
-#}
{%- macro _debezium_names_twice() -%}
    {%- set cut = "json_object_keys(concat('{', substring_index(substring_index(value, '\"source\":{', -1), '}', 1), '}'))" -%}
    {#- The texts before the first and after the last one, and one of its own length, are the whole message. -#}
    {%- set stands_once = "octet_length(substring_index(value, '\"source\":{', 1)) + 10 "
        ~ "+ octet_length(substring_index(value, '\"source\":{', -1)) = octet_length(value)" -%}
    {%- set whole = "json_object_keys(coalesce(get_json_object(value, '$.payload.source'), get_json_object(value, '$.source')))" -%}
    {{- return('event.source is not null and ' ~ spark_cdc._let(
        'names', 'coalesce(case when ' ~ stands_once ~ ' then ' ~ cut ~ ' end, ' ~ whole ~ ')', spark_cdc._names_twice('names')
    )) -}}
{%- endmacro -%}

{#-
    A key as the JSON converter writes it, with or without its schema, read as strictly as the message. It has no columns if the
    message says that there is no key; NULL if it cannot be read.
-#}
{%- macro _debezium_key(text) -%}
    {%- set may_be_rewritten = spark_cdc._may_hold_fractions(text) -%}
    {%- set read -%}
        from_json(
            concat(
                '{"key":',
                case
                    when {{ may_be_rewritten }} then {{ spark_cdc._quote_numbers(text) | trim | indent(20) }}
                    else {{ text }}
                end,
                ',"is_read":true}'
            ),
            'key map<string,string>, is_read boolean, broken string',
            map('columnNameOfCorruptRecord', 'broken', 'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')
        )
    {%- endset -%}
    {%- set payload = "read.key['payload']" -%}
    {%- set columns -%}
        case
            when not coalesce(read.is_read and read.broken is null, false) then null
            when map_contains_key(read.key, 'payload') and size(read.key) = if(map_contains_key(read.key, 'schema'), 2, 1)
                and coalesce(startswith({{ payload }}, '{'), true)
                then coalesce(from_json({{ payload }}, 'map<string,string>'), map())
            else read.key
        end
    {%- endset -%}
    {%- set exact_columns = 'if(' ~ may_be_rewritten ~ ', ' ~ spark_cdc._unquoted_image('columns') ~ ', columns)' -%}
case
    when {{ spark_cdc._has_lone_surrogate(text) }} then null
    when {{ spark_cdc._ends_with_its_object(text, spark_cdc._names_and_mark(text)) | indent(4) }}
        then {{ spark_cdc._let('read', read, spark_cdc._let('columns', columns, exact_columns)) | indent(8) }}
end
{%- endmacro -%}

{#- Headers of the second part of a key change (there is one such header), and the key before in them. -#}
{%- macro _debezium_old_keys() -%}
    {{- return("filter(headers, header -> header.key = '__debezium.oldkey')") -}}
{%- endmacro -%}

{%- macro _debezium_old_key() -%}
    {{- return('cast(get(' ~ spark_cdc._debezium_old_keys() ~ ', 0).value as string)') -}}
{%- endmacro -%}

{#-
    The columns of the message's key, and of the key before in the second part of a key change. The key of a schema change names
    its database, and no row.
-#}
{%- macro _debezium_rows_of_keys() -%}
    {%- set keys -%}
        transform(
            array(
                case when event.op is not null then key end,
                case when event.op = 'c' and size(headers) > 0 then {{ spark_cdc._debezium_old_key() }} end
            ),
            text -> {{ spark_cdc._debezium_key('text') | trim | indent(12) }}
        )
    {%- endset -%}
    {{- return(keys) -}}
{%- endmacro -%}

{#- Column -> name of the semantic type, or of the plain type; a decimal's scale follows in parentheses. -#}
{%- macro _debezium_types(fields) -%}
    {%- set types -%}
        case when size({{ fields }}) = size(array_distinct({{ fields }}.field)) then map_from_arrays(
            {{ fields }}.field,
            transform({{ fields }}, part -> concat(
                coalesce(part.name, part.type, ''), coalesce(concat('(', part.parameters.scale, ')'), '')
            ))
        ) end
    {%- endset -%}
    {{- return(types) -}}
{%- endmacro -%}

{#-
    A column that the database did not send (TOAST) holds a placeholder: it is removed from the row, so that it is absent. If an
    insert's header names an old key, the insert is the second part of a key change: the old key is its row before. A delete
    without a row before gets its row from the Kafka key.
-#}
{%- macro default__debezium_rows(dialect) -%}
    {%- if dialect == 'flat' -%}
        {{- return(spark_cdc._debezium_flat_rows()) -}}
    {%- elif dialect == 'cloudcanal' -%}
        {{- return(spark_cdc._debezium_cloudcanal_rows()) -}}
    {%- elif dialect == 'cockroachdb' -%}
        {{- return(spark_cdc._debezium_cockroachdb_rows()) -}}
    {%- endif -%}
    {%- set op -%}
        case event.op
            when 'c' then case when rows_of_keys[1] is null then 'insert' else 'update' end
            when 'u' then 'update' when 'd' then 'delete' else 'snapshot'
        end
    {%- endset -%}
    {%- set old_row = 'case when size(event.before) > 0 then known_rows[0] else rows_of_keys[0] end' -%}
    {%- set image -%}
        case when event.op = 'd' then {{ old_row }} else known_rows[1] end
    {%- endset -%}
    {%- set before -%}
        case
            when event.op = 'c' then rows_of_keys[1]
            when event.op = 'd' or event.op = 'u' and size(event.before) > 0 then {{ old_row }}
        end
    {%- endset -%}
    {%- set old_in_quotes = 'if(size(event.before) > 0, quotes[0], quotes[2])' -%}
    {%- set in_quotes -%}
        array(
            if(event.op = 'd', {{ old_in_quotes }}, quotes[1]),
            case when event.op = 'c' then quotes[3] when event.op in ('d', 'u') then {{ old_in_quotes }} end
        )
    {%- endset -%}
    {#- Flink's writers can be set to leave out nulls. A value that was not sent has a placeholder. -#}
    {%- set ambiguous_null -%}
        event.op = 'u' and {{ spark_cdc._lacks_columns_of('event.before', 'event.after') }}
    {%- endset -%}
    {{- return({
        'op': op, 'image': image, 'before': before, 'absent_is_error': ambiguous_null, 'plain_text': true,
        'in_quotes': spark_cdc._outdented(in_quotes), 'readings': spark_cdc._debezium_readings(),
        'may_have_readings': spark_cdc._debezium_may_have_readings(),
        'old_key_told_apart': 'rows_of_keys[1] is not null', 'type_scale': spark_cdc._debezium_scale('{}'),
        'no_value': spark_cdc._debezium_is_no_value('{}'),
    }) -}}
{%- endmacro -%}

{%- macro _debezium_cloudcanal_rows() -%}
    {%- set old_row -%}
        case
            when size(event.before) > 0 then event.before
            when size(event.after) > 0 then event.after
            else rows_of_keys[0]
        end
    {%- endset -%}
    {%- set old_in_quotes -%}
        case when size(event.before) > 0 then quotes[0] when size(event.after) > 0 then quotes[1] else quotes[2] end
    {%- endset -%}
    {{- return({
        'in_quotes': "array(if(event.op = 'd', " ~ old_in_quotes ~ ", quotes[1]), case when event.op in ('u', 'd') then " ~ old_in_quotes
            ~ ' end)',
        'op': "case event.op when 'u' then 'update' when 'd' then 'delete' when 'r' then 'snapshot' else 'insert' end",
        'image': "case when event.op = 'd' then " ~ old_row ~ ' else event.after end',
        'before': "case event.op when 'u' then case when size(event.before) > 0 then event.before end when 'd' then "
            ~ old_row ~ ' end',
        'absent_is_error': "event.op = 'u' and " ~ spark_cdc._lacks_columns_of('event.before', 'event.after'),
        'plain_text': true,
    }) -}}
{%- endmacro -%}

{#-
    The rows of a message without what the connector did not send. The whole message is searched first: few messages hold a
    placeholder, and a lambda over every row is slow.
-#}
{%- macro _debezium_known_rows() -%}
    {%- set texts = ['\\u'] + spark_cdc._debezium_placeholders(inside_of_value=true) -%}
    {%- set known -%}
        case
            when may_lack_values
                then transform(array(event.before, event.after), row -> map_filter(row, (name, text) -> not {# -#}
                    {{ spark_cdc._debezium_is_unavailable('text') | indent(20) }}
                ))
            else array(event.before, event.after)
        end
    {%- endset -%}
    {{- return({
        'may_lack_values': 'true' if spark_cdc._var('spark_cdc__debezium_unavailable_pattern')
            else spark_cdc._contains_one_of('value', texts),
        'known_rows': known,
    }) -}}
{%- endmacro -%}

{#- True if a text is the placeholder of a value that the connector did not send. -#}
{%- macro _debezium_is_unavailable(text) -%}
    {#- A number without quotes may have the mark of a quoted one: see `_quote_numbers`. -#}
    {%- set number = "trim(leading '\\uFDD0' from " ~ text ~ ')' -%}
    {%- set list_of_bytes = "regexp_replace(" ~ text ~ ", r'\\.0(?=[\",\\]])|[\"}]|\\x{FDD0}|\\{\"scale\":0,\"value\":', '')" -%}
    {%- set texts = spark_cdc._literals(spark_cdc._debezium_placeholders(), ',\n    ') -%}
    {%- set lists = spark_cdc._literals(spark_cdc._debezium_bytes_of_placeholders(), ',\n    ') -%}
    {%- set conditions = [
        number ~ ' in (\n    ' ~ texts ~ '\n)',
        'startswith(' ~ text ~ ", '[') and " ~ list_of_bytes ~ ' in (\n    ' ~ lists ~ '\n)',
    ] -%}
    {%- set pattern = spark_cdc._var('spark_cdc__debezium_unavailable_pattern') -%}
    {%- if pattern -%}
        {%- do conditions.append(spark_cdc._matches_whole(number, pattern)) -%}
    {%- endif -%}
    {{- return('coalesce(' ~ conditions | join('\n    or ') ~ ', false)') -}}
{%- endmacro -%}

{#- Condition: the whole text matches a project's own regular expression. -#}
{%- macro _matches_whole(text, pattern) -%}
    {{- return(text ~ ' rlike ' ~ spark_cdc._literal('^(?:' ~ pattern ~ ')\\z')) -}}
{%- endmacro -%}

{#-
    The connector's `unavailable.value.placeholder` in its forms: a text, binary (base64, also that of URLs and without padding,
    or hexadecimal), one of these in a list, in an hstore, and for uuid[] as Java's nameUUIDFromBytes. With `inside_of_value` the
    result is the form in the message's own text, that of its bytes included.
-#}
{%- macro _debezium_placeholders(inside_of_value=false) -%}
    {%- set forms = [] -%}
    {%- for placeholder in spark_cdc._var('spark_cdc__debezium_unavailable_values') -%}
        {%- set base64, hexadecimal = spark_cdc._base64(placeholder.encode('utf-8') | list), placeholder.encode('utf-8').hex() -%}
        {%- set base64_url = base64 | replace('+', '-') | replace('/', '_') -%}
        {%- set uuid = spark_cdc._uuid_of_name(placeholder) -%}
        {%- set texts = [placeholder, base64.rstrip('='), base64_url.rstrip('='), hexadecimal, hexadecimal | upper] -%}
        {%- if inside_of_value -%}
            {#- The beginning is enough, and the numbers of a list may have blanks between them. -#}
            {%- set numbers, decimals = spark_cdc._debezium_bytes_of(placeholder) -%}
            {%- do forms.extend(texts + [uuid]) -%}
            {%- do forms.extend(['[' ~ numbers[:3] | join(', '), '[' ~ numbers[:3] | join(','), '[' ~ numbers[0] ~ '.0,']) -%}
            {%- do forms.extend(['["' ~ decimals[0] ~ '",', '[{"scale":0,"value":"' ~ decimals[0] ~ '"},']) -%}
        {%- else -%}
            {%- set texts = texts + [base64, base64_url] -%}
            {%- do forms.extend(texts) -%}
            {%- for text in texts + [uuid] -%}
                {%- do forms.append('["' ~ text ~ '"]') -%}
            {%- endfor -%}
            {%- do forms.append('{"' ~ placeholder ~ '":"' ~ placeholder ~ '"}') -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(forms | unique(case_sensitive=true) | list) -}}
{%- endmacro -%}

{#-
    The placeholders as lists of their bytes, for lists of other types: numbers, and decimals of base64. A list has neither
    quotes nor points here, nor the objects of scale and value.
-#}
{%- macro _debezium_bytes_of_placeholders() -%}
    {%- set forms = [] -%}
    {%- for placeholder in spark_cdc._var('spark_cdc__debezium_unavailable_values') -%}
        {%- for elements in spark_cdc._debezium_bytes_of(placeholder) -%}
            {%- do forms.append('[' ~ elements | join(',') ~ ']') -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(forms) -}}
{%- endmacro -%}

{#- A text's bytes as Java's signed numbers, and each as a decimal in base64. -#}
{%- macro _debezium_bytes_of(text) -%}
    {%- set signed, decimals = [], [] -%}
    {%- for byte in text.encode('utf-8') -%}
        {%- do signed.append(byte - 256 if byte > 127 else byte) -%}
        {%- do decimals.append(spark_cdc._base64([byte])) -%}
    {%- endfor -%}
    {{- return([signed, decimals]) -}}
{%- endmacro -%}
