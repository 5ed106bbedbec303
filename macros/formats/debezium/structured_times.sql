{#-
    Times that `time.precision.mode=structured` writes as objects of calendar and clock fields.

    The newest version has the fraction of the second in `picoseconds`, earlier ones in `nanos`. The ranges are checked here,
    except where Spark's own cast rejects a value.
-#}

{#-
    SQL over the `name`, `text` and `place` of a value: a date, a local time, an instant if there is an offset, or a time of day,
    followed by its offset if it has one.

    Without the schema an object with exactly these fields is one. A time of day in quotes has no reading: a column of texts keeps
    the text.
-#}
{%- macro _debezium_structured_reading(type) -%}
    {%- set in_quotes = 'get(row.in_quotes, place)' -%}
    {%- set picoseconds = spark_cdc._debezium_structured_picoseconds() -%}
    {%- set reading -%}
        case
            when {{ spark_cdc._debezium_structured_is_time_of_day() | indent(16) }}
                then case
                    when coalesce({{ type }}, '') = '' and array_contains({{ in_quotes }}, name) then null
                    when {{ spark_cdc._debezium_structured_has_clock() | indent(24) }}
                        and (structured.hour < 24 or structured.minute = 0 and structured.second = 0 and {{ picoseconds }} = 0)
                        and coalesce(abs(structured.offsetSeconds) <= 64800, true)
                        then concat({{ spark_cdc._debezium_structured_time_of_day() | indent(28) }})
                    else '\uFFFD'
                end
            when {{ spark_cdc._debezium_structured_has_date() | indent(16) }}
                then case
                    when coalesce(
                        structured.hour, structured.minute, structured.second, {{ picoseconds }}, structured.offsetSeconds
                    ) is null and structured.zoneId is null
                        then {{ spark_cdc._debezium_structured_date() }}
                    -- an offset with single seconds does not fit, nor does a zone without its offset
                    when {{ spark_cdc._debezium_structured_has_clock() | indent(24) }}
                        and case
                            when structured.offsetSeconds is null then structured.zoneId is null
                            else structured.offsetSeconds % 60 = 0 and abs(structured.offsetSeconds) <= 64800
                        end
                        then concat(
                            {{ spark_cdc._debezium_structured_date() }},
                            format_string(
                                ' %02d:%02d:%02d.%012d', structured.hour, structured.minute, structured.second, {{ picoseconds }}
                            ),
                            case
                                when structured.offsetSeconds is null then ''
                                else {{ spark_cdc._debezium_structured_offset() | indent(32) }}
                            end
                        )
                end
        end
    {%- endset -%}
    {{- return(spark_cdc._let('structured', spark_cdc._debezium_structured_fields('text'), spark_cdc._outdented(reading))) -}}
{%- endmacro -%}

{#- The fields of an object, as a struct. An object with another field, or with a field twice, becomes NULL. -#}
{%- macro _debezium_structured_fields(text) -%}
    {%- set number = '"(?:year|month|day|hour|minute|second|nanos|picoseconds|offsetSeconds|precision)":(?:null|-?[0-9]{1,15})' -%}
    {%- set word = '"(?:zoneId|specialValue)":(?:null|"[^"\\\\]*+")' -%}
    {%- set types = ['specialValue string', 'zoneId string'] -%}
    {%- for name in ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanos', 'picoseconds', 'offsetSeconds'] -%}
        {%- do types.append(name ~ ' bigint') -%}
    {%- endfor -%}
    {#- There is no comma at the end, and then no field occurs twice: to look for that first would be slow for other long objects. -#}
    {%- set pattern = '^(?=\\{(?:(?:' ~ number ~ '|' ~ word ~ ')(?:,(?!\\})|(?=\\})))++\\}\\z)(?!.*("\\w++":).*\\1).*\\z' -%}
    {%- set fields -%}
        from_json(
            regexp_extract({{ text }}, r'{{ pattern }}', 0),
            '{{ types | join(', ') }}'
        )
    {%- endset -%}
    {{- return(fields) -}}
{%- endmacro -%}

{#- Condition: a date, and no special value such as infinity. -#}
{%- macro _debezium_structured_has_date() -%}
structured.specialValue is null
and structured.year between 1L and 9999L
and structured.month between 1L and 12L
and structured.day between 1L and 31L
{%- endmacro -%}

{#- Condition: fields of a clock only. -#}
{%- macro _debezium_structured_is_time_of_day() -%}
structured.hour is not null
and coalesce(structured.year, structured.month, structured.day) is null
and structured.zoneId is null
{%- endmacro -%}

{#- Condition: a finite time with a complete clock. -#}
{%- macro _debezium_structured_has_clock() -%}
structured.specialValue is null
and structured.hour between 0L and 24L
and structured.minute between 0L and 59L
and structured.second between 0L and 59L
and (structured.nanos is null) <> (structured.picoseconds is null)
and {{ spark_cdc._debezium_structured_picoseconds() }} between 0L and 999999999999L
{%- endmacro -%}

{#- One of the two is NULL: see `_debezium_structured_has_clock`. -#}
{%- macro _debezium_structured_picoseconds() -%}
coalesce(structured.picoseconds, structured.nanos * 1000)
{%- endmacro -%}

{%- macro _debezium_structured_date() -%}
format_string('%04d-%02d-%02d', structured.year, structured.month, structured.day)
{%- endmacro -%}

{#- The sign, hours and minutes of an offset. -#}
{%- macro _debezium_structured_offset() -%}
concat(
    case when structured.offsetSeconds < 0 then '-' else '+' end,
    format_string('%02d:%02d', abs(structured.offsetSeconds) div 3600, abs(structured.offsetSeconds) div 60 % 60)
)
{%- endmacro -%}

{#- The parts of a time of day's text: as databases print it, without zeros at its end. -#}
{%- macro _debezium_structured_time_of_day() -%}
format_string('%02d:%02d:%02d', structured.hour, structured.minute, structured.second),
trim(trailing '.' from trim(trailing '0' from format_string('.%012d', {{ spark_cdc._debezium_structured_picoseconds() }}))),
case
    when structured.offsetSeconds is null then ''
    when structured.offsetSeconds = 0 then 'Z'
    else {{ spark_cdc._debezium_structured_offset() | indent(4) }}
end,
case
    when structured.offsetSeconds % 60 <> 0 then format_string(':%02d', abs(structured.offsetSeconds) % 60)
    else ''
end
{%- endmacro -%}
