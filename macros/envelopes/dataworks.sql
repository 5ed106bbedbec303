{#-
    Alibaba DataWorks, "synchronise a whole database to Kafka": one row a message, images beside typed column lists; an update
    is two messages (UPDATE_BEFOR, UPDATE_AFTER) unless the task was told to send one.
    Facts: help.aliyun.com/zh/dataworks/user-guide/message-formats; docs/formats/dataworks.md.

    Order: sequenceId as a number; the two messages of an update share it, and the before image comes first. A row of the
    full load has the sequenceId -1 and so comes before every change.

    The dialect `oms` is OceanBase OMS's serialisation DataWorks 2.0: other names for the same fields, an update is one
    message, and the order is `scn`, a growing number of OMS's own, or the text "null", which counts as 0.
-#}
{%- macro default__dataworks_schema(dialect, with_types) -%}
    {%- if dialect == 'oms' -%}
        {%- set image = 'struct<data: map<string,string>>' -%}
        {{- return(
            'struct<`schema`: struct<' ~ ('column: array<struct<name: string, type: string>>, ' if with_types else '')
            ~ 'pk: array<string>, source: map<string,string>>, version: string, '
            ~ 'payload: struct<before: ' ~ image ~ ', after: ' ~ image ~ ', scn: string, op: string, '
            ~ '`timestamp`: struct<eventTime: bigint>, ddl: string>>'
        ) -}}
    {%- endif -%}
    {%- set image = 'struct<dataColumn: map<string,string>>' -%}
    {{- return(
        'struct<`schema`: struct<' ~ ('dataColumn: array<struct<name: string, type: string>>, ' if with_types else '')
        ~ 'primaryKey: array<string>, source: map<string,string>>, '
        ~ 'payload: struct<before: ' ~ image ~ ', after: ' ~ image ~ ', sequenceId: string, scn: string, op: string, '
        ~ '`timestamp`: struct<eventTime: bigint>, ddl: string>, ddl: string>'
    ) -}}
{%- endmacro -%}

{%- macro default__dataworks_header(dialect) -%}
    {%- if dialect == 'oms' -%}
        {{- return(spark_cdc._dataworks_oms_header()) -}}
    {%- endif -%}
    {%- set rows = ['INSERT', 'UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE'] -%}
    {%- set ddl = ['CREATE', 'ALTER', 'ERASE', 'QUERY', 'RENAME', 'CINDEX', 'DINDEX'] -%}
    {%- set control = ['TRANSACTION_BEGIN', 'TRANSACTION_END', 'GTID', 'XACOMMIT', 'XAROLLBACK', 'MHEARTBEAT', 'TRUNCATE'] -%}
    {%- set op = 'message.payload.op' -%}
    {%- set before = spark_cdc._has_columns('message.payload.before.dataColumn') -%}
    {%- set after = spark_cdc._has_columns('message.payload.after.dataColumn') -%}
    {%- set ddl_text = "coalesce(nullif(nullif(message.payload.ddl, ''), '{}'), message.ddl)" -%}
    {%- set statement = spark_cdc._dataworks_statement(ddl_text) -%}
    {%- set database, schema, table = "message.`schema`.source['dbName']", "message.`schema`.source['schemaName']",
        "message.`schema`.source['tableName']" -%}
    {%- set named_twice = spark_cdc._dataworks_names_source_twice(ddl_text) -%}
    {%- set fault = spark_cdc._dataworks_ddl_fault(op, ddl, statement, table, schema, database) -%}
    {%- set is_truncate = op ~ " = 'QUERY' and " ~ spark_cdc._truncates_a_table(statement) -%}
    {%- set sequence = spark_cdc._whole_number('message.payload.sequenceId', signed=true) -%}
    {#- Only a row of the full load is known to have -1. -#}
    {%- set no_sequence -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows + ['TRUNCATE']) }}) or {{ is_truncate }}
                then not coalesce({{ sequence }} >= case {{ op }} when 'INSERT' then -1 else 0 end, false)
            else false
        end
    {%- endset -%}
    {%- set kind -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when {{ op }} = 'TRUNCATE' or {{ is_truncate }} then 'truncate'
            when {{ op }} in ({{ spark_cdc._literals(ddl) }}) then 'ddl'
            when {{ op }} = 'TRANSACTION_BEGIN' then 'begin'
            when {{ op }} = 'TRANSACTION_END' then 'commit'
            when {{ op }} = 'MHEARTBEAT' then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {%- set no_image -%}
        ({{ op }} in ('INSERT', 'UPDATE_AFTER') and not {{ after }})
        or ({{ op }} in ('DELETE', 'UPDATE_BEFOR', 'UPDATE_BEFORE') and not {{ before }})
    {%- endset -%}
    {%- set contradiction -%}
        ({{ op }} not in ('UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE') and {{ before }})
        or ({{ op }} not in ('UPDATE_AFTER', 'INSERT') and {{ after }})
        or (({{ op }} in ({{ spark_cdc._literals(rows + ['TRUNCATE']) }}) or {{ is_truncate }}) and message.`schema`.source is null)
        or ({{ op }} not in ({{ spark_cdc._literals(ddl + ['TRUNCATE']) }}) and {{ statement }} is not null)
        or ({{ ddl_text }} <> '' and left({{ ddl_text }}, 1) <> '{')
        or case
            when message.payload.ddl not in ('', '{}') and message.ddl not in ('', '{}')
                then not {{ statement }} <=> {{ spark_cdc._dataworks_statement('message.ddl') }}
            else false
        end
        or {{ spark_cdc._dataworks_truncates_otherwise(op, ddl_text, statement) }}
        or {{ spark_cdc._is_nested({'dbName': database, 'schemaName': schema, 'tableName': table}) }}
        or {{ spark_cdc._dataworks_has_no_time() }}
    {%- endset -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op(op, rows + ddl + control), duplicate_key=named_twice, no_image=no_image,
        other_structure=contradiction, fault=fault, no_sequence=no_sequence
    ) -%}
    {%- set columns = 'message.`schema`.dataColumn' -%}
    {{- return({
        'splits_updates': true,
        'nested': spark_cdc._dataworks_keys('dataColumn'),
        'kind': kind,
        'database_name': database,
        'schema_name': schema,
        'table_name': table,
        'names_table': true,
        'op': op,
        'sequence': 'array_compact(array(' ~ sequence ~ '))',
        'committed_at': spark_cdc._dataworks_time(),
        'transaction_id': none,
        'key_columns': 'message.`schema`.primaryKey',
        'column_types': spark_cdc._map_of(columns ~ '.name', columns ~ '.type'),
        'ddl': statement,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{%- macro _dataworks_oms_header() -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE'] -%}
    {%- set ddl = ['CREATE', 'ALTER', 'ERASE', 'QUERY', 'RENAME', 'CINDEX', 'DINDEX'] -%}
    {%- set control = ['HEARTBEAT', 'TRANSACTION_BEGIN', 'TRANSACTION_END', 'GTID', 'XACOMMIT', 'XAROLLBACK', 'TRUNCATE'] -%}
    {%- set op = 'message.payload.op' -%}
    {%- set before = spark_cdc._has_columns('message.payload.before.data') -%}
    {%- set after = spark_cdc._has_columns('message.payload.after.data') -%}
    {%- set statement = spark_cdc._dataworks_statement('message.payload.ddl', also_bare=true) -%}
    {%- set database, schema, table = "message.`schema`.source['dbName']", "message.`schema`.source['schema']",
        "message.`schema`.source['table']" -%}
    {%- set named_twice = spark_cdc._dataworks_names_source_twice('message.payload.ddl', 'oms') -%}
    {%- set fault = spark_cdc._dataworks_ddl_fault(op, ddl, statement, table, schema, database) -%}
    {%- set is_truncate = op ~ " = 'QUERY' and " ~ spark_cdc._truncates_a_table(statement) -%}
    {%- set sequence = spark_cdc._order_number('message.payload.scn') -%}
    {%- set kind -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when {{ op }} = 'TRUNCATE' or {{ is_truncate }} then 'truncate'
            when {{ op }} in ({{ spark_cdc._literals(ddl) }}) then 'ddl'
            when {{ op }} = 'TRANSACTION_BEGIN' then 'begin'
            when {{ op }} = 'TRANSACTION_END' then 'commit'
            when {{ op }} = 'HEARTBEAT' then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {%- set no_image -%}
        ({{ op }} in ('INSERT', 'UPDATE') and not {{ after }})
        or ({{ op }} = 'DELETE' and not {{ before }})
    {%- endset -%}
    {#- The page knows version 2.0 alone. -#}
    {%- set contradiction -%}
        ({{ op }} not in ('UPDATE', 'DELETE') and {{ before }})
        or ({{ op }} not in ('UPDATE', 'INSERT') and {{ after }})
        or (({{ op }} in ({{ spark_cdc._literals(rows + ['TRUNCATE']) }}) or {{ is_truncate }}) and message.`schema`.source is null)
        or ({{ op }} not in ({{ spark_cdc._literals(ddl + ['TRUNCATE']) }}) and {{ statement }} is not null)
        or (message.payload.before is not null and message.payload.before.data is null)
        or {{ spark_cdc._is_nested({'dbName': database, 'schema': schema, 'table': table}) }}
        or message.version <> '2.0'
        or {{ spark_cdc._dataworks_truncates_otherwise(op, 'message.payload.ddl', statement) }}
        or {{ spark_cdc._dataworks_has_no_time() }}
    {%- endset -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op(op, rows + ddl + control), duplicate_key=named_twice, no_image=no_image,
        other_structure=contradiction, fault=fault, no_sequence=sequence ~ ' is null'
    ) -%}
    {%- set columns = 'message.`schema`.column' -%}
    {{- return({
        'nested': spark_cdc._dataworks_keys('data', 'oms'),
        'kind': kind,
        'database_name': database,
        'schema_name': schema,
        'table_name': table,
        'names_table': true,
        'op': op,
        'sequence': 'array(' ~ sequence ~ ')',
        'committed_at': spark_cdc._dataworks_time(),
        'transaction_id': none,
        'key_columns': 'message.`schema`.pk',
        'column_types': spark_cdc._map_of(columns ~ '.name', columns ~ '.type'),
        'ddl': statement,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- The statement, NULL where there is none. `also_bare`: OMS may write it without an object around it. -#}
{%- macro _dataworks_statement(ddl, also_bare=false) -%}
    {#- As Spark writes JSON: a text, not an object or a number in its place. -#}
    {{- return(
        'case when contains(' ~ ddl ~ ", '\"text\":\"') then nullif(get_json_object(" ~ ddl ~ ", '$.text'), '')"
        ~ (' when left(' ~ ddl ~ ", 1) <> '{' then nullif(" ~ ddl ~ ", '')" if also_bare) ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    Why op and statement do not tell what became of the table's rows, else NULL: a statement that changes rows, or that empties
    another table, or that says something else than op, or none: a number, a truth value or an object in its place is none.
-#}
{%- macro _dataworks_ddl_fault(op, ddl, statement, table, schema, database) -%}
    {%- set qualifier = 'coalesce(nullif(' ~ schema ~ ", ''), " ~ database ~ ')' -%}
    {%- set is_truncate = spark_cdc._truncates_a_table(statement, table, qualifier) -%}
    {%- set fault -%}
        case
            when {{ op }} = 'TRUNCATE' and {{ statement }} is not null then case
                when {{ is_truncate }} then null
                else coalesce({{ spark_cdc._truncate_fault(statement, table, qualifier) }}, 'other_structure')
            end
            when {{ op }} in ({{ spark_cdc._literals(ddl) }}) then case
                when not {{ spark_cdc._may_be_statement(statement) }} then 'no_image'
                when {{ op }} <> 'QUERY' and {{ is_truncate }} then 'other_structure'
                else {{ spark_cdc._ddl_fault(statement, table, qualifier) }}
            end
        end
    {%- endset -%}
    {{- return(fault) -}}
{%- endmacro -%}

{#- TRUNCATE needs no statement; what stands in the place of one and is no text may be one of another table. -#}
{%- macro _dataworks_truncates_otherwise(op, ddl, statement) -%}
    {{- return(
        '(' ~ op ~ " = 'TRUNCATE' and " ~ statement ~ ' is null and get_json_object(' ~ ddl ~ ", '$.text') <> '')"
    ) -}}
{%- endmacro -%}

{#- When the source changed. A row of the full load has 0 or -1. -#}
{%- macro _dataworks_time() -%}
    {%- set milliseconds = 'message.payload.`timestamp`.eventTime' -%}
    {{- return(
        'case when ' ~ milliseconds ~ ' > 0 then ' ~ spark_cdc._instant(milliseconds, 'milliseconds') ~ ' end'
    ) -}}
{%- endmacro -%}

{%- macro _dataworks_has_no_time() -%}
    {%- set milliseconds = 'message.payload.`timestamp`.eventTime' -%}
    {#- Fewer than the 13 digits that the page promises may be seconds: OMS writes them in the field beside it. -#}
    {{- return(
        '(' ~ milliseconds ~ ' > 0 and (' ~ milliseconds ~ ' < 1000000000000 or ' ~ spark_cdc._dataworks_time() ~ ' is null))'
    ) -}}
{%- endmacro -%}

{#-
    The keys of `payload`, and one of them once more where a part of it has its own field twice: from_json keeps the last of
    two. The parts stand in the map as Spark writes JSON, without blanks, so that a search spares most of them the count.
-#}
{%- macro _dataworks_keys(rows_name, dialect=none) -%}
    {%- set twice = [] -%}
    {%- for part, name in [('before', rows_name), ('after', rows_name), ('timestamp', 'eventTime')] -%}
        {%- set text = "payload['" ~ part ~ "']" -%}
        {%- set keys = 'json_object_keys(' ~ text ~ ')' -%}
        {%- do twice.append(
            'case when contains(substr(' ~ text ~ ", 3), '\"" ~ name ~ "\":') then " ~ spark_cdc._names_twice(keys)
            ~ ' else false end'
        ) -%}
    {%- endfor -%}
    {{- return(spark_cdc._let(
        'payload', 'from_json(' ~ spark_cdc._without_long_numbers('value', 'dataworks', dialect)
            ~ ", 'payload map<string,string>').payload",
        'case when ' ~ twice | join(' or ') ~ " then array('op', 'op') else map_keys(payload) end"
    )) -}}
{%- endmacro -%}

{#-
    Whether it cannot be known of which table a message is, or which statement it has. A second parse only where the name
    itself stands twice, or where a letter of it may stand as an escape.
-#}
{%- macro _dataworks_names_source_twice(ddl, dialect=none) -%}
    {%- set keys = spark_cdc._keys_of('schema', spark_cdc._without_long_numbers('value', 'dataworks', dialect)) -%}
    {{- return(
        '((' ~ spark_cdc._has_duplicate_column('message.`schema`.source')
        ~ ") or case when octet_length(value) - octet_length(replace(value, '\"source\"', '')) > 8 "
        ~ "or contains(value, '\\\\u006') or contains(value, '\\\\u007') then " ~ spark_cdc._names_twice(keys)
        ~ ' else false end or case when contains(substr(' ~ ddl ~ ", 3), '\"text\":') then "
        ~ spark_cdc._names_twice('json_object_keys(' ~ ddl ~ ')') ~ ' else false end)'
    ) -}}
{%- endmacro -%}

{%- macro default__dataworks_rows(dialect) -%}
    {%- if dialect == 'oms' -%}
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
    {%- set half -%}
        case
            when {{ op }} in ('UPDATE_BEFOR', 'UPDATE_BEFORE') then 'before'
            when {{ op }} = 'UPDATE_AFTER' and not {{ spark_cdc._has_columns(before) }} then 'after'
        end
    {%- endset -%}
    {{- return({
        'op': op_name,
        'half': half,
        'image': 'case when ' ~ op ~ " = 'DELETE' then " ~ before ~ ' else ' ~ after ~ ' end',
        'before': 'case when ' ~ op ~ " <> 'INSERT' then " ~ before ~ ' end',
        'old_key': 'case when ' ~ op ~ " not in ('INSERT', 'DELETE') and " ~ spark_cdc._has_columns(before) ~ ' then '
            ~ before ~ ' end',
        'absent_is_error': spark_cdc._lacks_columns_of('before', 'image'),
    }) -}}
{%- endmacro -%}

{#- BYTES are base64, DATE is milliseconds since 1970; a value in quotes (DOUBLE) or an own text is read as text. -#}
{%- macro default__dataworks_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'oms' -%}
        {%- set of_oms = spark_cdc._format_macro('oms', 'value')(text, column, time_zone, 'default') -%}
        {#- The page shows times as texts, and once as 13 digits: milliseconds. No TIMESTAMP is a number of 11 digits in seconds. -#}
        {%- if column.encoding is none and column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
            {%- set milliseconds = spark_cdc.value(text, dict(column, encoding='milliseconds'), time_zone) -%}
            {%- set of_oms = 'case when ' ~ text ~ " rlike '^-?[0-9]{11}' then case when " ~ text
                ~ " rlike r'^[0-9]{13}\\z' then " ~ milliseconds ~ ' end else ' ~ of_oms ~ ' end' -%}
        {%- endif -%}
        {{- return(of_oms) -}}
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
