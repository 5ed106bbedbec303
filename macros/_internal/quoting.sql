{#- Names and values in SQL. They come from the user's models, never from a message. -#}

{%- macro _quote(name) -%}
    {{- return('`' ~ name | replace('`', '``') ~ '`') -}}
{%- endmacro -%}

{#- A table's name for Delta's own statements, which do not read a bare `history` as a name. -#}
{%- macro _name_for_delta(relation) -%}
    {{- return(relation.quote(schema='.' not in relation.schema, identifier=true)) -}}
{%- endmacro -%}

{%- macro _literal(text) -%}
    {%- set escaped = namespace(text=text | string | replace('\\', '\\\\') | replace("'", "\\'")) -%}
    {%- if spark_cdc._has_line_ends(escaped.text) -%}
        {%- for end, code in [
            ('\n', '000a'), ('\x0b', '000b'), ('\x0c', '000c'), ('\r', '000d'), ('\x1c', '001c'), ('\x1d', '001d'), ('\x1e', '001e'),
            ('\x85', '0085'), ('\u2028', '2028'), ('\u2029', '2029'),
        ] -%}
            {%- set escaped.text = escaped.text | replace(end, '\\u' ~ code) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return("'" ~ escaped.text ~ "'") -}}
{%- endmacro -%}

{#- True if Jinja's `indent`, which puts the parts of a query together, would change this text. -#}
{%- macro _has_line_ends(text) -%}
    {{- return((text ~ '.').splitlines() | length > 1) -}}
{%- endmacro -%}

{%- macro _literals(texts, between=', ') -%}
    {%- set literals = [] -%}
    {%- for text in texts -%}
        {%- do literals.append(spark_cdc._literal(text)) -%}
    {%- endfor -%}
    {{- return(literals | join(between)) -}}
{%- endmacro -%}

{#- Bytes, as a list of numbers, in base64. -#}
{%- macro _base64(bytes) -%}
    {%- set alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/' -%}
    {%- set digits = [] -%}
    {%- for three in bytes | batch(3) -%}
        {%- set padding = 3 - three | length -%}
        {%- set number = (three + [0, 0])[0] * 65536 + (three + [0, 0])[1] * 256 + (three + [0, 0])[2] -%}
        {%- set four = [number // 262144, number // 4096 % 64, number // 64 % 64, number % 64] -%}
        {%- for digit in four[:4 - padding] -%}
            {%- do digits.append(alphabet[digit]) -%}
        {%- endfor -%}
        {%- do digits.append('=' * padding) -%}
    {%- endfor -%}
    {{- return(digits | join) -}}
{%- endmacro -%}

{#- The uuid that Java's nameUUIDFromBytes makes of a text: version 3, without a namespace. -#}
{%- macro _uuid_of_name(text) -%}
    {%- set digits = local_md5(text) -%}
    {%- set variant = '89ab'['0123456789abcdef'.index(digits[16]) % 4] -%}
    {{- return([digits[:8], digits[8:12], '3' ~ digits[13:16], variant ~ digits[17:20], digits[20:]] | join('-')) -}}
{%- endmacro -%}

{%- macro _quoted(names, prefix='') -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(quoted | join(', ')) -}}
{%- endmacro -%}

{%- macro _literal_or_null(text) -%}
    {{- return('cast(null as string)' if text is none else spark_cdc._literal(text)) -}}
{%- endmacro -%}

{#-
    Evaluates `expression` once and uses it in `body` under `name`: SQL has no other way inside one expression. It uses get(),
    because `[0]` costs Spark's analyzer one more walk over the whole query.
-#}
{%- macro _let(name, expression, body) -%}
    {%- if expression | length + body | length > 90 -%}
        {{- return(
            'get(transform(\n    array(' ~ spark_cdc._outdented(expression) | indent(4) ~ '),\n    ' ~ name ~ ' -> '
            ~ spark_cdc._outdented(body) | indent(4) ~ '\n), 0)'
        ) -}}
    {%- endif -%}
    {{- return('get(transform(array(' ~ expression ~ '), ' ~ name ~ ' -> ' ~ body ~ '), 0)') -}}
{%- endmacro -%}

{#- A CASE or a call of several lines that begins at the left margin, as its END or bracket then does. -#}
{%- macro _outdented(text) -%}
    {%- set end = modules.re.search('\n( +)(?:end|[)])[^\n]*\\Z', text | trim) -%}
    {{- return(text | replace('\n' ~ end[1], '\n') if end else text) -}}
{%- endmacro -%}

{#- SQL with a blank in place of each comment. Nothing else may hold a comment's signs, as in the select of a whole model. -#}
{%- macro _without_comments(sql) -%}
    {{- return(modules.re.sub('(?s)/[*].*?[*]/|--[^\\n]*', ' ', sql)) -}}
{%- endmacro -%}

{#- `numbers` as the property has them, separated by commas. -#}
{%- macro _sequence_literal(numbers) -%}
    {%- set parts = [] -%}
    {%- for number in (numbers | string).split(',') if number | trim -%}
        {%- do parts.append(number | trim | int) -%}
    {%- endfor -%}
    {{- return('cast(array(' ~ parts | join(', ') ~ ') as array<decimal(20,0)>)') -}}
{%- endmacro -%}

{#- Condition: two relations have the same values in these columns, NULL or not. -#}
{%- macro _same(one, other, names) -%}
    {%- set conditions = [] -%}
    {%- for name in names -%}
        {%- do conditions.append(one ~ '.' ~ name ~ ' <=> ' ~ other ~ '.' ~ name) -%}
    {%- endfor -%}
    {{- return(conditions | join(' and ')) -}}
{%- endmacro -%}
