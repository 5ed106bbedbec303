{#-
    Debezium: before and after images of one row, with or without the converter's schema, or flattened to the row alone.
    Facts: debezium.io/documentation, the connectors' "data change events"; docs/formats/debezium.md.

    Order: the position in the source's log as numbers, by connector; the offset breaks the tie of the delete and the
    insert that a key change consists of. A snapshot row carries the position at which the snapshot was taken and comes
    before a change at that same position.

    Dialects: `envelope` (default; bare or inside {schema, payload}, also mixed in one topic), `flat`
    (ExtractNewRecordState: the row and `__` fields; truncates are lost by the producer) and `cloudcanal` (CloudCanal writes
    op i for an insert, a for DDL and {} for a row that is not there; ordered by the offset, because its page does not say
    that file and pos stand in every row).
-#}
{%- macro default__debezium_schema(dialect, with_types) -%}
    {%- if dialect == 'flat' -%}
        {{- return('map<string,string>') -}}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._debezium_event_fields().items() -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- endfor -%}
    {%- set event = fields | join(', ') -%}
    {%- set field = 'field: string, type: string, name: string, parameters: struct<scale: string>' -%}
    {%- set types = ', `schema`: struct<fields: array<struct<field: string, fields: array<struct<' ~ field ~ '>>>>>' -%}
    {{- return('struct<' ~ event ~ ', payload: struct<' ~ event ~ '>' ~ (types if with_types else '') ~ '>') -}}
{%- endmacro -%}

