{#- What is wrong with an unreadable message, and where. Evaluated only for such messages. -#}

{#- The error of a text that could not be read to its end. Bytes are counted from 0, in the stored value. -#}
{%- macro _unreadable_reason(text) -%}
{%- set strictly = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')" -%}
{%- set start = "trim(leading ' \\t\\r\\n' from " ~ text ~ ')' -%}
case
    when {{ start }} = '' then {{ spark_cdc._error('empty', 'the message has no text') }}
    when startswith({{ text }}, '\u0000') and octet_length({{ text }}) > 5
        then {{ spark_cdc._error_of('not_json', spark_cdc._schema_registry(text)) | indent(8) }}
    when not is_valid_utf8({{ text }})
        then {{ spark_cdc._error_of('invalid_utf8', spark_cdc._at_byte(spark_cdc._first_invalid_byte(text), 'not UTF-8')) }}
    -- Jackson's limits, as Spark sets them: 20,000,000 characters a text, 50,000 a name, 1,000 digits a number, depth 1,000
    when octet_length({{ text }}) > 20000000 then {{ spark_cdc._error('over_json_limits', 'more than 20,000,000 bytes') }}
    when {{ text }} rlike '[0-9]{1001}' then {{ spark_cdc._error('over_json_limits', 'more than 1,000 digits in a row') }}
    when {{ text }} rlike '"[^"]{50001,}+"'
        then {{ spark_cdc._error('over_json_limits', 'more than 50,000 characters in a name or a text') }}
    when length({{ text }}) - length(translate({{ text }}, '[{', '')) > 1000
        then {{ spark_cdc._error('over_json_limits', 'more than 1,000 brackets') }}
    -- strictly, unlike json_object_keys, which takes single quotes and raw control characters
    when startswith(ltrim({{ text }}), '{') and from_json({{ text }}, 'map<string,string>', {{ strictly }}) is not null
        then {{ spark_cdc._error_of('text_after_message', spark_cdc._where_it_ended()) | indent(8) }}
    when startswith(ltrim({{ text }}), '{')
        then {{ spark_cdc._error_of('broken_json', spark_cdc._where_it_broke(text)) | indent(8) }}
    when from_json(concat('{"message":', {{ text }}, ',"end":false}'), 'end boolean', {{ strictly }}).end is not null
        then {{ spark_cdc._error_of('not_an_object', spark_cdc._other_json(start)) | indent(8) }}
    else {{ spark_cdc._error_of('not_json', spark_cdc._other_text(text)) | indent(4) }}
end
{%- endmacro -%}

{#- How a detail names what surrounds a message. decode/sights.py uses the same words for `--format auto`. -#}
{%- macro _wrappings() -%}
    {{- return({
        'list': 'a list',
        'text_of_object': 'a JSON text that holds an object',
        'text': 'a JSON text',
        'scalar': 'a JSON value that is no object',
        'struct': 'the text that Java prints of a Struct of Kafka Connect',
        'base64': 'base64 of a JSON object',
        'byte_order_mark': 'a byte order mark in front',
        'schema_registry': 'schema registry, Avro or Protobuf; schema id ',
        'another_object': 'another object follows the message',
        'trailing_text': 'text follows the message',
    }) -}}
{%- endmacro -%}

{%- macro _at_byte(number, rule) -%}
    {{- return("concat('byte ', " ~ number ~ ', ' ~ spark_cdc._literal(': ' ~ rule) ~ ')') -}}
{%- endmacro -%}

{#- If a producer made a text of the bytes, those above 127 are lost. The schema id may have had some. -#}
{%- macro _schema_registry(text) -%}
case
    when contains(left({{ text }}, 5), '\uFFFD')
        then 'schema registry: the bytes of its schema id were lost, because the value was made a text; land it as binary'
    else concat('{{ spark_cdc._wrappings().schema_registry }}', conv(hex(substr(cast({{ text }} as binary), 2, 4)), 16, 10))
end
{%- endmacro -%}

{#- A U+FFFD in the text itself does not mark a bad byte. -#}
{%- macro _first_invalid_byte(text) -%}
    {{- return("octet_length(substring_index(make_valid_utf8(replace(" ~ text ~ ", '\\uFFFD', '???')), '\\uFFFD', 1))") -}}
{%- endmacro -%}

{#- `start` is the text without blanks in front. -#}
{%- macro _other_json(start) -%}
{%- set around = spark_cdc._wrappings() -%}
case
    when startswith({{ start }}, '[') then '{{ around.list }}; each message has to be a value of its own'
    when {{ start }} rlike r'^"\s*+\{' then '{{ around.text_of_object }}; the object has to be the value'
    when startswith({{ start }}, '"') then '{{ around.text }}'
    else '{{ around.scalar }}'
end
{%- endmacro -%}

{%- macro _other_text(text) -%}
{%- set around = spark_cdc._wrappings() -%}
case
    when startswith({{ text }}, 'Struct{') then '{{ around.struct }}; the connector needs a JsonConverter'
    when startswith({{ text }}, '\uFEFF') then '{{ around.byte_order_mark }}'
    when {{ text }} rlike r'^\s*+eyJ[A-Za-z0-9+/_-]{8,}={0,2}\s*+\z' then '{{ around.base64 }}; decode it before it is landed'
    else 'the text does not begin with an object'
end
{%- endmacro -%}

{%- macro _where_it_broke(text) -%}
case
    when strict_reading is null then 'breaks off or breaks a rule of JSON'
    when not strict_reading.stops or strict_reading.is_cut then concat('broken off at byte ', octet_length({{ text }}))
    when strict_reading.within = '.' then 'breaks a rule of JSON'
    else {{ spark_cdc._at_byte('strict_reading.bytes', 'not JSON') }}
end
{%- endmacro -%}

{#- The error of a text that a more lenient reader could read to its end; NULL if the text is JSON. -#}
{%- macro _damage() -%}
    {%- set place = spark_cdc._at_byte('strict_reading.bytes', 'not JSON') -%}
    {{- return('case when strict_reading.stops then ' ~ spark_cdc._error_of('broken_json', place) ~ ' end') -}}
{%- endmacro -%}

{%- macro _where_it_ended() -%}
{%- set around = spark_cdc._wrappings() -%}
case
    when strict_reading.stops and strict_reading.within = '.' then concat(
        'byte ',
        strict_reading.bytes,
        if(strict_reading.piece = '{', ': {{ around.another_object }}', ': {{ around.trailing_text }}')
    )
    when not strict_reading.stops then 'the end of the message is not certain'
    else '{{ around.trailing_text }}'
end
{%- endmacro -%}

{#-
    The result of a strict reading of a JSON text: `stops` if a piece is wrong, the `bytes` before that piece, the open brackets
    (`within`; the message itself is `.`), and whether the text is cut inside that piece (`is_cut`). NULL for more than
    1,000,000 bytes, which would take too long.

    The grammar is a list of what may follow what: the innermost open bracket, the last piece, the next piece. n is a name with
    its colon, t a text, v another value or a finished one, s the start, and u a text without an end.
-#}
{%- macro _strict_reading(text) -%}
    {%- set whole_text = '"(?:[^"\\\\\\x00-\\x1f]++|\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4}))*+' -%}
    {%- set blanks = '[ \\t\\r\\n]*+' -%}
    {%- set pieces = '(?:' ~ whole_text ~ '"' ~ blanks ~ ':|' ~ whole_text ~ '"|[{}\\[\\],]|[^ \\t\\r\\n"{}\\[\\],]++)' ~ blanks ~ '|'
        ~ whole_text ~ '(?:\\\\(?:u[0-9a-fA-F]{0,3}+)?\\z)?' -%}
    {%- set scalar = '^(?:true|false|null|-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)' ~ blanks ~ '\\z' -%}
    {%- set grammar = '.s{ {{n {{} {nt {nv {n{ {n[ {v, {v} {,n [[t [[v [[{ [[[ [[] [v, [v] [,t [,v [,{ [,[' -%}
    {%- set kind -%}
        case
            when left(piece, 1) in ('{', '}', '[', ']', ',') then left(piece, 1)
            when piece rlike r'^{{ whole_text }}"{{ blanks }}:' then 'n'
            when piece rlike r'^{{ whole_text }}"' then 't'
            when piece rlike r'{{ scalar }}' then 'v'
            else if(left(piece, 1) = '"', 'u', 'x')
        end
    {%- endset -%}
    {%- set next -%}
        case
            when read.stops then read
            when not contains('{{ grammar }}', concat(right(read.within, 1), read.last, piece.kind)) then named_struct(
                'within', read.within, 'last', read.last, 'piece', piece.kind,
                'bytes', read.bytes + if(piece.kind = 'u', piece.bytes, 0), 'stops', true,
                'is_cut', read.bytes + piece.bytes = octet_length({{ text }}) and (
                    piece.kind in ('u', 'x') or piece.kind = 't' and concat(right(read.within, 1), read.last) in ('{{ "{{" }}', '{,')
                )
            )
            else named_struct(
                'within', case
                    when piece.kind in ('{', '[') then concat(read.within, piece.kind)
                    when piece.kind in ('}', ']') then left(read.within, length(read.within) - 1)
                    else read.within
                end,
                'last', if(piece.kind in ('}', ']', 't'), 'v', piece.kind), 'piece', piece.kind,
                'bytes', read.bytes + piece.bytes, 'stops', false, 'is_cut', false
            )
        end
    {%- endset -%}
    {%- set start = "trim(leading ' \\t\\r\\n' from " ~ text ~ ')' -%}
    {%- set found = 'transform(regexp_extract_all(' ~ start ~ ", r'(?s)" ~ pieces ~ "', 0), piece -> named_struct('kind', " ~ kind
        ~ ", 'bytes', octet_length(piece)))" -%}
    {%- set nothing_read = "named_struct('within', '.', 'last', 's', 'piece', '', 'bytes', octet_length(" ~ text ~ ') - octet_length('
        ~ start ~ "), 'stops', false, 'is_cut', false)" -%}
    {{- return(
        'case when octet_length(' ~ text ~ ') <= 1000000 then aggregate(\n    ' ~ found ~ ',\n    ' ~ nothing_read
        ~ ',\n    (read, piece) -> ' ~ next ~ '\n) end'
    ) -}}
{%- endmacro -%}

{#-
    The first field whose value has another shape than `schema` declares: it was not read, though the text `value` has it. If
    none is found, the error says only that there is one.
-#}
{%- macro _field_not_as_declared(schema) -%}
    {%- set cases = [] -%}
    {%- for field in spark_cdc._declared_shapes(schema) -%}
        {%- set is_lost = field.column ~ ' is null' -%}
        {%- if field.is_list -%}
            {%- set is_lost = '(' ~ is_lost ~ ' or size(array_compact(' ~ field.column ~ ')) < size(' ~ field.column ~ '))' -%}
        {%- endif -%}
        {%- do cases.append(
            '\n    when ' ~ is_lost ~ " and get_json_object(value, '$." ~ field.path ~ "') is not null then "
            ~ spark_cdc._literal(field.path ~ ': ' ~ field.rule)
        ) -%}
    {%- endfor -%}
    {%- set unknown = "'a field has another shape than the format gives it'" -%}
    {{- return('case' ~ cases | join ~ '\n    else ' ~ unknown ~ '\nend' if cases else unknown) -}}
{%- endmacro -%}

{#- The fields of a struct type that must have a certain shape, outer ones first: their paths, and the shape of each. -#}
{%- macro _declared_shapes(type, column='message', path='') -%}
    {%- set rules = {
        'struct': 'not an object', 'map': 'not an object', 'bigint': 'not a whole number', 'int': 'not a whole number',
        'boolean': 'not true or false', 'array<map': 'not a list of objects', 'array<struct': 'not a list of objects',
        'array': 'not a list',
    } -%}
    {%- set type = type | trim -%}
    {%- if not type.startswith('struct<') -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set shapes, deeper, open = [], [], [] -%}
    {%- for piece in type[7:-1].split(',') -%}
        {%- do open.append(piece) -%}
        {%- set field = open | join(',') -%}
        {%- if field.count('<') == field.count('>') -%}
            {%- do open.clear() -%}
            {%- set name, colon, field_type = field.partition(':') -%}
            {%- set name, field_type = name | trim | replace('`', ''), field_type | trim -%}
            {%- set field_path, field_column = (path ~ '.' if path) ~ name, column ~ '.`' ~ name ~ '`' -%}
            {%- set rule = rules.get(field_type.split('<')[:2] | join('<')) or rules.get(field_type.split('<')[0]) -%}
            {%- if rule -%}
                {%- do shapes.append({
                    'path': field_path, 'column': field_column, 'rule': rule, 'is_list': field_type.startswith('array'),
                }) -%}
            {%- endif -%}
            {%- do deeper.extend(spark_cdc._declared_shapes(field_type, field_column, field_path)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(shapes + deeper) -}}
{%- endmacro -%}
