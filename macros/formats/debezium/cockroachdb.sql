{#-
    The dialect cockroachdb: CockroachDB's changefeeds with `envelope=enriched`, in JSON, which no connector of Debezium writes.
    The event is at the root or in `payload`; values are texts and numbers of JSON, and none is base64.
    Facts: CockroachDB documentation, "Changefeed Message Envelope" and "Changefeed Messages"; docs/formats/debezium.md.

    Order: `source.ts_hlc`, the time of the commit as two numbers, nanoseconds and a counter. CockroachDB may send a message
    again, and a change of the table's columns sends all rows again with its own time. `ts_ns` at the root is when the message
    was made: no order.
-#}
{%- macro _debezium_cockroachdb_schema() -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._debezium_cockroachdb_fields().items() -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- endfor -%}
    {%- set event = fields | join(', ') -%}
    {{- return('struct<' ~ event ~ ', payload: struct<' ~ event ~ '>>') -}}
{%- endmacro -%}

{%- macro _debezium_cockroachdb_fields() -%}
    {{- return({
        'op': 'string', 'before': 'map<string,string>', 'after': 'map<string,string>', 'resolved': 'string',
        'source': 'struct<origin: string, database_name: string, schema_name: string, table_name: string, '
            ~ 'primary_keys: array<string>, ts_hlc: string, ts_ns: bigint>',
    }) -}}
{%- endmacro -%}

{%- macro _debezium_cockroachdb_header() -%}
    {%- set event_fields = [] -%}
    {%- for name in spark_cdc._debezium_cockroachdb_fields() -%}
        {%- do event_fields.append("'" ~ name ~ "', message." ~ name) -%}
    {%- endfor -%}
    {%- set is_change = "event.op in ('c', 'u', 'd')" -%}
    {%- set is_resolved = '(event.resolved is not null and event.op is null and event.source is null)' -%}
    {%- set wall = "try_cast(substring_index(event.source.ts_hlc, '.', 1) as bigint)" -%}
    {%- set counter = "substring_index(event.source.ts_hlc, '.', -1)" -%}
    {%- set structure = {
        'payload: an event, and another one at the root': 'message.payload is not null and (message.op is not null '
            ~ 'or message.source is not null or message.before is not null or message.after is not null)',
        'resolved: a change has it': 'event.op is not null and event.resolved is not null',
        'source.table_name: missing': is_change ~ " and coalesce(event.source.table_name, '') = ''",
        'source.database_name: missing': is_change ~ " and coalesce(event.source.database_name, '') = ''",
        'before: has a row, which the operation does not have': "event.op = 'c' and coalesce(size(event.before) > 0, false)",
        'after: has a row, which the operation does not have': "event.op = 'd' and coalesce(size(event.after) > 0, false)",
        'source.ts_hlc: not a time in nanoseconds': spark_cdc._is_no_time(wall, 'nanoseconds') ~ ' or ' ~ wall ~ ' = 0',
        'source.ts_ns: another time than in source.ts_hlc': 'event.source.ts_ns <> ' ~ wall,
    } -%}
    {%- for name in ['database_name', 'schema_name', 'table_name'] -%}
        {%- do structure.update({'source.' ~ name ~ ': not a text': spark_cdc._is_nested({name: 'event.source.' ~ name})}) -%}
    {%- endfor -%}
    {%- set errors = {
        'duplicate_key': {'source: names a field twice': spark_cdc._debezium_names_twice()},
        'wrong_format': {
            'op: missing, and the message is not a resolved timestamp': 'event.op is null and not ' ~ is_resolved,
            'source.origin: not cockroachdb': "event.op is not null and event.source is not null "
                ~ "and coalesce(event.source.origin, '') <> 'cockroachdb'",
        },
        'unknown_op': {'op: not one of c, u, d': 'not ' ~ is_change},
        'missing_after': {'after: missing': "event.op in ('c', 'u') and event.after is null"},
        'key_missing': {
            'before: missing, and the Kafka key does not name the row':
                "event.op = 'd' and coalesce(size(event.before), 0) < 1 and coalesce(size(row_of_key), 0) < 1",
        },
        'missing_position': {
            'source.ts_hlc: missing; create the changefeed with the options enriched_properties=source and updated':
                is_change ~ ' and event.source.ts_hlc is null',
            'source.ts_hlc: not two whole numbers with a point between': "event.source.ts_hlc not rlike r'^[0-9]{1,19}\\.[0-9]{1,10}\\z'",
        },
        'unexpected_structure': structure,
    } -%}
    {#- Digits below a microsecond are cut off; the order uses all digits. -#}
    {%- set committed_at = 'timestamp_micros(' ~ wall ~ ' div 1000)' -%}
    {{- return({
        'event': 'coalesce(message.payload, named_struct(' ~ event_fields | join(', ') ~ '))',
        'beside_event': {'row_of_key': spark_cdc._debezium_key('key')},
        'nested': "case when contains(value, '\"payload\"') or contains(value, '\\\\u') then " ~ spark_cdc._keys_of('payload') ~ ' end',
        'kind': "case when event.op is not null then 'rows' else 'heartbeat' end",
        'database_name': 'event.source.database_name',
        'schema_name': 'event.source.schema_name',
        'table_name': 'event.source.table_name',
        'op': 'event.op',
        'sequence': spark_cdc._decimals([wall, counter]),
        'sequence_names': spark_cdc._sequence_names(['source.ts_hlc (nanoseconds)', 'source.ts_hlc (counter)']),
        'committed_at': committed_at,
        'key_columns': 'coalesce(map_keys(row_of_key), event.source.primary_keys)',
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#- CockroachDB sends a table of several column families family by family, each without the columns of the others. -#}
{%- macro _debezium_cockroachdb_rows() -%}
    {%- set old_row = 'case when size(event.before) > 0 then event.before else row_of_key end' -%}
    {{- return({
        'op': "case event.op when 'c' then 'insert' when 'u' then 'update' else 'delete' end",
        'image': "case when event.op = 'd' then " ~ old_row ~ ' else event.after end',
        'before': "case when event.op = 'd' or size(event.before) > 0 then " ~ old_row ~ ' end',
    }) -}}
{%- endmacro -%}

{#- BYTES is `\x` and hexadecimal digits. -#}
{%- macro _debezium_cockroachdb_value(text, column, time_zone) -%}
    {%- if column.family == 'binary' and column.encoding is none -%}
        {%- set digits = 'substr(' ~ text ~ ', 3)' -%}
        {{- return(
            'case when ' ~ text ~ " rlike r'^\\\\x(?:[0-9a-f]{2})*+\\z' then " ~ spark_cdc.decode_binary(digits, 'hex') ~ ' end'
        ) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
