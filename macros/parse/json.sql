{#- Reading one JSON message, strictly, with Spark's built-in from_json. -#}

{#-
    from_json over the message inside an object of our own, for three reasons that were measured on Spark 4.1:
    text after the message ("{...} {...}", "{...}]") is dropped by from_json without a word, but breaks the wrapper, or makes
    `message` a list of more than one;
    `numbers_quoted` is the wrapper's last field, so it is null exactly when the text could not be read to its end;
    a field of another shape than declared leaves its text in `not_as_declared`.
    Bytes that are not UTF-8 would be read as U+FFFD: such a message is not read at all.

    A message that holds a number which Spark would rewrite is read with its numbers in quotes, and says so: `_unquoted_image`
    then gives the rows in it. One look at the message decides.
-#}
{%- macro _parsed(fmt, schema) -%}
    {%- set text = 'try_validate_utf8(value)' -%}
    {%- set json = "concat('{\"message\":[', " ~ text ~ ", '],\"numbers_quoted\":false}')" -%}
    {%- if not fmt.rows.exact -%}
        {%- set quoted = "concat('{\"message\":[', " ~ spark_cdc._quote_numbers(text) ~ ", '],\"numbers_quoted\":true}')" -%}
        {%- set json = 'case when ' ~ spark_cdc._holds_bare_fractions('value') ~ ' then ' ~ quoted ~ ' else ' ~ json ~ ' end' -%}
    {%- endif -%}
from_json(
    {{ json }},
    'message array<{{ schema }}>, numbers_quoted boolean, not_as_declared string',
    map(
        'columnNameOfCorruptRecord', 'not_as_declared',
        'allowSingleQuotes', 'false',
        'allowNonNumericNumbers', 'false'
    )
)
{%- endmacro -%}

{#- The keys of one object below the message, each as often as it stands there: from_json keeps the last of two without a word. -#}
{%- macro _keys_of(name, text='value') -%}
    {{- return('map_keys(from_json(' ~ text ~ ", '" ~ name ~ " map<string,string>')." ~ name ~ ')') -}}
{%- endmacro -%}
