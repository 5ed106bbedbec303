{#- Expressions that several formats need of a message's fields. None of them stops a batch. -#}

{#- Text of a whole number of up to 20 digits, as the places in a source's order are, or NULL. A cast alone would round 1.5. -#}
{%- macro _whole_number(text, signed=false) -%}
    {{- return(
        'case when ' ~ text ~ " rlike r'^" ~ ('-?' if signed else '') ~ "[0-9]++\\z' then try_cast(" ~ text
        ~ ' as decimal(20,0)) end'
    ) -}}
{%- endmacro -%}

{#- Two lists as a map, or NULL where a name occurs twice or is missing: map_from_arrays alone would stop the batch. -#}
{%- macro _map_of(names, values) -%}
    {{- return(
        'case when size(array_distinct(array_compact(' ~ names ~ '))) = size(' ~ names ~ ') then map_from_arrays('
        ~ names ~ ', ' ~ values ~ ') end'
    ) -}}
{%- endmacro -%}

{#- True of a list in which a name occurs twice. -#}
{%- macro _names_twice(names) -%}
    {{- return('size(' ~ names ~ ') <> size(array_distinct(' ~ names ~ '))') -}}
{%- endmacro -%}

{#- Types by column, NULL where a column occurs twice: which of its types is true cannot be known. -#}
{%- macro _types_once(types) -%}
    {{- return('case when size(' ~ types ~ ') = size(array_distinct(map_keys(' ~ types ~ '))) then ' ~ types ~ ' end') -}}
{%- endmacro -%}

{#- True of an image that names a column: without one it is no row. `others` are entries of it that are no column. -#}
{%- macro _has_columns(image, others=0) -%}
    {{- return('coalesce(size(' ~ image ~ ') > ' ~ others ~ ', false)') -}}
{%- endmacro -%}

{#-
    The first and the last number that a time of a commit may be in a unit: from 2001, when none of these formats was there, to 9999.
    Another number is of another unit, or damaged. The milliseconds have 13 digits.
-#}
{%- macro _span_of_times(unit) -%}
    {{- return({
        'seconds': (1000000000, 253402300799), 'milliseconds': (1000000000000, 253402300799999),
        'microseconds': (1000000000000000, 253402300799999999), 'nanoseconds': (1000000000000000000, 9223372036854775807),
    }[unit]) -}}
{%- endmacro -%}

{#- True of a time beyond the year 9999: of another unit, or damaged. -#}
{%- macro _beyond_the_calendar(time, unit='milliseconds') -%}
    {{- return('coalesce(' ~ time ~ ' > ' ~ spark_cdc._span_of_times(unit)[1] ~ ', false)') -}}
{%- endmacro -%}

{#- True of fewer than 13 digits, where a format's page promises these of milliseconds. -#}
{%- macro _may_be_seconds(milliseconds) -%}
    {{- return('coalesce(' ~ milliseconds ~ ' between 1 and ' ~ (spark_cdc._span_of_times('milliseconds')[0] - 1) ~ ', false)') -}}
{%- endmacro -%}

{#- Rules of a time that a format writes in milliseconds. 0 and below is no time; what is of another unit would be a wrong one. -#}
{%- macro _rules_of_milliseconds(path, time) -%}
    {{- return({
        path ~ ': fewer than 13 digits, as seconds have': spark_cdc._may_be_seconds(time),
        path ~ ': beyond the year 9999 as milliseconds': spark_cdc._beyond_the_calendar(time),
    }) -}}
{%- endmacro -%}

{#- Rules of a time that a format writes in seconds: milliseconds lie beyond the calendar. -#}
{%- macro _rules_of_seconds(path, time) -%}
    {{- return({path ~ ': beyond the year 9999 as seconds': spark_cdc._beyond_the_calendar(time, 'seconds')}) -}}
{%- endmacro -%}

{#- Rules of a time that a format writes as a text with date and clock; '' is no time. `time`: the text as Spark reads it. -#}
{%- macro _rules_of_time_text(path, text, time=none) -%}
    {%- set time = time or text -%}
    {{- return({
        path ~ ': not a date with a time': '(' ~ text ~ " <> '' and not (" ~ time ~ " like '____-__-__%__:__%' and try_cast(" ~ time
            ~ ' as timestamp) is not null))'
    }) -}}
{%- endmacro -%}

{#-
    True of a number that is no time of a commit in this unit. 0 says that the time is not known.
-#}
{%- macro _is_no_time(time, unit) -%}
    {%- set first, last = spark_cdc._span_of_times(unit) -%}
    {{- return('coalesce(' ~ time ~ ' <> 0 and ' ~ time ~ ' not between ' ~ first ~ ' and ' ~ last ~ ', false)') -}}
{%- endmacro -%}

{#- True of a list of images of which any is a row. -#}
{%- macro _holds_a_row(images) -%}
    {{- return('coalesce(exists(' ~ images ~ ', image -> size(image) > 0), false)') -}}
{%- endmacro -%}

{#- True where an image lacks a column that the one before it has. Mostly both have the same, which is asked first. -#}
{%- macro _lacks_columns_of(before, image) -%}
    {{- return(
        'not map_keys(' ~ before ~ ') <=> map_keys(' ~ image ~ ') and size(array_except(map_keys(' ~ before ~ '), map_keys('
        ~ image ~ '))) > 0'
    ) -}}
{%- endmacro -%}

{#- True where two lists hold other rows; the columns of a row may stand in any order. -#}
{%- macro _other_rows(left, right) -%}
    {%- set ordered = ', image -> array_sort(map_entries(image)))' -%}
    {{- return(spark_cdc._holds_a_row(left) ~ ' and to_json(' ~ left ~ ') <> to_json(' ~ right ~ ') and transform(' ~ left ~ ordered
        ~ ' <> transform(' ~ right ~ ordered) -}}
{%- endmacro -%}

{#-
    True where a name is no text: from_json gives an object or a list as its text. `names` maps the fields of the message to what
    is read of them; only where that may be a nested value is the message looked at again. Where a name in the message has an
    escape, the field's cannot be searched for.
-#}
{%- macro _is_nested(names) -%}
    {%- set conditions = [] -%}
    {%- for field, name in names.items() -%}
        {%- do conditions.append(
            'case when left(' ~ name ~ ", 1) in ('{', '[') then value rlike r'\"" ~ field ~ "\"\\s*+:\\s*+[{\\[]|"
            ~ spark_cdc._escaped_name() ~ "' else false end"
        ) -%}
    {%- endfor -%}
    {{- return('(' ~ conditions | join(' or ') ~ ')') -}}
{%- endmacro -%}

{#- Rules of names, which must be texts: maps the paths of the fields to what is read of them. See `_is_nested`. -#}
{%- macro _rules_of_names(names) -%}
    {%- set rules = {} -%}
    {%- for path, name in names.items() -%}
        {%- do rules.update({path ~ ': not a text': spark_cdc._is_nested({path.split('.') | last: name})}) -%}
    {%- endfor -%}
    {{- return(rules) -}}
{%- endmacro -%}

{#- Regular expression: a name in the message is written with an escape. -#}
{%- macro _escaped_name() -%}
    {{- return('\\\\u(?:[^"\\\\]++|\\\\.)*+"\\s*+:') -}}
{%- endmacro -%}

{#- Whether a declared column is read from a text of bytes, which a bare number may look like. -#}
{%- macro _is_bytes(column) -%}
    {{- return(column.family == 'binary' or column.encoding in ['bits', 'big_endian_bits', 'base64']) -}}
{%- endmacro -%}

{#-
    `typed`, but NULL of bytes or bits that do not stand in quotes: a bare number or truth value may be base64 by chance, and
    from_json gives the same text of both. `value_names` as in `_format`. Where a name in the message has an escape, it cannot
    be searched for. `message`: the text in which the value stands.
-#}
{%- macro _only_in_quotes(text, column, typed, value_names, message='value') -%}
    {%- if not spark_cdc._is_bytes(column) -%}
        {{- return(typed) -}}
    {%- endif -%}
    {%- set name = value_names | replace('{}', modules.re.escape(column.name)) -%}
    {%- set bare = "concat(" ~ spark_cdc._literal('"' ~ name ~ '"\\s*+:\\s*+') ~ ", r'\\Q', " ~ text
        ~ ", r'\\E(?![0-9.eE+-])')" -%}
    {%- set no_name_has_escapes = message ~ " rlike r'(?s)^(?:[^\"]++|\"[^\"\\\\]*+\"|\"(?:[^\"\\\\]++|\\\\.)*+\"(?!\\s*+:))*+\\z'" -%}
    {%- set is_quoted = 'case when ' ~ text ~ " rlike r'^(?:[0-9]++(?:[eE][+-]?[0-9]++)?|true)\\z' then case when " ~ message
        ~ ' rlike ' ~ bare ~ ' then false else ' ~ no_name_has_escapes ~ ' end else true end' -%}
    {{- return('case when ' ~ is_quoted ~ ' then ' ~ typed ~ ' end') -}}
{%- endmacro -%}

{#- A number that orders, 0 where there is none (also as one of the texts `nulls`), NULL where the text is no number. -#}
{%- macro _order_number(text, nulls=['', 'null']) -%}
    {{- return(
        "case when " ~ text ~ " is null" ~ (' or ' ~ text ~ ' in (' ~ spark_cdc._literals(nulls) ~ ')' if nulls)
        ~ " then 0BD when " ~ text ~ " rlike r'^[0-9]{1,20}\\z' then cast(" ~ text ~ ' as decimal(20,0)) end'
    ) -}}
{%- endmacro -%}

{%- macro _decimals(expressions) -%}
    {%- set parts = [] -%}
    {%- for expression in expressions -%}
        {%- do parts.append('coalesce(try_cast(' ~ expression ~ ' as decimal(20,0)), 0)') -%}
    {%- endfor -%}
    {{- return('array(' ~ parts | join(', ') ~ ')') -}}
{%- endmacro -%}

{%- macro _has_duplicate_column(image) -%}
    {{- return('size(' ~ image ~ ') > 1 and size(' ~ image ~ ') <> size(array_distinct(map_keys(' ~ image ~ ')))') -}}
{%- endmacro -%}

{#-
    The whole row before the change, of a format that sends only what differs. map_concat stops at a name that occurs twice:
    such an image is left as it is, and is an error.
-#}
{%- macro _overlaid(image, before) -%}
    {{- return(
        'case when ' ~ spark_cdc._has_duplicate_column(before) ~ ' or ' ~ spark_cdc._has_duplicate_column(image) ~ ' then '
        ~ before ~ ' when ' ~ before ~ ' is not null then map_concat(map_filter(' ~ image ~ ', (name, text) -> not map_contains_key('
        ~ before ~ ', name)), ' ~ before ~ ') end'
    ) -}}
{%- endmacro -%}
