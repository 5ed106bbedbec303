{#-
    The flat dialect: one map of texts; fields with `__` are Debezium's. A record inside {schema, payload} is unwrapped, but not
    a row whose columns have these names: the converter's `payload` is an object and never a text.

    A null value with a key deletes the row of that key. By default a delete leaves nothing else; after a delete that was
    rewritten it repeats the delete.
-#}
{%- macro _debezium_flat_header() -%}
    {%- set is_wrapped -%}
        size(message) = 2 and map_contains_key(message, 'payload') and map_contains_key(message, 'schema')
        and coalesce(startswith(message['schema'], '{'), true)
        and (
            contains(value, '"payload":{')
            or value rlike r'"payload"\s*+:\s*+(?:\{|null\s*+[,}])'
        )
    {%- endset -%}
    {%- set event -%}
        case when {{ is_wrapped }} then coalesce(from_json(message['payload'], 'map<string,string>'), map()) else message end
    {%- endset -%}
    {%- set names = 'map_keys(event)' -%}
    {%- set is_mark -%}
        (
            map_contains_key(event, 'event_count') and map_contains_key(event, 'data_collections')
            and size(array_except({{ names }}, array('status', 'id', 'event_count', 'data_collections', 'ts_ms'))) = 0
        )
    {%- endset -%}
    {%- set is_ddl -%}
        (
            map_contains_key(event, 'tableChanges') and map_contains_key(event, 'source') and map_contains_key(event, 'ddl')
            and size(array_except(
                {{ names }}, array('source', 'ts_ms', 'databaseName', 'schemaName', 'ddl', 'tableChanges')
            )) = 0
        )
    {%- endset -%}
    {#- A logical message of PostgreSQL has no row to flatten: the transform does not change it. -#}
    {%- set is_message -%}
        (
            event['op'] = 'm' and startswith(event['source'], '{') and map_contains_key(event, 'message') and size(array_except(
                {{ names }}, array('op', 'source', 'message', 'transaction', 'ts_ms', 'ts_us', 'ts_ns')
            )) = 0
        )
    {%- endset -%}
    {%- set kind -%}
        case
            when {{ names }} = array('ts_ms') then 'heartbeat'
            when {{ is_message }} then 'other'
            when {{ is_ddl }} then 'ddl'
            when {{ is_mark }} and event['status'] = 'BEGIN' then 'begin'
            when {{ is_mark }} and event['status'] = 'END' then 'commit'
            else 'rows'
        end
    {%- endset -%}
    {%- set schema = 'case when ' ~ is_wrapped ~ " then message['schema'] when value is null then get_json_object(key, '$.schema') end" -%}
    {%- set schema_name = "regexp_replace(get_json_object(" ~ schema ~ ", '$.name'), r'\\.(Value|Envelope|Key)$', '')" -%}
    {%- set types = "from_json(" ~ schema ~ ", 'fields array<struct<field: string, type: string, name: string, "
        ~ "parameters: struct<scale: string>>>').fields" -%}
    {%- set table_name -%}
        coalesce(event['__table'], event['__source_table'], case when message_kind = 'rows' then {# -#}
            try_element_at(split(coalesce({{ schema_name }}, topic), r'\.'), -1) end)
    {%- endset -%}
    {#-
        The database in the topic's name, server.database.table, as for MySQL and its relatives. It applies to a row and to a
        null value alike, so that a delete finds the table of its row. If the record names a schema, that part of the topic is
        the schema.
    -#}
    {%- set is_row = "(value is null or message_kind = 'rows')" -%}
    {%- set database_of_topic = 'case when ' ~ is_row ~ " and topic like '%.%.%' and coalesce(event['__schema'], event['__source_schema']) "
        ~ "is null then element_at(split(topic, r'\\.'), -2) end" -%}
    {#- A key that is not JSON after a schema id names a row, too. -#}
    {{- return({
        'event': event,
        'kind': kind,
        'beside_event': dict({'row_of_key': spark_cdc._debezium_key('key')}, **spark_cdc._debezium_quotes_of_flat(is_wrapped)),
        'kind_of_null': "case when size(row_of_key) > 0 then 'rows' else 'tombstone' end",
        'error_of_null': "case when (startswith(ltrim(key), '{') or startswith(key, '\\u0000')) and row_of_key is null then "
            ~ spark_cdc._error('key_missing', 'key: not a row of a key as the JSON converter writes it') ~ ' end',
        'database_name': "coalesce(event['__db'], event['__source_db'], try_element_at(split(" ~ schema_name ~ ", r'\\.'), -2), "
            ~ database_of_topic ~ ')',
        'schema_name': "coalesce(event['__schema'], event['__source_schema'])",
        'table_name': table_name,
        'op': "event['__op']",
        'sequence': 'cast(array() as array<decimal(20,0)>)',
        'committed_at': 'coalesce(' ~ spark_cdc._instant("nullif(event['__source_ts_us'], '0')", 'microseconds') ~ ', '
            ~ spark_cdc._instant("nullif(event['__source_ts_ms'], '0')", 'milliseconds') ~ ')',
        'key_columns': 'map_keys(row_of_key)',
        'column_types': spark_cdc._debezium_types(types),
        'statement': {'text': 'case when ' ~ is_ddl ~ " then event['ddl'] end"},
        'ddl': 'statement',
        'errors': spark_cdc._debezium_flat_errors(),
    }) -}}
{%- endmacro -%}

{#- The rules that reject a flat record, by error code. -#}
{%- macro _debezium_flat_errors() -%}
    {%- set is_envelope = "map_contains_key(event, 'op') and map_contains_key(event, 'source') and map_contains_key(event, 'after')" -%}
    {%- set structure = {
        '__deleted: not true or false': "event['__deleted'] not in ('true', 'false')",
        '__deleted: true, although __op is not d': "event['__deleted'] = 'true' and event['__op'] <> 'd'",
        '__deleted: false, although __op is d': "event['__deleted'] = 'false' and event['__op'] = 'd'",
        '__table: empty': "coalesce(event['__table'], event['__source_table']) = ''",
    } -%}
    {%- for unit, field in {'milliseconds': '__source_ts_ms', 'microseconds': '__source_ts_us'}.items() -%}
        {%- set time = "try_cast(event['" ~ field ~ "'] as bigint)" -%}
        {%- do structure.update({
            field ~ ': not a time in ' ~ unit:
                "event['" ~ field ~ "'] is not null and " ~ time ~ ' is null or ' ~ spark_cdc._is_no_time(time, unit)
        }) -%}
    {%- endfor -%}
    {%- for name in ['db', 'schema', 'table'] -%}
        {%- do structure.update({
            '__source_' ~ name ~ ': another one than __' ~ name: "event['__" ~ name ~ "'] <> event['__source_" ~ name ~ "']"
        }) -%}
    {%- endfor -%}
    {%- for name in ['__db', '__schema', '__table', '__source_db', '__source_schema', '__source_table'] -%}
        {%- do structure.update({name ~ ': not a text': spark_cdc._is_nested({name: "event['" ~ name ~ "']"})}) -%}
    {%- endfor -%}
    {%- set unsupported = {} -%}
    {%- for detail, condition in spark_cdc._debezium_unsupported(
        "coalesce(event['__connector'], event['__source_connector'])", 'flat'
    ).items() -%}
        {%- do unsupported.update({detail | replace('source.connector', '__connector'): condition}) -%}
    {%- endfor -%}
    {%- do unsupported.update({
        'row: the columns are cells, which are not read as Debezium': spark_cdc._debezium_holds_cells('value'),
    }) -%}
    {%- set errors = {
        'duplicate_key': {'row: names a field twice': spark_cdc._names_twice('map_keys(event)')},
        'unsupported_connector': unsupported,
        'wrong_format': {
            "row: values are in objects that name their types, as Avro's JSON encoding writes unions":
                spark_cdc._holds_avro_unions('value'),
            'row: has no fields': 'size(event) = 0',
            'op: an event of the dialect envelope': is_envelope,
        },
        'unknown_op': {
            '__op: not one of c, u, d, r': "event['__op'] not in ('c', 'u', 'd', 'r')",
            'ddl: a TRUNCATE, which has no place in the order of flat rows':
                "startswith(statement_kind, 'truncate')",
            'ddl: it changes rows, which the message does not have': "statement_kind in ('changes_rows', 'replaces_rows')",
        },
        'unexpected_structure': structure,
    } -%}
    {{- return(errors) -}}
{%- endmacro -%}

{#-
    Operation columns of other tools, in small letters: their rows, deletes included, would be read as updates. In a row with
    Debezium's own `__op` or `__deleted` such a column belongs to the table. docs/formats/debezium.md has the same list.
-#}
{%- macro _debezium_flat_op_columns() -%}
    {{- return([
        '__$operation', '__crdb__', '__operation_type', '_change_type', '_is_deleted', '_meta', '_meta/op', '_metadata_change_type',
        '_op', '_tidb_op', 'a_enttyp', 'cdc_op', 'change_type', 'dtl__capxaction', 'enttyp', 'header__change_oper', 'header__operation',
        'hvr_is_deleted', 'hvr_op_val', 'op', 'op_code', 'op_type', 'opcode', 'operation', 'operation_type', 'operationtype', 'optype',
        'row_kind',
    ]) -}}
{%- endmacro -%}

{%- macro _debezium_flat_rows() -%}
    {%- set is_delete = "coalesce(value is null or event['__deleted'] = 'true' or event['__op'] = 'd', false)" -%}
    {%- set op -%}
        case
            when {{ is_delete }} then 'delete'
            when event['__op'] = 'c' then 'insert'
            when event['__op'] = 'r' then 'snapshot'
            else 'update'
        end
    {%- endset -%}
    {%- set row = "map_filter(event, (name, text) -> not startswith(name, '__') and not "
        ~ spark_cdc._debezium_is_unavailable('text') ~ ')' -%}
    {%- set image = 'case when value is null then row_of_key else ' ~ row ~ ' end' -%}
    {%- set op_columns_of_others -%}
        case
            when event['__op'] is null and event['__deleted'] is null
                then filter(map_keys(event), name -> lower(name) in ({{ spark_cdc._literals(spark_cdc._debezium_flat_op_columns()) }}))
        end
    {%- endset -%}
    {{- return({
        'op_columns_of_others': op_columns_of_others, 'in_quotes': 'array_repeat(quotes[if(value is null, 1, 0)], 2)',
        'readings': spark_cdc._debezium_readings(), 'may_have_readings': spark_cdc._debezium_may_have_readings(),
        'op': op, 'image': image, 'before': 'case when ' ~ is_delete ~ ' then ' ~ image ~ ' end', 'plain_text': true,
        'type_scale': spark_cdc._debezium_scale('{}'), 'no_value': spark_cdc._debezium_is_no_value('{}'),
    }) -}}
{%- endmacro -%}
