{#-
    Alibaba DTS, change tracking: one Avro record a message, without its schema; rows are lists of typed values in the order of
    the record's fields. The Python function `cdc_dts_avro` returns each record as a JSON text whose rows are objects.
    Facts: the vendor's Record.avsc and subscribe SDK; docs/formats/dts_avro.md. CloudCanal writes the same records.

    Order: (offset, position). A topic of DTS has one partition. The page only says that `id` is unique in the stream, and
    sourceTimestamp is whole seconds: neither orders changes.
-#}
{%- macro default__dts_avro_schema(dialect, with_types) -%}
struct<
    sourceTimestamp: bigint,
    sourceTxid: string,
    source: struct<sourceType: string>,
    operation: string,
    objectName: string,
    tags: map<string,string>,
    {{ 'fields: array<struct<name: string, dataTypeNumber: string>>,' if with_types }}
    beforeImages: map<string,string>,
    afterImages: map<string,string>,
    beforeText: string,
    afterText: string,
    imagesWithoutNames: boolean
>
{%- endmacro -%}

{%- macro default__dts_avro_header(dialect) -%}
    {%- set rows = ['INSERT', 'UPDATE', 'DELETE', 'INIT'] -%}
    {%- set marks = ['DDL', 'BEGIN', 'COMMIT', 'ROLLBACK', 'ABORT', 'HEARTBEAT', 'CHECKPOINT'] -%}
    {%- set others = ['COMMAND', 'FILL', 'FINISH', 'CONTROL', 'RDB', 'NOOP'] -%}
    {%- set operation = 'message.operation' -%}
    {%- set names = "split(message.objectName, r'\\.')" -%}
    {%- set table_name = 'case when size(' ~ names ~ ') > 1 then '
        ~ spark_cdc._dts_avro_name('element_at(' ~ names ~ ', -1)') ~ ' end' -%}
    {#- Only the statement shows that it empties the table. Its qualifier may be the name in front of the table's. -#}
    {%- set qualifier = 'case when size(' ~ names ~ ') > 1 then '
        ~ spark_cdc._dts_avro_name('element_at(' ~ names ~ ', -2)') ~ ' end' -%}
    {%- set statement = {
        'text': 'case when ' ~ operation ~ " = 'DDL' then message.afterText end", 'table': table_name, 'qualifier': qualifier
    } -%}
    {%- set kind -%}
        case
            when {{ operation }} in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when {{ operation }} = 'DDL' then case when statement_kind = 'truncate' then 'truncate' else 'ddl' end
            when {{ operation }} = 'BEGIN' then 'begin'
            when {{ operation }} = 'COMMIT' then 'commit'
            when {{ operation }} in ('HEARTBEAT', 'CHECKPOINT') then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {%- set is_mark = operation ~ ' in (' ~ spark_cdc._literals(marks) ~ ')' -%}
    {#- A value at the place of the other row would be lost silently. -#}
    {%- set unexpected_structure = {
        'beforeImages: a row, and operation has none': is_mark ~ ' and size(message.beforeImages) > 0',
        'afterImages: a row, and operation has none': is_mark ~ ' and size(message.afterImages) > 0',
        'beforeImages: a text, and operation has none': is_mark ~ ' and message.beforeText is not null',
        'afterImages: a text, and operation has none': is_mark ~ ' and ' ~ operation ~ " <> 'DDL' and message.afterText is not null",
        'beforeImages: a row in an insert': operation ~ " in ('INSERT', 'INIT') and size(message.beforeImages) > 0",
        'beforeImages: a text in the place of a row': operation ~ " in ('INSERT', 'UPDATE', 'INIT') and message.beforeText is not null",
        'afterImages: a text in the place of a row': operation ~ " = 'DELETE' and message.afterText is not null",
        'afterImages: another row than beforeImages has, in a DELETE': operation ~ " = 'DELETE' and size(message.afterImages) > 0 "
            ~ 'and map_entries(message.afterImages) <> map_entries(message.beforeImages)',
        'objectName: not one to three names with dots between them': '(size(' ~ names
            ~ ") > 3 or startswith(message.objectName, '.') or contains(message.objectName, '..'))",
    } -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_seconds('sourceTimestamp', 'message.sourceTimestamp')) -%}
    {#- An operation that the vendor's own reader does not know is accepted only if it cannot hold a change of a row. -#}
    {%- set errors = {
        'wrong_format': {'operation: missing': operation ~ ' is null'},
        'unknown_op': {
            'operation: not an operation of the format': operation ~ ' not in (' ~ spark_cdc._literals(rows + marks + others) ~ ')',
            'operation: not known to hold rows, and there is one': operation ~ ' in (' ~ spark_cdc._literals(others)
                ~ ') and coalesce(message.beforeImages, message.afterImages) is not null',
        },
        'array_length_mismatch': {'fields: not as many as the values of a row': 'message.imagesWithoutNames'},
        'missing_row': {
            'afterImages: no columns': operation ~ " in ('INSERT', 'UPDATE', 'INIT') and coalesce(size(message.afterImages), 0) < 1",
            'beforeImages: no columns': operation ~ " = 'DELETE' and coalesce(size(message.beforeImages), 0) < 1",
            'afterImages: no statement': operation ~ " = 'DDL' and statement_kind = 'none'",
        },
        'unexpected_structure': unexpected_structure,
        'fault': spark_cdc._statement_fault('afterImages'),
    } -%}
    {%- set codes -%}
        case
            when message.source.sourceType = 'MySQL' then message.fields.dataTypeNumber
            else transform(message.fields.dataTypeNumber, number -> concat(message.source.sourceType, ':', number))
        end
    {%- endset -%}
    {{- return({
        'document': 'cdc_dts_avro(cast(value as binary))',
        'kind': kind,
        'database_name': spark_cdc._dts_avro_name('get(' ~ names ~ ', 0)'),
        'schema_name': 'case when size(' ~ names ~ ') = 3 then ' ~ spark_cdc._dts_avro_name('get(' ~ names ~ ', 1)') ~ ' end',
        'table_name': table_name,
        'names_table': true,
        'type_codes': 'dts',
        'op': operation,
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': 'case when message.sourceTimestamp > 0 then '
            ~ spark_cdc._instant('message.sourceTimestamp', 'seconds') ~ ' end',
        'transaction_id': "nullif(message.sourceTxid, '')",
        'key_columns': "from_json(message.tags['pk_uk_info'], 'PRIMARY array<string>').PRIMARY",
        'column_types': spark_cdc._map_of('message.fields.name', codes),
        'statement': statement,
        'sql_dialect': "case get_json_object(value, '$.source.sourceType') when 'MySQL' then 'mysql' when 'Oracle' then 'oracle' "
            ~ "when 'PostgreSQL' then 'postgres' end",
        'ddl': 'message.afterText',
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- A dot inside a name is written as an escape, because dots separate the names. -#}
{%- macro _dts_avro_name(text) -%}
    {{- return("replace(" ~ text ~ ", r'\\u002E', '.')") -}}
{%- endmacro -%}

{%- macro default__dts_avro_rows(dialect) -%}
    {%- set op -%}
        case message.operation
            when 'INSERT' then 'insert' when 'UPDATE' then 'update' when 'DELETE' then 'delete' else 'snapshot'
        end
    {%- endset -%}
    {{- return({
        'op': op,
        'image': "case message.operation when 'DELETE' then message.beforeImages else message.afterImages end",
        'before': "case when message.operation in ('UPDATE', 'DELETE') then message.beforeImages end",
        'exact': true,
    }) -}}
{%- endmacro -%}

{#- Everything is already a text, binaries and geometries in base64; see `cdc_dts_avro`. -#}
{%- macro default__dts_avro_value(text, column, time_zone, dialect) -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
