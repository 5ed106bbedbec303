{#-
    CloudCanal JSON, the default message of CloudCanal's Kafka, RocketMQ and RabbitMQ targets: many rows of one table in a
    message, each with its old row at the same place of a second list.
    Facts: clougence.com/cc-doc/reference/kafka_msg_format_type; docs/formats/cloudcanal.md.

    Order: (offset, position in the message). `bid` counts batches, is 0 in all of the vendor's samples and is nowhere said to
    order; `execTs` is whole seconds of the statement. Messages of one key must stand in one partition.
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
    {%- set no_entry = "(message.entryType is null or message.action is null and message.entryType <> 'TRANSACTIONEND')" -%}
    {#- An older page of the vendor calls the flag `ddl`. The page does not list all words of it. -#}
    {%- set is_ddl = 'coalesce(message.isDdl, message.ddl, false)' -%}
    {%- set unknown -%}
        (message.entryType not in ('ROWDATA', 'TRANSACTIONEND')
        or message.entryType = 'ROWDATA' and (
            message.action not in ({{ known }}) and not ({{ is_ddl }} and trim(message.sql) <> '')
            or message.action in ({{ rows }}) and {{ is_ddl }}
        ))
    {%- endset -%}
    {%- set is_rows = "(message.entryType = 'ROWDATA' and message.action in (" ~ rows ~ '))' -%}
    {%- set list = spark_cdc._cloudcanal_list() -%}
    {%- set no_rows = '(' ~ is_rows ~ ' and (coalesce(size(' ~ list ~ '), 0) < 1 or exists(' ~ list
        ~ ', image -> coalesce(size(image), 0) < 1)))' -%}
    {%- set rows_of_none = '(not ' ~ is_rows ~ ' and (size(message.data) > 0 or size(message.before) > 0))' -%}
    {%- set lengths_differ = "(message.entryType = 'ROWDATA' and message.action = 'UPDATE' and size(message.before) > 0 "
        ~ 'and size(message.before) <> size(message.data))' -%}
    {%- set two_rows = "(message.entryType = 'ROWDATA' and message.action = 'DELETE' and "
        ~ spark_cdc._holds_a_row('message.data') ~ ' and ' ~ spark_cdc._other_rows('message.before', 'message.data') ~ ')' -%}
    {%- set has_old_row = "(message.action = 'INSERT' and " ~ spark_cdc._holds_a_row('message.before') ~ ')' -%}
    {#- Of a statement that empties a table the action must say so. -#}
    {%- set truncate_fault = spark_cdc._truncate_fault(
        'message.sql', "case when message.action = 'TRUNCATE' then message.`table` else '' end",
        "coalesce(nullif(message.`schema`, ''), message.db)"
    ) -%}
    {%- set kind -%}
        case
            when message.entryType = 'TRANSACTIONEND' then 'commit'
            when message.action in ({{ rows }}) then 'rows'
            when message.action = 'TRUNCATE' then 'truncate'
            else 'ddl'
        end
    {%- endset -%}
    {%- set ddl_of_rows = "case when message.entryType = 'ROWDATA' and not " ~ is_rows ~ ' then '
        ~ spark_cdc._changes_rows('message.sql') ~ ' else false end' -%}
    {%- set other_statement = "(message.action = 'TRUNCATE' and " ~ spark_cdc._is_no_truncate('message.sql') ~ ')' -%}
    {#- What its action may be stands nowhere: one of rows, without any, does no harm. -#}
    {%- set more_than_an_end = "(message.entryType = 'TRANSACTIONEND' and (message.action not in ('', 'TRANSACTIONEND', " ~ rows
        ~ ') or ' ~ is_ddl ~ " or trim(message.sql) <> ''))" -%}
    {#- The two names of the flag may not contradict each other, nor may the flag a truncate. -#}
    {%- set other_flag = "(message.isDdl <> message.ddl or message.action = 'TRUNCATE' and not "
        ~ 'coalesce(message.isDdl, message.ddl, true))' -%}
    {%- set errors = {
        'other_format': no_entry,
        'unknown_op': unknown ~ ' or ' ~ ddl_of_rows,
        'no_rows': no_rows,
        'array_lengths_differ': lengths_differ,
        'fault': truncate_fault,
        'other_structure': two_rows ~ ' or ' ~ rows_of_none ~ ' or ' ~ has_old_row ~ ' or ' ~ other_statement ~ ' or '
            ~ more_than_an_end ~ ' or ' ~ other_flag ~ ' or '
            ~ spark_cdc._beyond_the_calendar('message.execTs') ~ ' or '
            ~ spark_cdc._may_be_seconds('message.execTs') ~ ' or '
            ~ spark_cdc._is_nested({'db': 'message.db', 'schema': 'message.`schema`', 'table': 'message.`table`'}),
    } -%}
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
        'ddl': "nullif(message.sql, '')",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- The page keeps `before` for updates; a delete whose row stands in `before` alone can mean no other row. -#}
{%- macro _cloudcanal_list() -%}
    {{- return("case when message.action = 'DELETE' and not " ~ spark_cdc._holds_a_row('message.data') ~ ' then message.before '
        ~ 'else message.data end') -}}
{%- endmacro -%}

{%- macro default__cloudcanal_rows(dialect) -%}
    {#- The page shows old rows whole: one without columns tells nothing. -#}
    {%- set before = 'case when size(get(message.before, position)) > 0 then get(message.before, position) end' -%}
    {{- return({
        'each': spark_cdc._cloudcanal_list(),
        'op': "lower(message.action)",
        'image': 'element',
        'before': "case message.action when 'DELETE' then cast(map() as map<string,string>) when 'UPDATE' then " ~ before ~ ' end',
        'overlays': true,
    }) -}}
{%- endmacro -%}

{#- The page does not say how binaries are written: none fits until the column says `from ...`. -#}
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
