{#-
    Maxwell: one row a message, as JSON values; an update has the new row and the old values of the columns that changed.
    Facts: github.com/zendesk/maxwell, docs/docs/dataformat.md, and messages of Maxwell 1.22.6; docs/formats/maxwell.md.

    Order: the offset. `xid` is the transaction's number, unique but not said to rise, and starts again with another server;
    `xoffset` counts inside a transaction and the last row has none; `position` is there only when it is asked for, and never
    in a bootstrap; `ts` is whole seconds. Messages of one key stand in one partition when Maxwell is told to partition by
    database, table or primary key.
-#}
{%- macro default__maxwell_schema(dialect, with_types) -%}
struct<
    database: string,
    `table`: string,
    type: string,
    ts: bigint,
    xid: string,
    sql: string,
    primary_key_columns: array<string>,
    data: map<string,string>,
    old: map<string,string>
>
{%- endmacro -%}

{%- macro default__maxwell_header(dialect) -%}
    {%- set rows = ['insert', 'update', 'delete', 'bootstrap-insert'] -%}
    {%- set ddl = ['table-create', 'table-alter', 'table-drop', 'database-create', 'database-alter', 'database-drop'] -%}
    {%- set control = ['bootstrap-start', 'bootstrap-complete'] -%}
    {%- set is_ddl = 'message.type in (' ~ spark_cdc._literals(ddl) ~ ')' -%}
    {%- set is_rows = '(message.type in (' ~ spark_cdc._literals(rows) ~ '))' -%}
    {%- set no_image = '(' ~ is_rows ~ ' and coalesce(size(message.data), 0) < 1)' -%}
    {#- With output_nulls=false a column that became null is left out, and looks like one that is not in the message. -#}
    {%- set nulls_left_out = "(message.type = 'update' and size(array_except(map_keys(message.old), map_keys(message.data))) > 0)" -%}
    {#- The page has a row before in updates only, a row in row messages only; of a DDL `old` describes the table. -#}
    {%- set other_row = '(' ~ is_rows ~ " and message.type <> 'update' and coalesce(size(message.old) > 0, false) or not " ~ is_rows
        ~ ' and coalesce(size(message.data) > 0, false))' -%}
    {#- Flink's writer names neither, and the topic is then the table. -#}
    {%- set no_name = '(' ~ is_rows ~ " and coalesce(message.`table`, case when message.database is not null then '' end) = '')" -%}
    {%- set kind -%}
        case when {{ is_rows }} then 'rows' when {{ is_ddl }} then 'ddl' else 'other' end
    {%- endset -%}
    {#- Seconds in rows, milliseconds in DDL. -#}
    {%- set ts = 'case when ' ~ is_ddl ~ ' then ' ~ spark_cdc._instant('message.ts', 'milliseconds') ~ ' else '
        ~ spark_cdc._instant('message.ts', 'seconds') ~ ' end' -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('message.type', rows + ddl + control), no_image=no_image,
        other_structure=[
            nulls_left_out, other_row, no_name, '(message.ts > 0 and ' ~ ts ~ ' is null)',
            spark_cdc._is_nested({'database': 'message.database', 'table': 'message.`table`'}),
        ] | join(' or ')
    ) -%}
    {{- return({
        'kind': kind,
        'database_name': 'message.database',
        'schema_name': none,
        'table_name': 'message.`table`',
        'op': 'message.type',
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': 'case when message.ts > 0 then ' ~ ts ~ ' end',
        'transaction_id': 'message.xid',
        'key_columns': 'case when size(message.primary_key_columns) > 0 then message.primary_key_columns end',
        'column_types': none,
        'ddl': "nullif(message.sql, '')",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{%- macro default__maxwell_rows(dialect) -%}
    {{- return({
        'op': "case message.type when 'bootstrap-insert' then 'snapshot' else message.type end",
        'image': 'message.data',
        'before': "case message.type when 'delete' then cast(map() as map<string,string>) when 'update' then message.old end",
        'overlays': true,
    }) -}}
{%- endmacro -%}

{#- A SET is a list of its labels, texts without a comma; binaries are base64, which is `value`'s own. -#}
{%- macro default__maxwell_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding == 'set' -%}
        {%- set label = '"(?:[^"\\\\,]++|\\\\(?!u002[cC]).)*+"\\s*+' -%}
        {%- set list = '^\\[\\s*+(?:' ~ label ~ '(?:,\\s*+' ~ label ~ ')*+)?]\\z' -%}
        {{- return(spark_cdc._let(
            'labels', 'array_join(from_json(regexp_extract(' ~ text ~ ", r'" ~ list ~ "', 0), 'array<string>'), ',')",
            spark_cdc.value('labels', dict(column, encoding='text'))
        )) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
