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
        ~ 'lsn: string, commit_lsn: string, change_lsn: string, event_serial_no: string, scn: string, commit_scn: string, '
        ~ 'txId: string, gtid: string>' -%}
    {{- return({
        'op': 'string', 'before': 'map<string,string>', 'after': 'map<string,string>', 'source': source,
        'transaction': 'struct<id: string>', 'ddl': 'string', 'historyRecord': 'string', 'databaseName': 'string',
        'schemaName': 'string', 'tableChanges': 'string', 'status': 'string', 'id': 'string', 'ts_ms': 'string',
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
        ~ 'and not array_sort(map_entries(event.before)) <=> array_sort(map_entries(event.after))' -%}
    {#- A row of an image that its operation does not have: which of the two is right nobody knows. -#}
    {%- set contradicts = [
        "event.op in ('t', " ~ spark_cdc._literals(inserts + ['r']) ~ ') and coalesce(size(event.before) > 0, false)',
        'event.op in (' ~ ("'t'" if is_cloudcanal else "'t', 'd'") ~ ') and coalesce(size(event.after) > 0, false)',
    ] -%}
    {%- set ddl = "coalesce(event.ddl, get_json_object(event.historyRecord, '$.ddl'))" -%}
    {#- A message of a table that other columns make look alike is neither: it has no databaseName, or more than a time. -#}
    {%- set is_ddl -%}
        (event.databaseName is not null and (event.tableChanges is not null or event.ddl is not null)
        or event.source.connector is not null and event.historyRecord is not null)
    {%- endset -%}
    {%- set is_heartbeat -%}
        (event.ts_ms is not null and event.source is null
        and size(json_object_keys(coalesce(get_json_object(value, '$.payload'), value))) = 1)
    {%- endset -%}
    {%- set qualifier = "coalesce(nullif(event.source.schema, ''), event.source.db)" -%}
    {%- set may_truncate = "(event.op = 'a' or event.op is null and " ~ is_ddl ~ ')' -%}
    {%- set kind -%}
        case
            when event.op in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when event.op = 't' then 'truncate'
            {%- if is_cloudcanal %}
            {#- Its page has no op for TRUNCATE: all but rows is DDL. -#}
            when {{ may_truncate }} and {{ spark_cdc._truncates_a_table(ddl, 'event.source.table', qualifier) }} then 'truncate'
            when event.op = 'a' then 'ddl'
            {%- endif %}
            when event.op = 'm' then 'other'
            when event.status = 'BEGIN' then 'begin'
            when event.status = 'END' then 'commit'
            when {{ is_ddl }} then 'ddl'
            else 'heartbeat'
        end
    {%- endset -%}
    {%- set no_row_after = 'event.op in (' ~ spark_cdc._literals(with_after) ~ ') and ' ~ no_after -%}
    {#- Of MongoDB the documents are read first, and its own header asks for the row of a delete. -#}
    {%- set no_row_before = "event.op = 'd' and coalesce(size(event.before), 0) < 1 and "
        ~ ('coalesce(size(event.after), 0) < 1 and ' if is_cloudcanal else '')
        ~ 'coalesce(size(row_of_key), 0) < 1' -%}
    {%- set no_place = 'event.op in (' ~ spark_cdc._literals(rows + ['t']) ~ ') and '
        ~ spark_cdc._debezium_has_no_place('event.source', 'event.op') -%}
    {#- Flink's writers name no source at all, and the topic is then the table. -#}
    {%- set no_table = 'event.source is not null and event.op in (' ~ spark_cdc._literals(rows + ['t'])
        ~ ") and coalesce(event.source.table, event.source.collection, '') = ''" -%}
    {%- set two_events = 'message.payload is not null and (message.op is not null or message.source is not null '
        ~ 'or message.before is not null or message.after is not null)' -%}
    {%- set two_old_keys = 'case when size(headers) > 1 then '
        ~ 'size(array_distinct(' ~ spark_cdc._debezium_old_keys() ~ ')) > 1 else false end' -%}
    {%- set nested_name = spark_cdc._is_nested({
        'db': 'event.source.db', 'schema': 'event.source.schema', 'table': 'event.source.table',
        'collection': 'event.source.collection',
    }) -%}
    {%- set errors = {
        'duplicate_key': spark_cdc._debezium_names_twice(),
        'other_format': "event.op is null and not (coalesce(event.status in ('BEGIN', 'END'), false) or " ~ is_ddl ~ ' or '
            ~ is_heartbeat ~ ')',
        'unknown_op': 'event.op not in (' ~ spark_cdc._literals(rows + others) ~ ')',
        'no_after_image': no_row_after,
        'key_missing': no_row_before,
        'no_sequence': no_place,
        'other_structure': ([
            'event.ts_ms is not null and try_cast(event.ts_ms as bigint) is null', no_table, two_events, two_old_keys, nested_name,
        ] + contradicts) | join(' or '),
    } -%}
    {%- if is_cloudcanal -%}
        {%- set ddl_fault = 'case when ' ~ may_truncate ~ ' then '
            ~ spark_cdc._ddl_fault(ddl, 'event.source.table', qualifier) ~ ' end' -%}
        {%- set other_ddl -%}
            (event.op = 'a' or event.op is null and event.ddl is not null)
            and coalesce(size(event.after) > 0 or size(event.before) > 0, false)
            or event.op in ({{ spark_cdc._literals(rows) }}) and trim(event.ddl) <> ''
            or event.op is null and event.databaseName <> event.source.db
        {%- endset -%}
        {%- do errors.pop('no_sequence') -%}
        {%- do errors.update({
            'other_structure': '(' ~ errors.other_structure ~ ') or (' ~ two_rows ~ ') or (' ~ other_ddl ~ ') or '
                ~ spark_cdc._beyond_the_calendar('event.source.ts_ms'),
            'fault': ddl_fault,
        }) -%}
    {%- endif -%}
    {%- set transaction_id -%}
        coalesce(
            event.transaction.id, event.source.gtid, event.source.txId, case when event.status is not null then event.id end
        )
    {%- endset -%}
    {{- return({
        'event': 'coalesce(message.payload, named_struct(' ~ event_fields | join(', ') ~ '))',
        'beside_event': spark_cdc._debezium_rows_of_keys(),
        'nested': "case when contains(value, '\"payload\"') or contains(value, '\\\\u') then "
            ~ spark_cdc._keys_of('payload') ~ ' end',
        'kind': kind,
        'database_name': 'coalesce(event.source.db, event.databaseName)',
        'schema_name': 'coalesce(event.source.schema, event.schemaName)',
        'table_name': 'coalesce(event.source.table, event.source.collection)',
        'names_table': is_cloudcanal,
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
        'ddl': ddl,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#-
    Whether `source` names a field twice. Its text is cut out first, because to read the whole message once more is slow;
    where the cut is no object (blanks, a brace inside a text) or may be a column of that name, that is done.
-#}
{%- macro _debezium_names_twice() -%}
    {%- set cut = "json_object_keys(concat('{', substring_index(substring_index(value, '\"source\":{', -1), '}', 1), '}'))" -%}
    {%- set stands_once = "substring_index(value, '\"source\":{', 2) = value" -%}
    {%- set whole = "json_object_keys(coalesce(get_json_object(value, '$.payload.source'), get_json_object(value, '$.source')))" -%}
    {{- return('event.source is not null and ' ~ spark_cdc._let(
        'names', 'coalesce(case when ' ~ stands_once ~ ' then ' ~ cut ~ ' end, ' ~ whole ~ ')', spark_cdc._names_twice('names')
    )) -}}
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
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ ".commit_lsn, '0')") }},
            array(cast({{ is_change }} as decimal(20,0))),
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ '.change_lsn, ' ~ source ~ ".commit_lsn, '0')") }},
            array(coalesce(try_cast({{ source }}.event_serial_no as decimal(20,0)), 0))
        )
    {%- endset -%}
    {{- return(spark_cdc._debezium_by_connector(
        source, spark_cdc._decimals(mysql), spark_cdc._decimals(postgresql), spark_cdc._decimals(oracle), lsn_words,
        'cast(array() as array<decimal(20,0)>)'
    )) -}}
{%- endmacro -%}

{#- The sequence of other connectors, such as Spanner's, is no pair of LSNs. -#}
{%- macro _debezium_by_connector(source, mysql, postgresql, oracle, lsn_words, other) -%}
    {{- return(
        "case when " ~ source ~ ".connector in ('mysql', 'mariadb') or " ~ source ~ ".file is not null then " ~ mysql
        ~ " when coalesce(" ~ source ~ ".connector = 'postgresql', " ~ source ~ ".sequence is not null) then " ~ postgresql
        ~ " when " ~ source ~ ".connector = 'oracle' then " ~ oracle ~ " when " ~ source
        ~ ".connector in ('sqlserver', 'db2') or " ~ source ~ ".commit_lsn is not null then " ~ lsn_words ~ " else " ~ other
        ~ " end"
    ) -}}
{%- endmacro -%}

{#-
    True where a part of the position is there and no number, or is missing. A row of a snapshot may lack its position: it
    is read while the log goes on, and then comes before every change. An empty `file` with `pos` 0, as TiCDC writes it, says
    that there is no position: the offset alone orders such changes. Debezium before 1.5 has no `sequence`: the LSN orders the
    changes of one row, because the second waits for the first one's commit.
-#}
{%- macro _debezium_has_no_place(source, op) -%}
    {%- set is_snapshot = op ~ " = 'r'" -%}
    {%- set number = "rlike r'^[0-9]{1,20}\\z'" -%}
    {%- set words = "rlike r'^[0-9A-Fa-f]{1,16}(?::[0-9A-Fa-f]{1,16})*+\\z'" -%}
    {%- set lsn = "(?:null|\"?[0-9]{1,20}\"?)" -%}
    {%- set mysql -%}
        case
            when {{ source }}.file is null then not {{ is_snapshot }}
            when {{ source }}.file = '' then {{ source }}.pos <> 0
            else {{ source }}.file not rlike r'(?<![0-9])[0-9]{1,20}\z' or coalesce({{ source }}.pos, -1) < 0
        end
    {%- endset -%}
    {%- set postgresql -%}
        case
            when {{ source }}.sequence is null then not coalesce({{ source }}.lsn {{ number }}, {{ is_snapshot }})
            else {{ source }}.sequence not rlike r'^\[{{ lsn }}, ?{{ lsn }}\]\z'
                or (contains({{ source }}.sequence, 'null') and not coalesce({{ source }}.lsn {{ number }}, {{ is_snapshot }}))
        end
    {%- endset -%}
    {#- XStream sends no commit_scn. -#}
    {%- set oracle -%}
        not coalesce({{ source }}.scn {{ number }}, {{ is_snapshot }})
        or not coalesce(nullif({{ source }}.commit_scn, '') {{ number }}, {{ source }}.commit_scn is null or {{ is_snapshot }})
    {%- endset -%}
    {%- set lsn_words -%}
        not coalesce(nullif({{ source }}.commit_lsn, 'NULL') {{ words }}, {{ is_snapshot }})
        or not coalesce(nullif({{ source }}.change_lsn, 'NULL') {{ words }}, {{ source }}.change_lsn is null or {{ is_snapshot }})
        or {{ source }}.event_serial_no not {{ number }}
    {%- endset -%}
    {{- return(spark_cdc._debezium_by_connector(source, mysql, postgresql, oracle, lsn_words, 'false')) -}}
{%- endmacro -%}

{#- SQL Server and Db2 write an LSN as hexadecimal words: 00000027:00000758:0005. -#}
{%- macro _debezium_lsn(text) -%}
    {{- return(
        "transform(split(" ~ text ~ ", ':'), word -> cast(conv(word, 16, 10) as decimal(20,0)))"
    ) -}}
{%- endmacro -%}

{#-
    A key as the JSON converter writes it, with or without its schema, read as strictly as the message; without columns where it
    says that there is none, NULL where it cannot be read.
-#}
{%- macro _debezium_key(text) -%}
    {%- set may_be_rewritten = text ~ " rlike '[0-9][.eE]|-0'" -%}
    {%- set json = 'case when ' ~ may_be_rewritten ~ ' then ' ~ spark_cdc._quote_numbers(text) ~ ' else ' ~ text ~ ' end' -%}
    {%- set read = "from_json(concat('{\"key\":[', " ~ json ~ ", '],\"is_read\":true}'), 'key array<map<string,string>>, is_read boolean', "
        ~ "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'))" -%}
    {%- set names = 'case when read.is_read and size(read.key) = 1 then get(read.key, 0) end' -%}
    {%- set payload = "element_at(names, 'payload')" -%}
    {%- set has_schema = "map_contains_key(names, 'payload') and size(names) = if(map_contains_key(names, 'schema'), 2, 1) "
        ~ 'and coalesce(startswith(' ~ payload ~ ", '{'), true)" -%}
    {%- set columns = 'case when ' ~ has_schema ~ ' then coalesce(from_json(' ~ payload
        ~ ", 'map<string,string>'), map()) else names end" -%}
    {%- set exact_columns = 'case when ' ~ may_be_rewritten ~ ' then ' ~ spark_cdc._unquoted_image('columns') ~ ' else columns end' -%}
    {{- return(
        'case when ' ~ spark_cdc._has_lone_surrogate(text) ~ ' then null else '
        ~ spark_cdc._let('read', read, spark_cdc._let('names', names, spark_cdc._let('columns', columns, exact_columns))) ~ ' end'
    ) -}}
{%- endmacro -%}

{#- Headers of the second half of a key change, of which there is one, and what it says of the key before. -#}
{%- macro _debezium_old_keys() -%}
    {{- return("filter(headers, header -> header.key = '__debezium.oldkey')") -}}
{%- endmacro -%}

{%- macro _debezium_old_key() -%}
    {{- return('cast(get(' ~ spark_cdc._debezium_old_keys() ~ ', 0).value as string)') -}}
{%- endmacro -%}

{#- What a delete without a before image has of its row, and the second half of a key change of the row before. -#}
{%- macro _debezium_rows_of_keys() -%}
    {%- set op = 'coalesce(message.payload.op, message.op)' -%}
    {%- set before = 'coalesce(message.payload.before, message.before)' -%}
    {{- return({
        'row_of_key': 'case when ' ~ op ~ " = 'd' and coalesce(size(" ~ before ~ '), 0) < 1 then '
            ~ spark_cdc._debezium_key('key') ~ ' end',
        'old_row_of_key': 'case when ' ~ op ~ " = 'c' and size(headers) > 0 then "
            ~ spark_cdc._debezium_key(spark_cdc._debezium_old_key()) ~ ' end',
    }) -}}
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
    {%- if dialect == 'cloudcanal' -%}
        {{- return(spark_cdc._debezium_cloudcanal_rows()) -}}
    {%- endif -%}
    {%- set op -%}
        case event.op
            when 'c' then case when old_row_of_key is null then 'insert' else 'update' end
            when 'u' then 'update' when 'd' then 'delete' else 'snapshot'
        end
    {%- endset -%}
    {%- set known_before = spark_cdc._debezium_without_placeholders('event.before') -%}
    {%- set old_row = 'case when size(event.before) > 0 then ' ~ known_before ~ ' else row_of_key end' -%}
    {%- set image -%}
        case when event.op = 'd' then {{ old_row }} else {{ spark_cdc._debezium_without_placeholders('event.after') }} end
    {%- endset -%}
    {%- set before -%}
        case
            when event.op = 'c' then old_row_of_key
            when event.op = 'd' or event.op = 'u' and size(event.before) > 0 then {{ old_row }}
        end
    {%- endset -%}
    {#- Flink's writers can be told to leave nulls out. A value that was not sent has a placeholder in its place. -#}
    {%- set null_left_out -%}
        event.op = 'u' and {{ spark_cdc._lacks_columns_of('event.before', 'event.after') }}
    {%- endset -%}
    {{- return({
        'op': op, 'image': image, 'before': before, 'absent_is_error': null_left_out, 'tells_quotes': true,
    }) -}}
{%- endmacro -%}

{%- macro _debezium_cloudcanal_rows() -%}
    {%- set old_row -%}
        case
            when size(event.before) > 0 then event.before
            when size(event.after) > 0 then event.after
            else row_of_key
        end
    {%- endset -%}
    {{- return({
        'op': "case event.op when 'u' then 'update' when 'd' then 'delete' when 'r' then 'snapshot' else 'insert' end",
        'image': "case when event.op = 'd' then " ~ old_row ~ ' else event.after end',
        'before': "case event.op when 'u' then case when size(event.before) > 0 then event.before end when 'd' then "
            ~ old_row ~ ' end',
        'absent_is_error': "event.op = 'u' and " ~ spark_cdc._lacks_columns_of('event.before', 'event.after'),
        'tells_quotes': true,
    }) -}}
{%- endmacro -%}

{#- Looked for in the whole message first: only few hold one, and a lambda over every image is slow. MySQL sends none. -#}
{%- macro _debezium_without_placeholders(image) -%}
    {%- set found = [] -%}
    {%- for text in spark_cdc._debezium_placeholders(inside_of_value=true) -%}
        {%- do found.append('contains(value, ' ~ text ~ ')') -%}
    {%- endfor -%}
    {{- return(
        "case when event.source.connector in ('mysql', 'mariadb') then " ~ image ~ ' when ' ~ found | join(' or ')
        ~ " or contains(value, '\\\\u') then map_filter(" ~ image ~ ', (name, text) -> text is null or text not in ('
        ~ spark_cdc._debezium_placeholders() | join(', ') ~ ')) else ' ~ image ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    The connector's `unavailable.value.placeholder`, as it stands in a text, in binary (base64 or hexadecimal), in a list, in
    an hstore, as the list of its bytes in place of int[] and bigint[], and as Java's nameUUIDFromBytes in place of uuid[].
    `inside_of_value` gives what the message's own text then holds.
-#}
{%- macro _debezium_placeholders(inside_of_value=false) -%}
    {%- set forms = [] -%}
    {%- for placeholder in spark_cdc._var('spark_cdc__debezium_unavailable_values') -%}
        {%- set bytes = placeholder.encode('utf-8') | list -%}
        {%- set text = spark_cdc._literal(placeholder) -%}
        {%- set base64 = 'base64(cast(' ~ text ~ ' as binary))' -%}
        {%- set hex = 'lower(hex(' ~ text ~ '))' -%}
        {%- set md5 = 'md5(cast(' ~ text ~ ' as binary))' -%}
        {%- set uuid = "concat_ws('-', left(" ~ md5 ~ ', 8), substr(' ~ md5 ~ ", 9, 4), concat('3', substr(" ~ md5
            ~ ', 14, 3)), concat(translate(substr(' ~ md5 ~ ", 17, 1), '0123456789abcdef', '89ab89ab89ab89ab'), substr("
            ~ md5 ~ ', 18, 3)), right(' ~ md5 ~ ', 12))' -%}
        {%- if inside_of_value -%}
            {%- do forms.extend([text, base64, hex, uuid, "'[" ~ bytes | join(',') ~ "]'", "'[" ~ bytes | join(', ') ~ "]'"]) -%}
        {%- else -%}
            {%- do forms.extend([text, base64, hex, "'[" ~ bytes | join(',') ~ "]'"]) -%}
            {%- for element in [text, base64, hex, uuid] -%}
                {%- do forms.append("concat('[\"', " ~ element ~ ", '\"]')") -%}
            {%- endfor -%}
            {%- do forms.append("concat('{\"', " ~ text ~ ", '\":\"', " ~ text ~ ", '\"}')") -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(forms) -}}
{%- endmacro -%}

{#-
    The flat dialect: one map of texts; `__` fields are Debezium's. A record inside {schema, payload} is unwrapped, but not a
    row whose columns have these names: the converter's `payload` is an object and never a text.

    A null value with a key deletes the row of that key: by default it is all that a delete leaves, and after a delete that was
    rewritten it says the same once more.
-#}
{%- macro _debezium_flat_header() -%}
    {%- set is_wrapped -%}
        size(message) = 2 and map_contains_key(message, 'payload') and map_contains_key(message, 'schema')
        and coalesce(startswith(message['schema'], '{'), true)
        and (
            contains(value, '"payload":{')
            or value rlike r'"payload"\s*+:\s*+(?:\{|null\s*+[,}])'
        )
    {%- endset -%}
    {%- set event -%}
        case when {{ is_wrapped }} then coalesce(from_json(message['payload'], 'map<string,string>'), map()) else message end
    {%- endset -%}
    {%- set names = 'map_keys(event)' -%}
    {%- set is_mark -%}
        (
            map_contains_key(event, 'event_count') and map_contains_key(event, 'data_collections')
            and size(array_except({{ names }}, array('status', 'id', 'event_count', 'data_collections', 'ts_ms'))) = 0
        )
    {%- endset -%}
    {%- set is_ddl -%}
        (
            map_contains_key(event, 'tableChanges') and map_contains_key(event, 'source') and map_contains_key(event, 'ddl')
            and size(array_except(
                {{ names }}, array('source', 'ts_ms', 'databaseName', 'schemaName', 'ddl', 'tableChanges')
            )) = 0
        )
    {%- endset -%}
    {%- set kind -%}
        case
            when {{ names }} = array('ts_ms') then 'heartbeat'
            when {{ is_ddl }} then 'ddl'
            when {{ is_mark }} and event['status'] = 'BEGIN' then 'begin'
            when {{ is_mark }} and event['status'] = 'END' then 'commit'
            else 'rows'
        end
    {%- endset -%}
    {%- set schema = 'case when ' ~ is_wrapped ~ " then message['schema'] when value is null then get_json_object(key, '$.schema') end" -%}
    {%- set schema_name = "regexp_replace(get_json_object(" ~ schema ~ ", '$.name'), r'\\.(Value|Envelope|Key)$', '')" -%}
    {%- set types = "from_json(" ~ schema ~ ", 'fields array<struct<field: string, type: string, name: string, "
        ~ "parameters: struct<scale: string>>>').fields" -%}
    {%- set table_name -%}
        coalesce(event['__table'], event['__source_table'], case when {{ kind }} = 'rows' then {# -#}
            try_element_at(split(coalesce({{ schema_name }}, topic), r'\.'), -1) end)
    {%- endset -%}
    {#- Of server.database.table, as topics of MySQL and its kin are named. -#}
    {%- set database_of_null = "case when value is null and topic like '%.%.%' then element_at(split(topic, r'\\.'), -2) end" -%}
    {%- set is_envelope = "map_contains_key(event, 'op') and map_contains_key(event, 'source') and map_contains_key(event, 'after')" -%}
    {%- set contradicts -%}
        event['__deleted'] not in ('true', 'false')
        or event['__deleted'] = 'true' and event['__op'] <> 'd'
        or event['__deleted'] = 'false' and event['__op'] = 'd'
        or coalesce(event['__table'], event['__source_table']) = ''
        {%- for name in ['db', 'schema', 'table'] %}
        or event['__{{ name }}'] <> event['__source_{{ name }}']
        {%- endfor %}
    {%- endset -%}
    {%- set names_of = {} -%}
    {%- for name in ['__db', '__schema', '__table', '__source_db', '__source_schema', '__source_table'] -%}
        {%- do names_of.update({name: "event['" ~ name ~ "']"}) -%}
    {%- endfor -%}
    {%- set errors = {
        'duplicate_key': spark_cdc._names_twice(names),
        'other_format': 'size(event) = 0 or (' ~ is_envelope ~ ')',
        'unknown_op': "event['__op'] not in ('c', 'u', 'd', 'r')",
        'other_structure': contradicts ~ ' or ' ~ spark_cdc._is_nested(names_of),
    } -%}
    {{- return({
        'event': event,
        'kind': kind,
        'beside_event': {'row_of_key': 'case when value is null then ' ~ spark_cdc._debezium_key('key') ~ ' end'},
        'kind_of_null': "case when size(row_of_key) > 0 then 'rows' else 'tombstone' end",
        'error_of_null': "case when startswith(ltrim(key), '{') and row_of_key is null then 'key_missing' end",
        'database_name': "coalesce(event['__db'], event['__source_db'], try_element_at(split(" ~ schema_name ~ ", r'\\.'), -2), "
            ~ database_of_null ~ ')',
        'schema_name': "coalesce(event['__schema'], event['__source_schema'])",
        'table_name': table_name,
        'op': "event['__op']",
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': 'coalesce(' ~ spark_cdc._instant("nullif(event['__source_ts_us'], '0')", 'microseconds') ~ ', '
            ~ spark_cdc._instant("nullif(event['__source_ts_ms'], '0')", 'milliseconds') ~ ')',
        'key_columns': 'map_keys(' ~ spark_cdc._debezium_key('key') ~ ')',
        'column_types': spark_cdc._debezium_types(types),
        'ddl': 'case when ' ~ is_ddl ~ " then event['ddl'] end",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{%- macro _debezium_flat_rows() -%}
    {%- set is_delete = "coalesce(value is null or event['__deleted'] = 'true' or event['__op'] = 'd', false)" -%}
    {%- set op -%}
        case
            when {{ is_delete }} then 'delete'
            when event['__op'] = 'c' then 'insert'
            when event['__op'] = 'r' then 'snapshot'
            else 'update'
        end
    {%- endset -%}
    {%- set row = "map_filter(event, (name, text) -> not startswith(name, '__') and (text is null or text not in ("
        ~ spark_cdc._debezium_placeholders() | join(', ') ~ ')))' -%}
    {%- set image = 'case when value is null then row_of_key else ' ~ row ~ ' end' -%}
    {{- return({
        'op': op, 'image': image, 'before': 'case when ' ~ is_delete ~ ' then ' ~ image ~ ' end', 'tells_quotes': true,
    }) -}}
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
    {%- set type = column.source_type -%}
    {%- set no_type = 'coalesce(' ~ type ~ ", '') = ''" -%}
    {%- set family = column.family -%}
    {%- set is_time = family in ['date', 'timestamp', 'timestamp_ntz'] -%}
    {%- set is_text = is_time and dialect == 'cloudcanal' and column.encoding in [none, 'text'] -%}
    {%- set plain = spark_cdc.value(spark_cdc._with_offset_minutes(text) if is_text else text, column, time_zone) -%}
    {%- set read_as = [] -%}
    {%- set types_of = {
        'days': ['io.debezium.time.Date', 'org.apache.kafka.connect.data.Date'],
        'milliseconds': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
        'microseconds': ['io.debezium.time.MicroTimestamp'],
        'nanoseconds': ['io.debezium.time.NanoTimestamp'],
        'time_milliseconds': ['io.debezium.time.Time', 'org.apache.kafka.connect.data.Time'],
        'time_microseconds': ['io.debezium.time.MicroTime'],
        'time_nanoseconds': ['io.debezium.time.NanoTime'],
    } -%}
    {%- set is_decimal = 'startswith(' ~ type ~ ", 'org.apache.kafka.connect.data.Decimal')" -%}
    {%- if family == 'binary' or column.encoding in ['bits', 'big_endian_bits'] -%}
        {#- binary.handling.mode writes base64 and hexadecimal alike as `string`, and any other text may be base64. -#}
        {%- set is_text = 'when ' ~ type ~ " not in ('', 'bytes', 'io.debezium.data.Bits') then null "
            if family == 'binary' and column.encoding is none else 'when ' ~ is_decimal ~ ' then null ' if family != 'binary' else '' -%}
        {{- return(
            'case ' ~ is_text ~ 'when not ' ~ spark_cdc._debezium_is_bare(text, column) ~ ' then ' ~ plain ~ ' end'
        ) -}}
    {%- elif column.encoding not in [none, 'base64'] -%}
        {#- A word against what the schema says of times and decimals: one of the two is wrong. A date says `from days` of any. -#}
        {%- set is_other = 'false' -%}
        {%- set is_epoch = column.encoding in types_of or column.encoding == 'seconds' -%}
        {%- if dialect != 'cloudcanal' and is_epoch and column.encoding != 'days' -%}
            {%- set others = types_of.values() | sum(start=[]) | reject('in', types_of.get(column.encoding, [])) | list -%}
            {%- set is_other = type ~ ' in (' ~ spark_cdc._literals(others) ~ ')' -%}
        {%- elif dialect != 'cloudcanal' and not is_time and family != 'string' -%}
            {%- set is_other = 'case when octet_length(' ~ text ~ ') % 4 = 0 and ' ~ is_decimal ~ ' then coalesce(not '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ', true) end' -%}
        {%- endif -%}
        {%- set is_clock = is_epoch and is_time and column.encoding != 'days' -%}
        {%- set as_said = spark_cdc._debezium_clock(spark_cdc._epoch_microseconds(text, column.encoding), family, time_zone)
            if is_clock else plain -%}
        {{- return(as_said if is_other == 'false' else 'case when ' ~ is_other ~ ' then null else ' ~ as_said ~ ' end') -}}
    {%- elif is_time and dialect != 'cloudcanal' -%}
        {%- do read_as.append(
            'when ' ~ type ~ " in ('io.debezium.time.IsoDate', 'io.debezium.time.IsoTimestamp') then "
            ~ spark_cdc.value("rtrim('Z', " ~ text ~ ')', column, time_zone)
        ) -%}
        {%- if family == 'date' -%}
            {#- Where the schema knows the column, a number of any other type is no day: a year, a time, an amount. -#}
            {%- do read_as.append(
                'when case when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.days) ~ ') then true when ' ~ no_type ~ ' then '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ' else false end then '
                ~ spark_cdc.value(text, dict(column, encoding='days'), time_zone)
            ) -%}
        {%- endif -%}
        {%- set epochs = [] -%}
        {%- for encoding in ['milliseconds', 'microseconds', 'nanoseconds'] -%}
            {%- do epochs.append(
                'when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of[encoding]) ~ ') then '
                ~ spark_cdc._epoch_microseconds(text, encoding)
            ) -%}
        {%- endfor -%}
        {%- do read_as.append(
            'when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.milliseconds + types_of.microseconds + types_of.nanoseconds)
            ~ ') then ' ~ spark_cdc._debezium_clock('case ' ~ epochs | join(' ') ~ ' end', family, time_zone)
        ) -%}
    {%- elif family == 'string' -%}
        {%- set times = types_of.time_milliseconds + types_of.time_microseconds + types_of.time_nanoseconds -%}
        {%- set per_second = 'case when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.time_milliseconds) ~ ') then 1000L when '
            ~ type ~ ' in (' ~ spark_cdc._literals(types_of.time_microseconds) ~ ') then 1000000L else 1000000000L end' -%}
        {#- CloudCanal's schema is Debezium's and its values are texts: digits may be the one or the other. -#}
        {%- do read_as.append(
            'when ' ~ type ~ ' in (' ~ spark_cdc._literals(times) ~ ') then ' ~ (
                spark_cdc._time_of_day(text, per_second) if dialect != 'cloudcanal'
                else 'case when contains(' ~ text ~ ", ':') then " ~ plain ~ ' end'
            )
        ) -%}
        {%- if dialect != 'cloudcanal' -%}
            {%- do read_as.append(
                'when octet_length(' ~ text ~ ') % 4 = 0 and ' ~ is_decimal ~ ' then case when '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ' then ' ~ text ~ ' end'
            ) -%}
        {%- endif -%}
    {%- elif family == 'decimal' -%}
        {{- return(spark_cdc._debezium_decimal(text, column, type, dialect)) -}}
    {%- elif family in ['boolean', 'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'] -%}
        {#-
            Of bytes the length of the text is a multiple of four: other numbers are read without a look at their type. Where no
            schema tells it, what base64 never has is no bytes; `Infinity` is how the converter writes that number.
        -#}
        {%- set may_be_bytes = type ~ " in ('bytes', 'io.debezium.data.Bits') or " ~ is_decimal -%}
        {#- CloudCanal's values are texts. -#}
        {#- A cheap look first: what stands nowhere in quotes, as a whole or by its characters' numbers, is bare. -#}
        {%- set may_be_quoted = [] -%}
        {%- for source in ['value', 'key'] -%}
            {%- do may_be_quoted.append(
                'contains(' ~ source ~ ", concat('\"', " ~ text ~ ", '\"')) or contains(" ~ source ~ ", '\\\\u00')"
            ) -%}
        {%- endfor -%}
        {%- set untyped = 'false' if dialect == 'cloudcanal' else '(' ~ may_be_quoted | join(' or ') ~ ' or size(headers) > 0) and '
            ~ text ~ " <> 'Infinity' and " ~ text ~ " not rlike '[.-]'" -%}
        {%- set of_bits = 'case when ' ~ type ~ " = 'io.debezium.data.Bits' and "
            ~ spark_cdc._debezium_is_bare(text, column) ~ ' = false then '
            ~ spark_cdc.value(text, dict(column, encoding='bits'), time_zone) ~ ' end' if family == 'bigint' else 'null' -%}
        {%- do read_as.append(
            'when case when octet_length(' ~ text ~ ') % 4 = 0 and case when ' ~ no_type ~ ' then ' ~ untyped ~ ' else ' ~ may_be_bytes
            ~ ' end then not coalesce(' ~ spark_cdc._debezium_is_bare(text, column) ~ ', false) else false end then ' ~ of_bits
        ) -%}
    {%- endif -%}
    {{- return('case ' ~ read_as | join(' ') ~ ' else ' ~ plain ~ ' end' if read_as else plain) -}}
{%- endmacro -%}

{#- A number of Debezium's is what a wall clock showed, counted as if the clock stood in UTC: an instant has a text. -#}
{%- macro _debezium_clock(microseconds, family, time_zone) -%}
    {%- if family == 'timestamp' and time_zone == 'UTC' -%}
        {{- return('timestamp_micros(' ~ microseconds ~ ')') -}}
    {%- endif -%}
    {%- set shown = spark_cdc._clock_of_microseconds(microseconds) -%}
    {%- if family == 'timestamp' -%}
        {{- return(spark_cdc._instant_of_local('cast(' ~ shown ~ ' as string)', time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc._date_at_midnight(shown) if family == 'date' else shown) -}}
{%- endmacro -%}

{#-
    True of a number or `true` that stands in the message without quotes, false of a text, NULL where that is not certain: of
    base64 both may be the text. Whatever the column's name stands before is looked at, in any spelling, in all that an image
    may come from: what is found both with quotes and without is neither, and so is a text with an escape beside a number.
-#}
{%- macro _debezium_is_bare(text, column) -%}
    {%- set name = [] -%}
    {%- for character in column.name -%}
        {%- set unit = character.encode('utf-16-be').hex() -%}
        {%- set plain = '\\\\[' ~ modules.re.escape(character) ~ ']' if character in ['"', '\\'] else modules.re.escape(character) -%}
        {%- do name.append(
            '(?:' ~ ('\\\\?' if character == '/' else '') ~ plain ~ '|\\\\u(?i:' ~ unit[:4] ~ ')'
            ~ ('\\\\u(?i:' ~ unit[4:] ~ ')' if unit[4:] else '') ~ ')'
        ) -%}
    {%- endfor -%}
    {%- set pattern = '"' ~ name | join ~ '"\\s*+:\\s*+("[^"\\\\]*+["\\\\]|[-+.0-9A-Za-z]++)' -%}
    {%- set texts = "concat_ws(' ', value, key, " ~ spark_cdc._debezium_old_key() ~ ')' -%}
    {%- set found = 'regexp_extract_all(' ~ texts ~ ', ' ~ spark_cdc._literal(pattern) ~ ', 1)' -%}
    {%- set may_be_number = 'array_contains(found, ' ~ text ~ ')' -%}
    {%- set may_be_text = "(array_contains(found, concat('\"', " ~ text ~ ", '\"')) or contains(array_join(found, ''), '\\\\'))" -%}
    {%- set certain = spark_cdc._let(
        'found', found, 'case when ' ~ may_be_number ~ ' <> ' ~ may_be_text ~ ' then ' ~ may_be_number ~ ' end'
    ) -%}
    {#- The characters up to the colon are those that a number may begin with. CASE: of AND Spark may take the right side first. -#}
    {{- return(
        "case when " ~ text ~ " between '+' and ':' or " ~ text ~ " = 'true' then case when " ~ text
        ~ " rlike r'^(?:[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true)\\z' then " ~ certain ~ " else false end else false end"
    ) -}}
{%- endmacro -%}

{#-
    By the schema, where it is there: base64 of the number without its point, bits, or a text that is the number; a bare number is
    itself (the converter's decimal.format=NUMERIC). Without it only a number that cannot be base64 is certain; the declared scale
    is the source's only where the column says `from base64`.
-#}
{%- macro _debezium_decimal(text, column, type, dialect) -%}
    {%- set is_decimal = 'startswith(' ~ type ~ ", 'org.apache.kafka.connect.data.Decimal')" -%}
    {%- set is_bare = spark_cdc._debezium_is_bare(text, column) -%}
    {%- set is_not_base64 = '(' ~ text ~ " rlike '[.-]' or octet_length(" ~ text ~ ') % 4 <> 0)' -%}
    {%- set scale = 'regexp_extract(' ~ type ~ ", r'\\((-?[0-9]+)\\)', 1)" -%}
    {%- if column.encoding -%}
        {%- set unscaled = spark_cdc._debezium_unscaled(
            text, 'case when ' ~ is_decimal ~ ' then ' ~ scale ~ " else '" ~ column.scale ~ "' end"
        ) -%}
        {%- set number -%}
            case
                when is_bare then {{ text }}
                when not is_bare then {{ unscaled }}
            end
        {%- endset -%}
    {%- elif dialect == 'cloudcanal' -%}
        {#- The page has texts in its samples and Debezium's schema in its words: a text that both can be is neither. -#}
        {{- return(
            'case when ' ~ is_not_base64 ~ ' or not coalesce(' ~ is_decimal ~ ' or ' ~ type
            ~ " in ('bytes', 'io.debezium.data.Bits'), false) or " ~ is_bare ~ ' then ' ~ spark_cdc.value(text, column) ~ ' end'
        ) -}}
    {%- else -%}
        {%- set is_bare = 'case when case when startswith(' ~ text ~ ", '{') then false when coalesce(" ~ type ~ ", '') = '' then not "
            ~ is_not_base64 ~ ' else ' ~ is_decimal ~ ' or ' ~ type ~ " = 'io.debezium.data.Bits' end then " ~ is_bare ~ ' end' -%}
        {#- VariableScaleDecimal. from_json alone reads a bare number as a text, and the last of two fields of one name. -#}
        {%- set own_scale, digits = '"scale"\\s*+:\\s*+-?[0-9]++\\s*+', '"value"\\s*+:\\s*+"(?:[^"\\\\]++|\\\\.)*+"\\s*+' -%}
        {%- set object = '^\\{\\s*+(?:' ~ own_scale ~ ',\\s*+' ~ digits ~ '|' ~ digits ~ ',\\s*+' ~ own_scale ~ ')}\\z' -%}
        {%- set variable = 'from_json(regexp_extract(' ~ text ~ ", r'" ~ object ~ "', 0), 'scale string, value string')" -%}
        {%- set unscaled = spark_cdc._debezium_unscaled(
            'case when ' ~ is_decimal ~ ' then case when not is_bare then ' ~ text ~ ' end else ' ~ variable ~ '.value end',
            'case when ' ~ is_decimal ~ ' then ' ~ scale ~ ' else ' ~ variable ~ '.scale end'
        ) -%}
        {%- set number -%}
            case
                when {{ is_decimal }} and is_bare then {{ text }}
                when {{ is_decimal }} or startswith({{ text }}, '{') then {{ unscaled }}
                when {{ type }} = 'io.debezium.data.Bits' then {# -#}
                    case when not is_bare then {{ spark_cdc._unsigned_integer(text, 'bits') }} end
                when {{ type }} = 'bytes' then null
                when {{ type }} <> '' or {{ is_not_base64 }} or is_bare then {{ text }}
            end
        {%- endset -%}
    {%- endif -%}
    {{- return(spark_cdc._let('is_bare', is_bare, spark_cdc._let(
        'number', number, spark_cdc.value('number', dict(column, encoding='text'))
    ))) -}}
{%- endmacro -%}

{#- base64 of a number without its point -> the text of the number. 5E--2 is 5E2. -#}
{%- macro _debezium_unscaled(text, scale) -%}
    {{- return(
        'replace(concat(cast(' ~ spark_cdc._big_endian_integer(text) ~ " as string), 'E-', " ~ scale ~ "), '--')"
    ) -}}
{%- endmacro -%}
