{#-
    Texts that a cast reads exactly. A cast trims, rounds, takes 1d and 0x1p3 for numbers and `2026-01-01 noon` for a date. So a
    query first makes each such text one that no cast reads, U+FFFD; a value is then `try_cast(text as type)`, and an error if it
    is NULL.

    Most rows have no such text. They are searched with one pattern for all values of a kind; only a row in which it finds
    something is read value by value.
-#}

{#-
    How the texts look that a cast to a column's type reads exactly. None if a value of the type is more than a cast.

    pattern   most of them; none has a bar (|), which stands between two texts
    is_exact  condition on `text` for all of them; none if the pattern has them all
    others    pattern of texts that a cast reads as something else, and `instead`: SQL of a text that it reads right
-#}
{%- macro _castable(column, time_zone) -%}
    {%- set family = column.family -%}
    {%- set of = {'pattern': none, 'is_exact': none, 'others': none, 'instead': none} -%}
    {%- if column.encoding not in [none, 'text'] -%}
        {{- return(none) -}}
    {%- elif family in ['tinyint', 'smallint', 'int', 'bigint'] -%}
        {{- return(dict(of, pattern='[+-]?[0-9]++')) -}}
    {%- elif family == 'decimal' -%}
        {{- return(dict(
            of, pattern=spark_cdc._decimal_pattern(column), is_exact=spark_cdc._is_exact_decimal('text', column)
        )) -}}
    {%- elif family in ['float', 'double'] -%}
        {{- return(dict(
            of, pattern=spark_cdc._floating_pattern(family), is_exact=spark_cdc._is_exact_floating('text', family)
        )) -}}
    {%- elif family == 'date' -%}
        {{- return(dict(of, pattern=spark_cdc._date_pattern())) -}}
    {%- elif family == 'timestamp_ntz' -%}
        {#- A cast to a local time leaves the zone out. -#}
        {%- set utc = spark_cdc._clock_in_utc('try_cast(text as timestamp)') -%}
        {{- return(dict(
            of,
            pattern=spark_cdc._local_time_pattern() ~ ('Z?' if time_zone == 'UTC' else ''),
            others=spark_cdc._local_time_pattern() ~ spark_cdc._zone_pattern(),
            instead='cast(' ~ spark_cdc._clock_in_zone(utc, time_zone) ~ ' as string)'
        )) -}}
    {%- endif -%}
    {{- return(none) -}}
{%- endmacro -%}

{#- Condition on a change: a cast reads each text of these columns exactly, in these `rows` of it. -#}
{%- macro _all_are_castable(columns, time_zone, rows=('image', 'before')) -%}
    {%- set by_pattern, conditions = {}, [] -%}
    {%- for column in columns -%}
        {%- set pattern = spark_cdc._castable(column, time_zone).pattern -%}
        {%- do by_pattern.update({pattern: by_pattern.get(pattern, []) + [column]}) -%}
    {%- endfor -%}
    {%- for pattern, columns in by_pattern.items() -%}
        {%- set texts = [] -%}
        {%- for row in rows -%}
            {%- for column in columns -%}
                {%- do texts.append(spark_cdc._text_in(row, column)) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- do conditions.append(
            "concat_ws('|', " ~ texts | join(', ') ~ ")\n    rlike r'^(?:(?:" ~ pattern ~ ")(?:[|]|\\z))*+\\z'"
        ) -%}
    {%- endfor -%}
    {{- return(conditions | join('\nand ')) -}}
{%- endmacro -%}

{#- SQL over `name` and `text` of a value: the text that a cast reads instead. It is the text itself of any other column. -#}
{%- macro _castable_text(columns, time_zone) -%}
    {%- set alike = {} -%}
    {%- for column in columns -%}
        {%- set of = spark_cdc._castable(column, time_zone) -%}
        {%- set rule = of | string -%}
        {%- set names = alike[rule].names if rule in alike else [] -%}
        {%- do alike.update({rule: dict(of, names=names + [column.name])}) -%}
    {%- endfor -%}
case
    when text is null then null
    {%- for of in alike.values() %}
    {%- set names = spark_cdc._literals(of.names) %}
    {%- set is_one_of_them = 'name in (' ~ names ~ ')' if of.names[1:] else 'name = ' ~ names %}
    {%- if of.is_exact %}
    when {{ is_one_of_them }} and ({{ of.is_exact | indent(4) }})
        then text
    {%- else %}
    when {{ is_one_of_them }} and text rlike r'^{{ of.pattern }}\z'
        then text
    {%- endif %}
    {%- if of.others %}
    when {{ is_one_of_them }} and text rlike r'^{{ of.others }}\z'
        then {{ of.instead }}
    {%- endif %}
    {%- endfor %}
    when name in ({{ spark_cdc._literals(columns | map(attribute='name')) }}) then '\uFFFD'
    else text
end
{%- endmacro -%}
