{#-
    Maxwell: one row a message, as JSON values; an update has the new row and the old values of the columns that changed.
    Facts: github.com/zendesk/maxwell, docs/docs/dataformat.md, and messages of Maxwell 1.22.6; docs/formats/maxwell.md.

    Order: the offset. `xid` is the transaction's number: it is unique, no page says that it rises, and it starts again with
    another server. `xoffset` counts inside a transaction, and the last row has none. `position` is optional and never in a
    bootstrap. `ts` is whole seconds. Messages of one key are in one partition if Maxwell partitions by database, table or
    primary key.

    Dialects: `maxwell` (default) and `nulls_left_out` (Maxwell with output_nulls=false: a column that a row lacks is NULL; in
    an update only if `old` has it, else it did not change).
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
    {%- set is_row = 'message.type in (' ~ spark_cdc._literals(rows) ~ ')' -%}
    {#- With output_nulls=false a column that became null is left out, and looks like a column that the message does not have. -#}
    {%- set left_out = 'array_except(map_keys(message.old), map_keys(message.data))' -%}
    {%- set ambiguous_null = "case when message.type = 'update' and size(" ~ left_out ~ ') > 0 then '
        ~ spark_cdc._error_of(
            'ambiguous_null', "concat('data: columns of old are missing: ', left(array_join(" ~ left_out ~ ", ', '), 500))"
        ) ~ ' end' -%}
    {%- set kind -%}
        case when {{ is_row }} then 'rows' when {{ is_ddl }} then 'ddl' else 'other' end
    {%- endset -%}
    {#- By default the message itself does not name its key, and Kafka's key does: {"database":"d","table":"t","pk.id":1}. -#}
    {%- set key_columns -%}
        case
            when size(message.primary_key_columns) > 0 then message.primary_key_columns
            when contains(key, '"pk.')
                then transform(filter(json_object_keys(key), name -> startswith(name, 'pk.')), name -> substr(name, 4))
        end
    {%- endset -%}
    {#- Seconds in rows, milliseconds in DDL. -#}
    {%- set milliseconds, seconds = 'case when ' ~ is_ddl ~ ' then message.ts end', 'case when not ' ~ is_ddl ~ ' then message.ts end' -%}
    {%- set ts = 'case when ' ~ is_ddl ~ ' then ' ~ spark_cdc._instant('message.ts', 'milliseconds') ~ ' else '
        ~ spark_cdc._instant('message.ts', 'seconds') ~ ' end' -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('type', 'message.type', rows + ddl + control, wrong_format={
            'encrypted: Maxwell has encrypted the message; set encrypt=none':
                "message.type is null and array_contains(key_names, 'encrypted')",
        }),
        missing_row={
            'encrypted: Maxwell has encrypted the row; set encrypt=none':
                is_row ~ " and message.data is null and array_contains(key_names, 'encrypted')",
            'data: no row': is_row ~ ' and coalesce(size(message.data), 0) < 1',
        },
        unexpected_structure={
            'old: a row, and type is not update': is_row ~ " and message.type <> 'update' and size(message.old) > 0",
            'data: a row, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.data) > 0',
            'table: missing': is_row
                ~ " and coalesce(message.`table`, case when message.database is not null then '' end) = ''",
        }
    ) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_milliseconds('ts', milliseconds)) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_seconds('ts', seconds)) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_names({'database': 'message.database', 'table': 'message.`table`'})) -%}
    {#- No type says that a table is emptied, but ALTER TABLE may empty a partition. -#}
    {%- set fault = spark_cdc._statement_fault('sql') -%}
    {%- do errors.update({'fault': fault if dialect == 'nulls_left_out' else 'coalesce(' ~ ambiguous_null ~ ', ' ~ fault ~ ')'}) -%}
    {{- return({
        'kind': kind,
        'database_name': 'message.database',
        'schema_name': none,
        'table_name': 'message.`table`',
        'op': 'message.type',
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': 'case when message.ts > 0 then ' ~ ts ~ ' end',
        'transaction_id': 'message.xid',
        'key_columns': key_columns,
        'column_types': none,
        'statement': {'text': 'case when ' ~ is_ddl ~ ' then message.sql end'},
        'sql_dialect': "'mysql'",
        'ddl': "nullif(message.sql, '')",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#-
    With `nulls_left_out` a column that `old` lacks was NULL or did not change: the row before has only the columns of `old` and
    the key. A column that the row lacks became NULL if `old` has it. If neither has it, it kept its value: it is still NULL, or
    the binlog has only the changed columns (binlog_row_image=MINIMAL), and no field of the message shows which.
-#}
{%- macro default__maxwell_rows(dialect) -%}
    {%- set nulls_left_out = dialect == 'nulls_left_out' -%}
    {%- set deleted = 'message.data' if nulls_left_out else 'cast(map() as map<string,string>)' -%}
    {%- set became_null = "case when message.type = 'update' and message.old is not null then "
        ~ spark_cdc._overlaid('transform_values(message.old, (name, text) -> cast(null as string))', 'message.data')
        ~ ' else message.data end' -%}
    {{- return({
        'op': "case message.type when 'bootstrap-insert' then 'snapshot' else message.type end",
        'image': became_null if nulls_left_out else 'message.data',
        'before': "case message.type when 'delete' then " ~ deleted ~ " when 'update' then message.old end",
        'overlays': not nulls_left_out,
        'keeps_key': nulls_left_out,
        'complete': "message.type <> 'update'" if nulls_left_out else none,
    }) -}}
{%- endmacro -%}

{#- A SET is a list of its labels, texts without a comma; binaries are base64, which `value` reads. -#}
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
