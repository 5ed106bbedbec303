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
{%- macro _parsed(format, dialect, with_types=true) -%}
    {%- set text = 'try_validate_utf8(value)' -%}
    {%- set json = "concat('{\"message\":[', " ~ text ~ ", '],\"numbers_quoted\":false}')" -%}
    {%- if not spark_cdc._rows_of(format, dialect).get('exact') -%}
        {%- set quoted = "concat('{\"message\":[', " ~ spark_cdc._quote_numbers(text) ~ ", '],\"numbers_quoted\":true}')" -%}
        {%- set json = 'case when ' ~ spark_cdc._holds_bare_fractions('value') ~ ' then ' ~ quoted ~ ' else ' ~ json ~ ' end' -%}
    {%- endif -%}
    {%- set schema = spark_cdc._format_macro(format, 'schema')(dialect, with_types) -%}
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

{#-
    Spark turns a JSON number with a point or an exponent into a double before it gives its text: 1.50 becomes 1.5 and
    20 digits become 17. Here each such number is put in quotes behind U+FDD0, a code point that is no character, so that
    its text survives, and `_unquoted_image` takes the mark away; where a text has this code point, it stands twice in
    between. Strings are stepped over; a number that is not JSON stays bare and is refused by the parser.
-#}
{%- macro _quote_numbers(text) -%}
    {%- set number = "-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-])" -%}
    {%- set marks_doubled = "case when " ~ text ~ " rlike r'\\x{FDD0}|\\\\u[fF][dD]{2}0' then regexp_replace(" ~ text
        ~ ", r'\\x{FDD0}|(?<!\\\\)((?:\\\\\\\\)*+)\\\\u[fF][dD]{2}0', '$1\\uFDD0\\uFDD0') else " ~ text ~ " end" -%}
    {{- return(
        "regexp_replace(" ~ marks_doubled ~ ", r'(?s)\\G(" ~ spark_cdc._whole_numbers_and_texts()
        ~ ")(" ~ number ~ ")', '$1\"\\uFDD0$2\"')"
    ) -}}
{%- endmacro -%}

{#-
    A number of more than 1,000 digits stops the parser, of a format that writes such (`long_numbers`). A fraction is quoted before it
    comes here; for other readings of the message, such as that of its names, 0.0 takes its place.
-#}
{%- macro _without_long_numbers(text, format, dialect) -%}
    {%- if not spark_cdc._rows_of(format, dialect).get('long_numbers') -%}
        {{- return(text) -}}
    {%- endif -%}
    {%- set others = "(?:[^\"0-9-]++|\"(?:[^\"\\\\]++|\\\\.)*+\"|-?(?![0-9.]{1001})[0-9.]++|-(?![0-9]))*+" -%}
    {%- set number = "-?(?=[0-9.]{1001})(?:0|[1-9][0-9]*+)\\.[0-9]++(?![0-9.])" -%}
    {{- return(
        'case when octet_length(' ~ text ~ ') > 1000 and ' ~ text ~ " rlike '[0-9.]{1001}' then regexp_replace(" ~ text
        ~ ", r'(?s)\\G(" ~ others ~ ')' ~ number ~ "', '$10.0') else " ~ text ~ ' end'
    ) -}}
{%- endmacro -%}

{#- True where from_json gives another text than a number of the message has: its point or its exponent, or -0, is not quoted. -#}
{%- macro _holds_bare_fractions(value) -%}
    {{- return('not ' ~ value ~ " rlike r'(?s)^" ~ spark_cdc._whole_numbers_and_texts() ~ "\\z'") -}}
{%- endmacro -%}

{#-
    Regular expression of all of a JSON text that from_json gives as it stands, up to the first number that it does not. Texts are
    stepped over as wholes: so it is half as slow as one choice for each piece.
-#}
{%- macro _whole_numbers_and_texts() -%}
    {%- set text = '"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"' -%}
    {%- set integer = "(?!-0(?![0-9.eE]))-?(?:0|[1-9][0-9]*+)(?![0-9.eE+-])" -%}
    {{- return('[^"0-9-]*+(?:(?:' ~ text ~ '|' ~ integer ~ ')[^"0-9-]*+)*+') -}}
{%- endmacro -%}

{#- A text or a number of a message whose numbers were quoted -> its own text, also of the numbers inside a nested value. -#}
{%- macro _unquoted_text(text) -%}
    {{- return(
        "case when not contains(" ~ text ~ ", '\\uFDD0') then " ~ text ~ " when startswith(" ~ text ~ ", '\\uFDD0') and substr(" ~ text
        ~ ", 2, 1) <> '\\uFDD0' then substr(" ~ text ~ ", 2) else replace(regexp_replace(" ~ text
        ~ ", r'\"\\x{FDD0}(?!\\x{FDD0})([^\"]*+)\"', '$1'), '\\uFDD0\\uFDD0', '\\uFDD0') end"
    ) -}}
{%- endmacro -%}

{#- An image whose numbers were quoted -> the image with the numbers' own texts. -#}
{%- macro _unquoted_image(image) -%}
    {{- return('transform_values(' ~ image ~ ', (name, text) -> ' ~ spark_cdc._unquoted_text('text') ~ ')') -}}
{%- endmacro -%}

{#- A surrogate without its partner is no character: the text cannot have left a source so. -#}
{%- macro _has_lone_surrogate(text) -%}
    {{- return(
        "contains(" ~ text ~ ", '\\\\u') and replace(" ~ text ~ ", '\\\\\\\\', '  ') rlike r'" ~ spark_cdc._lone_surrogate() ~ "'"
    ) -}}
{%- endmacro -%}

{%- macro _first_lone_surrogate(text) -%}
    {{- return(
        "octet_length(regexp_extract(replace(" ~ text ~ ", '\\\\\\\\', '  '), r'(?s)^(.*?)(?:" ~ spark_cdc._lone_surrogate() ~ ")', 1))"
    ) -}}
{%- endmacro -%}

{%- macro _lone_surrogate() -%}
    {%- set low = "\\\\u[dD][c-fC-F][0-9a-fA-F]{2}" -%}
    {%- set high = "\\\\u[dD][89abAB][0-9a-fA-F]{2}" -%}
    {{- return(high ~ "(?!" ~ low ~ ")|(?<!" ~ high ~ ")" ~ low) -}}
{%- endmacro -%}

{#- The keys of one object below the message, each as often as it stands there: from_json keeps the last of two without a word. -#}
{%- macro _keys_of(name, text='value') -%}
    {{- return('map_keys(from_json(' ~ text ~ ", '" ~ name ~ " map<string,string>')." ~ name ~ ')') -}}
{%- endmacro -%}
