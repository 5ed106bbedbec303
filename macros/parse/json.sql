{#- Reading one JSON message, strictly, with Spark's built-in from_json. -#}

{#-
    from_json over the message inside an object of our own, for two reasons that were measured on Spark 4.1:
    - `numbers_quoted` is the wrapper's last field, so it is null if the parser stops before the text's end. Text after the message
      breaks the wrapper ("{...} {...}", "{...}]"), or is a field of it: `_names_and_mark` finds that.
    - What the parser left out, such as a field of another shape than declared, leaves the text in `not_as_declared`.

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
                '{"message":',
                {{ spark_cdc._quote_numbers('value') | trim | indent(16) }},
                ',"numbers_quoted":true}'
            )
        {%- endif %}
        else concat('{"message":', value, ',"numbers_quoted":false}')
    end,
    'message {{ schema }}, numbers_quoted boolean, not_as_declared string',
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

{#-
    The names of the fields of a JSON object, repeated ones included, and after them the mark: the name of a field that is put
    in front of the text's last bracket. The mark is among the names only if this bracket ends the object, so without it the
    object ends sooner: from_json would read `{...},"a":{}` as `{...}`. NULL if no bracket ends the text, or if it is no object.
-#}
{%- macro _names_and_mark(text, has_long_numbers=false) -%}
    {%- set object = 'if(endswith(' ~ text ~ ", '}'), " ~ text ~ ", trim(trailing ' \\t\\r\\n' from " ~ text ~ '))' -%}
    {%- set is_empty = 'octet_length(' ~ text ~ ') < 100 and ' ~ text ~ " rlike r'^\\s*+\\{\\s*+\\}'" -%}
    {#- Cut as bytes, because Spark counts characters slowly. -#}
    {%- set marked_text -%}
        case
            when endswith({{ object }}, '}') then concat(
                cast(left(cast({{ object }} as binary), octet_length({{ object }}) - 1) as string),
                if({{ is_empty }}, '"', ',"'),
                '{{ spark_cdc._mark() }}":0}'
            )
        end
    {%- endset -%}
    {{- return('json_object_keys(' ~ (spark_cdc._without_long_numbers(marked_text) if has_long_numbers else marked_text) ~ ')') -}}
{%- endmacro -%}

{#- Always the same name: Spark's parser keeps each new name for good. -#}
{%- macro _mark() -%}
    {{- return('spark_cdc: the object ends here') -}}
{%- endmacro -%}

{#-
    True if the text ends with its object. A text that has the mark itself does not count; it is read once more only if it may
    have it, as it is or with escapes.
-#}
{%- macro _ends_with_its_object(text, names_and_mark, has_long_numbers=false) -%}
    {%- set mark = "'" ~ spark_cdc._mark() ~ "'" -%}
    {%- set names = 'json_object_keys(' ~ (spark_cdc._without_long_numbers(text) if has_long_numbers else text) ~ ')' -%}
try_element_at({{ names_and_mark }}, -1) = {{ mark }}
    and not if(contains({{ text }}, '\\u00') or contains({{ text }}, {{ mark }}), array_contains({{ names }}, {{ mark }}), false)
{%- endmacro -%}

{#- The names alone; NULL if the text does not end with its object. -#}
{%- macro _names_of_whole_object(text, names_and_mark, has_long_numbers=false) -%}
case
    when {{ spark_cdc._ends_with_its_object(text, names_and_mark, has_long_numbers) }}
        then slice({{ names_and_mark }}, 1, size({{ names_and_mark }}) - 1)
end
{%- endmacro -%}
