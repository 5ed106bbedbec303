{#- Reading one JSON message, strictly, with Spark's built-in from_json. -#}

{#-
    from_json over the message inside an object of our own, for three reasons that were measured on Spark 4.1:
    - from_json silently drops text after the message ("{...} {...}", "{...}]"). Such a text breaks the wrapper, or makes
      `message` a list of more than one.
    - `numbers_quoted` is the wrapper's last field, so it is null exactly if the text could not be read to its end.
    - A field of another shape than declared leaves its text in `not_as_declared`.

    Spark would replace bytes that are not UTF-8 by U+FFFD: such a message is not read at all.

    If Spark could rewrite a number of the message, the message is read with such numbers in quotes and `numbers_quoted` is true:
    `_unquoted_image` then returns its rows.
-#}
{%- macro _parsed(fmt, schema) -%}
from_json(
    case
        when not is_valid_utf8(value) then null
        {%- if not fmt.rows.exact %}
        when {{ spark_cdc._may_hold_fractions('value') }}
            then concat(
                '{"message":[',
                {{ spark_cdc._quote_numbers('value') | trim | indent(16) }},
                '],"numbers_quoted":true}'
            )
        {%- endif %}
        else concat('{"message":[', value, '],"numbers_quoted":false}')
    end,
    'message array<{{ schema }}>, numbers_quoted boolean, not_as_declared string',
    map(
        'columnNameOfCorruptRecord', 'not_as_declared',
        'allowSingleQuotes', 'false',
        'allowNonNumericNumbers', 'false'
    )
)
{%- endmacro -%}

{#- The keys of an object inside the message, repeated keys included: from_json silently keeps the last of two. -#}
{%- macro _keys_of(name, text='value') -%}
    {{- return('map_keys(from_json(' ~ text ~ ", '" ~ name ~ " map<string,string>')." ~ name ~ ')') -}}
{%- endmacro -%}
