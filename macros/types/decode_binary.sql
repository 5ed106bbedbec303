{#-
    Text in an encoding -> BINARY, strictly: an invalid text becomes NULL. Built-in SQL with the same results as the Python
    function `cdc_decode_binary`.

    base64      RFC 4648, padding required, no white space, unused bits zero
    base64_url  the same with - and _
    hex         two digits a byte, either case
    latin1      each character up to U+00FF is one byte (Canal writes binaries so)
    java_bytes  text of a Java byte list: [106, -1], empty [] (Huawei DRS writes binaries so)
-#}
{%- macro decode_binary(text, encoding) -%}
    {%- do spark_cdc._require_one_of('decode_binary', 'encoding', encoding, spark_cdc._encodings('binary')) -%}
    {{- return(adapter.dispatch('decode_binary', 'spark_cdc')(text, encoding)) -}}
{%- endmacro -%}

{%- macro default__decode_binary(text, encoding) -%}
    {%- do spark_cdc._only_spark('decode_binary') -%}
{%- endmacro -%}

{%- macro spark__decode_binary(text, encoding) -%}
    {%- set base64 = "^(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\\z" -%}
    {%- if encoding == 'base64' -%}
        {{- return("case when " ~ text ~ " rlike r'" ~ base64 ~ "' then unbase64(" ~ text ~ ") end") -}}
    {%- elif encoding == 'base64_url' -%}
        {%- set alphabet = "^[A-Za-z0-9_=-]*+\\z" -%}
        {%- set plain = "translate(" ~ text ~ ", '-_', '+/')" -%}
        {{- return(
            "case when " ~ text ~ " rlike r'" ~ alphabet ~ "' and " ~ plain ~ " rlike r'" ~ base64
            ~ "' then unbase64(" ~ plain ~ ") end"
        ) -}}
    {%- elif encoding == 'hex' -%}
        {{- return("case when " ~ text ~ " rlike r'^(?:[0-9A-Fa-f]{2})*+\\z' then unhex(" ~ text ~ ") end") -}}
    {%- elif encoding == 'latin1' -%}
        {{- return(
            "case when " ~ text ~ " rlike r'^[\\x{0}-\\x{FF}]*+\\z' then encode(" ~ text ~ ", 'ISO-8859-1') end"
        ) -}}
    {%- endif -%}
    {#- java_bytes: a list of -128..255, so that a byte printed as unsigned can be read, too -#}
    {%- set byte = "-?[0-9]{1,3}" -%}
    {%- set numbers = "from_json(" ~ text ~ ", 'array<int>')" -%}
    {{- return(
        "case when " ~ text ~ " rlike r'^\\[(?:" ~ byte ~ "(?:, ?" ~ byte ~ ")*+)?\\]\\z' and forall(" ~ numbers
        ~ ", b -> b between -128 and 255) then unhex(array_join(transform(" ~ numbers
        ~ ", b -> lpad(hex(b & 255), 2, '0')), '')) end"
    ) -}}
{%- endmacro -%}

{#- base64 of a two's complement big-endian integer of up to 16 bytes (Kafka Connect's Decimal) -> decimal(38,0). -#}
{%- macro _big_endian_integer(text) -%}
    {{- return(spark_cdc._let(
        'digits', 'hex(' ~ spark_cdc.decode_binary(text, 'base64') ~ ')', spark_cdc._integer_of_digits('digits')
    )) -}}
{%- endmacro -%}

{#- The same of its hexadecimal digits, in capitals. -#}
{%- macro _integer_of_digits(digits) -%}
    {#- Of a negative number each word is read as its distance to -1, so that no part exceeds the whole, which may have 38 digits. -#}
    {%- set words = [] -%}
    {%- for side in ['left', 'right'] -%}
        {%- do words.append(
            'cast(conv(' ~ side ~ '(lpad(' ~ digits ~ ', 32, if(' ~ digits ~ " < '8', '0', 'F')), 16), 16, 10) as decimal(20,0)) - if("
            ~ digits ~ " < '8', 0BD, 18446744073709551615BD)"
        ) -%}
    {%- endfor -%}
    {#- 16 bytes may hold more than 38 digits. -#}
    {%- set integer -%}
        case
            when length({{ digits }}) between 2 and 32 then try_add(
                try_multiply({{ words[0] }}, 18446744073709551616BD),
                {{ words[1] }} - if({{ digits }} < '8', 0BD, 1BD)
            )
        end
    {%- endset -%}
    {{- return(integer) -}}
{%- endmacro -%}

{#-
    base64 of up to 8 bytes -> text of the unsigned integer, with or without leading zeros. `bits` is little-endian (Debezium's
    io.debezium.data.Bits); `big_endian_bits` is what OceanBase OMS writes for BIT.
-#}
{%- macro _unsigned_integer(text, encoding) -%}
    {%- set digits = "regexp_replace(reverse(digits), '(.)(.)', '$2$1')" if encoding == 'bits' else 'digits' -%}
    {%- set integer = "case when length(digits) between 2 and 16 then conv(" ~ digits ~ ", 16, 10) when digits = '' then '0' end" -%}
    {{- return(spark_cdc._let('digits', "hex(" ~ spark_cdc.decode_binary(text, 'base64') ~ ")", integer)) -}}
{%- endmacro -%}
