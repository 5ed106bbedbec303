{#-
    CloudCanal JSON, the default message of CloudCanal's Kafka, RocketMQ and RabbitMQ targets: many rows of one table in a
    message; a second list has the row before of each, at the same position.
    Facts: clougence.com/cc-doc/reference/kafka_msg_format_type; docs/formats/cloudcanal.md.

    Order: (offset, position in the message). `bid` counts batches; it is 0 in all of the vendor's samples, and no page says
    that it orders. `execTs` is whole seconds of the statement. Messages of one key must be in one partition.
-#}
{%- macro default__cloudcanal_schema(dialect, with_types) -%}
struct<
    action: string,
    entryType: string,
    isDdl: boolean,
    ddl: boolean,
    db: string,
    `schema`: string,
    `table`: string,
    execTs: bigint,
    sql: string,
    pks: array<string>,
    {{ 'dbValType: map<string,string>,' if with_types }}
    tableChanges: string,
    data: array<map<string,string>>,
    before: array<map<string,string>>
>
{%- endmacro -%}

{%- macro default__cloudcanal_header(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE'] -%}
    {%- set known = spark_cdc._literals(rows + ['CREATE', 'ALTER', 'DROP', 'RENAME', 'TRUNCATE']) -%}
    {%- set rows = spark_cdc._literals(rows) -%}
    {#- An older page of the vendor calls the flag `ddl`. The page does not list all of its actions. -#}
    {%- set is_ddl = 'coalesce(message.isDdl, message.ddl, false)' -%}
    {%- set is_data = "message.entryType = 'ROWDATA'" -%}
    {%- set is_rows = '(' ~ is_data ~ ' and message.action in (' ~ rows ~ '))' -%}
    {%- set list = spark_cdc._cloudcanal_list() -%}
    {#- If a statement empties a table, the action must say so. -#}
    {%- set statement = {
        'text': 'message.sql', 'table': "case when message.action = 'TRUNCATE' then message.`table` end",
        'qualifier': "coalesce(nullif(message.`schema`, ''), message.db)"
    } -%}
    {%- set kind -%}
        case
            when message.entryType = 'TRANSACTIONEND' then 'commit'
            when message.action in ({{ rows }}) then 'rows'
            when message.action = 'TRUNCATE' then 'truncate'
            else 'ddl'
        end
    {%- endset -%}
    {#- No page lists the actions of a TRANSACTIONEND: a row action without rows does no harm. -#}
    {%- set is_end = "message.entryType = 'TRANSACTIONEND'" -%}
    {%- set errors = {
        'wrong_format': {
            'entryType: missing': 'message.entryType is null',
            'action: missing': "message.action is null and message.entryType <> 'TRANSACTIONEND'",
        },
        'unknown_op': {
            'entryType: neither ROWDATA nor TRANSACTIONEND': "message.entryType not in ('ROWDATA', 'TRANSACTIONEND')",
            'action: not an operation of the format, and isDdl with sql do not make it a DDL': is_data ~ ' and message.action not in ('
                ~ known ~ ') and not (' ~ is_ddl ~ " and trim(message.sql) <> '')",
            'isDdl: true, and action is a row operation': is_rows ~ ' and ' ~ is_ddl,
            'sql: a statement that changes rows': is_data ~ ' and not ' ~ is_rows ~ " and statement_kind = 'changes_rows'",
        },
        'missing_rows': {
            'data: no row': is_rows ~ ' and coalesce(size(' ~ list ~ '), 0) < 1',
            'data[]: a row without columns': is_rows ~ ' and exists(' ~ list ~ ', image -> coalesce(size(image), 0) < 1)',
        },
        'array_length_mismatch': {
            'before: not as many rows as data': is_data ~ " and message.action = 'UPDATE' and size(message.before) > 0 "
                ~ 'and size(message.before) <> size(message.data)',
        },
        'fault': spark_cdc._statement_fault('sql', changes_rows=false),
        'unexpected_structure': {
            'before: another row than data has, in a DELETE': is_data ~ " and message.action = 'DELETE' and "
                ~ spark_cdc._holds_a_row('message.data') ~ ' and ' ~ spark_cdc._other_rows('message.before', 'message.data'),
            'data: rows, and the message is not a row operation': 'not ' ~ is_rows ~ ' and size(message.data) > 0',
            'before: rows, and the message is not a row operation': 'not ' ~ is_rows ~ ' and size(message.before) > 0',
            'before: a row in an INSERT': "message.action = 'INSERT' and " ~ spark_cdc._holds_a_row('message.before'),
            'sql: not the TRUNCATE that action says': "message.action = 'TRUNCATE' and trim(message.sql) <> '' "
                ~ "and statement_kind <> 'truncate'",
            'action: an operation in a TRANSACTIONEND': is_end ~ " and message.action not in ('', 'TRANSACTIONEND', " ~ rows ~ ')',
            'isDdl: true in a TRANSACTIONEND': is_end ~ ' and ' ~ is_ddl,
            'sql: a statement in a TRANSACTIONEND': is_end ~ " and trim(message.sql) <> ''",
            'ddl: another value than isDdl': 'message.isDdl <> message.ddl',
            'isDdl: false, and the TRUNCATE has no statement': "message.action = 'TRUNCATE' and not "
                ~ "coalesce(message.isDdl, message.ddl, true) and statement_kind = 'none'",
        },
    } -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_milliseconds('execTs', 'message.execTs')) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_names({
        'db': 'message.db', 'schema': 'message.`schema`', 'table': 'message.`table`'
    })) -%}
    {%- set keys_of_table = "from_json(get_json_object(message.tableChanges, '$.table.primaryKeyColumnNames'), 'array<string>')" -%}
    {{- return({
        'kind': kind,
        'database_name': 'message.db',
        'schema_name': 'message.`schema`',
        'table_name': 'message.`table`',
        'names_table': true,
        'op': 'coalesce(message.action, message.entryType)',
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': spark_cdc._instant('case when message.execTs > 0 then message.execTs end', 'milliseconds'),
        'transaction_id': none,
        'key_columns': 'case when size(message.pks) > 0 then message.pks when size(' ~ keys_of_table ~ ') > 0 then '
            ~ keys_of_table ~ ' end',
        'column_types': spark_cdc._types_once('message.dbValType'),
        'statement': statement,
        'ddl': "nullif(message.sql, '')",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- The page uses `before` for updates only; if a delete has its row in `before` alone, no other row can be meant. -#}
{%- macro _cloudcanal_list() -%}
    {{- return("case when message.action = 'DELETE' and not " ~ spark_cdc._holds_a_row('message.data') ~ ' then message.before '
        ~ 'else message.data end') -}}
{%- endmacro -%}

{%- macro default__cloudcanal_rows(dialect) -%}
    {#- The page shows rows before as whole rows: one without columns means that it is not known. -#}
    {%- set before = 'case when size(get(message.before, position)) > 0 then get(message.before, position) end' -%}
    {{- return({
        'each': spark_cdc._cloudcanal_list(),
        'op': "lower(message.action)",
        'image': 'element',
        'before': "case message.action when 'DELETE' then cast(map() as map<string,string>) when 'UPDATE' then " ~ before ~ ' end',
        'overlays': true,
    }) -}}
{%- endmacro -%}

{#- The page does not say how binaries are written: none fits until the column declares `from ...`. -#}
{%- macro default__cloudcanal_value(text, column, time_zone, dialect) -%}
    {%- if column.family == 'binary' and column.encoding is none -%}
        {{- return('cast(null as binary)') -}}
    {%- elif column.encoding in ['enum', 'set'] -%}
        {{- return(spark_cdc._mysql_label(text, column.source_type, column.encoding)) -}}
    {%- elif column.family in ['timestamp', 'timestamp_ntz'] and column.encoding in [none, 'text'] -%}
        {{- return(spark_cdc.value(spark_cdc._with_offset_minutes(text), column, time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
