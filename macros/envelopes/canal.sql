{#-
    Canal JSON (FlatMessage): many rows in a message, images of texts, a partial image of the old values.
    Facts: github.com/alibaba/canal, MQMessageUtils, LogEventConvert and FlatMessage; docs/formats/canal.md.

    Order: (offset, position in the message). `id` is shared by the messages of a batch and starts again with the server,
    `es` is whole seconds of the statement: neither orders anything. Messages of one key stand in one partition, as Canal
    sends them.
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
    data: array<map<string,string>>,
    old: array<map<string,string>>
>
{%- endmacro -%}

{%- macro default__canal_header(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE', 'INIT', 'ROW'] -%}
    {%- set ddl = ['CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX', 'QUERY'] -%}
    {%- set control = ['GTID', 'XACOMMIT', 'XAROLLBACK', 'MHEARTBEAT', 'TIDB_WATERMARK'] -%}
    {%- set kind -%}
        case
            when message.type = 'TRUNCATE' then 'truncate'
            when message.type in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when message.type in ({{ spark_cdc._literals(ddl) }}) then 'ddl'
            when message.type in ('MHEARTBEAT', 'TIDB_WATERMARK') then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {%- set no_rows = '(coalesce(size(message.data), 0) < 1 or exists(message.data, image -> image is null))' -%}
    {%- set error -%}
        case
            when message.type is null then 'other_format'
            when message.type not in ({{ spark_cdc._literals(rows + ddl + control + ['TRUNCATE']) }}) then 'unknown_op'
            when message.type in ({{ spark_cdc._literals(rows) }}) and {{ no_rows }} then 'no_rows'
            else 'array_lengths_differ'
        end
    {%- endset -%}
    {%- set error_condition -%}
        message.type is null
        or message.type not in ({{ spark_cdc._literals(rows + ddl + control + ['TRUNCATE']) }})
        or (message.type in ({{ spark_cdc._literals(rows) }}) and {{ no_rows }})
        or (message.type = 'UPDATE' and size(message.old) > 0 and size(message.old) <> size(message.data))
    {%- endset -%}
    {{- return({
        'kind': kind,
        'database_name': 'message.database',
        'schema_name': none,
        'table_name': 'message.`table`',
        'op': 'message.type',
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': spark_cdc._instant('message.es', 'milliseconds'),
        'transaction_id': "nullif(message.gtid, '')",
        'key_columns': 'message.pkNames',
        'column_types': 'message.mysqlType',
        'ddl': "nullif(message.sql, '')",
        'error': error,
        'error_condition': error_condition,
    }) -}}
{%- endmacro -%}

{#- `old` lists what changed (some dialects list all): the row before is `data` overlaid by `old`, by key presence. -#}
{%- macro default__canal_rows(dialect) -%}
    {{- return({
        'each': 'message.data',
        'op': "case message.type when 'DELETE' then 'delete' when 'UPDATE' then 'update' when 'INSERT' then 'insert' else 'snapshot' end",
        'image': 'element',
        'before': "case message.type when 'DELETE' then cast(map() as map<string,string>) when 'UPDATE' then get(message.old, position) end",
        'overlays': true,
    }) -}}
{%- endmacro -%}

{#- Binaries are Latin-1 characters; ENUM and SET are numbers, whose labels stand in mysqlType. -#}
{%- macro default__canal_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding in ['enum', 'set'] -%}
        {{- return(spark_cdc._mysql_label(text, 'column_types[' ~ column.literal ~ ']', column.encoding)) -}}
    {%- endif -%}
    {%- set encoding = column.encoding or {'binary': 'latin1'}.get(column.family) -%}
    {{- return(spark_cdc.value(text, dict(column, encoding=encoding), time_zone)) -}}
{%- endmacro -%}
