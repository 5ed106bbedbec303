{#-
    Canal JSON (FlatMessage): many rows in a message, values as texts, only the changed values of the row before.
    Facts: github.com/alibaba/canal, MQMessageUtils, LogEventConvert and FlatMessage; docs/formats/canal.md.

    Order: (offset, position in the message). All messages of a batch share `id`, which starts again with the server; `es` is
    whole seconds of the statement: neither orders changes. Messages of one key are in one partition, as Canal sends them.

    Dialects, the products that write the same fields: `canal` (default), `ticdc` (ordered by `_tidb.commitTs`), `tencent`,
    `dts` (Alibaba Cloud), `flink`, `seatunnel`, `oms` (OceanBase), `cloudcanal`, `dataarts` (Huawei). docs/formats/canal.md
    lists the differences.
-#}
{%- macro default__canal_schema(dialect, with_types) -%}
struct<
    database: string,
    `table`: string,
    type: string,
    isDdl: boolean,
    sql: string,
    es: bigint,
    gtid: string,
    pkNames: array<string>,
    {{ 'mysqlType: map<string,string>,' if with_types }}
    data: {{ 'map<string,string>' if dialect == 'seatunnel' else 'array<map<string,string>>' }},
    old: array<map<string,string>>
    {{- ', _tidb: map<string,string>' if dialect in ['canal', 'ticdc'] }}
    {{- ', isHeartbeat: boolean' if dialect == 'dataarts' }}
>
{%- endmacro -%}

{%- macro default__canal_header(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE', 'INIT', 'ROW'] -%}
    {%- set ddl = ['CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX', 'QUERY'] -%}
    {%- set heartbeats = ['MHEARTBEAT', 'TIDB_WATERMARK'] + (['HEARTBEAT'] if dialect == 'oms' else []) -%}
    {%- set control = ['GTID', 'XACOMMIT', 'XAROLLBACK'] + heartbeats -%}
    {%- set commit_ts = spark_cdc._whole_number("message._tidb['commitTs']") -%}
    {%- set may_be_ticdc = dialect in ['canal', 'ticdc'] -%}
    {#- If a message exceeds the broker's limit, TiCDC sends the key alone, or the place where it put the row. -#}
    {%- set key_alone = "(message.type in ('INSERT', 'UPDATE') and (coalesce(message._tidb['onlyHandleKey'], 'false') <> 'false' "
        ~ "or coalesce(message._tidb['claimCheckLocation'], '') <> ''))" -%}
    {%- set key_twice = spark_cdc._names_twice('map_keys(message._tidb)') -%}
    {%- set missing_position = '(message.type in (' ~ spark_cdc._literals(rows + ['TRUNCATE']) ~ ') and ' ~ commit_ts ~ ' is null)' -%}
    {%- set kind -%}
        case
            {%- if dialect == 'dataarts' %}
            when message.isHeartbeat then 'heartbeat'
            {%- endif %}
            when message.type = 'TRUNCATE' then 'truncate'
            when message.type in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when message.type in ({{ spark_cdc._literals(ddl) }}) {{ 'or message.isDdl ' if dialect == 'cloudcanal' }}then 'ddl'
            when message.type in ({{ spark_cdc._literals(heartbeats) }}) then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {#- A heartbeat of DataArts is an UPDATE, too. -#}
    {%- set is_row = 'message.type in (' ~ spark_cdc._literals(rows) ~ ')' if dialect == 'dataarts' else "message_kind = 'rows'" -%}
    {%- set list = spark_cdc._canal_list(dialect) -%}
    {#- If a statement empties a table, the type must say so. -#}
    {%- set statement = {
        'text': 'message.sql', 'table': "case when message.type = 'TRUNCATE' then message.`table` end", 'qualifier': 'message.database'
    } -%}
    {%- set unknown_op = {} -%}
    {%- set is_unknown = 'message.type not in (' ~ spark_cdc._literals(rows + ddl + control + ['TRUNCATE']) ~ ')' -%}
    {%- if dialect == 'cloudcanal' -%}
        {#- The vendor's page does not list the types of a DDL: the flag marks it, and the statement shows its effect. -#}
        {%- set is_unknown = is_unknown ~ " and not (coalesce(message.isDdl, false) and trim(message.sql) <> '')" -%}
        {%- do unknown_op.update({
            'sql: a statement that changes rows': "message.isDdl and statement_kind = 'changes_rows'"
        }) -%}
    {%- elif dialect == 'oms' -%}
        {#- The page says that `sql` is empty: of these types only QUERY may be a truncate. -#}
        {%- do unknown_op.update({
            'sql: missing, and a QUERY may be a TRUNCATE': "message.type = 'QUERY' and coalesce(trim(message.sql), '') = ''"
        }) -%}
    {%- endif -%}
    {%- do unknown_op.update({
        'type: not an operation of the format': is_unknown,
        'isDdl: true, and type is a row operation': is_row ~ ' and coalesce(message.isDdl, false)',
    }) -%}
    {%- set unexpected_structure = {
        'data: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.data) > 0',
        'old: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.old) > 0',
        'old: a row in an insert': "message.type in ('INSERT', 'INIT', 'ROW') and " ~ spark_cdc._holds_a_row('message.old'),
        'sql: not the TRUNCATE that type says': "message.type = 'TRUNCATE' and trim(message.sql) <> '' and statement_kind <> 'truncate'",
        'isDdl: false, and the TRUNCATE has no statement': "message.type = 'TRUNCATE' and not coalesce(message.isDdl, true) and "
            ~ "statement_kind = 'none'",
    } -%}
    {%- if dialect == 'seatunnel' -%}
        {%- do unexpected_structure.update({'old: a row, which this dialect does not have': spark_cdc._holds_a_row('message.old')}) -%}
    {%- else -%}
        {%- do unexpected_structure.update({
            'old: another row than data has, in a DELETE': "message.type = 'DELETE' and " ~ spark_cdc._holds_a_row('message.data')
                ~ ' and ' ~ spark_cdc._other_rows('message.old', 'message.data')
        }) -%}
    {%- endif -%}
    {%- if dialect == 'dataarts' -%}
        {%- do unexpected_structure.update({
            'isHeartbeat: true, and type is not UPDATE': "message.isHeartbeat and message.type <> 'UPDATE'"
        }) -%}
    {%- endif -%}
    {%- if dialect == 'tencent' -%}
        {%- do unexpected_structure.update({
            'es: neither seconds of 10 digits nor milliseconds of 13': 'message.es between 10000000000 and 999999999999',
            'es: beyond the year 9999 as milliseconds': spark_cdc._beyond_the_calendar('message.es'),
        }) -%}
    {%- else -%}
        {%- do unexpected_structure.update(spark_cdc._rules_of_milliseconds('es', 'message.es')) -%}
    {%- endif -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_names({'database': 'message.database', 'table': 'message.`table`'})) -%}
    {%- set missing_rows = {} -%}
    {%- if dialect not in ['cloudcanal', 'flink', 'seatunnel'] -%}
        {#- DRS has such a row too, with other values, so it is read only if the user names the dialect. -#}
        {%- do missing_rows.update({
            'data: no row; old has it, as in the dialects flink and cloudcanal and in the format drs': "message.type = 'DELETE' and "
                ~ 'coalesce(size(message.data), 0) < 1 and ' ~ spark_cdc._holds_a_row('message.old')
        }) -%}
    {%- endif -%}
    {%- set other_shape, bracket = ['a list, as in the dialect flink, not a row', '\\['] if dialect == 'seatunnel'
        else ['an object, as in the dialect seatunnel, not a list of rows', '\\{'] -%}
    {%- do missing_rows.update({
        'data: ' ~ other_shape: is_row ~ " and message.data is null and value rlike r'\"data\"\\s*+:\\s*+" ~ bracket ~ "'",
        'data: no row': is_row ~ ' and coalesce(size(' ~ list ~ '), 0) < 1',
        ('data' if dialect == 'seatunnel' else 'data[]') ~ ': a row without columns': is_row ~ ' and exists(' ~ list
            ~ ', image -> coalesce(size(image), 0) < 1)',
    }) -%}
    {#- DRS has Canal's fields and this one, but another order, other binaries and another row before. -#}
    {%- set errors = {
        'wrong_format': {
            'type: missing': 'message.type is null',
            'columnType: Huawei DRS writes it, see the format drs': "array_contains(key_names, 'columnType')",
        },
        'unknown_op': unknown_op,
        'fault': spark_cdc._statement_fault('sql', changes_rows=false),
        'unexpected_structure': unexpected_structure,
        'missing_rows': missing_rows,
    } -%}
    {%- if dialect == 'ticdc' -%}
        {%- do errors.update({
            'duplicate_key': {'_tidb: a field occurs twice': key_twice},
            'missing_position': {'_tidb.commitTs: not a whole number': missing_position},
        }) -%}
    {%- endif -%}
    {%- if may_be_ticdc -%}
        {%- do errors.update({'missing_row': {
            'data: the key alone, as _tidb.onlyHandleKey or _tidb.claimCheckLocation says': key_alone
        }}) -%}
    {%- endif -%}
    {%- if dialect != 'seatunnel' -%}
        {%- do errors.update({'array_length_mismatch': {
            'old: not as many rows as data': "message.type = 'UPDATE' and size(message.old) > 0 "
                ~ 'and size(message.old) <> size(message.data)'
        }}) -%}
    {%- endif -%}
    {%- set key_columns = 'message.pkNames' -%}
    {%- if dialect == 'oms' -%}
        {#- The vendor's samples name columns that the row does not have. -#}
        {%- set key_columns = 'case when size(array_except(message.pkNames, map_keys(get(message.data, 0)))) = 0 '
            ~ 'then message.pkNames end' -%}
    {%- endif -%}
    {#-
        Tencent writes seconds in DDL and milliseconds in rows: 11 digits of milliseconds would be a time before MySQL existed.
    -#}
    {%- set es = 'case when message.es between -99999999999 and 99999999999 then message.es * 1000 else message.es end'
        if dialect == 'tencent' else 'message.es' -%}
    {{- return({
        'kind': kind,
        'database_name': 'message.database',
        'schema_name': none,
        'table_name': 'message.`table`',
        'names_table': dialect not in ['flink', 'seatunnel'],
        'op': 'message.type',
        'sequence': 'array_compact(array(' ~ commit_ts ~ '))' if dialect == 'ticdc' else 'cast(array() as array<decimal(20,0)>)',
        'sequence_names': spark_cdc._sequence_names(['_tidb.commitTs']) if dialect == 'ticdc' else none,
        'committed_at': spark_cdc._instant('case when message.es > 0 then ' ~ es ~ ' end', 'milliseconds'),
        'transaction_id': "nullif(message.gtid, '')",
        'key_columns': key_columns,
        'column_types': spark_cdc._types_once('message.mysqlType'),
        'statement': statement,
        'sql_dialect': "'mysql'" if dialect in ['canal', 'ticdc', 'tencent', 'flink', 'seatunnel'] else none,
        'ddl': "nullif(message.sql, '')",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#-
    The rows of a message. CloudCanal, and Flink CDC before 3.3, may write a deleted row in `old` alone: no other row can be
    meant. SeaTunnel 2.3.5 writes the row itself instead of a list.
-#}
{%- macro _canal_list(dialect) -%}
    {%- if dialect in ['cloudcanal', 'flink'] -%}
        {{- return("case when message.type = 'DELETE' and not " ~ spark_cdc._holds_a_row('message.data')
            ~ ' then message.old else message.data end') -}}
    {%- elif dialect == 'seatunnel' -%}
        {{- return('case when message.data is not null then array(message.data) end') -}}
    {%- endif -%}
    {{- return('message.data') -}}
{%- endmacro -%}

{#-
    `old` lists the changed columns (some dialects list all): the row before is `data` overlaid by the keys of `old`. Flink
    always lists all, but can be set to leave out nulls: a column that one of the two rows lacks is then unknown.
-#}
{%- macro default__canal_rows(dialect) -%}
    {%- set overlays = dialect not in ['flink', 'seatunnel'] -%}
    {%- set deleted = 'cast(map() as map<string,string>)' if overlays else 'element' -%}
    {%- set before = 'get(message.old, position)' -%}
    {%- if dialect == 'cloudcanal' -%}
        {#- As in its own format, a row before without columns means that it is not known. -#}
        {%- set before = 'case when size(' ~ before ~ ') > 0 then ' ~ before ~ ' end' -%}
    {%- endif -%}
    {%- set leaves_out_nulls = "message.type = 'UPDATE' and "
        ~ 'size(array_except(map_keys(get(message.old, position)), map_keys(element))) > 0' -%}
    {#- OMS writes `old` in every update. -#}
    {%- set key_unknown = "case when message.type = 'UPDATE' and get(message.old, position) is null "
        ~ 'then cast(map() as map<string,string>) end' -%}
    {{- return({
        'each': spark_cdc._canal_list(dialect),
        'op': "case message.type when 'DELETE' then 'delete' when 'UPDATE' then 'update' when 'INSERT' then 'insert' else 'snapshot' end",
        'image': 'element',
        'before': "case message.type when 'DELETE' then " ~ deleted ~ " when 'UPDATE' then " ~ before ~ ' end',
        'overlays': overlays,
        'absent_is_error': leaves_out_nulls if dialect == 'flink' else none,
        'old_key': key_unknown if dialect == 'oms' else none,
        'long_numbers': dialect == 'oms',
    }) -}}
{%- endmacro -%}

{#-
    Binaries are Latin-1 characters; ENUM and SET are numbers, whose labels are in mysqlType. If a product's page does not say
    how it writes binaries, none fits until the column declares `from ...`.
-#}
{%- macro default__canal_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'oms' and column.encoding in ['enum', 'set'] -%}
        {#- OceanBase writes the labels themselves. -#}
        {{- return('cast(null as string)') -}}
    {%- elif dialect == 'oms' -%}
        {{- return(adapter.dispatch('oms_value', 'spark_cdc')(text, column, time_zone, 'default')) -}}
    {%- endif -%}
    {%- if column.encoding in ['enum', 'set'] -%}
        {{- return(spark_cdc._mysql_label(text, column.source_type, column.encoding)) -}}
    {%- endif -%}
    {%- if column.family == 'binary' and column.encoding is none -%}
        {%- if dialect in ['tencent', 'dts', 'cloudcanal', 'dataarts', 'seatunnel'] -%}
            {{- return('cast(null as binary)') -}}
        {%- endif -%}
        {{- return(spark_cdc.decode_binary(text, 'base64' if dialect == 'flink' else 'latin1')) -}}
    {%- endif -%}
    {%- if dialect == 'tencent' and column.family in ['timestamp', 'timestamp_ntz'] and column.encoding in [none, 'text'] -%}
        {#- Tencent DTS puts a space before the offset: 2021-05-17 07:22:42 +00:00. -#}
        {{- return(spark_cdc.value(spark_cdc._without_blank_before_offset(text), column, time_zone)) -}}
    {%- endif -%}
    {%- if dialect == 'cloudcanal' and column.family in ['timestamp', 'timestamp_ntz'] and column.encoding in [none, 'text'] -%}
        {{- return(spark_cdc.value(spark_cdc._with_offset_minutes(text), column, time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
