{#-
    The CTE `message_rows`: the messages of `envelopes` with `rows`, the row changes in each, exact and untyped. NULL of a message that
    has none. A messages model keeps it, so that no changes model reads a message again.

    A row is a struct, the same for all formats:

    op        insert, update, delete or snapshot
    half      before or after, of one of the two messages of an update
    image     map<string,string>: the row after the change, or of a delete as it was; a number by its own text
    before    map<string,string>: the row before an update or a delete, or what the message tells of it
    old_key   map<string,string>, of an update: what tells its key before. See `_row_changes`
    complete, absent_is_error, patches, old_key_told_apart, op_columns_of_others
              see `_row_changes`
-#}
{%- macro _message_rows(format, dialect) -%}
    {%- set rows = spark_cdc._rows_of(format, dialect) -%}
    {%- set row = spark_cdc._row_of(format, dialect, rows) -%}
message_rows as (

    select
        * except (message{{ ', event' if spark_cdc._header_of(format, dialect).get('event') }}),
        {% if rows.get('each') -%}
        case when kind = 'rows' then transform({{ rows.each }}, (element, position) -> {{ row | indent(8) }}) end as rows
        {%- else -%}
        case when kind = 'rows' then array({{ row | indent(8) }}) end as rows
        {%- endif %}
    from envelopes

)
{%- endmacro -%}

{#- One row as a struct, from the expressions of the format's `<format>_rows`. -#}
{%- macro _row_of(format, dialect, rows) -%}
    {%- set is_pair = spark_cdc._header_of(format, dialect).get('splits_updates') -%}
    {%- set values = {
        'op': rows.op,
        'half': rows.get('half'),
        'image': spark_cdc._exact_image(rows, rows.image),
        'before': spark_cdc._exact_image(rows, rows.before),
        'old_key': rows.get('old_key'),
        'complete': none if is_pair else rows.get('complete'),
        'absent_is_error': none if is_pair else rows.get('absent_is_error'),
        'patches': none if is_pair else rows.get('patches'),
        'old_key_told_apart': rows.get('old_key_told_apart'),
        'op_columns_of_others': rows.get('op_columns_of_others'),
    } -%}
    {%- set fields = [] -%}
    {%- for name, type in spark_cdc._row_fields().items() -%}
        {%- do fields.append("    '" ~ name ~ "', " ~ (values[name] | string | trim | indent(4) if values[name]
            else 'cast(null as ' ~ type ~ ')')) -%}
    {%- endfor -%}
    {{- return('named_struct(\n' ~ fields | join(',\n') ~ '\n)') -}}
{%- endmacro -%}

{#- The fields of a row in a messages model. One list: models and tests read it. -#}
{%- macro _row_fields() -%}
    {{- return({
        'op': 'string', 'half': 'string', 'image': 'map<string,string>', 'before': 'map<string,string>', 'old_key': 'map<string,string>',
        'complete': 'boolean', 'absent_is_error': 'boolean', 'patches': 'map<string,string>', 'old_key_told_apart': 'boolean',
        'op_columns_of_others': 'array<string>',
    }) -}}
{%- endmacro -%}

{#- The image with the numbers' own texts, in a message whose numbers were quoted. -#}
{%- macro _exact_image(rows, image) -%}
    {%- if rows.get('exact') -%}
        {{- return(image) -}}
    {%- endif -%}
    {{- return('case when numbers_quoted then ' ~ spark_cdc._unquoted_image(image | trim) ~ ' else ' ~ image | trim ~ ' end') -}}
{%- endmacro -%}
