{#-
    Which values of a row have quotes in the message, although their text reads as a number. A number without quotes is never
    bytes; without the schema nothing else shows that "1234" may be base64 and 1234 is not.
-#}

{#- Pattern of the texts that JSON also writes without quotes. -#}
{%- macro _debezium_bare_pattern() -%}
    {{- return('[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true') -}}
{%- endmacro -%}

{#-
    Condition on `text`, which has rows: a value in it may be one to look at. Digits may be escaped. The text may be in quotes itself:
    a key may be a JSON text.
-#}
{%- macro _debezium_may_have_quotes() -%}
text rlike r'"(?:[+-]?[0-9]++(?:[eE][+-]?[0-9]++)?|true)\\?"'
or contains(text, '\\u00')
or contains(text, '\\"hour\\":')
or {{ spark_cdc._debezium_names_bytes() }} and text rlike r'"(?:{{ spark_cdc._debezium_bare_pattern() }})\\?"'
{%- endmacro -%}

{#- A text with a point is no bytes, so only a schema that says so makes it one to look at. -#}
{%- macro _debezium_names_bytes() -%}
    {{- return('(contains(value, \'"bytes"\') or contains(key, \'"bytes"\'))') -}}
{%- endmacro -%}

{#- JSON with U+FDD0, which is not a character, before each number and each `true` that has no quotes, and quotes around them. -#}
{%- macro _debezium_marked(text) -%}
    {%- set before = '[^"0-9t-]*+(?:' ~ spark_cdc._text_pattern() ~ '[^"0-9t-]*+)*+' -%}
    {{- return('regexp_replace(' ~ text ~ ", r'(?s)\\G(" ~ before ~ ")(-?[0-9][0-9.eE+-]*+|true)', '$1\"\\uFDD0$2\"')") -}}
{%- endmacro -%}

{#-
    Two columns of a message. `marked` has its texts that have rows, marked; it is NULL if a search finds no such value in them.
    `quotes` has for each row the columns whose text reads as a number, as `true`, or as a structured time of day, but has quotes.

    `searched` is SQL: the text of the value in which a search decides whether there are any. `text` is the value without its schema.
    `rows` is a list over `marked`: this text, the key, and the key before in a header. What has no mark there had quotes.
-#}
{%- macro _debezium_quotes(searched, text, rows) -%}
    {%- set keys = 'key,\n' ~ spark_cdc._debezium_old_key() -%}
    {%- set marked -%}
        case
            when exists(
                array(
                    {{ searched | indent(20) }},
                    {{ keys | indent(20) }}
                ),
                text -> {{ spark_cdc._debezium_may_have_quotes() | indent(20) }}
            )
                then transform(
                    array(
                        {{ text | indent(24) }},
                        {{ keys | indent(24) }}
                    ),
                    text -> {{ spark_cdc._debezium_marked('text') | indent(20) }}
                )
        end
    {%- endset -%}
    {%- set quotes -%}
        case when marked is not null then transform(
            {{ spark_cdc._outdented(rows) | trim | indent(12) }},
            row -> map_keys(map_filter(row, (name, text) -> text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z'
                    and (not contains(text, '.') or {{ spark_cdc._debezium_names_bytes() }})
                or startswith(text, '{') and text rlike r'"hour":-?[0-9]'))
        ) end
    {%- endset -%}
    {{- return({'marked': spark_cdc._outdented(marked), 'quotes': quotes | trim}) -}}
{%- endmacro -%}

{#-
    Of an event: the rows before and after it, the columns of the Kafka key, and those of the key in a header. The search leaves the
    schema out. It begins at the first `payload` of the message, which the event's own cannot precede.
-#}
{%- macro _debezium_quotes_of_event() -%}
    {%- set searched -%}
        if(
            message.payload is not null and startswith(value, '{"schema":{"type":') and not contains(value, '\\u00')
                and instr(value, '"payload"') = instr(value, ',"payload":{') + 1,
            substring(value, instr(value, ',"payload":{')),
            value
        )
    {%- endset -%}
    {%- set rows -%}
        array(
            from_json(marked[0], 'before map<string,string>').before,
            from_json(marked[0], 'after map<string,string>').after,
            {{ spark_cdc._debezium_rows_of_marked_keys() | indent(12) }}
        )
    {%- endset -%}
    {%- set text = "if(message.payload is null, value, get_json_object(value, '$.payload'))" -%}
    {{- return(spark_cdc._debezium_quotes(spark_cdc._outdented(searched), text, rows)) -}}
{%- endmacro -%}

{#- Of a flat record, whose `message` is a map of texts: its row, and the columns of its key. -#}
{%- macro _debezium_quotes_of_flat(is_wrapped) -%}
    {%- set rows -%}
        array(
            from_json(marked[0], 'map<string,string>'),
            {{ spark_cdc._debezium_rows_of_marked_keys() | indent(12) }}
        )
    {%- endset -%}
    {%- set text = "if(\n    " ~ is_wrapped | trim | indent(4) ~ ",\n    message['payload'], value\n)" -%}
    {{- return(spark_cdc._debezium_quotes(text, text, rows)) -}}
{%- endmacro -%}

{#-
    The rows of both keys, as `_debezium_key` has them, without a lambda: Spark's analyzer would go over the statement more often. A
    payload that is a JSON text has no marks yet.
-#}
{%- macro _debezium_rows_of_marked_keys() -%}
    {%- set rows = [] -%}
    {%- for place in [1, 2] -%}
        {%- set key = 'marked[' ~ place ~ ']' -%}
        {%- set payload = 'from_json(' ~ key ~ ", 'payload string').payload" -%}
        {%- set row -%}
            coalesce(
                if(
                    array_sort(json_object_keys({{ key }})) in (array('payload'), array('payload', 'schema')),
                    from_json({{ spark_cdc._debezium_marked(payload) }}, 'map<string,string>'),
                    null
                ),
                from_json({{ key }}, 'map<string,string>')
            )
        {%- endset -%}
        {%- do rows.append(spark_cdc._outdented(row)) -%}
    {%- endfor -%}
    {{- return(rows | join(',\n')) -}}
{%- endmacro -%}

{#- Condition on the `text` of the column `name`: it has no quotes in the message, as a number, `true` and an object have none. -#}
{%- macro _debezium_is_bare(in_quotes) -%}
(text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z' or startswith(text, '{'))
and not coalesce(array_contains({{ in_quotes }}, name), false)
{%- endmacro -%}
