{#- Escapes in a JSON text that name an unpaired surrogate. -#}

{#- An unpaired surrogate is not a character: the source cannot have sent such a text. -#}
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
