{#-
    Values of Debezium's semantic types, and of Kafka Connect's logical types.
    Facts: debezium.io/documentation, the connectors' "data type mappings"; docs/formats/debezium.md.

    With the converter's schema each value's semantic type is known. Without it milliseconds and microseconds look alike, and a
    decimal is base64 or text: an ambiguous value does not fit until the column declares `from ...`.

    Most texts are plain: a number by its digits, a time as databases write it. A value in an encoding that the message shows has a
    reading (readings.sql), which the messages model made. `_debezium_plain_text` takes it where the column's declaration fits the
    encoding, for all columns in one place; the texts are then read like those of any format.
-#}
{%- macro default__debezium_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'cockroachdb' -%}
        {{- return(spark_cdc._debezium_cockroachdb_value(text, column, time_zone)) -}}
    {%- endif -%}
    {%- set is_time = column.family in ['date', 'timestamp', 'timestamp_ntz'] -%}
    {%- if is_time and column.encoding in ['seconds', 'milliseconds', 'microseconds', 'nanoseconds'] -%}
        {{- return(spark_cdc._debezium_clock(spark_cdc._epoch_microseconds(text, column.encoding), column.family, time_zone)) -}}
    {%- elif dialect == 'cloudcanal' and column.family == 'binary' and column.encoding is none -%}
        {#- CloudCanal's page does not say how it writes them. -#}
        {{- return('cast(null as binary)') -}}
    {%- elif dialect == 'cloudcanal' and is_time and column.encoding in [none, 'text'] -%}
        {{- return(spark_cdc.value(spark_cdc._with_offset_minutes(text), column, time_zone)) -}}
    {%- elif column.family == 'date' and column.encoding is none -%}
        {{- return(
            'case when ' ~ text ~ " rlike r'^[+-]?[0-9]+\\z' then " ~ spark_cdc.value(text, dict(column, encoding='days'), time_zone)
            ~ ' else ' ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- elif column.family == 'decimal' and column.encoding == 'base64' -%}
        {{- return(spark_cdc.value(text, dict(column, encoding='text'), time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}

{#- Condition: the text matches the project's pattern for no value, such as Java's print of an object that has no text. -#}
{%- macro _debezium_is_no_value(text) -%}
    {%- set pattern = spark_cdc._var('spark_cdc__debezium_invalid_pattern') -%}
    {{- return(spark_cdc._matches_whole(text, pattern) if pattern else none) -}}
{%- endmacro -%}

{#-
    Conditions on a change: it has a text that is no value. The package's own pattern for these has nothing that goes on after the
    end of a line, so that one search finds it in all texts. A project's pattern is asked of each.
-#}
{%- macro _debezium_has_no_value(dialect) -%}
    {%- set name = 'spark_cdc__debezium_invalid_pattern' -%}
    {%- set pattern = spark_cdc._var(name) if dialect != 'cloudcanal' -%}
    {%- set conditions = [] -%}
    {%- if pattern == spark_cdc._vars_of_messages()[name] -%}
        {%- do conditions.append(
            "concat_ws('\\n', map_values(image), map_values(before)) rlike " ~ spark_cdc._literal('(?m)^(?:' ~ pattern ~ ')$')
        ) -%}
    {%- elif pattern -%}
        {%- for row in ['image', 'before'] -%}
            {%- do conditions.append('exists(map_values(' ~ row ~ '), text -> ' ~ spark_cdc._debezium_is_no_value('text') ~ ')') -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(conditions) -}}
{%- endmacro -%}

{#-
    Condition on a change: a text of it may not be plain. Without a schema only one with a reading may not be, or a number in quotes,
    which may be base64. For bytes, and for a decimal from base64, each text may be a number without quotes.
-#}
{%- macro default__debezium_may_not_be_plain(columns, dialect) -%}
    {%- for column in columns if spark_cdc._is_bytes(column) -%}
        {{- return('true') -}}
    {%- endfor -%}
    {%- set types = ['bytes', 'io.debezium.data.Bits', 'org.apache.kafka.connect.data.Decimal']
        + spark_cdc._debezium_times_of_day() -%}
    {%- for column in columns -%}
        {%- if column.family in ['timestamp', 'timestamp_ntz'] and column.encoding is none -%}
            {%- do types.extend(spark_cdc._debezium_types_of(['milliseconds', 'microseconds', 'nanoseconds'])) -%}
        {%- endif -%}
        {%- do types.extend(spark_cdc._debezium_types_against(column.encoding)) -%}
    {%- endfor -%}
    {%- set numbers = [] -%}
    {%- for column in columns if column.family not in ['string', 'variant', 'timestamp', 'timestamp_ntz'] -%}
        {%- do numbers.append(column.name) -%}
    {%- endfor -%}
    {%- set has_dates = columns | selectattr('family', 'equalto', 'date') | list | length > 0 -%}
    {%- set conditions = [
        'size(column_types) > 0' if has_dates else
            "array_join(map_values(column_types), ' ') rlike r'(?:^|[ .])(?:(?:" ~ spark_cdc._debezium_last_names(types) | join('|')
            ~ ")(?![A-Za-z])|Structured|Iso)'",
    ] + spark_cdc._debezium_has_no_value(dialect) -%}
    {%- for place in [0, 1] -%}
        {%- if dialect != 'cloudcanal' -%}
            {%- do conditions.append('size(readings[' ~ place ~ ']) > 0') -%}
        {%- endif -%}
        {%- if numbers -%}
            {%- do conditions.append(
                'arrays_overlap(in_quotes[' ~ place ~ '], array(' ~ spark_cdc._literals(numbers) ~ '))'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(conditions | join('\nor ')) -}}
{%- endmacro -%}

{#-
    The `text` of the column `name` -> the text of its value as any format writes it: digits of a number, a local time. A value
    that is not certain becomes U+FFFD, which no type reads. Columns that are read alike share one branch.
-#}
{%- macro default__debezium_plain_text(columns, dialect) -%}
    {%- set groups, texts = {}, [] -%}
    {%- set bigints = columns | selectattr('family', 'equalto', 'bigint') | rejectattr('encoding') | map(attribute='name') | list -%}
    {%- set is_no_value = spark_cdc._debezium_is_no_value('text') if dialect != 'cloudcanal' -%}
    {%- for column in columns -%}
        {%- if column.family in ['string', 'variant'] -%}
            {%- do texts.append(column.name) -%}
        {%- endif -%}
        {%- set plain = spark_cdc._debezium_plain_text_of(column, dialect, bigints) -%}
        {%- if plain -%}
            {%- do groups.setdefault(plain, []).append(column.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not groups and not (texts and is_no_value) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set branches -%}
        case
            {%- for plain, names in groups.items() %}
            when name in ({{ spark_cdc._literals(names) }}) then coalesce({{ spark_cdc._outdented(plain) | indent(12) }}, '\uFFFD')
            {%- endfor %}
            else text
        end
    {%- endset -%}
    {%- set type = "coalesce(column_types[name], '')" -%}
    {%- set known -%}
        named_struct(
            'type', {{ type }},
            'is_decimal', {{ spark_cdc._debezium_is_decimal(type) }},
            'is_bare', {{ spark_cdc._debezium_is_bare('get(in_quotes, place)') | indent(16) }}
            {%- if dialect != 'cloudcanal' %},
            'reading', get(readings, place)[name]
            {%- endif %}
        )
    {%- endset -%}
    {#- A value of a type that needs no other text, without an object: most values, and `known` is slow. -#}
    {%- set others = [] -%}
    {%- for column in columns if column.encoding is not none or column.family in ['date', 'binary'] -%}
        {%- do others.append(column.name) -%}
    {%- endfor -%}
    {%- set plain_text -%}
        case
            when text is null then null
            {%- if texts and is_no_value %}
            when name in ({{ spark_cdc._literals(texts) }}) and {{ is_no_value }} then '\uFFFD'
            {%- endif %}
            {%- if not groups %}
            else text
            {%- else %}
            {%- if dialect != 'cloudcanal' %}
            when column_types[name] in ('int16', 'int32', 'int64', 'float', 'double', 'boolean', 'string')
                {{- ' and name not in (' ~ spark_cdc._literals(others) ~ ')' if others }} and not startswith(text, '{')
                then text
            {%- endif %}
            else {{ spark_cdc._let('known', known, branches) | indent(12) }}
            {%- endif %}
        end
    {%- endset -%}
    {{- return(spark_cdc._outdented(plain_text)) -}}
{%- endmacro -%}

{#- What follows the last point of each type's name: a search of all types at once looks for these. -#}
{%- macro _debezium_last_names(types) -%}
    {%- set last_names = [] -%}
    {%- for type in types -%}
        {%- do last_names.append(type.split('.') | last) -%}
    {%- endfor -%}
    {{- return(last_names | unique | list) -}}
{%- endmacro -%}

{#- The semantic types whose values are written in one of these encodings. -#}
{%- macro _debezium_types_of(encodings) -%}
    {%- set types_of = {
        'days': ['io.debezium.time.Date', 'org.apache.kafka.connect.data.Date'],
        'milliseconds': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
        'microseconds': ['io.debezium.time.MicroTimestamp'],
        'nanoseconds': ['io.debezium.time.NanoTimestamp'],
        'time_milliseconds': ['io.debezium.time.Time', 'org.apache.kafka.connect.data.Time'],
        'time_microseconds': ['io.debezium.time.MicroTime'],
        'time_nanoseconds': ['io.debezium.time.NanoTime'],
    } -%}
    {%- set types = [] -%}
    {%- for encoding in encodings -%}
        {%- do types.extend(types_of[encoding]) -%}
    {%- endfor -%}
    {{- return(types) -}}
{%- endmacro -%}

{%- macro _debezium_times_of_day() -%}
    {{- return(spark_cdc._debezium_types_of(['time_milliseconds', 'time_microseconds', 'time_nanoseconds'])) -}}
{%- endmacro -%}

{#- Microseconds since 1970 of a number whose `type` says its unit; NULL for another type. -#}
{%- macro _debezium_microseconds(text, type) -%}
    {%- set microseconds -%}
        case
            when not ({{ spark_cdc._begins_and_ends_as_number(text) }}) then null
            {%- for encoding in ['milliseconds', 'microseconds', 'nanoseconds'] %}
            {%- set epoch = spark_cdc._whole_epoch('try_cast(' ~ text ~ ' as bigint)', encoding) %}
            when {{ type }} in ({{ spark_cdc._literals(spark_cdc._debezium_types_of([encoding])) }})
                and {{ epoch.conditions | join('\n                and ') }}
                then {{ epoch.microseconds }}
            {%- endfor %}
        end
    {%- endset -%}
    {{- return(spark_cdc._outdented(microseconds)) -}}
{%- endmacro -%}

{#-
    The types that contradict a column's declared encoding of times; none for other encodings. A date may declare `from days`
    with any type.
-#}
{%- macro _debezium_types_against(encoding) -%}
    {%- set times = ['milliseconds', 'microseconds', 'nanoseconds', 'time_milliseconds', 'time_microseconds', 'time_nanoseconds'] -%}
    {{- return(
        spark_cdc._debezium_types_of(['days'] + times | reject('equalto', encoding) | list) if encoding in ['seconds'] + times else []
    ) -}}
{%- endmacro -%}

{#-
    SQL over `text`, `name` and what is `known` of the value: `type`, its semantic type or ''; `is_decimal`, of this type; `is_bare`
    (see `_debezium_is_bare`); `reading` (see `_debezium_readings`), which CloudCanal's texts do not have. NULL stands for U+FFFD.
    None for a column whose text is always plain. Of the numbers only the `bigints` may be bits.
-#}
{%- macro _debezium_plain_text_of(column, dialect, bigints) -%}
    {%- set family, encoding = column.family, column.encoding -%}
    {%- set is_time = family in ['date', 'timestamp', 'timestamp_ntz'] -%}
    {%- if family == 'binary' and encoding is none -%}
        {#- binary.handling.mode writes base64 and hexadecimal alike as `string`, and any other text may be base64. -#}
        {{- return("case when known.type in ('', 'bytes', 'io.debezium.data.Bits') and not known.is_bare then text end") -}}
    {%- elif family == 'binary' -%}
        {{- return('case when not known.is_bare then text end') -}}
    {%- elif encoding in ['bits', 'big_endian_bits'] -%}
        {{- return('case when not known.is_decimal and not known.is_bare then text end') -}}
    {%- elif family == 'decimal' and encoding is none -%}
        {{- return(spark_cdc._debezium_plain_decimal(dialect)) -}}
    {%- elif family == 'decimal' and encoding == 'base64' -%}
        {{- return(spark_cdc._debezium_decimal_from_base64(column)) -}}
    {%- elif encoding is not none and dialect == 'cloudcanal' -%}
        {#- CloudCanal's values are texts. -#}
        {{- return(none) -}}
    {%- elif spark_cdc._debezium_types_against(encoding) -%}
        {#- The declaration contradicts the schema: one of the two is wrong. -#}
        {%- set against = spark_cdc._literals(spark_cdc._debezium_types_against(encoding)) -%}
        {{- return('case when known.type not in (' ~ against ~ ') then text end') -}}
    {%- elif encoding is not none -%}
        {{- return(none if is_time or family == 'string' else
            'case when octet_length(text) % 4 <> 0 or not known.is_decimal or known.is_bare then text end') -}}
    {%- elif is_time -%}
        {{- return(spark_cdc._debezium_plain_time(family) if dialect != 'cloudcanal' else none) -}}
    {%- elif family == 'string' -%}
        {{- return(spark_cdc._debezium_plain_string(dialect)) -}}
    {%- elif family in ['boolean', 'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'] -%}
        {{- return(spark_cdc._debezium_plain_number(family, dialect, bigints)) -}}
    {%- endif -%}
    {{- return(none) -}}
{%- endmacro -%}

{#-
    The text of bytes has a length that is a multiple of four: other numbers are read whatever their type. Without a schema, a
    text with a character that base64 never has is not bytes; the converter writes that number as `Infinity`. Oracle's NUMBER
    without a scale may be a whole number, and bits may be a bigint.
-#}
{%- macro _debezium_plain_number(family, dialect, bigints) -%}
    {%- set may_be_encoded = family in ['tinyint', 'smallint', 'int', 'bigint'] and dialect != 'cloudcanal' -%}
    {%- set plain -%}
        case
            {%- if may_be_encoded %}
            when startswith(text, '{') then known.reading
            {%- if bigints %}
            when name in ({{ spark_cdc._literals(bigints) }}) and known.type = 'io.debezium.data.Bits' and not known.is_bare
                then known.reading
            {%- endif %}
            {%- endif %}
            when octet_length(text) % 4 <> 0 or known.is_bare then text
            when known.type = ''{{ " and (text = 'Infinity' or text rlike '[.-]')" if dialect != 'cloudcanal' }} then text
            when {{ spark_cdc._debezium_is_no_bytes() }} then text
        end
    {%- endset -%}
    {{- return(plain) -}}
{%- endmacro -%}

{#- A number whose unit the schema says becomes the local time; for a date it has to be midnight. -#}
{%- macro _debezium_plain_time(family) -%}
    {%- set days = spark_cdc._literals(spark_cdc._debezium_types_of(['days'])) -%}
    {%- set epochs = spark_cdc._literals(spark_cdc._debezium_types_of(['milliseconds', 'microseconds', 'nanoseconds'])) -%}
    {%- set local = spark_cdc._clock_of_microseconds(spark_cdc._debezium_microseconds('text', 'known.type')) -%}
    {%- set local = spark_cdc._date_at_midnight(local) if family == 'date' else local -%}
    {#- The reading of a decimal is no date. -#}
    {%- set date_of_reading = "case when known.reading rlike r'^" ~ spark_cdc._date_pattern()
        ~ "(?: 00:00:00[.]0++)?\\z' then left(known.reading, 10) end" -%}
    {%- set plain -%}
        case
            when startswith(text, '{') or startswith(known.type, 'io.debezium.time.Structured')
                then {{ date_of_reading if family == 'date' else 'known.reading' }}
            when known.type in ('io.debezium.time.IsoDate', 'io.debezium.time.IsoTimestamp') then trim(trailing 'Z' from text)
            when known.type in ({{ epochs }}) then cast({{ local | indent(12) }} as string)
            {%- if family == 'date' %}
            when not text rlike r'^[+-]?[0-9]+\z' then case when known.type not in ({{ days }}) then text end
            when known.type in ({{ days }}) or known.type = '' and known.is_bare then text
            {%- else %}
            else text
            {%- endif %}
        end
    {%- endset -%}
    {{- return(plain) -}}
{%- endmacro -%}

{#- CloudCanal has Debezium's schema, but its values are texts: digits may be either. -#}
{%- macro _debezium_plain_string(dialect) -%}
    {%- set times = spark_cdc._literals(spark_cdc._debezium_times_of_day()) -%}
    {%- if dialect == 'cloudcanal' -%}
        {{- return('case when not known.type in (' ~ times ~ ") or contains(text, ':') then text end") -}}
    {%- endif -%}
    {%- set plain -%}
        case
            when known.type in ({{ times }}) then known.reading
            when known.type rlike r'^io\.debezium\.time\.Structured(?:Zoned)?Time(?!stamp)'
                or known.type = '' and known.reading rlike r'^(?:[0-9]{2}:|\x{FFFD})'
                then case when known.reading rlike '^[0-9]{2}:' then known.reading end
            when octet_length(text) % 4 = 0 and known.is_decimal
                then case when known.is_bare then text end
            else text
        end
    {%- endset -%}
    {{- return(plain) -}}
{%- endmacro -%}

{#- The scale follows the name in parentheses. -#}
{%- macro _debezium_is_decimal(type) -%}
    {{- return('startswith(' ~ type ~ ", 'org.apache.kafka.connect.data.Decimal')") -}}
{%- endmacro -%}

{#- The schema names a type whose values are no bytes. -#}
{%- macro _debezium_is_no_bytes() -%}
    {{- return("not (known.is_decimal or known.type in ('', 'bytes', 'io.debezium.data.Bits'))") -}}
{%- endmacro -%}

{%- macro _debezium_scale(type) -%}
    {{- return('regexp_extract(' ~ type ~ ", r'^org\\.apache\\.kafka\\.connect\\.data\\.Decimal\\((-?[0-9]+)\\)\\z', 1)") -}}
{%- endmacro -%}

{#- Debezium writes a local time as a number, counted as if it were in UTC; it writes an instant as a text. -#}
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
    A text that is the number, or a number without quotes (the converter's decimal.format=NUMERIC). Without the schema only a number
    that cannot be base64 is certain. CloudCanal's page has texts in its samples and Debezium's schema in its description: a text
    that may be both is not certain.
-#}
{%- macro _debezium_plain_decimal(dialect) -%}
    {%- set is_not_base64 = "text rlike '[.-]' or octet_length(text) % 4 <> 0" -%}
    {%- if dialect == 'cloudcanal' -%}
        {{- return(
            'case when ' ~ is_not_base64
            ~ " or not (known.is_decimal or known.type in ('bytes', 'io.debezium.data.Bits')) or known.is_bare then text end"
        ) -}}
    {%- endif -%}
    {%- set number -%}
        case
            when startswith(text, '{') then known.reading
            when known.type = '' and ({{ is_not_base64 }}) then text
            when known.is_bare then case when known.type not in ('bytes', 'io.debezium.data.Bits') then text end
            when {{ spark_cdc._debezium_is_no_bytes() }} then text
            else known.reading
        end
    {%- endset -%}
    {{- return(number) -}}
{%- endmacro -%}

{#-
    A decimal that the column declares to be base64, with the column's scale. If the schema has another scale, one of the two is
    wrong. Without the schema nothing shows whether a text with a point has quotes: see `_debezium_names_bytes`.
-#}
{%- macro _debezium_decimal_from_base64(column) -%}
    {%- set scale_of_type = spark_cdc._debezium_scale('known.type') -%}
    {%- set plain -%}
        case
            when known.is_bare then case when not (known.type = '' and contains(text, '.')) then text end
            when not known.is_decimal or {{ scale_of_type }} = '{{ column.scale }}'
                then {{ spark_cdc._debezium_decimal_of('text', "'" ~ column.scale ~ "'") | indent(16) }}
        end
    {%- endset -%}
    {{- return(plain) -}}
{%- endmacro -%}
