{#-
    Huawei DRS from MongoDB: one document a message, as the text that MongoDB's shell prints; an update holds operators or the
    whole new document. The Python functions `cdc_mongo_fields` and `cdc_mongo_update` read the texts.
    Facts: the vendor's page on Kafka message formats (JSON, MongoDB); docs/formats/drs_mongodb.md.

    Order: clusterTime, `seconds:increment` of the oplog, as two numbers: the order of the source itself. `id` counts inside
    one task, and starts again with the next.
-#}
{%- macro default__drs_mongodb_schema(dialect, with_types) -%}
struct<
    op: string,
    db: string,
    coll: string,
    value: string,
    `where`: string,
    recordType: string,
    es: bigint,
    clusterTime: string
>
{%- endmacro -%}

{%- macro default__drs_mongodb_header(dialect) -%}
    {#- The update's own document is `where`: it names the row. -#}
    {%- set event -%}
        named_struct(
            'document', cdc_mongo_fields(case when message.recordType <> 'update' then message.value end),
            'identity', cdc_mongo_fields(message.`where`),
            'update', cdc_mongo_update(
                case when message.recordType = 'update' then message.`where` end,
                case when message.recordType = 'update' then message.value end
            )
        )
    {%- endset -%}
    {%- set kind = "case when message.op = 'DDL' then 'ddl' else 'rows' end" -%}
    {#- recordType says what `op` was done to: a DELETE of `doc` takes a document, any other one something else. -#}
    {%- set unknown -%}
        case message.op
            when 'INSERT' then not message.recordType <=> 'insert'
            when 'UPDATE' then not coalesce(message.recordType in ('update', 'replace'), false)
            when 'DELETE' then not message.recordType <=> 'doc'
            when 'DDL' then false
            else true
        end
    {%- endset -%}
    {#- A document is a text: from_json would give an object as the text of one, with other numbers. A quote inside a text is escaped. -#}
    {%- set no_text -%}
        (
            (message.value is not null and not value rlike r'"value"\s*+:\s*+"')
            or (message.`where` is not null and not value rlike r'"where"\s*+:\s*+"')
        )
    {%- endset -%}
    {%- set sequence -%}
        case when message.clusterTime rlike r'^[0-9]{1,19}:[0-9]{1,19}\z' then transform(
            split(message.clusterTime, ':'), part -> cast(part as decimal(20,0))
        ) end
    {%- endset -%}
    {#- The server keeps a document's `_id` for life. -#}
    {%- set no_document = "((event.document is null and event.update is null) or coalesce(message.recordType = 'replace' "
        ~ "and event.identity['_id'] <> event.document['_id'], false))" -%}
    {%- set error_condition -%}
        message.op is null
        or message.coll is null and message.op <> 'DDL'
        or {{ unknown }}
        or {{ no_text }}
        or message.op <> 'DDL' and ({{ sequence }} is null or {{ no_document }})
    {%- endset -%}
    {%- set error -%}
        case
            when message.op is null or (message.coll is null and message.op <> 'DDL') then 'other_format'
            when {{ unknown }} then 'unknown_op'
            when {{ no_text }} then 'other_structure'
            when {{ sequence }} is null then 'no_sequence'
            when message.value is null or (message.recordType = 'update' and message.`where` is null) then 'no_image'
            else 'broken_document'
        end
    {%- endset -%}
    {{- return({
        'event': event,
        'event_calls_python': true,
        'kind': kind,
        'database_name': 'message.db',
        'schema_name': none,
        'table_name': 'message.coll',
        'names_table': true,
        'op': 'message.op',
        'sequence': 'coalesce(' ~ sequence ~ ', cast(array() as array<decimal(20,0)>))',
        'committed_at': spark_cdc._instant('message.es', 'milliseconds'),
        'transaction_id': none,
        'key_columns': "case when message.op <> 'DDL' then array('_id') end",
        'column_types': none,
        'ddl': "case when message.op = 'DDL' then message.value end",
        'error': error,
        'error_condition': error_condition,
    }) -}}
{%- endmacro -%}

{#- A field that an inserted or replaced document does not have is null; one that an update does not name keeps its value. -#}
{%- macro default__drs_mongodb_rows(dialect) -%}
    {{- return({
        'op': "case message.op when 'INSERT' then 'insert' when 'UPDATE' then 'update' else 'delete' end",
        'image': 'coalesce(event.document, event.update.fields)',
        'before': "case message.op when 'UPDATE' then event.identity when 'DELETE' then event.document end",
        'complete': "message.recordType in ('insert', 'replace')",
        'patches': 'event.update.patches',
        'exact': true,
    }) -}}
{%- endmacro -%}

{%- macro default__drs_mongodb_value(text, column, time_zone, dialect) -%}
    {{- return(spark_cdc._mongo_value(text, column, time_zone)) -}}
{%- endmacro -%}
