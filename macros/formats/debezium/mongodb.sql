{#-
    Debezium from MongoDB: the envelope of `debezium`, in which the documents are texts of Extended JSON. An update may have the
    whole document, only the changes (updateDescription, or `patch` in versions before 2.0), or both.
    Facts: debezium.io/documentation, MongoDB connector, "data change events"; docs/formats/debezium_mongodb.md.

    Order: [seconds, ord], the two parts of the oplog's timestamp. A row of the snapshot has the timestamp at which the snapshot
    began, and comes before a change with that timestamp. Messages of one transaction share a timestamp: the offset orders them.
-#}
{%- macro default__debezium_mongodb_schema(dialect, with_types) -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._debezium_mongodb_event_fields().items() -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- endfor -%}
    {%- set event = fields | join(',\n') -%}
    {{- return('struct<\n' ~ event ~ ',\npayload: struct<\n' ~ event ~ '\n>>') -}}
{%- endmacro -%}

{%- macro _debezium_mongodb_event_fields() -%}
    {%- set fields = dict(spark_cdc._debezium_event_fields()) -%}
    {%- do fields.update({
        'before': 'string', 'after': 'string', 'patch': 'string', 'filter': 'string',
        'updateDescription': 'struct<updatedFields: string, removedFields: array<string>, '
            ~ 'truncatedArrays: array<struct<field: string, size: bigint>>>',
        'source': fields.source[:-1] ~ ', ord: bigint>',
    }) -%}
    {{- return(fields) -}}
{%- endmacro -%}

{#- The event of `debezium` with the documents read; `after` of an update may be a part of the document. -#}
{%- macro _debezium_mongodb_event() -%}
    {%- set field = namespace(of={}) -%}
    {%- for name in spark_cdc._debezium_mongodb_event_fields() -%}
        {%- do field.of.update({
            name: 'case when message.payload is not null then message.payload.' ~ name ~ ' else message.' ~ name ~ ' end'
        }) -%}
    {%- endfor -%}
    {%- set plain = [] -%}
    {%- for name, expression in field.of.items() if name not in ['before', 'after', 'patch', 'filter'] -%}
        {%- do plain.append("'" ~ name ~ "', " ~ expression) -%}
    {%- endfor -%}
    {%- set of = field.of -%}
    {%- set is_update = '(' ~ of.op ~ ") = 'u'" -%}
    {%- set has_after = '(' ~ of.after ~ ') is not null' -%}
    {#- Before version 2.0 a patch without operators was the whole new document. -#}
    {%- set patch_is_document = '(' ~ of.patch ~ ") not rlike r'^\\s*\\{\\s*\"\\$'" -%}
    {%- set identity = 'coalesce(' ~ of.filter ~ ', ' ~ spark_cdc._debezium_mongodb_identity() ~ ')' -%}
    {%- set described = '(' ~ of.updateDescription ~ ')' -%}
    {%- set document -%}
        cdc_mongo_fields(
            {{ spark_cdc._mongo_typed(
                'case when ' ~ has_after ~ ' then ' ~ of.after ~ ' when ' ~ is_update ~ ' and ' ~ patch_is_document ~ ' then '
                ~ of.patch ~ ' end'
            ) }}
        )
    {%- endset -%}
    {%- set update -%}
        coalesce(
            cdc_mongo_update(
                {{ spark_cdc._mongo_typed(identity) }},
                case when {{ is_update }} and not {{ has_after }} then {{ of.patch }} end
            ),
            cdc_mongo_update_description(
                case
                    when {{ is_update }} and not {{ has_after }} and {{ described }} is not null
                        then {{ spark_cdc._mongo_typed(identity) }}
                end,
                {{ described }}.updatedFields,
                {{ described }}.removedFields,
                {{ described }}.truncatedArrays
            )
        )
    {%- endset -%}
    {%- set event -%}
        named_struct(
            {{ plain | join(', ') }},
            'before', cdc_mongo_fields({{ spark_cdc._mongo_typed(of.before) }}),
            'after', coalesce({{ document }}, {{ update }}.fields),
            'is_whole', {{ document }} is not null,
            'patches', {{ update }}.patches,
            'identity', cdc_mongo_fields({{ spark_cdc._mongo_typed(identity) }}),
            'has_document', {{ has_after }} or (
                {{ is_update }} and coalesce({{ of.patch }}, to_json({{ described }})) is not null
            ),
            'has_before', ({{ of.before }}) is not null,
            'key_names', map_keys({{ spark_cdc._debezium_key('key') }})
        )
    {%- endset -%}
    {{- return(event) -}}
{%- endmacro -%}

{#- The key has the text of the _id, itself Extended JSON; some writers put a plain text there. -#}
{%- macro _debezium_mongodb_identity() -%}
    {%- set id = "element_at(" ~ spark_cdc._debezium_key('key') ~ ", 'id')" -%}
    {{- return(
        "case when " ~ id
        ~ " rlike r'^\\s*(?:[\\{\\[\"]|(?:-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)\\s*\\z)' "
        ~ "then concat('{\"_id\":', " ~ id
        ~ ", '}') else to_json(named_struct('_id', " ~ id ~ ")) end"
    ) -}}
{%- endmacro -%}

{%- macro default__debezium_mongodb_header(dialect) -%}
    {%- set header = dict(adapter.dispatch('debezium_header', 'spark_cdc')('envelope')) -%}
    {%- do header.pop('beside_event') -%}
    {%- set is_change = "event.op in ('c', 'u', 'd', 'r')" -%}
    {%- set broken = {
        'after: not a document of Extended JSON': "event.op in ('c', 'u', 'r') and event.has_document and event.after is null",
        'before: not a document of Extended JSON': 'event.has_before and event.before is null',
        'key: names a field twice': is_change ~ ' and ' ~ spark_cdc._names_twice('event.key_names'),
    } -%}
    {#- The key names the document by the text of its _id, without the document's type; an _id never changes. -#}
    {%- for one, other in [('identity', 'after'), ('before', 'after'), ('identity', 'before')] -%}
        {%- do broken.update({
            other ~ '._id: another one than in ' ~ (one if one == 'before' else 'the key'): is_change ~ ' and coalesce('
                ~ spark_cdc._mongo_text('event.' ~ one ~ "['_id']") ~ ' <> ' ~ spark_cdc._mongo_text('event.' ~ other ~ "['_id']")
                ~ ', false)'
        }) -%}
    {%- endfor -%}
    {#- The document, or if there is none the key, must name the row. -#}
    {%- set no_key = "event.op in ('u', 'd') and coalesce(size(event.before), 0) < 1 and event.identity['_id'] is null "
        ~ "and event.after['_id'] is null" -%}
    {%- set described = "json_object_keys(coalesce(get_json_object(value, '$.payload.updateDescription'), "
        ~ "get_json_object(value, '$.updateDescription')))" -%}
    {%- set described_twice = 'case when event.updateDescription is not null then '
        ~ spark_cdc._let('names', described, spark_cdc._names_twice('names')) ~ ' else false end' -%}
    {%- set no_table = 'event.source is not null and ' ~ is_change ~ " and coalesce(event.source.collection, '') = ''" -%}
    {%- set structure = dict(header.errors.unexpected_structure) -%}
    {%- do structure.pop('source.table: missing') -%}
    {%- do structure.update({'source.collection: missing': no_table}) -%}
    {#- from_json would return an object as the text of a document, with other numbers. Inside a text quotes are escaped. -#}
    {%- for name in ['before', 'after', 'patch', 'filter', 'updatedFields'] -%}
        {%- do structure.update({
            ('updateDescription.' if name == 'updatedFields' else '') ~ name ~ ': a JSON object, not the text of a document':
                'value rlike r\'"' ~ name ~ '"\\s*+:\\s*+[{\\[]\''
        }) -%}
    {%- endfor -%}
    {%- set no_op = [] -%}
    {%- for detail, condition in header.errors.wrong_format.items() if detail.startswith('op:') -%}
        {%- do no_op.append((detail, condition)) -%}
    {%- endfor -%}
    {%- set errors = {
        'broken_document': broken,
        'duplicate_key': dict(header.errors.duplicate_key, **{'updateDescription: names a field twice': described_twice}),
        'wrong_format': dict(no_op + [('source.connector: not mongodb', "event.source.connector <> 'mongodb'")]),
        'unknown_op': dict(header.errors.unknown_op, **{'op: t, which MongoDB does not have': "event.op = 't'"}),
        'missing_after': header.errors.missing_after,
        'key_missing': {'before: missing, and the Kafka key does not name the document': no_key},
        'missing_position': {
            'source.ts_ms: missing or 0, although source.ord is there': is_change
                ~ " and event.source.ord is not null and (event.source.ts_ms is null or event.source.ts_ms = 0 and event.op <> 'r')"
        },
        'unexpected_structure': structure,
    } -%}
    {%- do header.update({
        'event': spark_cdc._debezium_mongodb_event(),
        'event_calls_python': true,
        'type_codes': 'mongodb',
        'types_of_values': true,
        'sql_dialect': none,
        'schema_name': none,
        'table_name': 'event.source.collection',
        'sequence': spark_cdc._debezium_mongodb_sequence('event.source', 'event.op'),
        'sequence_names': spark_cdc._sequence_names(['source.ts_ms (in seconds)', 'source.ord', 'snapshot (0) or change (1)']),
        'transaction_id': 'coalesce(event.transaction.id, case when event.status is not null then event.id end)',
        'key_columns': "case when event.op in ('c', 'u', 'd', 'r') then array('_id') end",
        'column_types': spark_cdc._mongo_types(
            spark_cdc._debezium_mongodb_image(), spark_cdc._debezium_mongodb_before()
        ),
        'errors': errors,
    }) -%}
    {{- return(header) -}}
{%- endmacro -%}

{%- macro _debezium_mongodb_sequence(source, op) -%}
    {{- return(
        "case when " ~ source ~ ".ord is not null then " ~ spark_cdc._decimals([
            source ~ '.ts_ms div 1000', source ~ '.ord', "case when " ~ op ~ " = 'r' then 0 else 1 end",
        ]) ~ " else cast(array() as array<decimal(20,0)>) end"
    ) -}}
{%- endmacro -%}

{#- A delete or an update without a row before is identified by the Kafka key. -#}
{%- macro _debezium_mongodb_old_row() -%}
    {{- return('case when size(event.before) > 0 then event.before else event.identity end') -}}
{%- endmacro -%}

{%- macro _debezium_mongodb_image() -%}
    {{- return("case when event.op = 'd' then " ~ spark_cdc._debezium_mongodb_old_row() ~ ' else event.after end') -}}
{%- endmacro -%}

{%- macro _debezium_mongodb_before() -%}
    {{- return("case when event.op in ('u', 'd') then " ~ spark_cdc._debezium_mongodb_old_row() ~ ' end') -}}
{%- endmacro -%}

{%- macro default__debezium_mongodb_rows(dialect) -%}
    {{- return({
        'op': "case event.op when 'c' then 'insert' when 'u' then 'update' when 'd' then 'delete' else 'snapshot' end",
        'image': spark_cdc._mongo_texts(spark_cdc._debezium_mongodb_image()),
        'before': spark_cdc._mongo_texts(spark_cdc._debezium_mongodb_before()),
        'complete': 'event.is_whole',
        'patches': 'event.patches',
        'exact': true,
    }) -}}
{%- endmacro -%}

{%- macro default__debezium_mongodb_value(text, column, time_zone, dialect) -%}
    {{- return(spark_cdc._mongo_typed_value(text, column, time_zone)) -}}
{%- endmacro -%}
