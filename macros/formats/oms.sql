{#-
    OceanBase OMS, serialisations Default and DefaultExtendColumnType (dialect `extended`): one row a message, before and after
    whole; `extended` adds the columns' types as one more entry of each row.
    Facts: help.aliyun.com/document_detail/415643.html; docs/formats/oms.md.

    Order: storeDataSequence, which OMS makes for this very purpose: it grows within a task. A row of the full load has none; it
    counts as 0 and so comes before every change. If the task is set not to write it, offsets order the changes.
-#}
{%- macro default__oms_schema(dialect, with_types) -%}
struct<
    prevStruct: map<string,string>,
    postStruct: map<string,string>,
    allMetaData: struct<
        record_primary_key: string,
        dbType: string,
        storeDataSequence: string,
        table_name: string,
        db: string,
        `timestamp`: string,
        uniqueId: string,
        transId: string
    >,
    recordType: string
>
{%- endmacro -%}

{%- macro default__oms_header(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE', 'ROW'] -%}
    {%- set op = 'message.recordType' -%}
    {%- set meta = 'message.allMetaData' -%}
    {%- set before = spark_cdc._oms_has_columns('message.prevStruct', dialect) -%}
    {%- set after = spark_cdc._oms_has_columns('message.postStruct', dialect) -%}
    {#- OMS writes a statement as an entry of the row after; one that is in the row before alone means the same. -#}
    {%- set ddl_before, ddl_after = "element_at(message.prevStruct, 'ddl')", "element_at(message.postStruct, 'ddl')" -%}
    {%- set ddl = 'coalesce(' ~ ddl_after ~ ', ' ~ ddl_before ~ ')' -%}
    {%- set sequence = spark_cdc._order_number(meta ~ '.storeDataSequence', nulls=[]) -%}
    {#- tenant.database if the source is OceanBase; a task that names no tenant writes the database alone. -#}
    {%- set database -%}
        case
            when {{ meta }}.dbType in ('OB_MYSQL', 'OB_ORACLE', 'OCEANBASE', 'OB_IN_ORACLE_MODE')
                then substr({{ meta }}.db, instr({{ meta }}.db, '.') + 1)
            else {{ meta }}.db
        end
    {%- endset -%}
    {%- set table = meta ~ '.table_name' -%}
    {#- OMS has no record type for a truncate. -#}
    {%- set statement = {'text': 'case when ' ~ op ~ " = 'DDL' then " ~ ddl ~ ' end', 'table': table, 'qualifier': database} -%}
    {%- set kind -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when statement_kind = 'truncate' then 'truncate'
            when {{ op }} = 'DDL' then 'ddl'
            when {{ op }} = 'HEARTBEAT' then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {%- set is_column = "name -> name not in ('ddl'" ~ (", '__light_type'" if dialect == 'extended') ~ ')' -%}
    {%- set committed_at = spark_cdc._instant(meta ~ '.`timestamp`', 'seconds') -%}
    {#- More than ten digits have another unit than the page's seconds, and no task read a change before 1970. -#}
    {%- set no_time = meta ~ ".`timestamp` <> '' and not coalesce(" ~ committed_at
        ~ ' between timestamp_seconds(0) and timestamp_seconds(9999999999), false)' -%}
    {%- set twice, contradictions = {}, {} -%}
    {%- for name in ['prevStruct', 'postStruct'] -%}
        {%- set image = 'message.' ~ name -%}
        {%- do twice.update({
            name ~ ': a field occurs twice': op ~ " = 'DDL' and " ~ spark_cdc._has_duplicate_column(image)
        }) -%}
        {%- if dialect == 'extended' -%}
            {%- do twice.update({
                name ~ '.__light_type: it occurs twice': "size(array_remove(map_keys(" ~ image ~ "), '__light_type')) < size(" ~ image
                    ~ ') - 1'
            }) -%}
        {%- endif -%}
        {#- A row in a message with a statement: nobody knows which of the two happened. -#}
        {%- do contradictions.update({
            name ~ ': a DDL has columns': op ~ " = 'DDL' and exists(map_keys(" ~ image ~ '), ' ~ is_column ~ ')'
        }) -%}
    {%- endfor -%}
    {%- do contradictions.update({
        'prevStruct: a row, and recordType is not UPDATE or DELETE': op ~ " in ('INSERT', 'ROW', 'HEARTBEAT') and " ~ before,
        'postStruct: a row, and recordType is DELETE or HEARTBEAT': op ~ " in ('DELETE', 'HEARTBEAT') and " ~ after,
        'prevStruct.ddl: another statement than postStruct.ddl': op ~ " = 'DDL' and " ~ ddl_before ~ ' <> ' ~ ddl_after,
        'allMetaData.table_name: missing, and so is allMetaData.db': op ~ " <> 'HEARTBEAT' and coalesce(" ~ meta ~ '.table_name, ' ~ meta
            ~ '.db) is null',
        'allMetaData.timestamp: not seconds of ten digits or fewer': no_time,
    }) -%}
    {%- do contradictions.update(spark_cdc._rules_of_names({
        'allMetaData.table_name': table, 'allMetaData.db': meta ~ '.db',
        'allMetaData.record_primary_key': meta ~ '.record_primary_key',
    })) -%}
    {#- A delete has its types in prevStruct. -#}
    {%- set types = "coalesce(element_at(message.postStruct, '__light_type'), "
        ~ "element_at(message.prevStruct, '__light_type'))" -%}
    {#- Only the statement shows that a DDL emptied its table. A number, a truth value or an object is not a statement. -#}
    {%- set no_statement = op ~ " = 'DDL' and statement_kind = 'none'" -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('recordType', op, rows + ['DDL', 'HEARTBEAT']),
        duplicate_key=twice,
        missing_row={
            'postStruct: no columns': op ~ " in ('INSERT', 'UPDATE', 'ROW') and not " ~ after,
            'prevStruct: no columns': op ~ " = 'DELETE' and not " ~ before,
            'postStruct.ddl: not a statement': no_statement,
        },
        fault=spark_cdc._statement_fault('postStruct.ddl'),
        unexpected_structure=contradictions,
        missing_position={'allMetaData.storeDataSequence: not a whole number': sequence ~ ' is null'}
    ) -%}
    {%- if dialect != 'extended' -%}
        {#- As a column the types would hide that the topic has the other dialect, which heartbeats alone do not show. -#}
        {%- do errors.wrong_format.update({'__light_type: only the dialect extended has it': 'left(' ~ types ~ ", 1) = '{'"}) -%}
    {%- endif -%}
    {{- return({
        'nested': spark_cdc._keys_of('allMetaData', spark_cdc._without_long_numbers('value')),
        'nested_in': 'allMetaData',
        'kind': kind,
        'database_name': database,
        'schema_name': none,
        'table_name': table,
        'names_table': true,
        'type_codes': 'oms_mysql',
        'op': op,
        'sequence': 'array(' ~ sequence ~ ')',
        'sequence_names': spark_cdc._sequence_names(['allMetaData.storeDataSequence']),
        'committed_at': 'case when ' ~ meta ~ ".`timestamp` <> '0' then " ~ committed_at ~ ' end',
        'transaction_id': 'coalesce(nullif(' ~ meta ~ ".transId, ''), nullif(" ~ meta ~ ".uniqueId, ''))",
        'key_columns': 'split(nullif(' ~ meta ~ ".record_primary_key, ''), r'\\x01')",
        'column_types': 'transform_values(from_json(' ~ types ~ ", 'map<string,struct<schemaType:string>>'), "
            ~ '(name, type) -> type.schemaType)' if dialect == 'extended' else none,
        'statement': statement,
        'ddl': 'statement',
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- The types of the dialect `extended` are not a column. -#}
{%- macro _oms_has_columns(image, dialect) -%}
    {%- set types = "case when map_contains_key(" ~ image ~ ", '__light_type') then 1 else 0 end" -%}
    {{- return(spark_cdc._has_columns(image, types if dialect == 'extended' else 0)) -}}
{%- endmacro -%}

{%- macro default__oms_rows(dialect) -%}
    {%- set op = 'message.recordType' -%}
    {%- set before, after = 'message.prevStruct', 'message.postStruct' -%}
    {%- if dialect == 'extended' -%}
        {%- set columns_only = ", (name, text) -> name <> '__light_type')" -%}
        {%- set before, after = 'map_filter(' ~ before ~ columns_only, 'map_filter(' ~ after ~ columns_only -%}
    {%- endif -%}
    {{- return({
        'op': 'case ' ~ op ~ " when 'ROW' then 'snapshot' else lower(" ~ op ~ ') end',
        'image': 'case when ' ~ op ~ " = 'DELETE' then " ~ before ~ ' else ' ~ after ~ ' end',
        'before': 'case when ' ~ op ~ " in ('UPDATE', 'DELETE') then " ~ before ~ ' end',
        'old_key': 'case when ' ~ op ~ " = 'UPDATE' then coalesce(message.prevStruct, cast(map() as map<string,string>)) end",
        'absent_is_error': op ~ " = 'UPDATE' and " ~ spark_cdc._lacks_columns_of(before, after),
        'long_numbers': true,
    }) -}}
{%- endmacro -%}

{#-
    The texts that all OMS serialisations share: TIMESTAMP is seconds since 1970; other times are texts, maybe with a zone after
    a blank; BIT is the base64 of its bytes, with or without leading zeros.
-#}
{%- macro default__oms_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding == 'bits' -%}
        {%- set column = dict(column, encoding='big_endian_bits') -%}
    {%- endif -%}
    {%- if column.family in ['float', 'double'] -%}
        {%- set named = "try_cast(case " ~ text ~ " when 'Nan' then 'NaN' when 'Inf' then 'Infinity' else '-Infinity' end as "
            ~ column.family ~ ')' -%}
        {{- return(
            'case when ' ~ text ~ " in ('Nan', 'Inf', '-Inf') then " ~ named ~ ' else '
            ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- endif -%}
    {%- if column.family == 'date' and column.encoding in [none, 'text'] -%}
        {{- return(spark_cdc._date_of_midnight(text, column)) -}}
    {%- endif -%}
    {%- if column.family in ['timestamp', 'timestamp_ntz'] and column.encoding in [none, 'text'] -%}
        {{- return(
            "case when not contains(" ~ text ~ ", ':') then "
            ~ spark_cdc.value(text, dict(column, encoding='seconds'), time_zone)
            ~ " when " ~ text ~ " rlike r' [+A-Za-z-]' then " ~ spark_cdc._zoned_time(text, column)
            ~ (" when " ~ text ~ " rlike r':[0-9.]*+[+A-Za-z-]' then null" if column.family == 'timestamp_ntz')
            ~ ' else ' ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
