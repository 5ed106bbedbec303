{#- Values and keys without the wrapping of a converter. Of all other messages only the first bytes are read. -#}

{#- A schema registry's serializers write byte 0 and a schema id of four bytes in front: bytes, not text. -#}
{%- macro _without_schema_id(text) -%}
case
    when startswith({{ text }}, '\u0000') and substr(cast({{ text }} as binary), 6, 1) = X'7B'
        then cast(substr(cast({{ text }} as binary), 6) as string)
    else {{ text }}
end
{%- endmacro -%}

{#-
    If a message is already a text, a JsonConverter with schemas writes it as
    {"schema":{"type":"string",...},"payload":"{...}"}. Only this, with the escapes of the converter, is unwrapped. Any other
    wrapping stays and is rejected later.
-#}
{%- macro _unwrapped_value(text) -%}
    {%- set start = '{"schema":{"type":"string"' -%}
    {%- set schema = '\\{\\s*+"type"\\s*+:\\s*+"string"\\s*+,\\s*+"optional"\\s*+:\\s*+(?:true|false)\\s*+\\}' -%}
    {%- set payload = '"\\{(?:[^"\\\\]++|\\\\(?:["\\\\/bfnrt]|u00[0-9a-fA-F]{2}))*+"' -%}
    {%- set pattern = '(?s)^\\{\\s*+"schema"\\s*+:\\s*+' ~ schema ~ '\\s*+,\\s*+"payload"\\s*+:\\s*+(' ~ payload ~ ')\\s*+\\}\\s*+\\z' -%}
case
    when startswith({{ text }}, '{"schema"') and left(translate(left({{ text }}, 60), ' ', ''), {{ start | length }}) = '{{ start }}'
        then coalesce(
            from_json(
                concat('{"payload":', nullif(regexp_extract(
                    {{ text }},
                    r'{{ pattern }}',
                    1
                ), ''), '}'),
                'payload string'
            ).payload,
            {{ text }}
        )
    else {{ spark_cdc._without_schema_id(text) | indent(4) }}
end
{%- endmacro -%}
