{#-
    The values of a row in an encoding that the message shows: by the type in its schema, or by the fields of an object. A messages
    model reads them once, for all columns, whatever a model declares for them. Facts: see values.sql.
-#}

{#-
    SQL over `exact`, the row and the row before, and `column_types`: for both a map of column -> the value's reading. The reading
    of decimals and bits is a number, that of a time of day or of a structured time is as databases write it. It is U+FFFD for
    decimals, bits and times of day that cannot be read.
-#}
{%- macro _debezium_readings() -%}
    {%- set readings -%}
        transform(exact, (texts, place) -> map_filter(
            transform_values(texts, (name, text) -> case
                when text is null then null
                when startswith(text, '{') or column_types[name] rlike {{ spark_cdc._debezium_types_of_readings() }}
                    then {{ spark_cdc._debezium_reading() | indent(20) }}
            end),
            (name, reading) -> reading is not null
        ))
    {%- endset -%}
    {{- return(spark_cdc._outdented(readings)) -}}
{%- endmacro -%}

{#- Condition on a message: its schema names such a type, or a value is an object. -#}
{%- macro _debezium_may_have_readings() -%}
exists(map_values(column_types), type -> type rlike {{ spark_cdc._debezium_types_of_readings() }})
or exists(rows, row -> exists(map_values(row.image), text -> startswith(text, '{'))
    or exists(map_values(row.before), text -> startswith(text, '{')))
{%- endmacro -%}

{#- Pattern of the types whose values have readings. The names of decimals and structured times go on. -#}
{%- macro _debezium_types_of_readings() -%}
    {%- set types = ['org.apache.kafka.connect.data.Decimal', 'io.debezium.time.Structured'] -%}
    {%- for type in ['io.debezium.data.Bits'] + spark_cdc._debezium_times_of_day() -%}
        {%- do types.append(type ~ '\\z') -%}
    {%- endfor -%}
    {{- return("r'^(?:" ~ types | join('|') | replace('.', '[.]') ~ ")'") -}}
{%- endmacro -%}

{#-
    SQL over the `name`, `text` and `place` of a value. NULL if the text itself is the value, or if nothing shows its encoding.

    - Bits are the number without a sign that they are.
    - A decimal is base64 of the number without its point. The scale is in the schema, or in the value (VariableScaleDecimal). It may
      also be a number without quotes (the converter's decimal.format=NUMERIC).
-#}
{%- macro _debezium_reading() -%}
    {%- set type = 'column_types[name]' -%}
    {%- set is_decimal = spark_cdc._debezium_is_decimal(type) -%}
    {%- set milliseconds = spark_cdc._literals(spark_cdc._debezium_types_of(['time_milliseconds'])) -%}
    {%- set microseconds = spark_cdc._literals(spark_cdc._debezium_types_of(['time_microseconds'])) -%}
    {%- set per_second -%}
        case
            when {{ type }} in ({{ milliseconds }}) then 1000L
            when {{ type }} in ({{ microseconds }}) then 1000000L
            else 1000000000L
        end
    {%- endset -%}
    {%- set reading -%}
        case
            when {{ type }} in ({{ spark_cdc._literals(spark_cdc._debezium_times_of_day()) }})
                then coalesce({{ spark_cdc._time_of_day('text', spark_cdc._outdented(per_second) | indent(12)) | indent(16) }}, '\uFFFD')
            when ({{ type }} = 'io.debezium.data.Bits' or {{ is_decimal }})
                and {{ spark_cdc._debezium_is_bare('get(row.in_quotes, place)') | indent(16) }}
                then null
            when {{ type }} = 'io.debezium.data.Bits'
                then coalesce({{ spark_cdc._unsigned_integer('text', 'bits') | indent(16) }}, '\uFFFD')
            when {{ is_decimal }} or text rlike {{ spark_cdc._debezium_own_scale_pattern() }}
                then coalesce({{ spark_cdc._debezium_decimal_of(
                    'if(' ~ is_decimal ~ ", text, get_json_object(text, '$.value'))",
                    'if(' ~ is_decimal ~ ', ' ~ spark_cdc._debezium_scale(type) ~ ", get_json_object(text, '$.scale'))"
                ) | indent(16) }}, if({{ is_decimal }}, '\uFFFD', null))
            when coalesce({{ type }}, '') rlike r'^(?:io[.]debezium[.]time[.]Structured|\z)'
                then {{ spark_cdc._debezium_structured_reading(type) | indent(16) }}
        end
    {%- endset -%}
    {{- return(spark_cdc._outdented(reading)) -}}
{%- endmacro -%}

{#-
    Base64 of a number without its point, and its scale -> the text of the number: 12 is 12, 12E-2 or 1200; NULL if it is none.
    Oracle's NUMBER without a scale may be in a column of whole numbers: with a scale above 0 its text has an exponent, which no
    whole number has.
-#}
{%- macro _debezium_decimal_of(text, scale) -%}
    {%- set encoded = "named_struct('scale', " ~ scale ~ ", 'digits', hex(" ~ spark_cdc.decode_binary(text, 'base64') ~ '))' -%}
    {%- set number -%}
        concat(
            cast({{ spark_cdc._outdented(spark_cdc._integer_of_digits('encoded.digits')) | indent(12) }} as string),
            case
                when try_cast(encoded.scale as int) between -38 and 0 then repeat('0', -try_cast(encoded.scale as int))
                else replace(concat('E-', encoded.scale), '--', '')
            end
        )
    {%- endset -%}
    {{- return(spark_cdc._let('encoded', encoded, number)) -}}
{%- endmacro -%}

{#- Pattern of a VariableScaleDecimal's object: its scale and its base64, each once, and nothing else. -#}
{%- macro _debezium_own_scale_pattern() -%}
    {%- set own_scale, digits = '"scale"\\s*+:\\s*+-?[0-9]++\\s*+', '"value"\\s*+:\\s*+"(?:[^"\\\\]++|\\\\.)*+"\\s*+' -%}
    {{- return("r'^\\{\\s*+(?:" ~ own_scale ~ ',\\s*+' ~ digits ~ '|' ~ digits ~ ',\\s*+' ~ own_scale ~ ")}\\z'") -}}
{%- endmacro -%}
