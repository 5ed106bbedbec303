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
        {%- do read_as.append(
            'when case when octet_length(' ~ text ~ ') % 4 = 0 and case when ' ~ no_type ~ ' then ' ~ untyped ~ ' else ' ~ may_be_bytes
            ~ ' end then not coalesce(' ~ spark_cdc._debezium_is_bare(text, column) ~ ', false) else false end then ' ~ of_bits
        ) -%}
    {%- endif -%}
    {{- return('case ' ~ read_as | join(' ') ~ ' else ' ~ plain ~ ' end' if read_as else plain) -}}
{%- endmacro -%}

{#- Its scale follows the name in parentheses. -#}
{%- macro _debezium_is_decimal(type) -%}
    {{- return('startswith(' ~ type ~ ", 'org.apache.kafka.connect.data.Decimal')") -}}
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
    {%- set scale = 'regexp_extract(' ~ type ~ ", r'\\((-?[0-9]+)\\)', 1)" -%}
    {%- if column.encoding -%}
        {%- set unscaled = spark_cdc._debezium_unscaled(
            text, 'case when ' ~ is_decimal ~ ' then ' ~ scale ~ " else '" ~ column.scale ~ "' end"
        ) -%}
        {%- set number -%}
            case
                when is_bare then {{ text }}
                when not is_bare then {{ unscaled }}
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
        {#- VariableScaleDecimal. from_json alone reads a bare number as a text, and the last of two fields of one name. -#}
        {%- set own_scale, digits = '"scale"\\s*+:\\s*+-?[0-9]++\\s*+', '"value"\\s*+:\\s*+"(?:[^"\\\\]++|\\\\.)*+"\\s*+' -%}
        {%- set object = '^\\{\\s*+(?:' ~ own_scale ~ ',\\s*+' ~ digits ~ '|' ~ digits ~ ',\\s*+' ~ own_scale ~ ')}\\z' -%}
        {%- set variable = 'from_json(regexp_extract(' ~ text ~ ", r'" ~ object ~ "', 0), 'scale string, value string')" -%}
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

{#- base64 of a number without its point -> the text of the number. 5E--2 is 5E2. -#}
{%- macro _debezium_unscaled(text, scale) -%}
    {{- return(
        'replace(concat(cast(' ~ spark_cdc._big_endian_integer(text) ~ " as string), 'E-', " ~ scale ~ "), '--')"
    ) -}}
{%- endmacro -%}
