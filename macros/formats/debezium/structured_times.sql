{#-
    Times that `time.precision.mode=structured` writes as objects of calendar and clock fields.

    The newest version has the fraction of the second in `picoseconds`, earlier ones in `nanos`. The ranges are checked here,
    except where Spark's own cast rejects a value.
-#}

{#- The fields of an object, as a struct. An object with another field, or with a field twice, becomes NULL. -#}
{%- macro _debezium_structured_fields(text) -%}
    {%- set number = '"(?:year|month|day|hour|minute|second|nanos|picoseconds|offsetSeconds|precision)":(?:null|-?[0-9]{1,15})' -%}
    {%- set word = '"(?:zoneId|specialValue)":(?:null|"[^"\\\\]*+")' -%}
    {%- set types = ['specialValue string', 'zoneId string'] -%}
    {%- for name in ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanos', 'picoseconds', 'offsetSeconds'] -%}
        {%- do types.append(name ~ ' bigint') -%}
    {%- endfor -%}
    {#- No field occurs twice, and there is no comma at the end. -#}
    {%- set pattern = '^(?!.*("\\w++":).*\\1)\\{(?:(?:' ~ number ~ '|' ~ word ~ ')(?:,(?!\\})|(?=\\})))++\\}\\z' -%}
    {%- set fields -%}
        from_json(
            regexp_extract({{ text }}, r'{{ pattern }}', 0),
            '{{ types | join(', ') }}'
        )
    {%- endset -%}
    {{- return(fields) -}}
{%- endmacro -%}

{#- The text of a local time, or of an instant if there is an offset; for a date its fields, or midnight. -#}
{%- macro _debezium_structured_time(text, family) -%}
    {%- if family == 'date' -%}
        {%- set written -%}
            case
                when {{ spark_cdc._debezium_structured_has_date() | indent(20) }}
                    and structured.offsetSeconds is null and structured.zoneId is null
                    and (
                        coalesce(
                            structured.hour, structured.minute, structured.second, structured.nanos, structured.picoseconds
                        ) is null
                        or {{ spark_cdc._debezium_structured_has_clock() | indent(24) }}
                        and structured.hour = 0 and structured.minute = 0 and structured.second = 0
                        and coalesce(structured.picoseconds, structured.nanos) = 0
                    )
                    then {{ spark_cdc._debezium_structured_date() }}
            end
        {%- endset -%}
        {{- return(spark_cdc._let('structured', spark_cdc._debezium_structured_fields(text), written)) -}}
    {%- endif -%}
    {#- An offset with single seconds does not fit, nor does a zone without its offset. -#}
    {%- set written -%}
        case
            when {{ spark_cdc._debezium_structured_has_date() | indent(16) }}
                and {{ spark_cdc._debezium_structured_has_clock() | indent(16) }}
                and case
                    when structured.offsetSeconds is null then structured.zoneId is null
                    else structured.offsetSeconds % 60 = 0 and abs(structured.offsetSeconds) <= 64800
                end
                then concat(
                    {{ spark_cdc._debezium_structured_date() }},
                    format_string(
                        ' %02d:%02d:%02d.%012d', structured.hour, structured.minute, structured.second,
                        coalesce(structured.picoseconds, structured.nanos * 1000)
                    ),
                    case
                        when structured.offsetSeconds is null then ''
                        else concat(
                            case when structured.offsetSeconds < 0 then '-' else '+' end,
                            {{ spark_cdc._debezium_structured_offset() }}
                        )
                    end
                )
        end
    {%- endset -%}
    {{- return(spark_cdc._let('structured', spark_cdc._debezium_structured_fields(text), written)) -}}
{%- endmacro -%}

{#-
    The text of a time of day, for a column declared as string: as databases print it, followed by its offset if it has one.
    Without the schema an object with exactly these fields is one, and any other is a text. A text that holds such an object is
    no time. NULL if nothing is certain: the message has both as values of the column, or the schema names the type and the
    value is not one.
-#}
{%- macro _debezium_structured_time_of_day(is_structured) -%}
    {%- set written -%}
        case
            when not {{ is_structured }}
                and (
                    not (
                        {{ spark_cdc._debezium_structured_is_time_of_day() | indent(24) }}
                    )
                    or not known.is_bare
                )
                then text
            when ({{ is_structured }} or known.is_bare)
                and {{ spark_cdc._debezium_structured_is_time_of_day() | indent(16) }}
                and {{ spark_cdc._debezium_structured_has_clock() | indent(16) }}
                and (
                    structured.hour < 24
                    or structured.minute = 0
                    and structured.second = 0
                    and coalesce(structured.picoseconds, structured.nanos * 1000) = 0
                )
                and coalesce(abs(structured.offsetSeconds) <= 64800, true)
                then concat(
                    format_string('%02d:%02d:%02d', structured.hour, structured.minute, structured.second),
                    trim(trailing '.' from trim(
                        trailing '0' from format_string('.%012d', coalesce(structured.picoseconds, structured.nanos * 1000))
                    )),
                    case
                        when structured.offsetSeconds is null then ''
                        when structured.offsetSeconds = 0 then 'Z'
                        else concat(
                            case when structured.offsetSeconds < 0 then '-' else '+' end,
                            {{ spark_cdc._debezium_structured_offset() }},
                            case
                                when abs(structured.offsetSeconds) % 60 > 0
                                    then format_string(':%02d', abs(structured.offsetSeconds) % 60)
                                else ''
                            end
                        )
                    end
                )
        end
    {%- endset -%}
    {{- return(spark_cdc._let('structured', spark_cdc._debezium_structured_fields('text'), written)) -}}
{%- endmacro -%}

{#- Condition: a date, and no special value such as infinity. -#}
{%- macro _debezium_structured_has_date() -%}
structured.specialValue is null
and structured.year between 1 and 9999
and structured.month between 1 and 12
and structured.day between 1 and 31
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
and structured.hour between 0 and 24
and structured.minute between 0 and 59
and structured.second between 0 and 59
and (structured.nanos is null) <> (structured.picoseconds is null)
and coalesce(structured.picoseconds, structured.nanos * 1000) between 0 and 999999999999
{%- endmacro -%}

{%- macro _debezium_structured_date() -%}
format_string('%04d-%02d-%02d', structured.year, structured.month, structured.day)
{%- endmacro -%}

{#- The hours and minutes of an offset, without its sign. -#}
{%- macro _debezium_structured_offset() -%}
format_string('%02d:%02d', abs(structured.offsetSeconds) div 3600, abs(structured.offsetSeconds) div 60 % 60)
{%- endmacro -%}
