{#-
    Which values of a row have quotes in the message, although their text reads as a number. A number without quotes is never
    bytes; without the schema nothing else shows that "1234" may be base64 and 1234 is not.
-#}

{#- Pattern of the texts that JSON also writes without quotes. -#}
{%- macro _debezium_bare_pattern() -%}
    {{- return('[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true') -}}
{%- endmacro -%}

{#-
    The texts of a message that hold rows: the value, the key, and the key before in a header. The value needs no schema here;
    `is_wrapped` is the condition that it has no rows beside its payload.
-#}
{%- macro _debezium_texts_of_rows(is_wrapped) -%}
    {%- set payload = "',\"payload\":{'" -%}
    {%- set without_schema -%}
        if(
            {{ is_wrapped }} and startswith(value, '{"schema":{"type":') and contains(value, {{ payload }}),
            concat('{', substring(value, instr(value, {{ payload }}) + 1)),
            value
        )
    {%- endset -%}
    {%- set texts = [spark_cdc._outdented(without_schema), 'key', spark_cdc._debezium_old_key()] -%}
    {{- return('array(\n    ' ~ texts | join(',\n') | indent(4) ~ '\n)') -}}
{%- endmacro -%}

{#- A text with a point is no bytes, so only a schema that says so makes it one to look at. -#}
{%- macro _debezium_names_bytes() -%}
    {{- return('(contains(value, \'"bytes"\') or contains(key, \'"bytes"\'))') -}}
{%- endmacro -%}

{#- Condition on one of these texts: a value in it may be one to look at. Digits may be escaped. -#}
{%- macro _debezium_may_have_quotes() -%}
text rlike r'"(?:[+-]?[0-9]++(?:[eE][+-]?[0-9]++)?|true)"'
or contains(text, '\\u00')
or contains(text, '\\"hour\\":')
or {{ spark_cdc._debezium_names_bytes() }} and text rlike r'"(?:{{ spark_cdc._debezium_bare_pattern() }})"'
{%- endmacro -%}

{#- JSON with U+FDD0, which is not a character, before each number and each `true` that has no quotes, and quotes around them. -#}
{%- macro _debezium_marked(text) -%}
    {%- set before = '[^"0-9t-]*+(?:"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"[^"0-9t-]*+)*+' -%}
    {{- return('regexp_replace(' ~ text ~ ", r'(?s)\\G(" ~ before ~ ")(-?[0-9][0-9.eE+-]*+|true)', '$1\"\\uFDD0$2\"')") -}}
{%- endmacro -%}

{#-
    Of each row of a message the columns whose text reads as a number, as `true`, or as a structured time of day, but has quotes. The
    list is NULL if the message has none. `rows` is a list over `marked`, the marked texts of the message: what has no mark there
    had quotes. `texts_of_rows`: see `_debezium_texts_of_rows`.
-#}
{%- macro _debezium_quotes(rows) -%}
    {%- set names -%}
        transform(
            {{ spark_cdc._outdented(rows) | trim | indent(12) }},
            row -> map_keys(map_filter(row, (name, text) -> text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z'
                    and (not contains(text, '.') or {{ spark_cdc._debezium_names_bytes() }})
                or startswith(text, '{') and contains(text, '"hour":') and not contains(text, '\uFDD0')))
        )
    {%- endset -%}
    {%- set marked = 'transform(texts_of_rows, text -> ' ~ spark_cdc._debezium_marked('text') ~ ')' -%}
    {%- set found -%}
        case
            when exists(
                texts_of_rows,
                text -> {{ spark_cdc._debezium_may_have_quotes() | indent(20) }}
            )
                then {{ spark_cdc._let('marked', marked, names) | indent(16) }}
        end
    {%- endset -%}
    {{- return(spark_cdc._outdented(found)) -}}
{%- endmacro -%}

{#- Of an event: the rows before and after it, the columns of the Kafka key, and those of the key in a header. -#}
{%- macro _debezium_quotes_of_event() -%}
    {%- set rows -%}
        concat(
            array(
                {%- for name in ['before', 'after'] %}
                coalesce(
                    from_json(marked[0], 'payload struct<{{ name }}: map<string,string>>').payload.{{ name }},
                    from_json(marked[0], '{{ name }} map<string,string>').{{ name }}
                ){{ ',' if not loop.last }}
                {%- endfor %}
            ),
            {{ spark_cdc._debezium_rows_of_marked_keys() | indent(12) }}
        )
    {%- endset -%}
    {{- return(spark_cdc._debezium_quotes(rows)) -}}
{%- endmacro -%}

{%- macro _debezium_rows_of_marked_keys() -%}
transform(
    transform(slice(marked, 2, 2), text -> from_json(text, 'map<string,string>')),
    columns -> {{ spark_cdc._debezium_columns_of_key('columns') | indent(4) }}
)
{%- endmacro -%}

{#- Condition on the `text` of the column `name`: it has no quotes in the message, as a number, `true` and an object have none. -#}
{%- macro _debezium_is_bare(in_quotes) -%}
(text rlike r'^(?:{{ spark_cdc._debezium_bare_pattern() }})\z' or startswith(text, '{'))
and not coalesce(array_contains({{ in_quotes }}, name), false)
{%- endmacro -%}
