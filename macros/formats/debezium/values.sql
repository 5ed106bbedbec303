{#-
    Values of Debezium's semantic types, and of Kafka Connect's logical types.
    Facts: debezium.io/documentation, the connectors' "data type mappings"; docs/formats/debezium.md.

    With the converter's schema each value's semantic type is known. Without it milliseconds and microseconds look alike, and
    a decimal is base64 or text: a value that can be read in two ways does not fit, until the column says `from ...`.
-#}
{%- macro default__debezium_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'cockroachdb' -%}
        {{- return(spark_cdc._debezium_cockroachdb_value(text, column, time_zone)) -}}
    {%- endif -%}
    {%- set value = spark_cdc._debezium_value_of_type(text, column, time_zone, dialect) -%}
    {%- set is_no_value = spark_cdc._debezium_is_no_value(text) -%}
    {%- if not is_no_value or dialect == 'cloudcanal' or column.family not in ['string', 'variant'] -%}
        {{- return(value) -}}
    {%- endif -%}
    {{- return('case when not ' ~ is_no_value ~ ' then ' ~ value ~ ' end') -}}
{%- endmacro -%}

{#- Condition: the text is what a project's pattern says is no value, as what Java prints of an object that has no text. -#}
{%- macro _debezium_is_no_value(text) -%}
    {%- set pattern = spark_cdc._var('spark_cdc__debezium_invalid_pattern') -%}
    {{- return(spark_cdc._matches_whole(text, pattern) if pattern else none) -}}
{%- endmacro -%}

{%- macro _debezium_value_of_type(text, column, time_zone, dialect) -%}
    {%- if dialect == 'cloudcanal' and column.family == 'binary' and column.encoding is none -%}
        {#- CloudCanal's page does not say how. -#}
        {{- return('cast(null as binary)') -}}
    {%- endif -%}
    {%- set type = column.source_type -%}
    {%- set no_type = 'coalesce(' ~ type ~ ", '') = ''" -%}
    {%- set family = column.family -%}
    {%- set is_time = family in ['date', 'timestamp', 'timestamp_ntz'] -%}
    {%- set is_text = is_time and dialect == 'cloudcanal' and column.encoding in [none, 'text'] -%}
    {%- set plain = spark_cdc.value(spark_cdc._with_offset_minutes(text) if is_text else text, column, time_zone) -%}
    {%- set read_as = [] -%}
    {%- set types_of = {
        'days': ['io.debezium.time.Date', 'org.apache.kafka.connect.data.Date'],
        'milliseconds': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
        'microseconds': ['io.debezium.time.MicroTimestamp'],
        'nanoseconds': ['io.debezium.time.NanoTimestamp'],
        'time_milliseconds': ['io.debezium.time.Time', 'org.apache.kafka.connect.data.Time'],
        'time_microseconds': ['io.debezium.time.MicroTime'],
        'time_nanoseconds': ['io.debezium.time.NanoTime'],
    } -%}
    {%- set is_decimal = spark_cdc._debezium_is_decimal(type) -%}
    {%- if family == 'binary' or column.encoding in ['bits', 'big_endian_bits'] -%}
        {#- binary.handling.mode writes base64 and hexadecimal alike as `string`, and any other text may be base64. -#}
        {%- set is_text = 'when ' ~ type ~ " not in ('', 'bytes', 'io.debezium.data.Bits') then null "
            if family == 'binary' and column.encoding is none else 'when ' ~ is_decimal ~ ' then null ' if family != 'binary' else '' -%}
        {{- return(
            'case ' ~ is_text ~ 'when not ' ~ spark_cdc._debezium_is_bare(text, column) ~ ' then ' ~ plain ~ ' end'
        ) -}}
    {%- elif column.encoding not in [none, 'base64'] -%}
        {#- A word against what the schema says of times and decimals: one of the two is wrong. A date says `from days` of any. -#}
        {%- set is_other = 'false' -%}
        {%- set is_epoch = column.encoding in types_of or column.encoding == 'seconds' -%}
        {%- if dialect != 'cloudcanal' and is_epoch and column.encoding != 'days' -%}
            {%- set others = types_of.values() | sum(start=[]) | reject('in', types_of.get(column.encoding, [])) | list -%}
            {%- set is_other = type ~ ' in (' ~ spark_cdc._literals(others) ~ ')' -%}
        {%- elif dialect != 'cloudcanal' and not is_time and family != 'string' -%}
            {%- set is_other = 'case when octet_length(' ~ text ~ ') % 4 = 0 and ' ~ is_decimal ~ ' then coalesce(not '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ', true) end' -%}
        {%- endif -%}
        {%- set is_clock = is_epoch and is_time and column.encoding != 'days' -%}
        {%- set as_said = spark_cdc._debezium_clock(spark_cdc._epoch_microseconds(text, column.encoding), family, time_zone)
            if is_clock else plain -%}
        {{- return(as_said if is_other == 'false' else 'case when ' ~ is_other ~ ' then null else ' ~ as_said ~ ' end') -}}
    {%- elif is_time and dialect != 'cloudcanal' -%}
        {%- do read_as.append(
            'when startswith(' ~ text ~ ", '{') or startswith(" ~ type ~ ", 'io.debezium.time.Structured') then case when coalesce("
            ~ type ~ ", '') rlike r'^(?:io\\.debezium\\.time\\.Structured|\\z)' then "
            ~ spark_cdc._debezium_structured_time(text, family, time_zone) ~ ' end'
        ) -%}
        {%- do read_as.append(
            'when ' ~ type ~ " in ('io.debezium.time.IsoDate', 'io.debezium.time.IsoTimestamp') then "
            ~ spark_cdc.value("rtrim('Z', " ~ text ~ ')', column, time_zone)
        ) -%}
        {%- if family == 'date' -%}
            {#- Where the schema knows the column, a number of any other type is no day: a year, a time, an amount. -#}
            {%- do read_as.append(
                'when case when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.days) ~ ') then true when ' ~ no_type ~ ' then '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ' else false end then '
                ~ spark_cdc.value(text, dict(column, encoding='days'), time_zone)
            ) -%}
        {%- endif -%}
        {%- set epochs = [] -%}
        {%- for encoding in ['milliseconds', 'microseconds', 'nanoseconds'] -%}
            {%- do epochs.append(
                'when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of[encoding]) ~ ') then '
                ~ spark_cdc._epoch_microseconds(text, encoding)
            ) -%}
        {%- endfor -%}
        {%- do read_as.append(
            'when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.milliseconds + types_of.microseconds + types_of.nanoseconds)
            ~ ') then ' ~ spark_cdc._debezium_clock('case ' ~ epochs | join(' ') ~ ' end', family, time_zone)
        ) -%}
    {%- elif family == 'string' -%}
        {%- set times = types_of.time_milliseconds + types_of.time_microseconds + types_of.time_nanoseconds -%}
        {%- set per_second = 'case when ' ~ type ~ ' in (' ~ spark_cdc._literals(types_of.time_milliseconds) ~ ') then 1000L when '
            ~ type ~ ' in (' ~ spark_cdc._literals(types_of.time_microseconds) ~ ') then 1000000L else 1000000000L end' -%}
        {#- CloudCanal's schema is Debezium's and its values are texts: digits may be the one or the other. -#}
        {%- do read_as.append(
            'when ' ~ type ~ ' in (' ~ spark_cdc._literals(times) ~ ') then ' ~ (
                spark_cdc._time_of_day(text, per_second) if dialect != 'cloudcanal'
                else 'case when contains(' ~ text ~ ", ':') then " ~ plain ~ ' end'
            )
        ) -%}
        {%- if dialect != 'cloudcanal' -%}
            {%- do read_as.append(spark_cdc._debezium_structured_time_of_day(text, column, type)) -%}
            {%- do read_as.append(
                'when octet_length(' ~ text ~ ') % 4 = 0 and ' ~ is_decimal ~ ' then case when '
                ~ spark_cdc._debezium_is_bare(text, column) ~ ' then ' ~ text ~ ' end'
            ) -%}
        {%- endif -%}
    {%- elif family == 'decimal' -%}
        {{- return(spark_cdc._debezium_decimal(text, column, type, dialect)) -}}
    {%- elif family in ['boolean', 'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'] -%}
        {#-
            Of bytes the length of the text is a multiple of four: other numbers are read without a look at their type. Where no
            schema tells it, what base64 never has is no bytes; `Infinity` is how the converter writes that number.
        -#}
        {%- set may_be_bytes = type ~ " in ('bytes', 'io.debezium.data.Bits') or " ~ is_decimal -%}
        {#- CloudCanal's values are texts. -#}
        {#- A cheap look first: what stands nowhere in quotes, as a whole or by its characters' numbers, is bare. -#}
        {%- set may_be_quoted = [] -%}
        {%- for source in ['value', 'key'] -%}
            {%- do may_be_quoted.append(
                'contains(' ~ source ~ ", concat('\"', " ~ text ~ ", '\"')) or contains(" ~ source ~ ", '\\\\u00')"
            ) -%}
        {%- endfor -%}
        {%- set untyped = 'false' if dialect == 'cloudcanal' else '(' ~ may_be_quoted | join(' or ') ~ ' or size(headers) > 0) and '
            ~ text ~ " <> 'Infinity' and " ~ text ~ " not rlike '[.-]'" -%}
        {%- set of_bits = 'case when ' ~ type ~ " = 'io.debezium.data.Bits' and "
            ~ spark_cdc._debezium_is_bare(text, column) ~ ' = false then '
            ~ spark_cdc.value(text, dict(column, encoding='bits'), time_zone) ~ ' end' if family == 'bigint' else 'null' -%}
        {%- if family in ['tinyint', 'smallint', 'int', 'bigint'] and dialect != 'cloudcanal' -%}
            {%- do read_as.append('when startswith(' ~ text ~ ", '{') then " ~ spark_cdc._debezium_whole_number(text, column)) -%}
        {%- endif -%}
        {%- do read_as.append(
            'when case when octet_length(' ~ text ~ ') % 4 = 0 and case when ' ~ no_type ~ ' then ' ~ untyped ~ ' else ' ~ may_be_bytes
            ~ ' end then not coalesce(' ~ spark_cdc._debezium_is_bare(text, column) ~ ', false) else false end then ' ~ of_bits
        ) -%}
    {%- endif -%}
    {{- return('case ' ~ read_as | join(' ') ~ ' else ' ~ plain ~ ' end' if read_as else plain) -}}
{%- endmacro -%}

{#-
    What `time.precision.mode=structured` writes: an object of calendar and clock fields. Of the newest version the fraction of the
    second is in `picoseconds`, before it in `nanos`. Whatever else the object holds, or a field twice, makes it none: NULL.
-#}
{%- macro _debezium_structured_fields(text) -%}
    {%- set number = '"(?:year|month|day|hour|minute|second|nanos|picoseconds|offsetSeconds|precision)":(?:null|-?[0-9]{1,15})' -%}
    {%- set word = '"(?:zoneId|specialValue)":(?:null|"[^"\\\\]*+")' -%}
    {%- set field = '(?:' ~ number ~ '|' ~ word ~ ')' -%}
    {%- set types = ['specialValue string', 'zoneId string'] -%}
    {%- for name in ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanos', 'picoseconds', 'offsetSeconds'] -%}
        {%- do types.append(name ~ ' bigint') -%}
    {%- endfor -%}
    {#- No field stands twice, and no comma at the end. -#}
    {{- return(
        'from_json(regexp_extract(' ~ text ~ ", r'^(?!.*(\"\\w++\":).*\\1)\\{(?:" ~ field ~ "(?:,(?!\\})|(?=\\})))++\\}\\z', 0), '"
        ~ types | join(', ') ~ "')"
    ) -}}
{%- endmacro -%}

{#- A finite time with the whole of its clock, none of it out of range but where Spark's own cast refuses it. -#}
{%- macro _debezium_structured_clock() -%}
    {{- return(
        "structured.specialValue is null and structured.hour between 0 and 24 and structured.minute between 0 and 59 "
        ~ "and structured.second between 0 and 59 and (structured.nanos is null) <> (structured.picoseconds is null) "
        ~ "and coalesce(structured.picoseconds, structured.nanos * 1000) between 0 and 999999999999"
    ) -}}
{%- endmacro -%}

{#- As texts of times are read: a local time, an instant where there is an offset; of a date its fields, or midnight. -#}
{%- macro _debezium_structured_time(text, family, time_zone) -%}
    {%- set date = "format_string('%04d-%02d-%02d', structured.year, structured.month, structured.day)" -%}
    {%- set is_date = 'structured.specialValue is null and structured.year between 1 and 9999 and structured.month between 1 and 12 '
        ~ 'and structured.day between 1 and 31' -%}
    {%- set clock = "format_string(' %02d:%02d:%02d.%012d', structured.hour, structured.minute, structured.second, "
        ~ 'coalesce(structured.picoseconds, structured.nanos * 1000))' -%}
    {%- set offset = "case when structured.offsetSeconds is null then '' else concat(case when structured.offsetSeconds < 0 then '-' "
        ~ "else '+' end, format_string('%02d:%02d', abs(structured.offsetSeconds) div 3600, "
        ~ 'abs(structured.offsetSeconds) div 60 % 60)) end' -%}
    {#- An offset of single seconds does not fit, nor a zone without its offset. -#}
    {%- set has_offset = 'case when structured.offsetSeconds is null then structured.zoneId is null '
        ~ 'else structured.offsetSeconds % 60 = 0 and abs(structured.offsetSeconds) <= 64800 end' -%}
    {%- set is_local = 'structured.offsetSeconds is null and structured.zoneId is null' -%}
    {%- set written = 'case when ' ~ is_date ~ ' and ' ~ spark_cdc._debezium_structured_clock() ~ ' and '
        ~ (is_local if family == 'date' else has_offset) ~ ' then concat(' ~ date ~ ', ' ~ clock ~ ', ' ~ offset ~ ') end' -%}
    {%- set value = spark_cdc._timestamp_value('written', 'timestamp_ntz' if family == 'date' else family, 'text', time_zone) -%}
    {%- set value = spark_cdc._let(
        'written', written, spark_cdc._date_at_midnight(value) if family == 'date' else value
    ) -%}
    {%- if family == 'date' -%}
        {%- set has_no_clock = 'coalesce(structured.hour, structured.minute, structured.second, structured.nanos, '
            ~ 'structured.picoseconds) is null and ' ~ is_local -%}
        {%- set value = 'case when ' ~ has_no_clock ~ ' then case when ' ~ is_date ~ ' then try_cast(' ~ date ~ ' as date) end else '
            ~ value ~ ' end' -%}
    {%- endif -%}
    {{- return(spark_cdc._let('structured', spark_cdc._debezium_structured_fields(text), value)) -}}
{%- endmacro -%}

{#-
    `when ... then ...` for a column declared as string: the time of day as databases print it, with its offset behind it where it
    has one. Without the schema an object of just these fields is one; a text that holds such an object is not, and where the
    message has both under the column's name, or the schema names the type and the value is none, nothing is certain: NULL.
-#}
{%- macro _debezium_structured_time_of_day(text, column, type) -%}
    {%- set seconds = 'abs(structured.offsetSeconds)' -%}
    {%- set offset = "case when structured.offsetSeconds is null then '' when structured.offsetSeconds = 0 then 'Z' else concat("
        ~ "case when structured.offsetSeconds < 0 then '-' else '+' end, format_string('%02d:%02d', " ~ seconds ~ ' div 3600, '
        ~ seconds ~ ' div 60 % 60), case when ' ~ seconds ~ " % 60 > 0 then format_string(':%02d', " ~ seconds
        ~ " % 60) else '' end) end" -%}
    {%- set fraction = 'coalesce(structured.picoseconds, structured.nanos * 1000)' -%}
    {%- set clock = "concat(format_string('%02d:%02d:%02d', structured.hour, structured.minute, structured.second), "
        ~ "rtrim('.', rtrim('0', format_string('.%012d', " ~ fraction ~ '))), ' ~ offset ~ ')' -%}
    {%- set is_time = 'structured.hour is not null and coalesce(structured.year, structured.month, structured.day) is null '
        ~ 'and structured.zoneId is null' -%}
    {%- set is_sound = is_time ~ ' and ' ~ spark_cdc._debezium_structured_clock() ~ ' and (structured.hour < 24 or structured.minute = 0 '
        ~ 'and structured.second = 0 and ' ~ fraction ~ ' = 0) and coalesce(' ~ seconds ~ ' <= 64800, true)' -%}
    {%- set is_structured = 'coalesce(' ~ type ~ " rlike r'^io\\.debezium\\.time\\.Structured(?:Zoned)?Time(?!stamp)', false)" -%}
    {%- set texts = "concat_ws(' ', value, key)" -%}
    {%- set name = '"' ~ modules.re.escape(column.name) ~ '"\\s*+:\\s*+' -%}
    {%- set is_text = 'not coalesce(' ~ is_time ~ ' and ' ~ texts ~ ' rlike ' ~ spark_cdc._literal(name ~ '\\{') ~ ', false)' -%}
    {%- set may_be_text = texts ~ ' rlike ' ~ spark_cdc._literal(name ~ '"') -%}
    {%- set value = 'case when not is_typed and ' ~ is_text ~ ' then ' ~ spark_cdc.value(text, column)
        ~ ' when (is_typed or not ' ~ may_be_text ~ ') and ' ~ is_sound ~ ' then ' ~ clock ~ ' end' -%}
    {{- return(
        'when ' ~ is_structured ~ ' or startswith(' ~ text ~ ", '{\"') and coalesce(" ~ type ~ ", '') = '' and contains(" ~ text
        ~ ", '\"hour\":') then " ~ spark_cdc._let('structured', spark_cdc._debezium_structured_fields(text), value
            | replace('is_typed', is_structured))
    ) -}}
{%- endmacro -%}

{#- Its scale follows the name in parentheses. -#}
{%- macro _debezium_is_decimal(type) -%}
    {{- return('startswith(' ~ type ~ ", 'org.apache.kafka.connect.data.Decimal')") -}}
{%- endmacro -%}

{%- macro _debezium_scale(type) -%}
    {{- return('regexp_extract(' ~ type ~ ", r'^org\\.apache\\.kafka\\.connect\\.data\\.Decimal\\((-?[0-9]+)\\)\\z', 1)") -}}
{%- endmacro -%}

{#- A number of Debezium's is what a wall clock showed, counted as if the clock stood in UTC: an instant has a text. -#}
{%- macro _debezium_clock(microseconds, family, time_zone) -%}
    {%- if family == 'timestamp' and time_zone == 'UTC' -%}
        {{- return('timestamp_micros(' ~ microseconds ~ ')') -}}
    {%- endif -%}
    {%- set shown = spark_cdc._clock_of_microseconds(microseconds) -%}
    {%- if family == 'timestamp' -%}
        {{- return(spark_cdc._instant_of_local('cast(' ~ shown ~ ' as string)', time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc._date_at_midnight(shown) if family == 'date' else shown) -}}
{%- endmacro -%}

{#-
    True of a number or `true` that stands in the message without quotes, false of a text, NULL where that is not certain: of
    base64 both may be the text. Whatever the column's name stands before is looked at, in any spelling, in all that an image
    may come from: what is found both with quotes and without is neither, and so is a text with an escape beside a number.
-#}
{%- macro _debezium_is_bare(text, column) -%}
    {%- set name = [] -%}
    {%- for character in column.name -%}
        {%- set unit = character.encode('utf-16-be').hex() -%}
        {%- set plain = '\\\\[' ~ modules.re.escape(character) ~ ']' if character in ['"', '\\'] else modules.re.escape(character) -%}
        {%- do name.append(
            '(?:' ~ ('\\\\?' if character == '/' else '') ~ plain ~ '|\\\\u(?i:' ~ unit[:4] ~ ')'
            ~ ('\\\\u(?i:' ~ unit[4:] ~ ')' if unit[4:] else '') ~ ')'
        ) -%}
    {%- endfor -%}
    {%- set pattern = '"' ~ name | join ~ '"\\s*+:\\s*+("[^"\\\\]*+["\\\\]|[-+.0-9A-Za-z]++)' -%}
    {%- set texts = "concat_ws(' ', value, key, " ~ spark_cdc._debezium_old_key() ~ ')' -%}
    {%- set found = 'regexp_extract_all(' ~ texts ~ ', ' ~ spark_cdc._literal(pattern) ~ ', 1)' -%}
    {%- set may_be_number = 'array_contains(found, ' ~ text ~ ')' -%}
    {%- set may_be_text = "(array_contains(found, concat('\"', " ~ text ~ ", '\"')) or contains(array_join(found, ''), '\\\\'))" -%}
    {%- set certain = spark_cdc._let(
        'found', found, 'case when ' ~ may_be_number ~ ' <> ' ~ may_be_text ~ ' then ' ~ may_be_number ~ ' end'
    ) -%}
    {#- The characters up to the colon are those that a number may begin with. CASE: of AND Spark may take the right side first. -#}
    {{- return(
        "case when " ~ text ~ " between '+' and ':' or " ~ text ~ " = 'true' then case when " ~ text
        ~ " rlike r'^(?:[+-]?[0-9]++(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true)\\z' then " ~ certain ~ " else false end else false end"
    ) -}}
{%- endmacro -%}

{#-
    By the schema, where it is there: base64 of the number without its point, bits, or a text that is the number; a bare number is
    itself (the converter's decimal.format=NUMERIC). Without it only a number that cannot be base64 is certain; the declared scale
    is the source's only where the column says `from base64`.
-#}
{%- macro _debezium_decimal(text, column, type, dialect) -%}
    {%- set is_decimal = spark_cdc._debezium_is_decimal(type) -%}
    {%- set is_bare = spark_cdc._debezium_is_bare(text, column) -%}
    {%- set is_not_base64 = '(' ~ text ~ " rlike '[.-]' or octet_length(" ~ text ~ ') % 4 <> 0)' -%}
    {%- set scale = spark_cdc._debezium_scale(type) -%}
    {%- if column.encoding -%}
        {%- set unscaled = spark_cdc._debezium_unscaled(
            text, 'case when ' ~ is_decimal ~ ' then ' ~ scale ~ " else '" ~ column.scale ~ "' end"
        ) -%}
        {%- set is_other_scale = 'false' if column.encoding != 'base64' else is_decimal ~ ' and ' ~ scale ~ " <> '" ~ column.scale ~ "'" -%}
        {%- set number -%}
            case
                when is_bare then {{ text }}
                when not is_bare and not coalesce({{ is_other_scale }}, false) then {{ unscaled }}
            end
        {%- endset -%}
    {%- elif dialect == 'cloudcanal' -%}
        {#- The page has texts in its samples and Debezium's schema in its words: a text that both can be is neither. -#}
        {{- return(
            'case when ' ~ is_not_base64 ~ ' or not coalesce(' ~ is_decimal ~ ' or ' ~ type
            ~ " in ('bytes', 'io.debezium.data.Bits'), false) or " ~ is_bare ~ ' then ' ~ spark_cdc.value(text, column) ~ ' end'
        ) -}}
    {%- else -%}
        {%- set is_bare = 'case when case when startswith(' ~ text ~ ", '{') then false when coalesce(" ~ type ~ ", '') = '' then not "
            ~ is_not_base64 ~ ' else ' ~ is_decimal ~ ' or ' ~ type ~ " = 'io.debezium.data.Bits' end then " ~ is_bare ~ ' end' -%}
        {%- set variable = spark_cdc._debezium_own_scale(text) -%}
        {%- set unscaled = spark_cdc._debezium_unscaled(
            'case when ' ~ is_decimal ~ ' then case when not is_bare then ' ~ text ~ ' end else ' ~ variable ~ '.value end',
            'case when ' ~ is_decimal ~ ' then ' ~ scale ~ ' else ' ~ variable ~ '.scale end'
        ) -%}
        {%- set number -%}
            case
                when {{ is_decimal }} and is_bare then {{ text }}
                when {{ is_decimal }} or startswith({{ text }}, '{') then {{ unscaled }}
                when {{ type }} = 'io.debezium.data.Bits' then {# -#}
                    case when not is_bare then {{ spark_cdc._unsigned_integer(text, 'bits') }} end
                when {{ type }} = 'bytes' then null
                when {{ type }} <> '' or {{ is_not_base64 }} or is_bare then {{ text }}
            end
        {%- endset -%}
    {%- endif -%}
    {{- return(spark_cdc._let('is_bare', is_bare, spark_cdc._let(
        'number', number, spark_cdc.value('number', dict(column, encoding='text'))
    ))) -}}
{%- endmacro -%}

{#-
    VariableScaleDecimal: its scale and its base64, NULL of another object. from_json alone reads a bare number as a text, and the last
    of two fields of one name.
-#}
{%- macro _debezium_own_scale(text) -%}
    {%- set own_scale, digits = '"scale"\\s*+:\\s*+-?[0-9]++\\s*+', '"value"\\s*+:\\s*+"(?:[^"\\\\]++|\\\\.)*+"\\s*+' -%}
    {%- set object = '^\\{\\s*+(?:' ~ own_scale ~ ',\\s*+' ~ digits ~ '|' ~ digits ~ ',\\s*+' ~ own_scale ~ ')}\\z' -%}
    {{- return('from_json(regexp_extract(' ~ text ~ ", r'" ~ object ~ "', 0), 'scale string, value string')") -}}
{%- endmacro -%}

{#- Oracle's NUMBER without a scale, in a column of whole numbers: of a scale above 0 none is read. -#}
{%- macro _debezium_whole_number(text, column) -%}
    {%- set number = 'try_cast(try_cast(' ~ spark_cdc._debezium_unscaled('own.value', 'own.scale') ~ ' as decimal(38,0)) as '
        ~ column.type ~ ')' -%}
    {{- return(spark_cdc._let(
        'own', spark_cdc._debezium_own_scale(text), "case when own.scale rlike '^(?:0|-[0-9]{1,2})$' then " ~ number ~ ' end'
    )) -}}
{%- endmacro -%}

{#- base64 of a number without its point -> the text of the number. 5E--2 is 5E2. -#}
{%- macro _debezium_unscaled(text, scale) -%}
    {{- return(
        'replace(concat(cast(' ~ spark_cdc._big_endian_integer(text) ~ " as string), 'E-', " ~ scale ~ "), '--')"
    ) -}}
{%- endmacro -%}
