{#-
    The literal of one value -> its declared type, or NULL if it does not fit exactly. Built-in SQL only.

    `text` is a SQL expression that is NULL only if there is no value. If a text gives no value, the caller makes an error row:
    nothing here rounds, wraps, cuts or guesses. `column` is what `_column` returns.

    The result does not depend on ANSI mode or on the session's time zone: local times stay local, and an instant whose text
    names no zone is read in `time_zone`.
-#}
{%- macro value(text, column, time_zone='UTC') -%}
    {{- return(adapter.dispatch('value', 'spark_cdc')(text, column, time_zone)) -}}
{%- endmacro -%}

{%- macro default__value(text, column, time_zone) -%}
    {%- do spark_cdc._only_spark('value') -%}
{%- endmacro -%}

{%- macro spark__value(text, column, time_zone) -%}
    {%- set family = column.family -%}
    {%- set encoding = column.encoding or spark_cdc._encodings(family)[0] -%}
    {%- if family == 'string' -%}
        {{- return(spark_cdc._string_value(text, encoding)) -}}
    {%- elif family == 'binary' -%}
        {{- return(spark_cdc.decode_binary(text, encoding)) -}}
    {%- elif family == 'variant' -%}
        {{- return(spark_cdc._variant_value(text)) -}}
    {%- elif encoding in ['bits', 'big_endian_bits'] -%}
        {{- return(spark_cdc._cast(spark_cdc._unsigned_integer(text, encoding), column)) -}}
    {%- elif family == 'decimal' -%}
        {{- return(spark_cdc._decimal_value(text, column, encoding)) -}}
    {%- elif family in ['float', 'double'] -%}
        {{- return(spark_cdc._floating_value(text, family)) -}}
    {%- elif family == 'boolean' -%}
        {{- return("map('true', true, 't', true, '1', true, 'false', false, 'f', false, '0', false)[lower(" ~ text ~ ")]") -}}
    {%- elif family == 'date' -%}
        {{- return(spark_cdc._date_value(text, encoding, time_zone)) -}}
    {%- elif family in ['timestamp', 'timestamp_ntz'] -%}
        {{- return(spark_cdc._timestamp_value(text, family, encoding, time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc._integer_value(text, family)) -}}
{%- endmacro -%}

{%- macro _cast(text, column) -%}
    {{- return('try_cast(' ~ text ~ ' as ' ~ column.type ~ ')') -}}
{%- endmacro -%}

{%- macro _integer_value(text, type) -%}
    {{- return('case when ' ~ spark_cdc._begins_and_ends_as_number(text) ~ ' then try_cast(' ~ text ~ ' as ' ~ type ~ ') end') -}}
{%- endmacro -%}

{#- Condition on a number's text. A cast would ignore white space and control characters at either end. -#}
{%- macro _begins_and_ends_as_number(text) -%}
    {{- return(text ~ " between '+' and ':' and right(" ~ text ~ ", 1) between '0' and '9'") -}}
{%- endmacro -%}

{%- macro _floating_value(text, family) -%}
    {%- set pattern = "r'^" ~ spark_cdc._floating_pattern(family) ~ "\\z'" -%}
    {{- return(
        'case\n    when ' ~ text ~ ' rlike ' ~ pattern ~ '\n        or ' ~ spark_cdc._is_exact_floating(text, family)
        ~ '\n        then try_cast(' ~ text ~ ' as ' ~ family ~ ')\nend'
    ) -}}
{%- endmacro -%}

{#- Most texts of a floating number: their whole part is exact, and they are neither infinite nor zero for being too small. -#}
{%- macro _floating_pattern(family) -%}
    {%- set digits, exponent, small_exponent = (15, '(?:[0-9]|1[0-4])', '[0-9]{1,2}') if family == 'double' else (7, '[0-6]', '[0-9]') -%}
    {{- return(
        '-?(?:[0-9]{1,' ~ digits ~ '}(?:[.][0-9]{0,20})?(?:[eE]-' ~ small_exponent ~ ')?|[0-9](?:[.][0-9]{0,20})?[eE][+]?' ~ exponent ~ ')'
    ) -}}
{%- endmacro -%}

{#-
    A cast reads 1d and 0x1p3 as numbers, turns a number that is too big into infinity and one that is too small into zero, and
    changes 9007199254740993 to another whole number. A whole number is read if the floating number, rounded to as many digits,
    is that number: up to 2^53 (of a float 2^24) it always is. Beyond a bigint the floating number's own text is read, with a
    point, an exponent or zeros at its end; a cast makes the highest bigint of the number after it, so that one is left out.
    Digits after the point are rounded, as in the source.
-#}
{%- macro _is_exact_floating(text, family) -%}
    {%- set number = 'try_cast(' ~ text ~ ' as ' ~ family ~ ')' -%}
    {%- set whole = 'try_cast(' ~ text ~ ' as decimal(38,0))' -%}
    {%- set all_are_exact_below, digits_that_count = ('9007199254740992', 17) if family == 'double' else ('16777216', 9) -%}
    {%- set condition -%}
{{ text }} in ('NaN', 'Infinity', '-Infinity')
        or {{ text }} rlike r'^[+-]?(?:[0-9]++[.]?[0-9]*+|[.][0-9]++)(?:[eE][+-]?[0-9]{1,4}+)?\z'
            and not (abs({{ number }}) in (0D, double('infinity')) and {{ text }} rlike r'^[+-]?[0.]*[1-9]')
            and (abs({{ number }}) < {{ all_are_exact_below }} or coalesce(
                abs(case when {{ number }} < 9223372036854775808D then try_cast({{ number }} as bigint) end - {{ whole }}) * 2
                    <= power(10, length({{ whole }}) - length(trim(trailing '0' from {{ whole }}))),
                {{ text }} rlike r'[.eE]|^[+-]?[0-9]{1,{{ digits_that_count }}}0*\z'
            ))
    {%- endset -%}
    {{- return(condition) -}}
{%- endmacro -%}

{#-
    JSON whose numbers a VARIANT holds unchanged: up to 38 digits, with an exponent only if a double holds it, never -0.

    Spark reads one value and ignores the text after it. No text ends both an array and an object, so a text that can be read in
    either was read to its end.
-#}
{%- macro _variant_value(text) -%}
    {%- set number = "(?!-0(?:\\.0*+)?(?![0-9.eE]))-?(?:[0-9]{1,38}+(?![0-9.eE])|(?=[0-9.]{1,39}+(?![0-9.eE]))[0-9]++\\.[0-9]++"
        ~ "|(?=[0-9.]{1,18}+[eE])[0-9.]++[eE][+-]?(?:[0-2]?[0-9]{1,2}|30[0-7])(?![0-9]))" -%}
    {%- set json = "(?s)^(?:[^\"0-9-]++|\"(?:[^\"\\\\]++|\\\\.)*+\"|" ~ number ~ ")*+\\z" -%}
    {{- return(spark_cdc._let(
        'json',
        "regexp_extract(" ~ text ~ ", r'" ~ json ~ "', 0)",
        "case when try_parse_json(concat('[', json, ']')) is not null and not (" ~ spark_cdc._has_lone_surrogate('json')
        ~ ") then variant_get(try_parse_json(concat('{\"value\":', json, '}')), '$.value', 'variant') end"
    )) -}}
{%- endmacro -%}

{#- A decoder writes U+FFFD for bytes that it cannot read: the source's text is lost. -#}
{%- macro _string_value(text, encoding) -%}
    {%- if encoding in ['time_milliseconds', 'time_microseconds', 'time_nanoseconds'] -%}
        {%- set per_second = {'time_milliseconds': '1000L', 'time_microseconds': '1000000L', 'time_nanoseconds': '1000000000L'} -%}
        {{- return(spark_cdc._time_of_day(text, per_second[encoding])) -}}
    {%- endif -%}
    {{- return("case when not contains(" ~ text ~ ", '\\uFFFD') then " ~ text ~ " end") -}}
{%- endmacro -%}

{#- A cast rounds a number with more digits after the point than the type has: the text must have only zeros there. -#}
{%- macro _decimal_value(text, column, encoding) -%}
    {%- if encoding == 'base64' -%}
        {%- set unscaled = spark_cdc._big_endian_integer(text) -%}
        {{- return(
            spark_cdc._cast("concat(cast(" ~ unscaled ~ " as string), 'E-" ~ column.scale ~ "')", column)
        ) -}}
    {%- endif -%}
    {{- return(
        'case\n    when ' ~ spark_cdc._is_exact_decimal(text, column) ~ '\n        then ' ~ spark_cdc._cast(text, column) ~ '\nend'
    ) -}}
{%- endmacro -%}

{#- A number without an exponent, or one with an exponent that keeps all its digits. -#}
{%- macro _is_exact_decimal(text, column) -%}
    {%- set number = 'cast(' ~ spark_cdc._cast(text, column) ~ ' as string)' -%}
    {%- set condition -%}
{{ text }} rlike r'^{{ spark_cdc._decimal_pattern(column) }}\z'
        or {{ text }} rlike r'^[+-]?[0-9.]{1,1000}[eE][+-]?[0-9]{1,4}\z'
            and {{ spark_cdc._significant_digits(text) }} = {{ spark_cdc._significant_digits(number) }}
    {%- endset -%}
    {{- return(condition) -}}
{%- endmacro -%}

{%- macro _decimal_pattern(column) -%}
    {{- return('[+-]?[0-9]*+[.]?[0-9]{0,' ~ column.scale ~ '}+0*+') -}}
{%- endmacro -%}

{#- The digits of a number without leading and trailing zeros. They differ if a number was rounded. -#}
{%- macro _significant_digits(text) -%}
    {{- return("trim('0' from regexp_replace(" ~ text ~ ", '[eE].*|[^0-9]', ''))") -}}
{%- endmacro -%}

{%- macro _date_value(text, encoding, time_zone) -%}
    {%- if encoding == 'text' -%}
        {{- return(
            "case when " ~ text ~ " rlike r'^" ~ spark_cdc._date_pattern() ~ "\\z' then try_cast(" ~ text ~ " as date) end"
        ) -}}
    {%- elif encoding == 'days' -%}
        {#- 0001-01-01 to 9999-12-31. Beyond that a date has no four-digit year and means infinity or damage. -#}
        {{- return(
            "case when " ~ spark_cdc._integer_value(text, 'int') ~ " between -719162 and 2932896 then date_add("
            ~ "date'1970-01-01', try_cast(" ~ text ~ " as int)) end"
        ) -}}
    {%- endif -%}
    {{- return(spark_cdc._date_at_midnight(spark_cdc._timestamp_value(text, 'timestamp_ntz', encoding, time_zone))) -}}
{%- endmacro -%}

{#-
    A date. A text with midnight as its time of day is a date, too (Oracle's DATE has a time of day); the zone after it is
    ignored.
-#}
{%- macro _date_of_midnight(text, column) -%}
    {%- set column = dict(column, encoding='text') -%}
    {%- set zone = ' ' ~ spark_cdc._offset_pattern() ~ '| ' ~ spark_cdc._region_pattern() ~ '|Z|[+-][0-9]{2}:?[0-9]{2}' -%}
    {{- return(
        'case when ' ~ text ~ " rlike r'^.{10}[ T]00:00:00(?:[.]0++)?(?:" ~ zone ~ ")?\\z' then "
        ~ spark_cdc.value('left(' ~ text ~ ', 10)', column) ~ ' else ' ~ spark_cdc.value(text, column) ~ ' end'
    ) -}}
{%- endmacro -%}

{#- The date of a local time at midnight; another time of day does not fit a date. -#}
{%- macro _date_at_midnight(local) -%}
    {{- return(spark_cdc._let(
        'local', local, 'case when cast(cast(local as date) as timestamp_ntz) = local then cast(local as date) end'
    )) -}}
{%- endmacro -%}

{%- macro _timestamp_value(text, family, encoding, time_zone) -%}
    {%- if encoding == 'text' -%}
        {%- set local_text = '^' ~ spark_cdc._local_time_pattern() ~ '\\z' -%}
        {%- set instant_text = '^' ~ spark_cdc._local_time_pattern() ~ spark_cdc._zone_pattern() ~ '\\z' -%}
        {%- if family == 'timestamp_ntz' -%}
            {%- set utc = spark_cdc._clock_in_utc('try_cast(' ~ text ~ ' as timestamp)') -%}
            {{- return(
                "case\n    when " ~ text ~ " rlike r'" ~ local_text ~ "'\n        then try_cast(" ~ text ~ " as timestamp_ntz)"
                ~ "\n    when " ~ text ~ " rlike r'" ~ instant_text ~ "'\n        then " ~ spark_cdc._clock_in_zone(utc, time_zone)
                ~ '\nend'
            ) -}}
        {%- endif -%}
        {{- return(
            "case\n    when " ~ text ~ " rlike r'" ~ instant_text ~ "'\n        then try_cast(" ~ text ~ " as timestamp)"
            ~ "\n    when " ~ text ~ " rlike r'" ~ local_text ~ "'\n        then "
            ~ spark_cdc._instant_of_local(text, time_zone) ~ '\nend'
        ) -}}
    {%- endif -%}
    {%- set microseconds = spark_cdc._epoch_microseconds(text, encoding) -%}
    {%- if family == 'timestamp' -%}
        {{- return('timestamp_micros(' ~ microseconds ~ ')') -}}
    {%- endif -%}
    {%- set utc = spark_cdc._clock_of_microseconds(microseconds) -%}
    {{- return(spark_cdc._clock_in_zone(utc, time_zone)) -}}
{%- endmacro -%}

{%- macro _date_pattern() -%}
    {{- return('[0-9]{4}-[0-9]{2}-[0-9]{2}') -}}
{%- endmacro -%}

{%- macro _local_time_pattern() -%}
    {{- return(spark_cdc._date_pattern() ~ '[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,6}+0*+)?') -}}
{%- endmacro -%}

{%- macro _zone_pattern() -%}
    {{- return('(?:Z|[+-][0-9]{2}:?[0-9]{2})') -}}
{%- endmacro -%}

{#- The local time in a zone, from the one in UTC. -#}
{%- macro _clock_in_zone(utc, time_zone) -%}
    {{- return(utc if time_zone == 'UTC' else "convert_timezone('UTC', " ~ spark_cdc._literal(time_zone) ~ ', ' ~ utc ~ ')') -}}
{%- endmacro -%}

{#- The time in UTC so many microseconds after 1970-01-01 00:00:00 in UTC. -#}
{%- macro _clock_of_microseconds(microseconds) -%}
    {{- return('timestampadd(MICROSECOND, ' ~ microseconds ~ ", timestamp_ntz'1970-01-01 00:00:00')") -}}
{%- endmacro -%}

{#-
    `yyyy-MM-dd HH:mm:ss[.ffffff] zone`; the zone is an offset, UTC, GMT or the name of a region. NULL in a daylight-saving
    overlap or gap of a region. A name without a slash is rejected: CST is one zone in China and another in America. If a local
    time is declared, the zone is ignored: the source sent the local time of that zone.
-#}
{%- macro _zoned_time(text, column) -%}
    {%- set local_text = '^' ~ spark_cdc._local_time_pattern() -%}
    {%- set offset_text = local_text ~ ' ' ~ spark_cdc._offset_pattern() ~ '\\z' -%}
    {%- set region_text = local_text ~ ' ' ~ spark_cdc._region_pattern() ~ '\\z' -%}
    {%- set utc = spark_cdc._clock_in_utc('try_cast(' ~ text ~ ' as timestamp)') -%}
    {%- set local = 'try_cast(regexp_extract(' ~ text ~ ", r'^(.*) [^ ]++\\z', 1) as timestamp_ntz)" -%}
    {%- if column.family == 'timestamp_ntz' -%}
        {{- return(
            'case when ' ~ text ~ " rlike r'" ~ offset_text ~ "' or " ~ text ~ " rlike r'" ~ region_text ~ "' then case when try_cast("
            ~ text ~ ' as timestamp) is not null then ' ~ local ~ ' end end'
        ) -}}
    {%- endif -%}
    {%- set of_region = spark_cdc._one_instant("regexp_extract(" ~ text ~ ", r' ([^ ]++)\\z', 1)", local, utc) -%}
    {%- set instant = "case when " ~ text ~ " rlike r'" ~ offset_text ~ "' then " ~ utc ~ " when " ~ text ~ " rlike r'"
        ~ region_text ~ "' then " ~ of_region ~ " end" -%}
    {{- return(spark_cdc._instant_of_utc(instant)) -}}
{%- endmacro -%}

{%- macro _offset_pattern() -%}
    {{- return('(?:Z|UTC|GMT|(?:UTC|GMT|UT)?[+-][0-9]{1,2}(?::?[0-9]{2})?)') -}}
{%- endmacro -%}

{%- macro _region_pattern() -%}
    {{- return('[A-Za-z_]++(?:/[A-Za-z0-9_+-]++)++') -}}
{%- endmacro -%}

{#-
    `utc` if `local` names one instant in `zone`; NULL in a daylight-saving overlap or gap. `utc` is Spark's conversion of
    `local`. All arguments but the zone are local times.
-#}
{%- macro _one_instant(zone, local, utc) -%}
    {%- set fields = "named_struct('zone', " ~ zone ~ ", 'local', " ~ local ~ ", 'utc', " ~ utc ~ ")" -%}
    {#- In an overlap Spark takes the first of two instants; the second is later by the time that the clock was put back. -#}
    {%- set again = "timestampadd(MICROSECOND, timestampdiff(MICROSECOND, convert_timezone('UTC', clock.zone, "
        ~ "timestampadd(DAY, 1, clock.utc)), timestampadd(DAY, 1, clock.local)), clock.utc)" -%}
    {%- set is_one_instant = "convert_timezone('UTC', clock.zone, clock.utc) = clock.local and ("
        ~ again ~ " = clock.utc or convert_timezone('UTC', clock.zone, " ~ again ~ ") <> clock.local)" -%}
    {{- return(spark_cdc._let('clock', fields, "case when clock.utc is not null then case when " ~ is_one_instant
        ~ " then clock.utc end end")) -}}
{%- endmacro -%}

{#- The instant of this local time in `time_zone`; NULL if there is not exactly one. -#}
{%- macro _instant_of_local(text, time_zone) -%}
    {%- set zone = spark_cdc._literal(time_zone) -%}
    {%- set instant = 'try_cast(concat(' ~ text ~ ", ' ', " ~ zone ~ ') as timestamp)' -%}
    {%- if not modules.re.search('[A-Za-z]', time_zone) or time_zone in ['UTC', 'GMT', 'Z'] -%}
        {{- return(instant) -}}
    {%- endif -%}
    {{- return(spark_cdc._instant_of_utc(
        spark_cdc._one_instant(zone, 'try_cast(' ~ text ~ ' as timestamp_ntz)', spark_cdc._clock_in_utc(instant))
    )) -}}
{%- endmacro -%}

{#- An instant as the local time in UTC, and back. Casts would use the session's time zone. -#}
{%- macro _clock_in_utc(instant) -%}
    {{- return(spark_cdc._clock_of_microseconds('unix_micros(' ~ instant ~ ')')) -}}
{%- endmacro -%}

{%- macro _instant_of_utc(local) -%}
    {{- return("timestamp_micros(timestampdiff(MICROSECOND, timestamp_ntz'1970-01-01 00:00:00', " ~ local ~ '))') -}}
{%- endmacro -%}

{#- A number of units since 1970 -> timestamp. Out of range it is NULL, because timestamp_millis would stop the batch. -#}
{%- macro _instant(number, unit) -%}
    {{- return('timestamp_micros(' ~ spark_cdc._epoch_microseconds(number, unit, 'try_cast(' ~ number ~ ' as bigint)') ~ ')') -}}
{%- endmacro -%}

{#-
    Microseconds since 1970-01-01 00:00:00, from 0001-01-01 to 9999-12-31. Seconds may have a fraction; a digit below a
    microsecond does not fit unless it is 0.
-#}
{%- macro _epoch_microseconds(text, encoding, number=none) -%}
    {%- if encoding == 'seconds' -%}
        {#- Not the text itself: a cast to decimal stops the batch at an exponent of ten digits. -#}
        {%- set digits = "regexp_extract(" ~ text ~ ", r'^-?[0-9]{1,12}(?:\\.[0-9]{1,6}+0*+)?\\z', 0)" -%}
        {%- set seconds = 'try_cast(' ~ digits ~ ' as decimal(18,6))' -%}
        {{- return(
            'case\n    when ' ~ seconds ~ ' between -62135596800 and 253402300799.999999\n        then cast(' ~ seconds
            ~ ' * 1000000 as bigint)\nend'
        ) -}}
    {%- endif -%}
    {%- set epoch = spark_cdc._whole_epoch(number or 'try_cast(' ~ text ~ ' as bigint)', encoding) -%}
    {%- set conditions = ([] if number else [spark_cdc._begins_and_ends_as_number(text)]) + epoch.conditions -%}
    {{- return(
        'case\n    when ' ~ conditions | join('\n        and ') ~ '\n        then ' ~ epoch.microseconds ~ '\nend'
    ) -}}
{%- endmacro -%}

{#- A whole `number` of units since 1970: the `conditions` of `_epoch_microseconds`, and its `microseconds` if they are true. -#}
{%- macro _whole_epoch(number, encoding) -%}
    {%- if encoding == 'milliseconds' -%}
        {{- return({
            'conditions': [number ~ ' between -62135596800000 and 253402300799999'], 'microseconds': number ~ ' * 1000',
        }) -}}
    {%- endif -%}
    {%- set is_nano = encoding == 'nanoseconds' -%}
    {%- set microseconds = number ~ ' div 1000' if is_nano else number -%}
    {{- return({
        'conditions': ([number ~ ' % 1000 = 0'] if is_nano else [])
            + [microseconds ~ ' between -62135596800000000 and 253402300799999999'],
        'microseconds': microseconds,
    }) -}}
{%- endmacro -%}

{#-
    A time of day or a signed span as databases print it: [-]HH:MM:SS[.ffffff], also with more than 24 hours. `per_second` is
    SQL: the number of units in a second, 1000L, 1000000L or 1000000000L.
-#}
{%- macro _time_of_day(text, per_second) -%}
    {#- abs() fails for the smallest bigint. -#}
    {%- set span -%}
        named_struct(
            'number', nullif({{ spark_cdc._integer_value(text, 'bigint') }}, -9223372036854775807 - 1),
            'per_second', {{ per_second }}
        )
    {%- endset -%}
    {%- set second = 'abs(span.number) div span.per_second' -%}
    {%- set hours = 'cast(' ~ second ~ ' div 3600 as string)' -%}
    {%- set printed -%}
        concat(
            case when span.number < 0 then '-' else '' end,
            lpad({{ hours }}, greatest(2, length({{ hours }})), '0'), ':',
            lpad(cast({{ second }} div 60 % 60 as string), 2, '0'), ':',
            lpad(cast({{ second }} % 60 as string), 2, '0'),
            trim(trailing '.' from trim(trailing '0' from concat(
                '.', lpad(cast(abs(span.number) % span.per_second as string), length(cast(span.per_second as string)) - 1, '0')
            )))
        )
    {%- endset -%}
    {{- return(spark_cdc._let('span', span, printed)) -}}
{%- endmacro -%}

{#- Some databases print a blank between a time and its offset. -#}
{%- macro _without_blank_before_offset(text) -%}
    {{- return('regexp_replace(' ~ text ~ ", r' ([+-][0-9]{2}:[0-9]{2})\\z', '$1')") -}}
{%- endmacro -%}

{#- PostgreSQL leaves out the minutes of an offset if they are zero. -#}
{%- macro _with_offset_minutes(text) -%}
    {{- return(
        "case when left(right(" ~ text ~ ", 3), 1) in ('+', '-') and contains(" ~ text ~ ", ':') then concat(" ~ text
        ~ ", ':00') else " ~ text ~ ' end'
    ) -}}
{%- endmacro -%}
