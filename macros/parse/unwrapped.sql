{#-
    Values and keys without what a converter put around their JSON. Of all other messages the first bytes are looked at, and no
    more.
-#}

{#- A schema registry's serializers write byte 0 and four bytes of a schema id in front: bytes, which are no text. -#}
{%- macro _without_schema_id(text) -%}
    {{- return(
        'case when startswith(' ~ text ~ ", '\\u0000') and substr(cast(" ~ text ~ " as binary), 6, 1) = X'7B' then cast(substr(cast("
        ~ text ~ ' as binary), 6) as string) else ' ~ text ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    A JsonConverter with schemas writes a message that is a text already as {"schema":{"type":"string",...},"payload":"{...}"}. Just
    this is unwrapped, with the escapes that it writes; whatever else stands there is left to be refused.
-#}
{%- macro _unwrapped_value(text) -%}
    {%- set start = '{"schema":{"type":"string"' -%}
    {%- set pattern -%}
        (?s)^\{\s*+"schema"\s*+:\s*+\{\s*+"type"\s*+:\s*+"string"\s*+,\s*+"optional"\s*+:\s*+(?:true|false)\s*+\}\s*+,\s*+{# -#}
        "payload"\s*+:\s*+("\{(?:[^"\\]++|\\(?:["\\/bfnrt]|u00[0-9a-fA-F]{2}))*+")\s*+\}\s*+\z
    {%- endset -%}
    {{- return(
        "case when startswith(" ~ text ~ ", '{\"schema\"') and left(translate(left(" ~ text ~ ", 60), ' ', ''), " ~ start | length
        ~ ") = '" ~ start ~ "' then coalesce(from_json(concat('{\"payload\":', nullif(regexp_extract(" ~ text ~ ", r'" ~ pattern
        ~ "', 1), ''), '}'), 'payload string').payload, " ~ text ~ ') else ' ~ spark_cdc._without_schema_id(text) ~ ' end'
    ) -}}
{%- endmacro -%}
