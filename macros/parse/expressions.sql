{#- Expressions over a message's fields that several formats need. None of them stops a batch. -#}

{#- Text of a whole number of up to 20 digits, as positions in a source's log are, or NULL. A cast alone would round 1.5. -#}
{%- macro _whole_number(text, signed=false) -%}
    {{- return(
        'case when ' ~ text ~ " rlike r'^" ~ ('-?' if signed else '') ~ "[0-9]++\\z' then try_cast(" ~ text
        ~ ' as decimal(20,0)) end'
    ) -}}
{%- endmacro -%}

{#- Two lists as a map, or NULL if a name occurs twice or is missing: map_from_arrays alone would stop the batch. -#}
{%- macro _map_of(names, values) -%}
    {{- return(
        'case when size(array_distinct(array_compact(' ~ names ~ '))) = size(' ~ names ~ ') then map_from_arrays('
        ~ names ~ ', ' ~ values ~ ') end'
    ) -}}
{%- endmacro -%}

{%- macro _names_twice(names) -%}
    {{- return('size(' ~ names ~ ') <> size(array_distinct(' ~ names ~ '))') -}}
{%- endmacro -%}

{#- Types by column, NULL if a column occurs twice: nobody knows which of its types is the right one. -#}
{%- macro _types_once(types) -%}
    {{- return('case when size(' ~ types ~ ') = size(array_distinct(map_keys(' ~ types ~ '))) then ' ~ types ~ ' end') -}}
{%- endmacro -%}

{#- True if `image` names a column: without columns it is not a row. `others` is the number of entries that are not columns. -#}
{%- macro _has_columns(image, others=0) -%}
    {{- return('coalesce(size(' ~ image ~ ') > ' ~ others ~ ', false)') -}}
{%- endmacro -%}

{#-
    The first and the last valid number of a commit time in a unit: from 2001, before any of these formats existed, to 9999.
    Another number has another unit or is damaged. Milliseconds have 13 digits.
-#}
{%- macro _span_of_times(unit) -%}
    {{- return({
        'seconds': (1000000000, 253402300799), 'milliseconds': (1000000000000, 253402300799999),
        'microseconds': (1000000000000000, 253402300799999999), 'nanoseconds': (1000000000000000000, 9223372036854775807),
    }[unit]) -}}
{%- endmacro -%}

{#- A time beyond the year 9999 has another unit or is damaged. -#}
{%- macro _beyond_the_calendar(time, unit='milliseconds') -%}
    {{- return('coalesce(' ~ time ~ ' > ' ~ spark_cdc._span_of_times(unit)[1] ~ ', false)') -}}
{%- endmacro -%}

{#- True for fewer than 13 digits, if the format's documentation promises 13 digits of milliseconds. -#}
{%- macro _may_be_seconds(milliseconds) -%}
    {{- return('coalesce(' ~ milliseconds ~ ' between 1 and ' ~ (spark_cdc._span_of_times('milliseconds')[0] - 1) ~ ', false)') -}}
{%- endmacro -%}

{#-
    Rules of a time that a format writes in milliseconds. 0 and below mean no time; a time in another unit would be a wrong
    time.
-#}
{%- macro _rules_of_milliseconds(path, time) -%}
    {{- return({
        path ~ ': fewer than 13 digits, as seconds have': spark_cdc._may_be_seconds(time),
        path ~ ': beyond the year 9999 as milliseconds': spark_cdc._beyond_the_calendar(time),
    }) -}}
{%- endmacro -%}

{#- Rules of a time that a format writes in seconds: a time in milliseconds lies beyond the calendar. -#}
{%- macro _rules_of_seconds(path, time) -%}
    {{- return({path ~ ': beyond the year 9999 as seconds': spark_cdc._beyond_the_calendar(time, 'seconds')}) -}}
{%- endmacro -%}

{#- Rules of a time that a format writes as a text with date and clock; '' means no time. `time`: the text as Spark reads it. -#}
{%- macro _rules_of_time_text(path, text, time=none) -%}
    {%- set time = time or text -%}
    {{- return({
        path ~ ': not a date with a time': '(' ~ text ~ " <> '' and not (" ~ time ~ " like '____-__-__%__:__%' and try_cast(" ~ time
            ~ ' as timestamp) is not null))'
    }) -}}
{%- endmacro -%}

{#- True if a number cannot be a commit time in this unit. 0 means that the time is not known. -#}
{%- macro _is_no_time(time, unit) -%}
    {%- set first, last = spark_cdc._span_of_times(unit) -%}
    {{- return('coalesce(' ~ time ~ ' <> 0 and ' ~ time ~ ' not between ' ~ first ~ ' and ' ~ last ~ ', false)') -}}
{%- endmacro -%}

{%- macro _holds_a_row(images) -%}
    {{- return('coalesce(exists(' ~ images ~ ', image -> size(image) > 0), false)') -}}
{%- endmacro -%}

{#- True if `image` lacks a column that `before` has. Mostly both have the same columns: the cheap comparison comes first. -#}
{%- macro _lacks_columns_of(before, image) -%}
    {{- return(
        'not map_keys(' ~ before ~ ') <=> map_keys(' ~ image ~ ') and size(array_except(map_keys(' ~ before ~ '), map_keys('
        ~ image ~ '))) > 0'
    ) -}}
{%- endmacro -%}

{#-
    True if `text` contains one of `parts`. One search for all of them: a `contains` for each reads a long text as often as there
    are parts. The look ahead passes over characters with which none begins.
-#}
{%- macro _contains_one_of(text, parts) -%}
    {%- set first_characters, patterns = [], [] -%}
    {%- for part in parts -%}
        {%- do first_characters.append(modules.re.escape(part[0])) -%}
        {%- do patterns.append(modules.re.escape(part)) -%}
    {%- endfor -%}
    {%- set one_of = '(?=[' ~ first_characters | unique(case_sensitive=true) | join ~ '])(?:' ~ patterns | join('|') ~ ')' -%}
    {{- return(text ~ ' rlike ' ~ spark_cdc._literal(one_of)) -}}
{%- endmacro -%}

{#- True if two lists have different rows; the order of the columns in a row does not matter. -#}
{%- macro _other_rows(left, right) -%}
    {%- set ordered = ', image -> array_sort(map_entries(image)))' -%}
    {{- return(
        spark_cdc._holds_a_row(left) ~ '\n    and to_json(' ~ left ~ ') <> to_json(' ~ right ~ ')\n    and transform(' ~ left ~ ordered
        ~ '\n        <> transform(' ~ right ~ ordered
    ) -}}
{%- endmacro -%}

{#-
    True if a name is not a text: from_json returns an object or a list as its text. `names` maps the fields of the message to
    the values that were read. The condition searches the message again only if such a value may be nested. If a name in the
    message is written with an escape, a search for the field's name cannot find it.
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

{#- Rules for names, which must be texts: `names` maps the paths of the fields to the values that were read. See `_is_nested`. -#}
{%- macro _rules_of_names(names) -%}
    {%- set rules = {} -%}
    {%- for path, name in names.items() -%}
        {%- do rules.update({path ~ ': not a text': spark_cdc._is_nested({path.split('.') | last: name})}) -%}
    {%- endfor -%}
    {{- return(rules) -}}
{%- endmacro -%}

{%- macro _escaped_name() -%}
    {{- return('\\\\u(?:[^"\\\\]++|\\\\.)*+"\\s*+:') -}}
{%- endmacro -%}

{#- Whether a declared column is read from a text of bytes. A number without quotes may look like one. -#}
{%- macro _is_bytes(column) -%}
    {{- return(column.family == 'binary' or column.encoding in ['bits', 'big_endian_bits', 'base64']) -}}
{%- endmacro -%}

{#-
    `typed`, but NULL for bytes or bits without quotes: a bare number or truth value may be base64 by chance, and from_json
    returns the same text for both. `value_names`: see `_format`. If a name in the message is written with an escape, a search
    cannot find it. `message`: the text that contains the value.
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

{#- A number that orders. 0 if there is none or the text is one of `nulls`; NULL if the text is not a number. -#}
{%- macro _order_number(text, nulls=['', 'null']) -%}
    {{- return(
        "case when " ~ text ~ " is null" ~ (' or ' ~ text ~ ' in (' ~ spark_cdc._literals(nulls) ~ ')' if nulls)
        ~ " then 0BD when " ~ text ~ " rlike r'^[0-9]{1,20}\\z' then cast(" ~ text ~ ' as decimal(20,0)) end'
    ) -}}
{%- endmacro -%}

{#- What the parts of a sequence are: see `_format`. -#}
{%- macro _sequence_names(names) -%}
    {{- return('array(' ~ spark_cdc._literals(names) ~ ')') -}}
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
    The whole row before the change, of a format that sends only the columns that differ. map_concat stops at a name that occurs
    twice: such a row is not changed here and becomes an error.
-#}
{%- macro _overlaid(image, before) -%}
    {{- return(
        'case when ' ~ spark_cdc._has_duplicate_column(before) ~ ' or ' ~ spark_cdc._has_duplicate_column(image) ~ ' then '
        ~ before ~ ' when ' ~ before ~ ' is not null then map_concat(map_filter(' ~ image ~ ', (name, text) -> not map_contains_key('
        ~ before ~ ', name)), ' ~ before ~ ') end'
    ) -}}
{%- endmacro -%}
