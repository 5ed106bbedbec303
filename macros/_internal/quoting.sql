{#- Names and texts that reach SQL. They come from the user's models, never from a message. -#}

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
