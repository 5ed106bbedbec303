{#-
    OceanBase OMS's serialisation DataWorks 2.0, the dialect `oms` of DataWorks: other names for the same fields, and an update
    is one message.
    Facts: help.aliyun.com/document_detail/415643.html; docs/formats/dataworks.md.

    Order: `scn`, a growing number of OMS's own, or the text "null", which counts as 0.
-#}
{%- macro _dataworks_oms_schema(with_types) -%}
    {%- set image = 'struct<data: map<string,string>>' -%}
    {{- return(
        'struct<`schema`: struct<' ~ ('column: array<struct<name: string, type: string>>, ' if with_types else '')
        ~ 'pk: array<string>, source: map<string,string>>, version: string, '
        ~ 'payload: struct<before: ' ~ image ~ ', after: ' ~ image ~ ', scn: string, op: string, '
        ~ '`timestamp`: struct<eventTime: bigint>, ddl: string>>'
    ) -}}
{%- endmacro -%}

{%- macro _dataworks_oms_header() -%}
    {%- set value = spark_cdc._without_long_numbers('value') -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE'] -%}
    {%- set ddl = spark_cdc._dataworks_ddl_ops() -%}
    {%- set control = ['HEARTBEAT', 'TRANSACTION_BEGIN', 'TRANSACTION_END', 'GTID', 'XACOMMIT', 'XAROLLBACK', 'TRUNCATE'] -%}
    {%- set op = 'message.payload.op' -%}
    {%- set before = spark_cdc._has_columns('message.payload.before.data') -%}
    {%- set after = spark_cdc._has_columns('message.payload.after.data') -%}
    {%- set statement = spark_cdc._dataworks_statement('message.payload.ddl', also_bare=true) -%}
    {%- set database, schema, table = "message.`schema`.source['dbName']", "message.`schema`.source['schema']",
        "message.`schema`.source['table']" -%}
    {%- set is_truncate = spark_cdc._dataworks_is_truncate(op) -%}
    {%- set sequence = spark_cdc._order_number('message.payload.scn', nulls=['null']) -%}
    {%- set contradictions = {
        'payload.before: a row, and payload.op is not UPDATE or DELETE': op ~ " not in ('UPDATE', 'DELETE') and " ~ before,
        'payload.after: a row, and payload.op is not UPDATE or INSERT': op ~ " not in ('UPDATE', 'INSERT') and " ~ after,
        'schema.source: missing': '(' ~ op ~ ' in (' ~ spark_cdc._literals(rows + ['TRUNCATE']) ~ ') or ' ~ is_truncate
            ~ ') and message.`schema`.source is null',
        'payload.ddl: a statement, and payload.op is not a DDL': op ~ ' not in (' ~ spark_cdc._literals(ddl + ['TRUNCATE']) ~ ') and '
            ~ 'statement is not null',
        'payload.before.data: missing': 'message.payload.before is not null and message.payload.before.data is null',
        'payload.ddl.text: not a text': spark_cdc._dataworks_truncates_otherwise(op, 'message.payload.ddl'),
    } -%}
    {#- The page documents version 2.0 alone. -#}
    {%- do contradictions.update({'version: not 2.0': "message.version <> '2.0'"}) -%}
    {%- do contradictions.update(spark_cdc._rules_of_names({
        'schema.source.dbName': database, 'schema.source.schema': schema, 'schema.source.table': table
    })) -%}
    {%- do contradictions.update(spark_cdc._dataworks_rules_of_time()) -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('payload.op', op, rows + ddl + control),
        duplicate_key=spark_cdc._dataworks_rules_of_names_once('message.payload.ddl', value),
        missing_row={
            'payload.after.data: no columns': op ~ " in ('INSERT', 'UPDATE') and not " ~ after,
            'payload.before.data: no columns': op ~ " = 'DELETE' and not " ~ before,
        },
        unexpected_structure=contradictions,
        fault=spark_cdc._dataworks_ddl_fault(op, ddl),
        missing_position={'payload.scn: neither a whole number nor the text null': sequence ~ ' is null'}
    ) -%}
    {%- set columns = 'message.`schema`.column' -%}
    {{- return(dict({
        'nested': spark_cdc._dataworks_keys('data', value),
        'sequence': 'array(' ~ sequence ~ ')',
        'sequence_names': spark_cdc._sequence_names(['payload.scn']),
        'key_columns': 'message.`schema`.pk',
        'column_types': spark_cdc._map_of(columns ~ '.name', columns ~ '.type'),
        'errors': errors,
    }, **spark_cdc._dataworks_parts_of_both(op, database, schema, table, statement, rows, 'HEARTBEAT'))) -}}
{%- endmacro -%}

{%- macro _dataworks_oms_rows() -%}
    {{- return({
        'op': 'lower(message.payload.op)',
        'image': "case when message.payload.op = 'DELETE' then message.payload.before.data "
            ~ 'else message.payload.after.data end',
        'before': "case when message.payload.op <> 'INSERT' then message.payload.before.data end",
        'old_key': "case when message.payload.op = 'UPDATE' then "
            ~ 'coalesce(message.payload.before.data, cast(map() as map<string,string>)) end',
        'absent_is_error': "message.payload.op = 'UPDATE' and "
            ~ spark_cdc._lacks_columns_of('message.payload.before.data', 'message.payload.after.data'),
        'long_numbers': true,
    }) -}}
{%- endmacro -%}

{#- The page shows times as texts, and once as 13 digits: milliseconds. 11 digits of seconds are never a TIMESTAMP. -#}
{%- macro _dataworks_oms_value(text, column, time_zone) -%}
    {%- set of_oms = adapter.dispatch('oms_value', 'spark_cdc')(text, column, time_zone, 'default') -%}
    {%- if column.encoding is none and column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
        {%- set milliseconds = spark_cdc.value(text, dict(column, encoding='milliseconds'), time_zone) -%}
        {%- set of_oms = 'case when ' ~ text ~ " rlike '^-?[0-9]{11}' then case when " ~ text
            ~ " rlike r'^[0-9]{13}\\z' then " ~ milliseconds ~ ' end else ' ~ of_oms ~ ' end' -%}
    {%- endif -%}
    {{- return(of_oms) -}}
{%- endmacro -%}
