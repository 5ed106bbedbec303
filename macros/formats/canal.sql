{#-
    Canal JSON (FlatMessage): many rows in a message, values as texts, only the changed values of the row before.
    Facts: github.com/alibaba/canal, MQMessageUtils, LogEventConvert and FlatMessage; docs/formats/canal.md.

    Order: (offset, position in the message). All messages of a batch share `id`, which starts again with the server; `es` is
    whole seconds of the statement: neither orders changes. All messages of a key have to be in one partition:
    docs/formats/canal.md says how.

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
    {%- set types = spark_cdc._canal_types(dialect) -%}
    {%- set kind -%}
        case
            {%- if dialect == 'dataarts' %}
            when message.isHeartbeat then 'heartbeat'
            {%- endif %}
            when message.type = 'TRUNCATE' then 'truncate'
            when message.type in ({{ types.rows }}) then 'rows'
            when message.type in ({{ types.ddl }}) {{ 'or message.isDdl ' if dialect == 'cloudcanal' }}then 'ddl'
            when message.type in ({{ types.heartbeats }}) then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {#- If a statement empties a table, the type must say so. -#}
    {%- set statement = {
        'text': 'message.sql', 'table': "case when message.type = 'TRUNCATE' then message.`table` end", 'qualifier': 'message.database'
    } -%}
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
    {%- set commit_ts = spark_cdc._canal_commit_ts() -%}
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
        'errors': spark_cdc._canal_errors(dialect, types),
    }) -}}
{%- endmacro -%}

