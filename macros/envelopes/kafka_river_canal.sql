{#-
    KafkaRiverCanal (CanalX): one row a message, a list of columns {n, t, v, ...}; of an update each column tells its old value.
    Facts: the vendor's page "Kafka message specification"; docs/formats/kafka_river_canal.md.

    Order: (number of the binlog file, position in it, offset). All rows of one binlog event share the position, and arrive in
    their order. `time` is the time of the event in the binlog and orders nothing.

    The columns are maps, so that a key that stands twice in one of them is seen.
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
    {#- Those of the message itself, its lists and columns, and those in texts. -#}
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
            'is_sound', forall(cells, c ->
                c.name is not null
                and case coalesce(c.is_null, 'false')
                    when 'false' then true
                    when 'true' then coalesce(c.text, '') = ''
                    else false
                end
                and case when message.event = 'u' then coalesce(c.updated, '') in ('true', 'false')
                    else coalesce(c.updated, 'true') = 'true' end
                and (message.event = 'u' and c.updated = 'true' or c.old is null or c.old <=> c.text)
                -- a key was never null, so this old key is not known
                and not (
                    message.event = 'u' and c.updated = 'true' and c.old is null
                    and coalesce(array_contains(message.keys, c.name), false)
                )
            )
        ))[0]
    {%- endset -%}
    {%- set no_image = 'coalesce(size(message.columns), 0) < 1' -%}
    {%- set duplicate_key -%}
        (
            {{ spark_cdc._names_twice('event.names') }}
            or exists(event.key_lists, names -> {{ spark_cdc._names_twice('names') }})
        )
    {%- endset -%}
    {%- set committed_at = spark_cdc._instant('case when message.time > 0 then message.time end', 'milliseconds') -%}
    {#- A key of `keys`, too; where a name has an escape, its value cannot be searched for. -#}
    {%- set text = '"(?:[^"\\\\]++|\\\\.)*+"' -%}
    {%- set nested = '"(?:(?:n|v|origin_val)"\\s*+:|keys"\\s*+:\\s*+\\[(?:\\s*+(?:' ~ text ~ '|[^\\]\\[{",]++)\\s*+,)*+)\\s*+[\\[{]'
        ~ '|(?<!\\\\)(?:\\\\\\\\)*+\\\\u00[5-7](?:[^"\\\\]++|\\\\.)*+"\\s*+:' -%}
    {%- set other_structure -%}
        (
            not coalesce(event.is_sound, false)
            or coalesce(exists(message.keys, name -> name is null), false)
            or (event.may_be_nested and value rlike r'{{ nested }}')
            or (message.time > 0 and {{ committed_at }} is null)
            or {{ spark_cdc._is_nested({'db': 'message.db', 'table': 'message.`table`'}) }}
        )
    {%- endset -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('message.event', ['i', 'u', 'd']), no_image=no_image, duplicate_key=duplicate_key,
        other_structure=other_structure, no_sequence=position ~ ' is null or ' ~ file_number ~ ' is null'
    ) -%}
    {{- return({
        'event': event,
        'kind': "'rows'",
        'database_name': 'message.db',
        'schema_name': none,
        'table_name': 'message.`table`',
        'names_table': true,
        'op': 'message.event',
        'sequence': 'array_compact(array(' ~ file_number ~ ', ' ~ position ~ '))',
        'committed_at': committed_at,
        'transaction_id': none,
        'key_columns': 'array_sort(array_distinct(message.keys))',
        'column_types': spark_cdc._map_of('event.names', 'event.types'),
        'ddl': none,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- The old value of a column that was changed and has no `origin_val` was NULL: Gson leaves out what is null. -#}
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

{#- The texts are Canal's: binaries as Latin-1 characters, ENUM and SET as numbers, whose labels stand in `t`. -#}
{%- macro default__kafka_river_canal_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding in ['enum', 'set'] -%}
        {{- return(spark_cdc._mysql_label(text, column.source_type, column.encoding)) -}}
    {%- endif -%}
    {%- set encoding = column.encoding or {'binary': 'latin1'}.get(column.family) -%}
    {{- return(spark_cdc.value(text, dict(column, encoding=encoding), time_zone)) -}}
{%- endmacro -%}
