{#- Spark's from_json would rewrite some numbers of a JSON text: this puts them in quotes first. -#}

{#-
    Spark turns a JSON number with a point or an exponent into a double before it returns its text: 1.50 becomes 1.5, and 20
    digits become 17. To keep the text, this puts each such number in quotes after U+FDD0, a code point that is not a character.
    `_unquoted_image` removes the mark. If a text has this code point, it is doubled in between. Strings are skipped. A number
    that is not valid JSON stays without quotes, and the parser rejects it.
-#}
{%- macro _quote_numbers(text) -%}
    {%- set number = "-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-])" -%}
    {%- set mark = '\\x{FDD0}' -%}
    {%- set marks = mark ~ "|(?<!\\\\)((?:\\\\\\\\)*+)\\\\u[fF][dD]{2}0" -%}
regexp_replace(
    if(
        contains({{ text }}, '\uFDD0') or contains({{ text }}, '\\u'),
        regexp_replace({{ text }}, r'{{ marks }}', '$1\uFDD0\uFDD0'),
        {{ text }}
    ),
    r'(?s)\G({{ spark_cdc._whole_numbers_and_texts() }})({{ number }})',
    '$1"\uFDD0$2"'
)
{%- endmacro -%}

{#-
    Numbers of more than 1,000 digits stop the parser; some formats write them (`long_numbers`). A fraction is already in quotes
    when it comes here. For other readings of the message, such as that of its names, 0.0 replaces it.
-#}
{%- macro _without_long_numbers(text) -%}
    {%- set others = "(?:[^\"0-9-]++|\"(?:[^\"\\\\]++|\\\\.)*+\"|-?(?![0-9.]{1001})[0-9.]++|-(?![0-9]))*+" -%}
    {%- set number = "-?(?=[0-9.]{1001})(?:0|[1-9][0-9]*+)\\.[0-9]++(?![0-9.])" -%}
    {{- return(
        'case when octet_length(' ~ text ~ ') > 1000 and ' ~ text ~ " rlike '[0-9.]{1001}' then regexp_replace(" ~ text
        ~ ", r'(?s)\\G(" ~ others ~ ')' ~ number ~ "', '$10.0') else " ~ text ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    True if from_json could change the text of a number: one with a point or an exponent, or -0, without quotes. It is true for
    each message with such a number, and for some texts that look like one, as `"from [1.5"` does; to read these in quotes costs
    time only. A number of an object follows a colon, a comma or a bracket. The colon follows a quote or blanks: one that follows a
    digit stands in a text, as in 12:30:00.5, and is left out so that times cost no time.
-#}
{%- macro _may_hold_fractions(value) -%}
    {{- return(value ~ " rlike r'[:,\\[](?<![0-9]:)\\s*+(?:-0|-?[0-9]++[.eE])'") -}}
{%- endmacro -%}

{#-
    Regular expression of the JSON text whose values from_json does not change, up to the first number that it does. It skips
    each text as a whole, which takes half as long as one choice for each piece.
-#}
{%- macro _whole_numbers_and_texts() -%}
    {%- set integer = "(?!-0(?![0-9.eE]))-?(?:0|[1-9][0-9]*+)(?![0-9.eE+-])" -%}
    {{- return('[^"0-9-]*+(?:(?:' ~ spark_cdc._text_pattern() ~ '|' ~ integer ~ ')[^"0-9-]*+)*+') -}}
{%- endmacro -%}

{#- Pattern of a JSON text with its quotes. -#}
{%- macro _text_pattern() -%}
    {{- return('"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"') -}}
{%- endmacro -%}

{#-
    A text or number of a message whose numbers were quoted -> its own text. The three alternatives: the mark of a number; a
    number inside a nested value, with its quotes; a doubled mark, which the message has once.
-#}
{%- macro _unquoted_text(text) -%}
    {%- set mark = '\\x{FDD0}' -%}
    {%- set marks = ['^' ~ mark ~ '(?!' ~ mark ~ ')', '"' ~ mark ~ '(?!' ~ mark ~ ')([^"]*+)"', '(' ~ mark ~ ')' ~ mark] -%}
    {{- return(
        'if(contains(' ~ text ~ ", '\\uFDD0'), regexp_replace(" ~ text ~ ", r'" ~ marks | join('|') ~ "', '$1$2'), " ~ text ~ ')'
    ) -}}
{%- endmacro -%}

{%- macro _unquoted_image(image) -%}
    {{- return('transform_values(' ~ image ~ ', (name, text) -> ' ~ spark_cdc._unquoted_text('text') ~ ')') -}}
{%- endmacro -%}
