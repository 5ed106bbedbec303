{#-
    Huawei DRS from MongoDB: one document a message, as the text that MongoDB's shell prints; an update holds operators or the
    whole new document. The Python functions `cdc_mongo_fields` and `cdc_mongo_update` read the texts.
    Facts: support.huaweicloud.com/realtimesyn-drs/drs_03_0052.html (JSON, DDS); docs/formats/drs_mongodb.md.

    Order: clusterTime, `seconds:increment` of the oplog, as two numbers: the order of the source itself. `id` counts inside
    one task, and starts again with the next.
-#}
{%- macro default__drs_mongodb_schema(dialect, with_types) -%}
struct<
    op: string,
    dbType: string,
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
            'document', cdc_mongo_fields(
                case when message.recordType <> 'update' then {{ spark_cdc._mongo_typed('message.value') }} end
            ),
            'identity', cdc_mongo_fields({{ spark_cdc._mongo_typed('message.`where`') }}),
            'update', cdc_mongo_update(
                case when message.recordType = 'update' then {{ spark_cdc._mongo_typed('message.`where`') }} end,
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
    {#-
        A document is a text: from_json would give an object as the text of one, with other numbers, and a field of that object may
        have the name too. A quote inside a text is escaped.
    -#}
    {%- set no_text -%}
        (
            (message.value is not null and not value rlike r'"value"\s*+:\s*+"')
            or (message.`where` is not null and not value rlike r'"where"\s*+:\s*+"')
            or value rlike r'"value"\s*+:\s*+[^"n]'
            or value rlike r'"where"\s*+:\s*+[^"n]'
        )
    {%- endset -%}
    {%- set sequence -%}
        case when message.clusterTime rlike r'^[0-9]{1,19}:[0-9]{1,19}\z' then transform(
            split(message.clusterTime, ':'), part -> cast(part as decimal(20,0))
        ) end
    {%- endset -%}
    {#- The server keeps a document's `_id` for life. -#}
    {%- set no_document -%}
        (
            (event.document is null and event.update is null)
            or (nullif(message.`where`, '') is not null and event.identity is null)
            or coalesce(
                message.recordType = 'replace' and event.identity is not null
                and (event.identity['_id'] is null or event.identity['_id'] <> event.document['_id']),
                false
            )
        )
    {%- endset -%}
    {#- The page shows MongoDB; Huawei's own services of its kind have other names, as DDS: what is surely no such is refused. -#}
    {%- set other_source = "coalesce(message.dbType rlike '(?i)mysql|mariadb|postgres|oracle|sql ?server|gaussdb(?!.*mongo)', "
        ~ "false)" -%}
    {#- The page has no `where` beside what is inserted or deleted: one that agrees does no harm. -#}
    {%- set two_documents -%}
        case when message.op in ('INSERT', 'DELETE') and event.identity is not null then coalesce(exists(
            map_keys(event.identity),
            name -> map_contains_key(event.document, name) and not event.identity[name] <=> event.document[name]
        ), false) else false end
    {%- endset -%}
    {%- set is_row = "message.op <> 'DDL'" -%}
    {%- set errors = {
        'other_format': 'message.op is null or ' ~ other_source ~ ' or (message.coll is null and ' ~ is_row ~ ')',
        'unknown_op': unknown,
        'other_structure': no_text ~ ' or (' ~ is_row ~ ' and ' ~ two_documents ~ ') or '
            ~ spark_cdc._beyond_the_calendar('message.es') ~ ' or ' ~ spark_cdc._is_nested({'db': 'message.db', 'coll': 'message.coll'}),
        'no_sequence': is_row ~ ' and ' ~ sequence ~ ' is null',
        'no_image': is_row ~ ' and ' ~ no_document
            ~ " and (message.value is null or (message.recordType = 'update' and message.`where` is null))",
        'broken_document': is_row ~ ' and ' ~ no_document,
    } -%}
    {{- return({
        'event': event,
        'event_calls_python': true,
        'kind': kind,
        'database_name': 'message.db',
        'schema_name': none,
        'table_name': 'message.coll',
        'names_table': true,
        'type_codes': 'mongodb',
        'op': 'message.op',
        'sequence': 'coalesce(' ~ sequence ~ ', cast(array() as array<decimal(20,0)>))',
        'committed_at': spark_cdc._instant('case when message.es > 0 then message.es end', 'milliseconds'),
        'transaction_id': none,
        'key_columns': "case when message.op <> 'DDL' then array('_id') end",
        'column_types': spark_cdc._mongo_types(
            'coalesce(event.document, event.update.fields)', spark_cdc._drs_mongodb_before()
        ),
        'ddl': "case when message.op = 'DDL' then message.value end",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- A shard key may lie inside a nested value: its path is no column. -#}
{%- macro _drs_mongodb_before() -%}
    {{- return(
        "case message.op when 'UPDATE' then map_filter(event.identity, (name, typed) -> not contains(name, '.')) "
        ~ "when 'DELETE' then event.document end"
    ) -}}
{%- endmacro -%}

{#- A field that an inserted or replaced document does not have is null; one that an update does not name keeps its value. -#}
{%- macro default__drs_mongodb_rows(dialect) -%}
    {{- return({
        'op': "case message.op when 'INSERT' then 'insert' when 'UPDATE' then 'update' else 'delete' end",
        'image': spark_cdc._mongo_texts('coalesce(event.document, event.update.fields)'),
        'before': spark_cdc._mongo_texts(spark_cdc._drs_mongodb_before()),
        'complete': "message.recordType in ('insert', 'replace')",
        'patches': 'event.update.patches',
        'exact': true,
    }) -}}
{%- endmacro -%}

{%- macro default__drs_mongodb_value(text, column, time_zone, dialect) -%}
    {{- return(spark_cdc._mongo_typed_value(text, column, time_zone)) -}}
{%- endmacro -%}
