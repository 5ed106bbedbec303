{#- Names and values that reach SQL. They come from the user's models, never from a message. -#}

{%- macro _quote(name) -%}
    {{- return('`' ~ name | replace('`', '``') ~ '`') -}}
{%- endmacro -%}

{%- macro _literal(text) -%}
    {{- return("'" ~ text | string | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") -}}
{%- endmacro -%}

{%- macro _literals(texts) -%}
    {%- set literals = [] -%}
    {%- for text in texts -%}
        {%- do literals.append(spark_cdc._literal(text)) -%}
    {%- endfor -%}
    {{- return(literals | join(', ')) -}}
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
    `expression` evaluated once and used in `body` under `name`: SQL has no other way inside one expression. With get(), because
    `[0]` costs Spark's analyzer one walk more over the whole query.
-#}
{%- macro _let(name, expression, body) -%}
    {{- return('get(transform(array(' ~ expression ~ '), ' ~ name ~ ' -> ' ~ body ~ '), 0)') -}}
{%- endmacro -%}

{#- `numbers` as the property has them, with commas between. -#}
{%- macro _sequence_literal(numbers) -%}
    {%- set parts = [] -%}
    {%- for number in (numbers | string).split(',') if number | trim -%}
        {%- do parts.append(number | trim | int) -%}
    {%- endfor -%}
    {{- return('cast(array(' ~ parts | join(', ') ~ ') as array<decimal(20,0)>)') -}}
{%- endmacro -%}
