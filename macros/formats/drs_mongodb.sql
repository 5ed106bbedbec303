{#-
    Huawei DRS from MongoDB: one document a message, as the text that MongoDB's shell prints; an update has operators or the
    whole new document. The Python functions `cdc_mongo_fields` and `cdc_mongo_update` read the texts.
    Facts: support.huaweicloud.com/realtimesyn-drs/drs_03_0052.html (JSON, DDS); docs/formats/drs_mongodb.md.

    Order: clusterTime, `seconds:increment` of the oplog, as two numbers: the order of the source itself. `id` counts inside one
    task, and starts again with the next.
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
    {#- recordType names the object of `op`: a DELETE of `doc` deletes a document, any other DELETE something else. -#}
    {%- set other_record -%}
        case message.op
            when 'INSERT' then not message.recordType <=> 'insert'
            when 'UPDATE' then not coalesce(message.recordType in ('update', 'replace'), false)
            when 'DELETE' then not message.recordType <=> 'doc'
            else false
        end
    {%- endset -%}
    {#-
        A document is a text: from_json would return an object as the text of one, with other numbers, and a field of that
        object may have the same name. A quote inside a text is escaped.
    -#}
    {%- set sequence -%}
        case when message.clusterTime rlike r'^[0-9]{1,19}:[0-9]{1,19}\z' then transform(
            split(message.clusterTime, ':'), part -> cast(part as decimal(20,0))
        ) end
    {%- endset -%}
    {#-
        The page shows MongoDB; Huawei's own MongoDB services have other names, such as DDS. A name that surely is another
        database is rejected.
    -#}
    {%- set other_source = "coalesce(message.dbType rlike '(?i)mysql|mariadb|postgres|oracle|sql ?server|gaussdb(?!.*mongo)', "
        ~ "false)" -%}
    {#- On the page an insert or a delete has no `where`: one that agrees with the document does no harm. -#}
    {%- set two_documents -%}
        case when message.op in ('INSERT', 'DELETE') and event.identity is not null then coalesce(exists(
            map_keys(event.identity),
            name -> map_contains_key(event.document, name) and not event.identity[name] <=> event.document[name]
        ), false) else false end
    {%- endset -%}
    {%- set is_row = "message.op <> 'DDL'" -%}
    {%- set no_document = {
        'value: not a document, or not an update that a server makes': 'event.document is null and event.update is null',
        'where: not a document': "nullif(message.`where`, '') is not null and event.identity is null",
    } -%}
    {#- A document's `_id` never changes. -#}
    {%- set other_id -%}
        (
            message.recordType = 'replace' and event.identity is not null
            and (event.identity['_id'] is null or event.identity['_id'] <> event.document['_id'])
        )
    {%- endset -%}
    {%- set is_no_document = is_row ~ ' and (' ~ no_document.values() | join(' or ') ~ ' or ' ~ other_id ~ ')' -%}
    {%- set unexpected_structure = {} -%}
    {%- for name in ['value', 'where'] -%}
        {%- do unexpected_structure.update({
            name ~ ': not a text': '(message.`' ~ name ~ "` is not null and not value rlike r'\"" ~ name
                ~ "\"\\s*+:\\s*+\"' or value rlike r'\"" ~ name ~ "\"\\s*+:\\s*+[^\"n]')"
        }) -%}
    {%- endfor -%}
    {%- do unexpected_structure.update({'where: another document than value': is_row ~ ' and ' ~ two_documents}) -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_milliseconds('es', 'message.es')) -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_names({'db': 'message.db', 'coll': 'message.coll'})) -%}
    {%- set errors = {
        'wrong_format': {
            'op: missing': 'message.op is null',
            'dbType: a source of another format': other_source,
            'coll: missing': 'message.coll is null and ' ~ is_row,
        },
        'unknown_op': {
            'op: not an operation of the format': "message.op not in ('INSERT', 'UPDATE', 'DELETE', 'DDL')",
            'recordType: not one of op': other_record,
        },
        'unexpected_structure': unexpected_structure,
        'missing_position': {'clusterTime: not two whole numbers with a colon between them': is_row ~ ' and ' ~ sequence ~ ' is null'},
        'missing_row': {
            'value: missing': is_no_document ~ ' and message.value is null',
            'where: missing in an update': is_no_document ~ " and message.recordType = 'update' and message.`where` is null",
        },
        'broken_document': {},
    } -%}
    {%- for detail, condition in no_document.items() -%}
        {%- do errors.broken_document.update({detail: is_row ~ ' and ' ~ condition}) -%}
    {%- endfor -%}
    {%- do errors.broken_document.update({'where._id: another one than value._id, or none': is_row ~ ' and ' ~ other_id}) -%}
    {{- return({
        'event': event,
        'event_calls_python': true,
        'kind': kind,
        'database_name': 'message.db',
        'schema_name': none,
        'table_name': 'message.coll',
        'names_table': true,
        'type_codes': 'mongodb',
        'types_of_values': true,
        'op': 'message.op',
        'sequence': 'coalesce(' ~ sequence ~ ', cast(array() as array<decimal(20,0)>))',
        'sequence_names': spark_cdc._sequence_names(['clusterTime (seconds)', 'clusterTime (increment)']),
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

{#- A shard key may be inside a nested value: its path is not a column. -#}
{%- macro _drs_mongodb_before() -%}
    {{- return(
        "case message.op when 'UPDATE' then map_filter(event.identity, (name, typed) -> not contains(name, '.')) "
        ~ "when 'DELETE' then event.document end"
    ) -}}
{%- endmacro -%}

{#- A field that an inserted or replaced document lacks is null; a field that an update does not name keeps its value. -#}
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
