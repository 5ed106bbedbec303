{#-
    KafkaRiverCanal (CanalX): one row a message, a list of columns {n, t, v, ...}; in an update each column has its old value.
    Facts: the vendor's page "Kafka message specification"; docs/formats/kafka_river_canal.md.

    Order: (number of the binlog file, position in it, offset). All rows of one binlog event share the position, and arrive in
    their order. `time` is the time of the event in the binlog and orders nothing.

    The columns are maps, so that the check finds a key that occurs twice in one of them.
-#}
{%- macro default__kafka_river_canal_schema(dialect, with_types) -%}
struct<
    binlog: string,
    time: bigint,
    db: string,
    `table`: string,
    event: string,
    columns: array<map<string,string>>,
    keys: array<string>
>
{%- endmacro -%}

{%- macro default__kafka_river_canal_header(dialect) -%}
    {%- set position = "try_cast(regexp_extract(message.binlog, '^([0-9]+)@', 1) as decimal(20,0))" -%}
    {%- set file_number = "try_cast(regexp_extract(message.binlog, r'^[0-9]+@(?:.*[^0-9])?([0-9]+)\\z', 1) as decimal(20,0))" -%}
    {#- The keys of the message itself, of its lists and columns, and of those in texts. -#}
    {%- set brackets = "2 * octet_length(value) - octet_length(replace(value, '{')) - octet_length(replace(value, '['))" -%}
    {#- A column as a struct, so that its map is searched once for each field. -#}
    {%- set cells -%}
        transform(message.columns, c -> named_struct(
            'name', c['n'], 'type', c['t'], 'text', c['v'], 'is_null', c['null'], 'updated', c['updated'], 'old', c['origin_val']
        ))
    {%- endset -%}
    {%- set event -%}
        transform(array({{ cells }}), cells -> named_struct(
            'names', transform(cells, c -> c.name),
            'types', transform(cells, c -> c.type),
            'texts', transform(cells, c -> case when not c.is_null <=> 'true' then c.text end),
            'updated', filter(cells, c -> c.updated = 'true'),
            -- mostly all columns have the same keys, in the same order
            'key_lists', array_distinct(transform(message.columns, c -> map_keys(c))),
            -- only of such a text is the message looked at again: a value that is an object comes as its text
            'may_be_nested', case when {{ brackets }} > size(cells) + if(message.keys is null, 2, 3) then exists(cells, c ->
                left(c.name, 1) in ('{', '[') or left(c.text, 1) in ('{', '[') or left(c.old, 1) in ('{', '[')
            ) or exists(message.keys, name -> left(name, 1) in ('{', '[')) else false end,
            -- the flag `null` is false or missing where `v` has a text; of an update each column says if it was changed, and of
            -- one that was not changed no other value is told
            'fault', get(array_compact(transform(cells, c -> case
                when c.name is null then 'columns[].n: missing'
                when c.is_null not in ('true', 'false') then 'columns[].null: neither true nor false'
                when c.is_null = 'true' and c.text <> '' then 'columns[].v: a value, and null is true'
                when message.event = 'u' and coalesce(c.updated, '') not in ('true', 'false')
                    then 'columns[].updated: neither true nor false in an update'
                when message.event <> 'u' and c.updated <> 'true' then 'columns[].updated: not true, and event is not u'
                when not (message.event = 'u' and c.updated = 'true') and c.old is not null and not c.old <=> c.text
                    then 'columns[].origin_val: another value than v, and updated is not true'
                -- a key was never null, so this old key is not known
                when message.event = 'u' and c.updated = 'true' and c.old is null and array_contains(message.keys, c.name)
                    then 'columns[].origin_val: missing of a key that changed'
            end)), 0)
        ))[0]
    {%- endset -%}
    {%- set committed_at = spark_cdc._instant('case when message.time > 0 then message.time end', 'milliseconds') -%}
    {#- A key of `keys`, too; if a name is written with an escape, its value cannot be searched for. -#}
    {%- set text = '"(?:[^"\\\\]++|\\\\.)*+"' -%}
    {%- set nested = '"(?:(?:n|v|origin_val)"\\s*+:|keys"\\s*+:\\s*+\\[(?:\\s*+(?:' ~ text ~ '|[^\\]\\[{",]++)\\s*+,)*+)\\s*+[\\[{]'
        ~ '|(?<!\\\\)(?:\\\\\\\\)*+\\\\u00[5-7](?:[^"\\\\]++|\\\\.)*+"\\s*+:' -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('event', 'message.event', ['i', 'u', 'd']),
        missing_row={'columns: no column': 'coalesce(size(message.columns), 0) < 1'},
        duplicate_key={
            'columns[].n: a name occurs twice': spark_cdc._names_twice('event.names'),
            'columns[]: a field of a column occurs twice': 'exists(event.key_lists, names -> ' ~ spark_cdc._names_twice('names') ~ ')',
        },
        fault='case when event.fault is not null then ' ~ spark_cdc._error_of('unexpected_structure', 'event.fault') ~ ' end',
        unexpected_structure={
            'keys[]: a name is null': 'exists(message.keys, name -> name is null)',
            'columns[] or keys[]: an object or a list in the place of a text': "event.may_be_nested and value rlike r'" ~ nested ~ "'",
        },
        missing_position={'binlog: not a position and the name of a numbered file': position ~ ' is null or ' ~ file_number ~ ' is null'}
    ) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_milliseconds('time', 'message.time')) -%}
    {%- do errors.unexpected_structure.update(spark_cdc._rules_of_names({'db': 'message.db', 'table': 'message.`table`'})) -%}
    {{- return({
        'event': event,
        'kind': "'rows'",
        'database_name': 'message.db',
        'schema_name': none,
        'table_name': 'message.`table`',
        'names_table': true,
        'op': 'message.event',
        'sequence': 'array_compact(array(' ~ file_number ~ ', ' ~ position ~ '))',
        'sequence_names': spark_cdc._sequence_names(['binlog (number of the file)', 'binlog (position)']),
        'committed_at': committed_at,
        'transaction_id': none,
        'key_columns': 'array_sort(array_distinct(message.keys))',
        'column_types': spark_cdc._map_of('event.names', 'event.types'),
        'ddl': none,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- If a changed column has no `origin_val`, its old value was NULL: Gson leaves out nulls. -#}
{%- macro default__kafka_river_canal_rows(dialect) -%}
    {%- set before = spark_cdc._map_of(
        "transform(event.updated, c -> c.name)", "transform(event.updated, c -> c.old)"
    ) -%}
    {{- return({
        'op': "case message.event when 'i' then 'insert' when 'u' then 'update' else 'delete' end",
        'image': spark_cdc._map_of('event.names', 'event.texts'),
        'before': "case message.event when 'd' then cast(map() as map<string,string>) when 'u' then " ~ before ~ ' end',
        'overlays': true,
        'value_names': '(?:v|origin_val)',
    }) -}}
{%- endmacro -%}

{#- The texts are Canal's: binaries as Latin-1 characters, ENUM and SET as numbers, whose labels are in `t`. -#}
{%- macro default__kafka_river_canal_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding in ['enum', 'set'] -%}
        {{- return(spark_cdc._mysql_label(text, column.source_type, column.encoding)) -}}
    {%- endif -%}
    {%- set encoding = column.encoding or {'binary': 'latin1'}.get(column.family) -%}
    {{- return(spark_cdc.value(text, dict(column, encoding=encoding), time_zone)) -}}
{%- endmacro -%}
