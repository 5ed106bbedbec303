{#- Numbers of a JSON text that Spark's from_json would rewrite: they are put in quotes before it reads them. -#}

{#-
    Spark turns a JSON number with a point or an exponent into a double before it gives its text: 1.50 becomes 1.5 and
    20 digits become 17. Here each such number is put in quotes after U+FDD0, a code point that is no character, so that
    its text survives, and `_unquoted_image` takes the mark away; where a text has this code point, it occurs twice in
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
    For a format that writes numbers of more than 1,000 digits (`long_numbers`), which stop the parser. A fraction is quoted before it
    comes here; for other readings of the message, such as that of its names, 0.0 takes its place.
-#}
{%- macro _without_long_numbers(text) -%}
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