{#- What Debezium writes at the root, or in `payload` when the converter's schema stands beside it. -#}
{%- macro _debezium_event_fields() -%}
    {%- set source = 'struct<connector: string, snapshot: string, db: string, `schema`: string, `table`: string, '
        ~ 'collection: string, ts_ms: bigint, ts_us: bigint, sequence: string, file: string, pos: bigint, `row`: bigint, '
        ~ 'lsn: string, commit_lsn: string, change_lsn: string, event_serial_no: bigint, scn: string, commit_scn: string, '
        ~ 'txId: string, gtid: string>' -%}
    {{- return({
        'op': 'string', 'before': 'map<string,string>', 'after': 'map<string,string>', 'source': source,
        'transaction': 'struct<id: string>', 'ddl': 'string', 'historyRecord': 'string', 'databaseName': 'string',
        'schemaName': 'string', 'tableChanges': 'string', 'status': 'string', 'id': 'string', 'ts_ms': 'bigint',
    }) -}}
{%- endmacro -%}

{%- macro default__debezium_header(dialect) -%}
    {%- if dialect == 'flat' -%}
        {{- return(spark_cdc._debezium_flat_header()) -}}
    {%- endif -%}
    {%- set event_fields = [] -%}
    {%- for name in spark_cdc._debezium_event_fields() -%}
        {%- do event_fields.append("'" ~ name ~ "', message." ~ name) -%}
    {%- endfor -%}
    {%- set is_cloudcanal = dialect == 'cloudcanal' -%}
    {%- set inserts = ['c', 'i'] if is_cloudcanal else ['c'] -%}
    {%- set rows = inserts + ['u', 'd', 'r'] -%}
    {%- set with_after = inserts + ['u', 'r'] -%}
    {%- set others = ['t', 'm'] + (['a'] if is_cloudcanal else []) -%}
    {%- set no_after = 'coalesce(size(event.after), 0) < 1' if is_cloudcanal else 'event.after is null' -%}
    {#- CloudCanal's page has the meanings of before and after the other way round than its sample: a delete has one row. -#}
    {%- set two_rows = "event.op = 'd' and size(event.before) > 0 and size(event.after) > 0 "
        ~ 'and to_json(event.before) <> to_json(event.after)' -%}
    {#- A message of a table that other columns make look alike is neither: it has no databaseName, or more than a time. -#}
    {%- set is_ddl -%}
        (event.databaseName is not null and (event.tableChanges is not null or event.ddl is not null)
        or event.source.connector is not null and event.historyRecord is not null)
    {%- endset -%}
    {%- set is_heartbeat -%}
        (event.ts_ms is not null and event.source is null
        and size(json_object_keys(coalesce(get_json_object(value, '$.payload'), value))) = 1)
    {%- endset -%}
    {%- set kind -%}
        case
            when event.op in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when event.op = 't' then 'truncate'
            {%- if is_cloudcanal %}
            when event.op = 'a' then 'ddl'
            {%- endif %}
            when event.op = 'm' then 'other'
            when event.status = 'BEGIN' then 'begin'
            when event.status = 'END' then 'commit'
            when {{ is_ddl }} then 'ddl'
            else 'heartbeat'
        end
    {%- endset -%}
    {%- set error_condition -%}
        (event.op is null and not (coalesce(event.status in ('BEGIN', 'END'), false) or {{ is_ddl }} or {{ is_heartbeat }}))
        or event.op not in ({{ spark_cdc._literals(rows + others) }})
        or (event.op in ({{ spark_cdc._literals(with_after) }}) and {{ no_after }})
        {%- if is_cloudcanal %}
        or ({{ two_rows }})
        {%- endif %}
    {%- endset -%}
    {%- set error -%}
        case
            when event.op is null then 'other_format'
            when event.op in ({{ spark_cdc._literals(with_after) }}) then 'no_after_image'
            {%- if is_cloudcanal %}
            when event.op = 'd' then 'other_structure'
            {%- endif %}
            else 'unknown_op'
        end
    {%- endset -%}
    {%- set transaction_id -%}
        coalesce(
            event.transaction.id, event.source.gtid, event.source.txId, case when event.status is not null then event.id end
        )
    {%- endset -%}
    {{- return({
        'event': 'coalesce(message.payload, named_struct(' ~ event_fields | join(', ') ~ '))',
        'nested': "case when contains(value, '\"payload\"') or contains(value, '\\\\u') then "
            ~ spark_cdc._keys_of('payload') ~ ' end',
        'kind': kind,
        'database_name': 'coalesce(event.source.db, event.databaseName)',
        'schema_name': 'coalesce(event.source.schema, event.schemaName)',
        'table_name': 'coalesce(event.source.table, event.source.collection)',
        'op': 'event.op',
        'sequence': 'cast(array() as array<decimal(20,0)>)' if is_cloudcanal
            else spark_cdc._debezium_sequence('event.source', 'event.op'),
        'committed_at': 'coalesce(' ~ spark_cdc._instant('nullif(event.source.ts_us, 0)', 'microseconds') ~ ', '
            ~ spark_cdc._instant('nullif(event.source.ts_ms, 0)', 'milliseconds') ~ ')',
        'transaction_id': transaction_id,
        'key_columns': 'map_keys(' ~ spark_cdc._debezium_key('key') ~ ')',
        'column_types': spark_cdc._debezium_types(
            "get(filter(message.`schema`.fields, part -> part.field in ('after', 'before')), 0).fields"
        ),
        'ddl': "coalesce(event.ddl, get_json_object(event.historyRecord, '$.ddl'))",
        'error': error,
        'error_condition': error_condition,
    }) -}}
{%- endmacro -%}

{#- Log positions as numbers, by connector. 0 or 1 says snapshot or change, at the same position. -#}
{%- macro _debezium_sequence(source, op) -%}
    {%- set is_change = "case when " ~ op ~ " = 'r' then 0 else 1 end" -%}
    {%- set mysql = [
        "regexp_extract(" ~ source ~ ".file, '([0-9]+)$', 1)", source ~ '.pos', is_change, source ~ '.row',
    ] -%}
    {%- set lsns = "from_json(" ~ source ~ ".sequence, 'array<string>')" -%}
    {%- set postgresql = [
        'coalesce(get(' ~ lsns ~ ', 0), ' ~ source ~ '.lsn)', is_change, 'coalesce(get(' ~ lsns ~ ', 1), ' ~ source ~ '.lsn)',
    ] -%}
    {%- set oracle = ['coalesce(' ~ source ~ '.commit_scn, ' ~ source ~ '.scn)', is_change, source ~ '.scn'] -%}
    {%- set lsn_words -%}
        concat(
            {{ spark_cdc._debezium_lsn(source ~ '.commit_lsn') }},
            array(cast({{ is_change }} as decimal(20,0))),
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ '.change_lsn, ' ~ source ~ '.commit_lsn)') }},
            array(cast(coalesce({{ source }}.event_serial_no, 0) as decimal(20,0)))
        )
    {%- endset -%}
    {{- return(
        "case when " ~ source ~ ".connector in ('mysql', 'mariadb') or " ~ source ~ ".file is not null then "
        ~ spark_cdc._decimals(mysql) ~ " when " ~ source ~ ".connector = 'postgresql' or " ~ source
        ~ ".sequence is not null then " ~ spark_cdc._decimals(postgresql) ~ " when " ~ source ~ ".connector = 'oracle' then "
        ~ spark_cdc._decimals(oracle) ~ " when " ~ source ~ ".commit_lsn is not null then " ~ lsn_words
        ~ " else cast(array() as array<decimal(20,0)>) end"
    ) -}}
{%- endmacro -%}

{#- SQL Server and Db2 write an LSN as hexadecimal words: 00000027:00000758:0005. -#}
{%- macro _debezium_lsn(text) -%}
    {{- return(
        "transform(split(" ~ text ~ ", ':'), word -> cast(conv(word, 16, 10) as decimal(20,0)))"
    ) -}}
{%- endmacro -%}

{%- macro _decimals(expressions) -%}
    {%- set parts = [] -%}
    {%- for expression in expressions -%}
        {%- do parts.append('coalesce(try_cast(' ~ expression ~ ' as decimal(20,0)), 0)') -%}
    {%- endfor -%}
    {{- return('array(' ~ parts | join(', ') ~ ')') -}}
{%- endmacro -%}

{#- A key as the JSON converter writes it, with or without its schema. -#}
{%- macro _debezium_key(text) -%}
    {{- return(
        "coalesce(from_json(" ~ text ~ ", 'payload map<string,string>').payload, from_json(" ~ text
        ~ ", 'map<string,string>'))"
    ) -}}
{%- endmacro -%}

{#- Column -> semantic type name, or the plain type's; a decimal's scale follows in parentheses. -#}
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
    A column that the database did not send (TOAST) holds a placeholder: it is taken out of the image, so that it is absent.
    An insert whose header names an old key is the second half of a key change: the old key is its before image.
    A delete without a before image is known by its Kafka key.
-#}
{%- macro default__debezium_rows(dialect) -%}
    {%- if dialect == 'flat' -%}
        {{- return(spark_cdc._debezium_flat_rows()) -}}
    {%- endif -%}
    {%- set old_key = spark_cdc._debezium_key(
        "cast(get(filter(headers, header -> header.key = '__debezium.oldkey'), 0).value as string)"
    ) -%}
    {%- if dialect == 'cloudcanal' -%}
        {{- return(spark_cdc._debezium_cloudcanal_rows()) -}}
    {%- endif -%}
    {%- set op -%}
        case event.op
            when 'c' then case when {{ old_key }} is null then 'insert' else 'update' end
            when 'u' then 'update' when 'd' then 'delete' else 'snapshot'
        end
    {%- endset -%}
    {%- set old_row = 'case when size(event.before) > 0 then event.before else ' ~ spark_cdc._debezium_key('key') ~ ' end' -%}
    {%- set image -%}
        case
            when event.op = 'd' then {{ old_row }}
            when event.source.connector in ('mysql', 'mariadb', 'sqlserver') then event.after
            else {{ spark_cdc._debezium_without_placeholders('event.after') }}
        end
    {%- endset -%}
    {%- set before -%}
        case event.op
            when 'c' then {{ old_key }}
            when 'u' then case when size(event.before) > 0 then event.before end
            when 'd' then {{ old_row }}
        end
    {%- endset -%}
    {{- return({'op': op, 'image': image, 'before': before}) -}}
{%- endmacro -%}

{%- macro _debezium_cloudcanal_rows() -%}
    {%- set old_row -%}
        case
            when size(event.before) > 0 then event.before
            when size(event.after) > 0 then event.after
            else {{ spark_cdc._debezium_key('key') }}
        end
    {%- endset -%}
    {{- return({
        'op': "case event.op when 'u' then 'update' when 'd' then 'delete' when 'r' then 'snapshot' else 'insert' end",
        'image': "case when event.op = 'd' then " ~ old_row ~ ' else event.after end',
        'before': "case event.op when 'u' then case when size(event.before) > 0 then event.before end when 'd' then "
            ~ old_row ~ ' end',
    }) -}}
{%- endmacro -%}

{#- Looked for in the whole message first: only few hold one, and a lambda over every image is slow. -#}
{%- macro _debezium_without_placeholders(image) -%}
    {%- set found = [] -%}
    {%- for placeholder in spark_cdc._var('spark_cdc__debezium_unavailable_values') -%}
        {%- set text = spark_cdc._literal(placeholder) -%}
        {%- do found.append('contains(value, ' ~ text ~ ') or contains(value, base64(cast(' ~ text ~ ' as binary)))') -%}
    {%- endfor -%}
    {{- return(
        'case when ' ~ found | join(' or ') ~ " or contains(value, '\\\\u') then map_filter(" ~ image
        ~ ', (name, text) -> text is null or text not in (' ~ spark_cdc._debezium_placeholders() ~ ')) else ' ~ image ~ ' end'
    ) -}}
{%- endmacro -%}

{#- The connector's `unavailable.value.placeholder`, as it stands in a text, in binary (base64), in a list and in an hstore. -#}
{%- macro _debezium_placeholders() -%}
    {%- set forms = [] -%}
    {%- for placeholder in spark_cdc._var('spark_cdc__debezium_unavailable_values') -%}
        {%- set text = spark_cdc._literal(placeholder) -%}
        {%- set base64 = "base64(cast(" ~ text ~ " as binary))" -%}
        {%- do forms.extend([
            text, base64, "concat('[\"', " ~ text ~ ", '\"]')", "concat('[\"', " ~ base64 ~ ", '\"]')",
            "concat('{\"', " ~ text ~ ", '\":\"', " ~ text ~ ", '\"}')",
        ]) -%}
    {%- endfor -%}
    {{- return(forms | join(', ')) -}}
{%- endmacro -%}

{#- The flat dialect: one map of texts; `__` fields are Debezium's. A record inside {schema, payload} is unwrapped. -#}
{%- macro _debezium_flat_header() -%}
    {%- set event -%}
        case
            when map_contains_key(message, 'payload') and map_contains_key(message, 'schema')
                then coalesce(from_json(message['payload'], 'map<string,string>'), map())
            else message
        end
    {%- endset -%}
    {%- set kind -%}
        case
            when map_keys(event) = array('ts_ms') then 'heartbeat'
            when map_contains_key(event, 'tableChanges') and map_contains_key(event, 'ddl') then 'ddl'
            when map_contains_key(event, 'event_count') and event['status'] = 'BEGIN' then 'begin'
            when map_contains_key(event, 'event_count') and event['status'] = 'END' then 'commit'
            else 'rows'
        end
    {%- endset -%}
    {%- set schema_name = "regexp_replace(get_json_object(message['schema'], '$.name'), r'\\.(Value|Envelope)$', '')" -%}
    {%- set types = "from_json(message['schema'], 'fields array<struct<field: string, type: string, name: string, "
        ~ "parameters: struct<scale: string>>>').fields" -%}
    {%- set table_name -%}
        coalesce(event['__table'], case when message is not null and {{ kind }} = 'rows' then {# -#}
            try_element_at(split(coalesce({{ schema_name }}, topic), r'\.'), -1) end)
    {%- endset -%}
    {%- set error_condition -%}
        size(event) = 0
        or (map_contains_key(event, 'op') and map_contains_key(event, 'source') and map_contains_key(event, 'after'))
    {%- endset -%}
    {{- return({
        'event': event,
        'kind': kind,
        'database_name': "coalesce(event['__db'], try_element_at(split(" ~ schema_name ~ ", r'\\.'), -2))",
        'schema_name': "event['__schema']",
        'table_name': table_name,
        'op': "event['__op']",
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': spark_cdc._instant("nullif(event['__source_ts_ms'], '0')", 'milliseconds'),
        'key_columns': 'map_keys(' ~ spark_cdc._debezium_key('key') ~ ')',
        'column_types': spark_cdc._debezium_types(types),
        'ddl': "case when map_contains_key(event, 'tableChanges') then event['ddl'] end",
        'error': "'other_format'",
        'error_condition': error_condition,
    }) -}}
{%- endmacro -%}

{%- macro _debezium_flat_rows() -%}
    {%- set is_delete = "coalesce(event['__deleted'] = 'true' or event['__op'] = 'd', false)" -%}
    {%- set op -%}
        case
            when {{ is_delete }} then 'delete'
            when event['__op'] = 'c' then 'insert'
            when event['__op'] = 'r' then 'snapshot'
            else 'update'
        end
    {%- endset -%}
    {%- set image = "map_filter(event, (name, text) -> not startswith(name, '__') and (text is null or text not in ("
        ~ spark_cdc._debezium_placeholders() ~ ')))' -%}
    {{- return({'op': op, 'image': image, 'before': 'case when ' ~ is_delete ~ ' then ' ~ image ~ ' end'}) -}}
{%- endmacro -%}

{#-
    With the converter's schema each value's semantic type is known. Without it milliseconds and microseconds look alike, and
    a decimal is base64 or text: a value that can be read in two ways does not fit, until the column says `from ...`.
-#}
{%- macro default__debezium_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'cloudcanal' and column.family == 'binary' and column.encoding is none -%}
        {#- CloudCanal's page does not say how. -#}
        {{- return('cast(null as binary)') -}}
    {%- endif -%}
    {%- set type = 'column_types[' ~ column.literal ~ ']' -%}
    {%- set read_as = [] -%}
    {%- if column.encoding is none and column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
        {%- set readings = {
            'days': ['io.debezium.time.Date', 'org.apache.kafka.connect.data.Date'],
            'milliseconds': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
            'microseconds': ['io.debezium.time.MicroTimestamp'],
            'nanoseconds': ['io.debezium.time.NanoTimestamp'],
        } -%}
        {%- for encoding, names in readings.items() if encoding in spark_cdc._encodings(column.family) -%}
            {%- do read_as.append(
                'when ' ~ type ~ ' in (' ~ spark_cdc._literals(names) ~ ') then '
                ~ spark_cdc.value(text, dict(column, encoding=encoding), time_zone)
            ) -%}
        {%- endfor -%}
        {%- if column.family == 'date' -%}
            {%- do read_as.append(
                'when ' ~ text ~ " rlike r'^-?[0-9]{1,7}\\z' then " ~ spark_cdc.value(text, dict(column, encoding='days'), time_zone)
            ) -%}
        {%- endif -%}
    {%- elif column.encoding is none and column.family == 'string' -%}
        {%- for encoding, names in {
            'time_milliseconds': ['io.debezium.time.Time', 'org.apache.kafka.connect.data.Time'],
            'time_microseconds': ['io.debezium.time.MicroTime'],
            'time_nanoseconds': ['io.debezium.time.NanoTime'],
        }.items() -%}
            {%- do read_as.append(
                'when ' ~ type ~ ' in (' ~ spark_cdc._literals(names) ~ ') then '
                ~ spark_cdc.value(text, dict(column, encoding=encoding), time_zone)
            ) -%}
        {%- endfor -%}
    {%- elif column.encoding is none and column.family == 'bigint' -%}
        {%- do read_as.append(
            'when ' ~ type ~ " = 'io.debezium.data.Bits' then " ~ spark_cdc.value(text, dict(column, encoding='bits'), time_zone)
        ) -%}
    {%- elif column.encoding is none and column.family == 'decimal' -%}
        {{- return(spark_cdc._debezium_decimal(text, column, type)) -}}
    {%- endif -%}
    {%- set plain = spark_cdc.value(text, column, time_zone) -%}
    {{- return('case ' ~ read_as | join(' ') ~ ' else ' ~ plain ~ ' end' if read_as else plain) -}}
{%- endmacro -%}

{%- macro _debezium_decimal(text, column, type) -%}
    {%- set as_text = spark_cdc.value('number', dict(column, encoding='text')) -%}
    {%- set as_base64 = spark_cdc.value(text, dict(column, encoding='base64')) -%}
    {%- set is_number = text ~ " rlike r'^[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?\\z'" -%}
    {%- set is_quoted = "value rlike concat('\"', " ~ spark_cdc._literal('\\Q' ~ column.name ~ '\\E')
        ~ ", '\"\\\\s*+:\\\\s*+\"', " ~ text ~ ", '\"')" -%}
    {%- set unscaled = spark_cdc._big_endian_integer(text) -%}
    {%- set with_scale = "concat(cast(" ~ unscaled ~ " as string), 'E-', regexp_extract(" ~ type ~ ", '([0-9]+)', 1))" -%}
    {%- set variable = "from_json(" ~ text ~ ", 'scale int, value string')" -%}
    {%- set with_own_scale = "concat(cast(" ~ spark_cdc._big_endian_integer(variable ~ '.value') ~ " as string), 'E-', "
        ~ variable ~ ".scale)" -%}
    {{- return(
        "case when startswith(" ~ type ~ ", 'org.apache.kafka.connect.data.Decimal') then "
        ~ spark_cdc._let('number', with_scale, as_text)
        ~ " when startswith(" ~ text ~ ", '{') then " ~ spark_cdc._let('number', with_own_scale, as_text)
        ~ " when " ~ is_number ~ " and (" ~ text ~ " rlike '[.-]' or length(" ~ text ~ ") % 4 <> 0 or not " ~ is_quoted
        ~ ") then " ~ spark_cdc._let('number', text, as_text)
        ~ " when not " ~ is_number ~ " then " ~ as_base64 ~ " end"
    ) -}}
{%- endmacro -%}
