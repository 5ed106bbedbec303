{#-
    Row changes with the texts of their declared columns, `image_texts` and `before_texts`, and where values depend on them with
    the types that the message names, `source_types`: structs from here on, because a look into a map costs more and each is read
    often.

    A number that Spark may have rewritten while it read the message (a bare 1.50 that came out as 1.5) is read once more from the
    message with its numbers quoted; `_holds_other_numbers` finds such messages without a second parse of all others.
-#}
{%- macro _with_exact_numbers(source, format, dialect, columns) -%}
    {%- set exact_columns = columns | selectattr('family', 'in', [
        'decimal', 'float', 'double', 'string', 'variant', 'timestamp', 'timestamp_ntz'
    ]) | list -%}
    {%- set is_exact = not exact_columns or spark_cdc._rows_of(format, dialect).get('exact') -%}
    {%- set with_texts -%}
        select
            *,
            {%- if spark_cdc._reads_types(format, dialect, columns) %}
            {{ spark_cdc._texts('column_types', columns) }} as source_types,
            {%- endif %}
            {{ spark_cdc._texts('image', columns) }} as image_texts,
            {{ spark_cdc._texts('before', columns) }} as before_texts
        from {{ source }}
    {%- endset -%}
    {%- if is_exact -%}
        {{- return(with_texts) -}}
    {%- endif -%}
    {%- set header = spark_cdc._header_of(format, dialect) -%}
    {%- set rows = spark_cdc._rows_of(format, dialect) -%}
    {%- set images = "named_struct('image', " ~ spark_cdc._unquoted_image(rows.image) ~ ", 'before', "
        ~ spark_cdc._unquoted_image(rows.before) ~ ')' -%}
    {%- if rows.get('each') -%}
        {%- set images = spark_cdc._let('element', 'get(' ~ rows.each ~ ', position)', images) -%}
    {%- endif -%}
    {%- if header.get('event') -%}
        {%- set images = spark_cdc._let('event', header.event, images) -%}
    {%- endif -%}
    {%- set message_again = 'get(' ~ spark_cdc._parsed(format, dialect, true, false) ~ '.message, 0)' -%}
    {%- set holds_other_numbers = spark_cdc._holds_other_numbers(exact_columns, rows.get('value_names') or '{}') -%}
select
    * except (image_texts, before_texts, exact),
    case when exact is null then image_texts else {{ spark_cdc._texts('exact.image', columns) }} end as image_texts,
    case when exact is null then before_texts else {{ spark_cdc._texts('exact.before', columns) }} end as before_texts
from (
    select
        *,
        case
            when kind = 'rows' and ({{ holds_other_numbers | trim | indent(12) }})
                then case
                    when {{ spark_cdc._holds_bare_fractions('value') }}
                        then {{ spark_cdc._let('message', message_again, images) | indent(20) }}
                end
        end as exact
    from (
        {{ with_texts | trim }}
    )
)
{%- endmacro -%}

{%- macro _texts(image, columns) -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(column.literal ~ ', element_at(' ~ image ~ ', ' ~ column.literal ~ ')') -%}
    {%- endfor -%}
    {{- return('case when ' ~ image ~ ' is not null then named_struct(' ~ fields | join(', ') ~ ') end') -}}
{%- endmacro -%}

{#- True where from_json gives another text than a number of the message has: its point or its exponent, or -0, is not quoted. -#}
{%- macro _holds_bare_fractions(value) -%}
    {{- return('not ' ~ value ~ " rlike r'(?s)^" ~ spark_cdc._whole_numbers_and_texts() ~ "\\z'") -}}
{%- endmacro -%}

{#-
    True where from_json may have given another text than a number of a declared column has in the message: the text looks like
    what it makes of one, and under the column's name there is a bare one, or a nested value. What it makes is the text of a
    double (1.50 comes out as 1.5, 1e400 as "Infinity" with the quotes), or 0 of -0; a double's text has an exponent, or ends in
    no zero but that of .0. Of a double only what comes out as 0 is another number. A name with an escape cannot be searched for.
-#}
{%- macro _holds_other_numbers(columns, value_names) -%}
    {%- for column in columns %}
    {%- set of_column = value_names | replace('{}', modules.re.escape(column.name)) ~ '"\\s*+:\\s*+(?:-?[0-9]++[.eE]|-0|[\\[{])' -%}
    {%- set may_have_escape = modules.re.search('["\\\\/\\x00-\\x1f]', column.name) -%}
    case
        when {{ spark_cdc._may_be_another_number('image_texts.' ~ column.quoted, column) }}
            or {{ spark_cdc._may_be_another_number('before_texts.' ~ column.quoted, column) }}
            then {{ 'true' if may_have_escape else 'value rlike ' ~ spark_cdc._literal('"' ~ of_column) }}
        else false
    end or{{ ' ' }}
    {%- endfor %}
    case when contains(value, '\\u') then value rlike r'{{ spark_cdc._escaped_name() }}' else false end
{%- endmacro -%}

{%- macro _may_be_another_number(text, column) -%}
    {%- if column.family in ['float', 'double'] -%}
        {{- return(text ~ " in ('0', '0.0', '-0.0')") -}}
    {%- endif -%}
    {%- set is_no_time = ' and not contains(' ~ text ~ ", ':')" if 'timestamp' in column.family else '' -%}
    {{- return(
        'case when ' ~ text ~ " between '-' and ':' then " ~ text ~ " = '0' or contains(" ~ text ~ ", '.')" ~ is_no_time
        ~ ' and (not endswith(' ~ text ~ ", '0') or endswith(" ~ text ~ ", '.0') or contains(" ~ text ~ ", 'E')) else left("
        ~ text ~ ", 1) in ('{', '[') or " ~ text ~ " in ('\"Infinity\"', '\"-Infinity\"') end"
    ) -}}
{%- endmacro -%}
