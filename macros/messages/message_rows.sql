{#-
    The CTE `message_rows`: the messages of `envelopes` with `rows`, the row changes in each, exact and untyped. NULL if a
    message has none. A messages model stores it, so that no changes model parses a message again: see `_stored_messages`. If
    numbers were put in quotes, the CTE `quoted_rows` comes first.

    A row is a struct, the same for all formats:

    op        insert, update, delete or snapshot
    update_part  before or after, for one of the two messages of an update
    image     map<string,string>: the row after the change, or the deleted row; the text of a number is unchanged
    before    map<string,string>: the row before an update or a delete, or the part of it that the message has
    old_key   array<string>, of an update: the columns whose value before the update the message has. See `_format`
    complete, absent_is_error, patches, old_key_told_apart, op_columns_of_others, in_quotes, readings
              see `_format`
-#}
{%- macro _message_rows(fmt) -%}
    {%- set header, rows = fmt.header, fmt.rows -%}
    {%- set header_texts, exact_row = [], [] -%}
    {%- for name, type in spark_cdc._header_columns().items() if type == 'string' -%}
        {%- do header_texts.append(name) -%}
    {%- endfor -%}
    {%- set values = {
        'image': spark_cdc._unquoted_image('row.image'), 'before': spark_cdc._unquoted_image('row.before'),
    } if not rows.readings else {'image': 'exact[0]', 'before': 'exact[1]', 'readings': rows.readings} -%}
    {%- for name in spark_cdc._row_fields() -%}
        {%- do exact_row.append("'" ~ name ~ "', " ~ values.get(name, 'row.' ~ name)) -%}
    {%- endfor -%}
    {%- set exact_row = 'named_struct(\n    ' ~ exact_row | join(',\n') | indent(4) ~ '\n)' -%}
    {%- if rows.readings -%}
        {%- set both = 'array(row.image, row.before)' -%}
        {%- set exact = 'if(numbers_quoted, transform(' ~ both ~ ', texts -> ' ~ spark_cdc._unquoted_image('texts') ~ '), ' ~ both ~ ')' -%}
        {%- set exact_row = spark_cdc._let('exact', exact, exact_row) -%}
    {%- endif -%}
{{ 'message_rows' if rows.exact else 'quoted_rows' }} as (

    select
        * except (message{{ ', event' if header.event }}),
        {% if rows.each -%}
        case
            when kind = 'rows'
                then transform({{ rows.each }}, (element, position) -> {{ spark_cdc._row_of(fmt) | indent(16) }})
        end
        {%- else -%}
        case when kind = 'rows' then array({{ spark_cdc._row_of(fmt) | indent(12) }}) end
        {%- endif %} as rows
    from envelopes

)
{%- if not rows.exact %},

message_rows as (

    select
        * except (rows, {{ header_texts | join(', ') }}),
        {%- for name in header_texts %}
        case when numbers_quoted then {{ spark_cdc._unquoted_text(name) }} else {{ name }} end as {{ name }},
        {%- endfor %}
        case
            when numbers_quoted{{ '\n                or ' ~ rows.may_have_readings | trim | indent(16) if rows.readings }}
                then transform(rows, row -> {{ exact_row | indent(16) }})
            else rows
        end as rows
    from quoted_rows

)
{%- endif %}
{%- endmacro -%}

{#- One row as a struct, from the expressions of the format's `<format>_rows`. -#}
{%- macro _row_of(fmt) -%}
    {%- set rows, is_pair = fmt.rows, fmt.header.splits_updates -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._row_fields().items() -%}
        {#- If an update is two messages, `absent_is_error` needs both of them; `readings` are made of exact texts. -#}
        {%- set is_made_later = name == 'readings' or is_pair and name in ['complete', 'absent_is_error', 'patches'] -%}
        {%- set value = none if is_made_later else rows[name] -%}
        {%- set value = 'map_keys(' ~ value ~ ')' if value and name == 'old_key' else value -%}
        {%- do fields.append("    '" ~ name ~ "', " ~ (value | string | trim | indent(4) if value else 'cast(null as ' ~ type ~ ')')) -%}
    {%- endfor -%}
    {{- return('named_struct(\n' ~ fields | join(',\n') ~ '\n)') -}}
{%- endmacro -%}

{#- The fields of a row in a messages model, with their types. -#}
{%- macro _row_fields() -%}
    {{- return({
        'op': 'string', 'update_part': 'string', 'image': 'map<string,string>', 'before': 'map<string,string>', 'old_key': 'array<string>',
        'complete': 'boolean', 'absent_is_error': 'boolean', 'patches': 'map<string,string>', 'old_key_told_apart': 'boolean',
        'op_columns_of_others': 'array<string>',
        'in_quotes': 'array<array<string>>', 'readings': 'array<map<string,string>>',
    }) -}}
{%- endmacro -%}
