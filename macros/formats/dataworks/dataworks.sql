{#-
    Alibaba DataWorks, "synchronise a whole database to Kafka": one row a message, rows with lists of typed columns; an update
    is two messages (UPDATE_BEFOR, UPDATE_AFTER) unless the task is set to send one.
    Facts: help.aliyun.com/zh/dataworks/user-guide/message-formats; docs/formats/dataworks.md.

    Order: sequenceId as a number; the two messages of an update share it, and UPDATE_BEFOR comes first. A row of the full load
    has the sequenceId -1 and so comes before every change.

    oms.sql has the dialect `oms`; shared.sql has the checks of a statement, a time and repeated keys that both share.
-#}
{%- macro default__dataworks_schema(dialect, with_types) -%}
    {%- if dialect == 'oms' -%}
        {{- return(spark_cdc._dataworks_oms_schema(with_types)) -}}
    {%- endif -%}
    {%- set image = 'struct<dataColumn: map<string,string>>' -%}
struct<
    `schema`: struct<
        {{ 'dataColumn: array<struct<name: string, type: string>>,' if with_types }}
        primaryKey: array<string>,
        source: map<string,string>
    >,
    payload: struct<
        before: {{ image }},
        after: {{ image }},
        sequenceId: string,
        scn: string,
        op: string,
        `timestamp`: struct<eventTime: bigint>,
        ddl: string
    >,
    ddl: string
>
{%- endmacro -%}

{%- macro default__dataworks_header(dialect) -%}
    {%- if dialect == 'oms' -%}
        {{- return(spark_cdc._dataworks_oms_header()) -}}
    {%- endif -%}
    {%- set rows = ['INSERT', 'UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE'] -%}
    {%- set ddl = spark_cdc._dataworks_ddl_ops() -%}
    {%- set control = ['TRANSACTION_BEGIN', 'TRANSACTION_END', 'GTID', 'XACOMMIT', 'XAROLLBACK', 'MHEARTBEAT', 'TRUNCATE'] -%}
    {%- set op = 'message.payload.op' -%}
    {%- set before = spark_cdc._has_columns('message.payload.before.dataColumn') -%}
    {%- set after = spark_cdc._has_columns('message.payload.after.dataColumn') -%}
    {%- set ddl_text = "coalesce(nullif(nullif(message.payload.ddl, ''), '{}'), message.ddl)" -%}
    {%- set statement = spark_cdc._dataworks_statement(ddl_text) -%}
    {%- set database, schema, table = "message.`schema`.source['dbName']", "message.`schema`.source['schemaName']",
        "message.`schema`.source['tableName']" -%}
    {%- set is_truncate = spark_cdc._dataworks_is_truncate(op) -%}
    {%- set sequence = spark_cdc._whole_number('message.payload.sequenceId', signed=true) -%}
    {#- The page documents -1 only for a row of the full load. -#}
    {%- set missing_position -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows + ['TRUNCATE']) }}) or {{ is_truncate }}
                then not coalesce({{ sequence }} >= case {{ op }} when 'INSERT' then -1 else 0 end, false)
            else false
        end
    {%- endset -%}
    {%- set second_statement = "message.payload.ddl not in ('', '{}') and message.ddl not in ('', '{}')" -%}
    {%- set contradictions = {
        'payload.before: a row, and payload.op is not an update or a delete': op
            ~ " not in ('UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE') and " ~ before,
        'payload.after: a row, and payload.op is not an insert or UPDATE_AFTER': op ~ " not in ('UPDATE_AFTER', 'INSERT') and " ~ after,
        'schema.source: missing': '(' ~ op ~ ' in (' ~ spark_cdc._literals(rows + ['TRUNCATE']) ~ ') or ' ~ is_truncate
            ~ ') and message.`schema`.source is null',
        'payload.ddl: a statement, and payload.op is not a DDL': op ~ ' not in (' ~ spark_cdc._literals(ddl + ['TRUNCATE']) ~ ') and '
            ~ 'statement is not null',
        'payload.ddl: not an object': ddl_text ~ " <> '' and left(" ~ ddl_text ~ ", 1) <> '{'",
        'ddl: another statement than payload.ddl': 'case when ' ~ second_statement ~ ' then not statement <=> '
            ~ spark_cdc._dataworks_statement('message.ddl') ~ ' else false end',
        'payload.ddl.text: not a text': spark_cdc._dataworks_truncates_otherwise(op, ddl_text),
    } -%}
    {%- do contradictions.update(spark_cdc._rules_of_names({
        'schema.source.dbName': database, 'schema.source.schemaName': schema, 'schema.source.tableName': table
    })) -%}
    {%- do contradictions.update(spark_cdc._dataworks_rules_of_time()) -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('payload.op', op, rows + ddl + control),
        duplicate_key=spark_cdc._dataworks_rules_of_names_once(ddl_text),
        missing_row={
            'payload.after.dataColumn: no columns': op ~ " in ('INSERT', 'UPDATE_AFTER') and not " ~ after,
            'payload.before.dataColumn: no columns': op ~ " in ('DELETE', 'UPDATE_BEFOR', 'UPDATE_BEFORE') and not " ~ before,
        },
        unexpected_structure=contradictions,
        fault=spark_cdc._dataworks_ddl_fault(op, ddl),
        missing_position={'payload.sequenceId: not a whole number, or one that is too low': missing_position}
    ) -%}
    {%- set columns = 'message.`schema`.dataColumn' -%}
    {{- return(dict({
        'splits_updates': true,
        'nested': spark_cdc._dataworks_keys('dataColumn'),
        'sequence': 'array_compact(array(' ~ sequence ~ '))',
        'sequence_names': spark_cdc._sequence_names(['payload.sequenceId']),
        'key_columns': 'message.`schema`.primaryKey',
        'column_types': spark_cdc._map_of(columns ~ '.name', columns ~ '.type'),
        'errors': errors,
    }, **spark_cdc._dataworks_parts_of_both(op, database, schema, table, statement, rows, 'MHEARTBEAT'))) -}}
{%- endmacro -%}

