{#-
    Oracle GoldenGate, JSON formatter of its Kafka handler: one row a message, whole or partial.
    Facts: Oracle GoldenGate for Big Data, "Using the Pluggable Formatters"; docs/formats/goldengate.md.

    Order: (pos, offset). pos is the position in the trail, 10 digits of the file's number and 10 of the position in it, so it
    orders as a number. A writer without a trail (Flink) sends none: then the offset alone orders. op_ts is local time or UTC,
    depending on the task, and does not say which: it is the time of a change only with a zone.

    Dialects: `operation` (default; the rows are in before and after) and `row` (the columns are among the metadata; no row
    before).
-#}
{%- macro default__goldengate_schema(dialect, with_types) -%}
    {%- if dialect == 'row' -%}
        {{- return('map<string,string>') -}}
    {%- endif -%}
struct<
    `table`: string,
    op_type: string,
    op_ts: string,
    pos: string,
    xid: string,
    primary_keys: array<string>,
    priamry_keys: array<string>,
    before: map<string,string>,
    after: map<string,string>
>
{%- endmacro -%}

{%- macro default__goldengate_header(dialect) -%}
    {%- set field = spark_cdc._goldengate_field -%}
    {%- set op, pos, table, op_ts = field('op_type', dialect), field('pos', dialect), field('table', dialect), field('op_ts', dialect) -%}
    {%- set image = spark_cdc._goldengate_image(dialect) -%}
    {%- set sequence = spark_cdc._whole_number(pos) -%}
    {%- set unexpected_structure = {} -%}
    {#- If a value is there and also marked as missing, nobody knows which is true. -#}
    {%- set images = {'the row': 'message'} if dialect == 'row' else {'before': 'message.before', 'after': 'message.after'} -%}
    {%- for name, image in images.items() -%}
        {%- do unexpected_structure.update({
            name ~ ': a value and the _isMissing of its column': "contains(value, '_isMissing') and exists(map_entries(" ~ image
                ~ "), entry -> endswith(entry.key, '_isMissing') and entry.value = 'true' and " ~ image
                ~ '[left(entry.key, length(entry.key) - 10)] is not null)'
        }) -%}
    {%- endfor -%}
    {#- A message of the other dialect: its rows would be read as columns. -#}
    {%- if dialect == 'row' -%}
        {%- set holds_images -%}
            case
                when map_contains_key(message, 'before') or map_contains_key(message, 'after')
                    then value rlike r'"(?:before|after)"\s*+:\s*+\{'
                else false
            end
        {%- endset -%}
        {%- do unexpected_structure.update({'before or after: an object, as in the dialect operation': holds_images}) -%}
    {%- endif -%}
    {#- A row in the truncate of its table: nobody knows which of the two happened. -#}
    {%- set values = 'map_values(' ~ image ~ ')' if dialect == 'row'
        else 'concat(coalesce(map_values(message.before), array()), coalesce(map_values(message.after), array()))' -%}
    {%- do unexpected_structure.update({
        'op_type: a TRUNCATE with a row': op ~ " = 'T' and exists(" ~ values ~ ', text -> text is not null)'
    }) -%}
    {%- if dialect != 'row' -%}
        {%- do unexpected_structure.update({
            'before: a row in an insert': "message.op_type = 'I' and size(message.before) > 0",
            'after: a row in a delete': "message.op_type = 'D' and size(message.after) > 0",
        }) -%}
    {%- endif -%}
    {%- set parts = "split(" ~ table ~ ", r'\\.')" -%}
    {#- Flink's writer names no table and has neither of these: the topic is then the table. -#}
    {%- do unexpected_structure.update({
        'table: a part of the name is empty': 'array_contains(' ~ parts ~ ", '')",
        'table: missing, and pos or op_ts is there': table ~ ' is null and coalesce(' ~ pos ~ ', ' ~ op_ts ~ ') is not null',
    }) -%}
    {%- set time = spark_cdc._goldengate_time(op_ts) -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_time_text('op_ts', op_ts, time)) -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_names({'table': table})) -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('op_type', op, ['I', 'U', 'D', 'T'], wrong_format={
            'payload: the message stands under it, as the Kafka Connect handler writes it; land what is inside as the value':
                op ~ " is null and array_contains(key_names, 'payload')",
        }),
        missing_row={
            ('the row: no columns' if dialect == 'row' else 'before or after: no columns'): op ~ " in ('I', 'U', 'D') and coalesce(size("
                ~ image ~ '), 0) < 1'
        },
        unexpected_structure=unexpected_structure,
        missing_position={'pos: not a whole number': pos ~ ' is not null and ' ~ sequence ~ ' is null'}
    ) -%}
    {#- If a name contains a dot, the parts are not certain: the whole text is then the table's name. -#}
    {%- set part = namespace(names=[]) -%}
    {%- for place in [3, 2] -%}
        {%- do part.names.append(
            'case when size(' ~ parts ~ ') between ' ~ place ~ ' and 3 then get(' ~ parts ~ ', size(' ~ parts ~ ') - ' ~ place ~ ') end'
        ) -%}
    {%- endfor -%}
    {%- if dialect == 'row' -%}
        {%- set key_columns = "from_json(coalesce(message['primary_keys'], message['priamry_keys']), 'array<string>')" -%}
    {%- else -%}
        {%- set key_columns = 'coalesce(message.primary_keys, message.priamry_keys)' -%}
    {%- endif -%}
    {{- return({
        'kind': 'case ' ~ op ~ " when 'T' then 'truncate' else 'rows' end",
        'database_name': part.names[0],
        'schema_name': part.names[1],
        'table_name': 'case when size(' ~ parts ~ ') <= 3 then element_at(' ~ parts ~ ', -1) else ' ~ table ~ ' end',
        'op': op,
        'sequence': 'array_compact(array(' ~ sequence ~ '))',
        'sequence_names': spark_cdc._sequence_names(['pos']),
        'committed_at': 'case when ' ~ op_ts ~ " rlike r'(?:Z|[+-][0-9]{2}:?[0-9]{2})\\z' then "
            ~ spark_cdc._timestamp_value(time, 'timestamp', 'text', 'UTC') ~ ' end',
        'transaction_id': field('xid', dialect),
        'key_columns': key_columns,
        'column_types': none,
        'ddl': none,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{%- macro _goldengate_field(name, dialect) -%}
    {{- return("message['" ~ name ~ "']" if dialect == 'row' else 'message.`' ~ name ~ '`') -}}
{%- endmacro -%}

{#- The row of a message; in the dialect `row` all fields that are not metadata. -#}
{%- macro _goldengate_image(dialect) -%}
    {%- set metadata = [
        'table', 'op_type', 'op_ts', 'current_ts', 'pos', 'primary_keys', 'priamry_keys', 'tokens', 'xid', 'csn',
    ] -%}
    {%- if dialect == 'row' -%}
        {{- return('map_filter(message, (name, text) -> name not in (' ~ spark_cdc._literals(metadata) ~ '))') -}}
    {%- endif -%}
    {{- return("case message.op_type when 'D' then message.before else message.after end") -}}
{%- endmacro -%}

{%- macro default__goldengate_rows(dialect) -%}
    {%- set op = spark_cdc._goldengate_field('op_type', dialect) -%}
    {%- set image = spark_cdc._goldengate_known(spark_cdc._goldengate_image(dialect)) -%}
    {#- An empty object means the same as null: the row before is not known. -#}
    {%- set before_update = 'cast(null as map<string,string>)' if dialect == 'row'
        else 'case when size(message.before) > 0 then ' ~ spark_cdc._goldengate_known('message.before') ~ ' end' -%}
    {{- return({
        'op': 'case ' ~ op ~ " when 'I' then 'insert' when 'U' then 'update' else 'delete' end",
        'image': image,
        'before': 'case ' ~ op ~ " when 'D' then " ~ image ~ " when 'U' then " ~ before_update ~ ' end',
    }) -}}
{%- endmacro -%}

{#-
    Old versions write a column that the trail does not have as null, and add `<column>_isMissing`: such a column is absent and
    not null. Newer versions leave it out.
-#}
{%- macro _goldengate_known(image) -%}
    {%- set known -%}
        map_filter({{ image }}, (name, text) ->
            not (endswith(name, '_isMissing') and map_contains_key({{ image }}, left(name, length(name) - 10)))
            and not ({{ image }})[concat(name, '_isMissing')] <=> 'true')
    {%- endset -%}
    {{- return("case when contains(value, '_isMissing') then " ~ known ~ ' else ' ~ image ~ ' end') -}}
{%- endmacro -%}

{#- The text as Spark reads it: old trails have a colon between date and time, and there may be a blank before the offset. -#}
{%- macro _goldengate_time(text) -%}
    {{- return(spark_cdc._without_blank_before_offset('regexp_replace(' ~ text ~ ", '^([0-9]{4}-[0-9]{2}-[0-9]{2}):', '$1 ')")) -}}
{%- endmacro -%}

{#- No page documents how binaries are written, and writers differ, so a model declares it; otherwise no binary fits. -#}
{%- macro default__goldengate_value(text, column, time_zone, dialect) -%}
    {%- if column.encoding is none and column.family == 'binary' -%}
        {{- return('cast(null as binary)') -}}
    {%- elif column.encoding is none and column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
        {%- set with_blank = spark_cdc._goldengate_time(text) -%}
        {%- if column.family == 'date' -%}
            {{- return(spark_cdc._date_of_midnight(with_blank, column)) -}}
        {%- endif -%}
        {{- return(spark_cdc.value(with_blank, column, time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