{#- The operations of `type` by what they are, as literals; `known` are all of them. -#}
{%- macro _canal_types(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE', 'INIT', 'ROW'] -%}
    {%- set ddl = ['CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX', 'QUERY'] -%}
    {%- set heartbeats = ['MHEARTBEAT', 'TIDB_WATERMARK'] + (['HEARTBEAT'] if dialect == 'oms' else []) -%}
    {%- set control = ['GTID', 'XACOMMIT', 'XAROLLBACK'] + heartbeats -%}
    {{- return({
        'rows': spark_cdc._literals(rows),
        'rows_and_truncate': spark_cdc._literals(rows + ['TRUNCATE']),
        'ddl': spark_cdc._literals(ddl),
        'heartbeats': spark_cdc._literals(heartbeats),
        'known': spark_cdc._literals(rows + ddl + control + ['TRUNCATE']),
    }) -}}
{%- endmacro -%}

{#- TiCDC's place of a transaction in the order of all. -#}
{%- macro _canal_commit_ts() -%}
    {{- return(spark_cdc._whole_number("message._tidb['commitTs']")) -}}
{%- endmacro -%}

{#- The rules that reject a message, by error code. -#}
{%- macro _canal_errors(dialect, types) -%}
    {#- A heartbeat of DataArts is an UPDATE, too. -#}
    {%- set is_row = 'message.type in (' ~ types.rows ~ ')' if dialect == 'dataarts' else "message_kind = 'rows'" -%}
    {#- DRS has Canal's fields and this one, but another order, other binaries and another row before. -#}
    {%- set errors = {
        'wrong_format': {
            'type: missing': 'message.type is null',
            'columnType: Huawei DRS writes it, see the format drs': "array_contains(key_names, 'columnType')",
            'commitTs: of the simple protocol of TiCDC, which is not read; set protocol=canal-json':
                "array_contains(key_names, 'commitTs')",
        },
        'unknown_op': spark_cdc._canal_unknown_op(dialect, types, is_row),
        'fault': spark_cdc._statement_fault('sql', changes_rows=false),
        'unexpected_structure': spark_cdc._canal_unexpected_structure(dialect, is_row),
        'missing_rows': spark_cdc._canal_missing_rows(dialect, is_row),
    } -%}
    {%- if dialect == 'ticdc' -%}
        {%- do errors.update({
            'duplicate_key': {'_tidb: a field occurs twice': spark_cdc._names_twice('map_keys(message._tidb)')},
            'missing_position': {
                '_tidb.commitTs: not a whole number': '(message.type in (' ~ types.rows_and_truncate ~ ') and '
                    ~ spark_cdc._canal_commit_ts() ~ ' is null)'
            },
        }) -%}
    {%- endif -%}
    {%- if dialect in ['canal', 'ticdc'] -%}
        {#- If a message exceeds the broker's limit, TiCDC sends the key alone, or the place where it put the row. -#}
        {%- do errors.update({'missing_row': {
            'data: the key alone, as _tidb.onlyHandleKey or _tidb.claimCheckLocation says': "(message.type in ('INSERT', 'UPDATE') "
                ~ "and (coalesce(message._tidb['onlyHandleKey'], 'false') <> 'false' "
                ~ "or coalesce(message._tidb['claimCheckLocation'], '') <> ''))"
        }}) -%}
    {%- endif -%}
    {%- if dialect != 'seatunnel' -%}
        {%- do errors.update({'array_length_mismatch': {
            'old: not as many rows as data': "message.type = 'UPDATE' and size(message.old) > 0 "
                ~ 'and size(message.old) <> size(message.data)'
        }}) -%}
    {%- endif -%}
    {{- return(errors) -}}
{%- endmacro -%}

{%- macro _canal_unknown_op(dialect, types, is_row) -%}
    {%- set rules = {} -%}
    {%- set is_unknown = 'message.type not in (' ~ types.known ~ ')' -%}
    {%- if dialect == 'cloudcanal' -%}
        {#- The vendor's page does not list the types of a DDL: the flag marks it, and the statement shows its effect. -#}
        {%- set is_unknown = is_unknown ~ " and not (coalesce(message.isDdl, false) and trim(message.sql) <> '')" -%}
        {%- do rules.update({'sql: a statement that changes rows': "message.isDdl and statement_kind = 'changes_rows'"}) -%}
    {%- elif dialect == 'oms' -%}
        {#- The page says that `sql` is empty: of these types only QUERY may be a truncate. -#}
        {%- do rules.update({
            'sql: missing, and a QUERY may be a TRUNCATE': "message.type = 'QUERY' and coalesce(trim(message.sql), '') = ''"
        }) -%}
    {%- endif -%}
    {{- return(dict(rules, **{
        'type: not an operation of the format': is_unknown,
        'isDdl: true, and type is a row operation': is_row ~ ' and coalesce(message.isDdl, false)',
    })) -}}
{%- endmacro -%}

{%- macro _canal_unexpected_structure(dialect, is_row) -%}
    {%- set rules = {
        'data: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.data) > 0',
        'old: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.old) > 0',
        'old: a row in an insert': "message.type in ('INSERT', 'INIT', 'ROW') and " ~ spark_cdc._holds_a_row('message.old'),
        'sql: not the TRUNCATE that type says': "message.type = 'TRUNCATE' and trim(message.sql) <> '' and statement_kind <> 'truncate'",
        'isDdl: false, and the TRUNCATE has no statement': "message.type = 'TRUNCATE' and not coalesce(message.isDdl, true) and "
            ~ "statement_kind = 'none'",
    } -%}
    {%- if dialect == 'seatunnel' -%}
        {%- do rules.update({'old: a row, which this dialect does not have': spark_cdc._holds_a_row('message.old')}) -%}
    {%- else -%}
        {%- do rules.update({
            'old: another row than data has, in a DELETE': "message.type = 'DELETE' and " ~ spark_cdc._holds_a_row('message.data')
                ~ ' and ' ~ spark_cdc._other_rows('message.old', 'message.data')
        }) -%}
    {%- endif -%}
    {%- if dialect == 'dataarts' -%}
        {%- do rules.update({'isHeartbeat: true, and type is not UPDATE': "message.isHeartbeat and message.type <> 'UPDATE'"}) -%}
    {%- endif -%}
    {%- if dialect == 'tencent' -%}
        {%- do rules.update({
            'es: neither seconds of 10 digits nor milliseconds of 13': 'message.es between 10000000000 and 999999999999',
            'es: beyond the year 9999 as milliseconds': spark_cdc._beyond_the_calendar('message.es'),
        }) -%}
    {%- else -%}
        {%- do rules.update(spark_cdc._rules_of_milliseconds('es', 'message.es')) -%}
    {%- endif -%}
    {{- return(dict(rules, **spark_cdc._rules_of_names({'database': 'message.database', 'table': 'message.`table`'}))) -}}
{%- endmacro -%}

{%- macro _canal_missing_rows(dialect, is_row) -%}
    {%- set rules, list = {}, spark_cdc._canal_list(dialect) -%}
    {%- if dialect not in ['cloudcanal', 'flink', 'seatunnel'] -%}
        {#- DRS has such a row too, with other values, so it is read only if the user names the dialect. -#}
        {%- do rules.update({
            'data: no row; old has it, as in the dialects flink and cloudcanal and in the format drs': "message.type = 'DELETE' and "
                ~ 'coalesce(size(message.data), 0) < 1 and ' ~ spark_cdc._holds_a_row('message.old')
        }) -%}
    {%- endif -%}
    {%- set other_shape, bracket = ['a list, as in the dialect flink, not a row', '\\['] if dialect == 'seatunnel'
        else ['an object, as in the dialect seatunnel, not a list of rows', '\\{'] -%}
    {%- set no_row = is_row ~ ' and coalesce(size(' ~ list ~ '), 0) < 1' -%}
    {{- return(dict(rules, **{
        'data: ' ~ other_shape: is_row ~ " and message.data is null and value rlike r'\"data\"\\s*+:\\s*+" ~ bracket ~ "'",
        'data: no row, and sql has the statement alone; set binlog_format=ROW at the source': no_row
            ~ ' and not ' ~ spark_cdc._holds_a_row('message.old') ~ " and statement_kind = 'changes_rows'",
        'data: no row': no_row,
        ('data' if dialect == 'seatunnel' else 'data[]') ~ ': a row without columns': is_row ~ ' and exists(' ~ list
            ~ ', image -> coalesce(size(image), 0) < 1)',
    })) -}}
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
    {#- Nothing of a deleted row differs from `data`. -#}
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