{%- macro default__dataworks_rows(dialect) -%}
    {%- if dialect == 'oms' -%}
        {{- return(spark_cdc._dataworks_oms_rows()) -}}
    {%- endif -%}
    {%- set op = 'message.payload.op' -%}
    {%- set before = 'message.payload.before.dataColumn' -%}
    {%- set after = 'message.payload.after.dataColumn' -%}
    {%- set op_name -%}
        case
            when {{ op }} = 'INSERT' and try_cast(message.payload.sequenceId as decimal(20,0)) < 0 then 'snapshot'
            when {{ op }} = 'INSERT' then 'insert'
            when {{ op }} = 'DELETE' then 'delete'
            else 'update'
        end
    {%- endset -%}
    {%- set update_part -%}
        case
            when {{ op }} in ('UPDATE_BEFOR', 'UPDATE_BEFORE') then 'before'
            when {{ op }} = 'UPDATE_AFTER' and not {{ spark_cdc._has_columns(before) }} then 'after'
        end
    {%- endset -%}
    {{- return({
        'op': op_name,
        'update_part': update_part,
        'image': 'case when ' ~ op ~ " = 'DELETE' then " ~ before ~ ' else ' ~ after ~ ' end',
        'before': 'case when ' ~ op ~ " <> 'INSERT' then " ~ before ~ ' end',
        'old_key': 'case when ' ~ op ~ " not in ('INSERT', 'DELETE') and " ~ spark_cdc._has_columns(before) ~ ' then '
            ~ before ~ ' end',
        'absent_is_error': spark_cdc._lacks_columns_of('before', 'image'),
    }) -}}
{%- endmacro -%}

{#-
    BYTES are base64, DATE is milliseconds since 1970; a value in quotes (DOUBLE), or one with a text of its own, is read as
    text.
-#}
{%- macro default__dataworks_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'oms' -%}
        {{- return(spark_cdc._dataworks_oms_value(text, column, time_zone)) -}}
    {%- endif -%}
    {%- if column.encoding is none and column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
        {{- return(
            'case when ' ~ text ~ " rlike r'^-?[0-9]++\\z' then "
            ~ spark_cdc.value(text, dict(column, encoding='milliseconds'), time_zone)
            ~ ' else ' ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
