{#-
    Which values of a row have quotes in the message, although their text reads as a number. A number without quotes is never
    bytes; without the schema nothing else shows that "1234" may be base64 and 1234 is not.
-#}

{#- Pattern of the texts that JSON also writes without quotes. -#}
{%- macro _debezium_bare_pattern() -%}
    {{- return('[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true') -}}
{%- endmacro -%}

{#-
    Condition on a message: a value of it or of its key may be such a text, by searches of the whole. What follows the schema is
    enough; a row may have a column `payload`, too, but only a message that begins with its schema has an object of that name
    there. Digits may be escaped. A text with a point is no bytes, so only a schema that says so makes it one to look at.
-#}
{%- macro _debezium_may_have_quotes() -%}
    {%- set after_schema = "if(startswith(value, '{\"schema\":{\"type\":'), substring(value, instr(value, ',\"payload\":{')), value)" -%}
    {%- set names_bytes = "(contains(value, '\"bytes\"') or contains(key, '\"bytes\"'))" -%}
    {%- set conditions = [] -%}
    {%- for json, data in {'value': after_schema, 'key': 'key'}.items() -%}
        {%- set may_have_quotes -%}
            coalesce(
                {{ data }} rlike r'"(?:[+-]?[0-9]++(?:[eE][+-]?[0-9]++)?|true)"'
                or contains({{ json }}, '\\u00')
                or contains({{ json }}, '\\"hour\\":')
                or {{ names_bytes }} and {{ data }} rlike r'"(?:{{ spark_cdc._debezium_bare_pattern() }})"',
                false
            )
        {%- endset -%}
        {%- do conditions.append(spark_cdc._outdented(may_have_quotes)) -%}
    {%- endfor -%}
    {%- do conditions.append('size(headers) > 0 and size(' ~ spark_cdc._debezium_old_keys() ~ ') > 0') -%}
    {{- return(conditions | join('\nor ')) -}}
{%- endmacro -%}

{#-
    Of each row of a message the columns whose text reads as a number, as `true`, or as a structured time of day, but has quotes:
    a map to true, or to NULL if that is not certain, because the same text is under the same name elsewhere without them. The
    list is NULL if the message has none. `rows` is a list of mappings: the `row`, the `json` that has it, and its `paths` there;
    the first path at which there is an object is the row's.

    Where JSON has no blank after a name and no escape, a search for the name with the text shows the quotes. Other JSON is
    parsed. What neither shows is not certain.
-#}
{%- macro _debezium_quotes(rows) -%}
    {%- set looked_up = [] -%}
    {%- set texts = "concat_ws(' ', value, key, " ~ spark_cdc._debezium_old_key() ~ ')' -%}
    {%- set is_written_otherwise = "contains({}, '\": ') or contains({}, '\" :') or contains({}, '\\\\u')" -%}
    {%- for of in rows -%}
        {%- set objects = [] -%}
        {%- for path in of.paths -%}
            {%- do objects.append('try_variant_get(try_parse_json(' ~ of.json ~ "), '" ~ path ~ "', 'map<string,variant>')") -%}
        {%- endfor -%}
        {%- do looked_up.append(
            "named_struct('row', " ~ of.row ~ ", 'texts', " ~ texts ~ ", 'parsed', case when "
            ~ is_written_otherwise | replace('{}', of.json) ~ ' then coalesce(' ~ objects | join(', ') ~ ') end)'
        ) -%}
    {%- endfor -%}
    {%- set quotes -%}
        transform(
            array(
                {{ looked_up | join(',\n') | indent(16) }}
            ),
            of -> map_filter(
                transform_values(
                    map_filter(of.row, (name, text) -> text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z'
                        or startswith(text, '{') and contains(text, '"hour":')),
                    (name, text) -> try_cast(array_join(array_distinct(array(
                        cast(schema_of_variant(of.parsed[name]) = 'STRING' as string),
                        if(contains(of.texts, concat('"', name, '":"', if(startswith(text, '{'), '{', concat(text, '"')))), 'true', null),
                        if(contains(of.texts, concat('"', name, '":', text, ','))
                            or contains(of.texts, concat('"', name, '":', text, '}')), 'false', null)
                    )), '') as boolean)
                ),
                (name, is_in_quotes) -> coalesce(is_in_quotes, true)
            )
        )
    {%- endset -%}
    {%- set found -%}
        case
            when {{ spark_cdc._debezium_may_have_quotes() | indent(16) }}
                then {{ spark_cdc._outdented(quotes) | indent(16) }}
        end
    {%- endset -%}
    {{- return(spark_cdc._outdented(found)) -}}
{%- endmacro -%}

{#- Of an event: the rows before and after it, the columns of the Kafka key, and those of the key in a header. -#}
{%- macro _debezium_quotes_of_event() -%}
    {{- return(spark_cdc._debezium_quotes([
        {'row': 'event.before', 'json': 'value', 'paths': ['$.payload.before', '$.before']},
        {'row': 'event.after', 'json': 'value', 'paths': ['$.payload.after', '$.after']},
        spark_cdc._debezium_row_to_look_up('key'),
        spark_cdc._debezium_row_to_look_up(spark_cdc._debezium_old_key()),
    ])) -}}
{%- endmacro -%}

{#- The columns of a key. Only its texts count here, which need no look at rewritten numbers: see `_debezium_key`. -#}
{%- macro _debezium_row_to_look_up(key) -%}
    {%- set row = "coalesce(from_json({}, 'payload map<string,string>').payload, from_json({}, 'map<string,string>'))" -%}
    {{- return({'row': row | replace('{}', key), 'json': key, 'paths': ['$.payload', '$']}) -}}
{%- endmacro -%}

{#-
    Condition on the `text` of the column `name`: it has no quotes in the message, as a number, `true` and an object have none. NULL
    if that is not certain.
-#}
{%- macro _debezium_is_bare(in_quotes) -%}
(text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z' or startswith(text, '{'))
and (not coalesce(map_contains_key({{ in_quotes }}, name), false) or not {{ in_quotes }}[name])
{%- endmacro -%}
