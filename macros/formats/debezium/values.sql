{#-
    Values of Debezium's semantic types, and of Kafka Connect's logical types.
    Facts: debezium.io/documentation, the connectors' "data type mappings"; docs/formats/debezium.md.

    With the converter's schema each value's semantic type is known. Without it milliseconds and microseconds look alike, and a
    decimal is base64 or text: an ambiguous value does not fit until the column declares `from ...`.

    Most texts are plain: a number by its digits, a time as databases write it. `_debezium_plain_text` first makes the others
    plain, for all columns in one place; they are then read like those of any format.
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
    Conditions on a change: it has a text that begins as an object, or one that is no value. The package's own pattern for these has
    nothing that goes on after the end of a line, so that one search finds it in all texts. A project's pattern is asked of each.
-#}
{%- macro _debezium_has_unusual_text(dialect) -%}
    {%- set name = 'spark_cdc__debezium_invalid_pattern' -%}
    {%- set pattern = spark_cdc._var(name) if dialect != 'cloudcanal' -%}
    {%- set is_own = pattern and pattern != spark_cdc._vars_of_messages()[name] -%}
    {%- set line = '(?m)^(?:[{]|(?:' ~ pattern ~ ')$)' if pattern and not is_own else '(?m)^[{]' -%}
    {%- set conditions = ["concat_ws('\\n', map_values(image), map_values(before)) rlike " ~ spark_cdc._literal(line)] -%}
    {%- for row in ['image', 'before'] if is_own -%}
        {%- do conditions.append('exists(map_values(' ~ row ~ '), text -> ' ~ spark_cdc._debezium_is_no_value('text') ~ ')') -%}
    {%- endfor -%}
    {{- return(conditions) -}}
{%- endmacro -%}

{#-
    Condition on a change: a text of it may not be plain. Without a schema only an object may not be, or a number in quotes, which
    may be base64. For bytes, and for a decimal from base64, each text may be a number without quotes.
-#}
{%- macro default__debezium_may_not_be_plain(columns, dialect) -%}
    {%- for column in columns if spark_cdc._is_bytes(column) -%}
        {{- return('true') -}}
    {%- endfor -%}
    {%- set types = ['bytes', 'io.debezium.data.Bits', 'org.apache.kafka.connect.data.Decimal']
        + spark_cdc._debezium_types_of(['time_milliseconds', 'time_microseconds', 'time_nanoseconds']) -%}
    {%- for column in columns -%}
        {%- if column.family in ['timestamp', 'timestamp_ntz'] and column.encoding is none -%}
            {%- do types.extend(spark_cdc._debezium_types_of(['milliseconds', 'microseconds', 'nanoseconds'])) -%}
        {%- endif -%}
        {%- do types.extend(spark_cdc._debezium_types_against(column.encoding)) -%}
    {%- endfor -%}
    {%- set last_names = [] -%}
    {%- for type in types -%}
        {%- do last_names.append(type.split('.') | last) -%}
    {%- endfor -%}
    {%- set numbers = [] -%}
    {%- for column in columns if column.family not in ['string', 'variant', 'timestamp', 'timestamp_ntz'] -%}
        {%- do numbers.append(column.name) -%}
    {%- endfor -%}
    {%- set has_dates = columns | selectattr('family', 'equalto', 'date') | list | length > 0 -%}
    {%- set conditions = [
        'size(column_types) > 0' if has_dates else
            "array_join(map_values(column_types), ' ') rlike r'(?:^|[ .])(?:(?:" ~ last_names | unique | join('|')
            ~ ")(?![A-Za-z])|Structured|Iso)'",
    ] + spark_cdc._debezium_has_unusual_text(dialect) -%}
    {%- for names in ['in_quotes', 'before_in_quotes'] if numbers -%}
        {%- do conditions.append(
            'arrays_overlap(map_keys(' ~ names ~ '), array(' ~ spark_cdc._literals(numbers) ~ '))'
        ) -%}
    {%- endfor -%}
    {{- return(conditions | join('\nor ')) -}}
{%- endmacro -%}

{#-
    The `text` of the column `name` -> the text of its value as any format writes it: digits of a number, a local time. A value
    that is not certain becomes U+FFFD, which no type reads. Columns that are read alike share one branch.
-#}
{%- macro default__debezium_plain_text(columns, dialect) -%}
    {%- set groups, bytes, texts = {}, [], [] -%}
    {%- set is_no_value = spark_cdc._debezium_is_no_value('text') if dialect != 'cloudcanal' -%}
    {%- for column in columns -%}
        {%- if spark_cdc._is_bytes(column) -%}
            {%- do bytes.append(column.name) -%}
        {%- elif column.family in ['string', 'variant'] -%}
            {%- do texts.append(column.name) -%}
        {%- endif -%}
        {%- set plain = spark_cdc._debezium_plain_text_of(column, dialect) -%}
        {%- if plain -%}
            {%- do groups.setdefault(plain, []).append(column.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not groups and not (texts and is_no_value) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set numbers_of_bytes = spark_cdc._debezium_numbers_of_bytes(columns, dialect) -%}
    {%- set branches -%}
        case
            {%- for condition, plain in numbers_of_bytes.items() %}
            when {{ condition | indent(16) }}
                then coalesce({{ plain | indent(16) }}, '\uFFFD')
            {%- endfor %}
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
            'is_no_bytes', {{ spark_cdc._debezium_is_no_bytes(type) }},
            'is_bare', {{ spark_cdc._outdented(spark_cdc._debezium_is_bare(type, bytes)) | indent(12) }}
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
            {%- if not groups and not numbers_of_bytes %}
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
    SQL over `text`, `name` and what is `known` of the value: `type`, its semantic type or ''; `is_decimal` and `is_no_bytes`, of
    this type; `is_bare` (see `_debezium_is_bare`). NULL stands for U+FFFD. None for a column whose text is always plain.
-#}
{%- macro _debezium_plain_text_of(column, dialect) -%}
    {%- set family, encoding = column.family, column.encoding -%}
    {%- set is_time = family in ['date', 'timestamp', 'timestamp_ntz'] -%}
    {%- if family == 'binary' and encoding is none -%}
        {#- binary.handling.mode writes base64 and hexadecimal alike as `string`, and any other text may be base64. -#}
        {{- return("case when known.type in ('', 'bytes', 'io.debezium.data.Bits') and not known.is_bare then text end") -}}
    {%- elif family == 'binary' -%}
        {{- return('case when not known.is_bare then text end') -}}
    {%- elif encoding in ['bits', 'big_endian_bits'] -%}
        {{- return('case when not known.is_decimal and not known.is_bare then text end') -}}
    {%- elif family == 'decimal' and encoding in [none, 'base64'] -%}
        {{- return(spark_cdc._debezium_plain_decimal(column, dialect)) -}}
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
        {{- return(spark_cdc._debezium_plain_number(dialect)) -}}
    {%- endif -%}
    {{- return(none) -}}
{%- endmacro -%}

{#-
    The text of bytes has a length that is a multiple of four: other numbers are read whatever their type. Without a schema, a
    text with a character that base64 never has is not bytes; the converter writes that number as `Infinity`.
-#}
{%- macro _debezium_plain_number(dialect) -%}
    {%- set plain -%}
        case
            when octet_length(text) % 4 <> 0 or known.is_bare then text
            when known.type = ''{{ " and (text = 'Infinity' or text rlike '[.-]')" if dialect != 'cloudcanal' }} then text
            when known.is_no_bytes then text
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
    {%- set plain -%}
        case
            when startswith(text, '{') or startswith(known.type, 'io.debezium.time.Structured')
                then case
                    when known.type rlike r'^(?:io\.debezium\.time\.Structured|\z)'
                        then {{ spark_cdc._debezium_structured_time('text', family) | indent(24) }}
                end
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
    {%- set milliseconds = spark_cdc._literals(spark_cdc._debezium_types_of(['time_milliseconds'])) -%}
    {%- set microseconds = spark_cdc._literals(spark_cdc._debezium_types_of(['time_microseconds'])) -%}
    {%- set nanoseconds = spark_cdc._literals(spark_cdc._debezium_types_of(['time_nanoseconds'])) -%}
    {%- set times = [milliseconds, microseconds, nanoseconds] | join(', ') -%}
    {%- if dialect == 'cloudcanal' -%}
        {{- return('case when not known.type in (' ~ times ~ ") or contains(text, ':') then text end") -}}
    {%- endif -%}
    {%- set is_structured = "known.type rlike r'^io\\.debezium\\.time\\.Structured(?:Zoned)?Time(?!stamp)'" -%}
    {%- set per_second = 'case when known.type in (' ~ milliseconds ~ ') then 1000L when known.type in (' ~ microseconds
        ~ ') then 1000000L else 1000000000L end' -%}
    {%- set plain -%}
        case
            when known.type in ({{ times }})
                then {{ spark_cdc._time_of_day('text', per_second) | indent(16) }}
            when {{ is_structured }} or startswith(text, '{"') and known.type = '' and contains(text, '"hour":')
                then {{ spark_cdc._debezium_structured_time_of_day(is_structured) | indent(16) }}
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
{%- macro _debezium_is_no_bytes(type) -%}
    {{- return(type ~ " not in ('', 'bytes', 'io.debezium.data.Bits') and not " ~ spark_cdc._debezium_is_decimal(type)) -}}
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
    The numbers that are bytes, as {condition: SQL of the text}, before the rules of the columns:

    - a decimal: base64 of the number without its point, with the scale of the message's schema, of the value itself
      (VariableScaleDecimal), or of the column if it declares `from base64`. Oracle's NUMBER without a scale may be in a column of
      whole numbers: the text of such a value with a scale above 0 has an exponent, which no whole number has.
    - bits, as the number without a sign that they are.
-#}
{%- macro _debezium_numbers_of_bytes(columns, dialect) -%}
    {%- set scale_of_type = spark_cdc._debezium_scale('known.type') -%}
    {%- set decimals, whole, bits, declared_scales = [], [], [], {} -%}
    {%- for column in columns -%}
        {%- if column.family == 'decimal' and column.encoding == 'base64' -%}
            {%- do declared_scales.update({column.name: column.scale | string}) -%}
        {%- elif column.encoding is none and dialect != 'cloudcanal' -%}
            {%- if column.family == 'decimal' -%}
                {%- do decimals.append(column.name) -%}
            {%- elif column.family in ['tinyint', 'smallint', 'int', 'bigint'] -%}
                {%- do whole.append(column.name) -%}
            {%- endif -%}
            {%- if column.family in ['decimal', 'bigint'] -%}
                {%- do bits.append(column.name) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set found, are_encoded, scales, in_text = {}, [], [], [] -%}
    {%- if declared_scales -%}
        {%- set is_declared = 'name in (' ~ spark_cdc._literals(declared_scales) ~ ')' -%}
        {%- set scale = 'map(' ~ spark_cdc._literals(declared_scales.items() | sum(start=())) ~ ')[name]' -%}
        {%- do are_encoded.append(is_declared ~ ' and not known.is_bare') -%}
        {#- A scale that contradicts the schema: one of the two is wrong. -#}
        {%- do scales.append('when ' ~ is_declared ~ ' then case when not known.is_decimal or ' ~ scale_of_type ~ ' = ' ~ scale
            ~ ' then ' ~ scale ~ ' end') -%}
        {%- do in_text.append(is_declared) -%}
    {%- endif -%}
    {%- if decimals -%}
        {%- do are_encoded.append('name in (' ~ spark_cdc._literals(decimals) ~ ') and known.is_decimal and not known.is_bare') -%}
        {%- do scales.append('when known.is_decimal then ' ~ scale_of_type) -%}
        {%- do in_text.append('known.is_decimal') -%}
    {%- endif -%}
    {%- if decimals or whole -%}
        {%- do are_encoded.append(
            'name in (' ~ spark_cdc._literals(decimals + whole) ~ ") and startswith(text, '{') and not known.is_decimal"
        ) -%}
    {%- endif -%}
    {%- if are_encoded -%}
        {%- set scale -%}
            case
                {%- for branch in scales %}
                {{ branch }}
                {%- endfor %}
                when text rlike {{ spark_cdc._debezium_own_scale_pattern() }} then get_json_object(text, '$.scale')
            end
        {%- endset -%}
        {%- set own_value = "get_json_object(text, '$.value')" -%}
        {%- set value = 'if(' ~ in_text | join(' or ') ~ ', text, ' ~ own_value ~ ')' if in_text else own_value -%}
        {%- set encoded -%}
            named_struct(
                'scale', {{ spark_cdc._outdented(scale) | indent(16) }},
                'digits', hex({{ spark_cdc.decode_binary(value, 'base64') }})
            )
        {%- endset -%}
        {%- do found.update({are_encoded | join('\nor '): spark_cdc._let(
            'encoded', encoded, spark_cdc._debezium_unscaled('encoded.digits', 'encoded.scale')
        )}) -%}
    {%- endif -%}
    {%- if bits -%}
        {%- do found.update({
            'name in (' ~ spark_cdc._literals(bits) ~ ") and known.type = 'io.debezium.data.Bits' and not known.is_bare":
                spark_cdc._unsigned_integer('text', 'bits')
        }) -%}
    {%- endif -%}
    {{- return(found) -}}
{%- endmacro -%}

{#-
    A text that is the number, or a number without quotes (the converter's decimal.format=NUMERIC). Without the schema only a number
    that cannot be base64 is certain. CloudCanal's page has texts in its samples and Debezium's schema in its description: a text
    that may be both is not certain.
-#}
{%- macro _debezium_plain_decimal(column, dialect) -%}
    {%- set is_not_base64 = "text rlike '[.-]' or octet_length(text) % 4 <> 0" -%}
    {%- if column.encoding -%}
        {#- Without the schema nothing shows whether a text with a point has quotes: `_debezium_may_have_quotes`. -#}
        {{- return("case when known.is_bare and not (known.type = '' and contains(text, '.')) then text end") -}}
    {%- elif dialect == 'cloudcanal' -%}
        {{- return(
            'case when ' ~ is_not_base64
            ~ " or not (known.is_decimal or known.type in ('bytes', 'io.debezium.data.Bits')) or known.is_bare then text end"
        ) -}}
    {%- endif -%}
    {%- set number -%}
        case
            when known.type = '' and ({{ is_not_base64 }}) then text
            when known.is_bare then case when known.type not in ('bytes', 'io.debezium.data.Bits') then text end
            when known.is_no_bytes then text
        end
    {%- endset -%}
    {{- return(number) -}}
{%- endmacro -%}

{#- Pattern of a VariableScaleDecimal's object: its scale and its base64, each once, and nothing else. -#}
{%- macro _debezium_own_scale_pattern() -%}
    {%- set own_scale, digits = '"scale"\\s*+:\\s*+-?[0-9]++\\s*+', '"value"\\s*+:\\s*+"(?:[^"\\\\]++|\\\\.)*+"\\s*+' -%}
    {{- return("r'^\\{\\s*+(?:" ~ own_scale ~ ',\\s*+' ~ digits ~ '|' ~ digits ~ ',\\s*+' ~ own_scale ~ ")}\\z'") -}}
{%- endmacro -%}

{#- The digits of a number without its point -> the text of the number: 12 is 12, 12E-2 or 1200. -#}
{%- macro _debezium_unscaled(digits, scale) -%}
    {%- set number -%}
        concat(
            cast({{ spark_cdc._outdented(spark_cdc._integer_of_digits(digits)) | indent(12) }} as string),
            case
                when try_cast({{ scale }} as int) between -38 and 0 then repeat('0', -try_cast({{ scale }} as int))
                else replace(concat('E-', {{ scale }}), '--', '')
            end
        )
    {%- endset -%}
    {{- return(number) -}}
{%- endmacro -%}
