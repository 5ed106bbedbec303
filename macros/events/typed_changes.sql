{#-
    The CTE `typed_changes`: images of texts -> the declared columns and the contract's columns.

    A value that is there but does not fit its declared type exactly makes the row an error. A number that Spark may have
    rewritten while it read the message (a bare 1.50 that came out as 1.5) is read once more from the message with its
    numbers quoted; `_needs_exact_numbers` finds such rows without a second pass over all others.
-#}
{%- macro _typed_changes(source, format, key, columns, time_zone) -%}
    {%- set value = spark_cdc._format_macro(format, 'value') -%}
    {%- set names = columns | map(attribute='literal') | join(', ') -%}
images as (

    select
        *,
        case when op = 'delete' then before else after end as image
    from {{ source }}

),

decoded as (

    select
        {%- for column in columns %}
        {{ value('image[' ~ column.literal ~ ']', column, time_zone) | indent(8) }} as {{ column.quoted }},
        {%- endfor %}
        op as _cdc_op,
        sequence as _cdc_sequence,
        committed_at as _cdc_committed_at,
        transaction_id as _cdc_transaction_id,
        case when before is not null then named_struct(
            {%- for column in columns %}
            {{ column.literal }}, {{ value('before[' ~ column.literal ~ ']', column, time_zone) | indent(12) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) end as _cdc_before,
        case
            when op not in ('delete', 'truncate') then array_except(array({{ names }}), map_keys(image))
        end as _cdc_absent,
        topic as _cdc_topic,
        partition as _cdc_partition,
        offset as _cdc_offset,
        offsets as _cdc_offsets,
        error_code as _cdc_error_code,
        half as _cdc_half,
        before as _cdc_before_image,
        image as _cdc_image
    from images

),

typed_changes as (

    select
        {%- for column in columns %}
        {{ column.quoted }},
        {%- endfor %}
        _cdc_op,
        _cdc_sequence,
        _cdc_committed_at,
        _cdc_transaction_id,
        _cdc_before,
        case when size(_cdc_absent) > 0 then _cdc_absent end as _cdc_absent,
        case
            when _cdc_error_code is not null then named_struct('code', _cdc_error_code, 'detail', cast(null as string))
            when _cdc_op = 'truncate' then null
            when _cdc_half is not null then named_struct('code', 'half_of_update', 'detail', _cdc_half)
            when _cdc_op = 'update' and _cdc_image is null then named_struct('code', 'no_after_image', 'detail', cast(null as string))
            when size(_cdc_image) <> size(array_distinct(map_keys(_cdc_image))) then {# -#}
                named_struct('code', 'duplicate_key', 'detail', cast(null as string))
            {%- for column in columns if column.name in key %}
            when _cdc_image[{{ column.literal }}] is null then {# -#}
                named_struct('code', 'key_missing', 'detail', {{ column.literal }})
            {%- endfor %}
            {%- for column in columns %}
            when {{ column.quoted }} is null and _cdc_image[{{ column.literal }}] is not null then {# -#}
                named_struct('code', 'value_does_not_fit', 'detail', {{ spark_cdc._literal(column.name ~ ': ' ~ column.type ~ (' from ' ~ column.encoding if column.encoding else '')) }})
            {%- endfor %}
            {%- for column in columns %}
            when _cdc_before.{{ column.quoted }} is null and _cdc_before_image[{{ column.literal }}] is not null then {# -#}
                named_struct('code', 'value_does_not_fit', 'detail', {{ spark_cdc._literal('before ' ~ column.name ~ ': ' ~ column.type ~ (' from ' ~ column.encoding if column.encoding else '')) }})
            {%- endfor %}
        end as _cdc_error,
        _cdc_topic,
        _cdc_partition,
        _cdc_offset,
        _cdc_offsets
    from decoded

)
{%- endmacro -%}

{%- macro _with_exact_numbers(source, format, dialect, columns) -%}
    {%- set exact_columns = columns | selectattr('family', 'in', ['decimal', 'string', 'variant']) | list -%}
    {%- if not exact_columns -%}
        {{- return('select * from ' ~ source) -}}
    {%- endif -%}
    {%- set rows = spark_cdc._format_macro(format, 'rows')(dialect) -%}
    {%- set read_again -%}
        transform(
            array({{ spark_cdc._parsed(format, dialect, true) | indent(12) }}.message),
            message -> ({{ rows | trim | indent(12) }})[position]
        )[0]
    {%- endset -%}
select
    * except (before, after, exact_change),
    case when exact_change is null then before else {{ spark_cdc._unquoted_image('exact_change.before') }} end as before,
    case when exact_change is null then after else {{ spark_cdc._unquoted_image('exact_change.after') }} end as after
from (
    select
        *,
        case
            when {{ spark_cdc._needs_exact_numbers('before', exact_columns) | trim | indent(12) }}
                or {{ spark_cdc._needs_exact_numbers('after', exact_columns) | trim | indent(12) }}
                then {{ read_again | trim | indent(12) }}
        end as exact_change
    from {{ source }}
)
{%- endmacro -%}

{#-
    True where a text may have been a bare number or a nested value with numbers, which from_json rewrites: the text looks
    like what Double.toString gives (or is an object, or a list), and the message does not hold it in quotes.
-#}
{%- macro _needs_exact_numbers(image, columns) -%}
    {%- for column in columns %}
    {%- set text = image ~ '[' ~ column.literal ~ ']' -%}
    {%- set opening = spark_cdc._literal('"' ~ column.name ~ '":"') %}
    {{ 'or ' if not loop.first }}(
        {{ text }} between '-' and ':' and contains({{ text }}, '.')
        and not contains(value, concat({{ opening }}, {{ text }}, '"'))
        and {{ text }} rlike r'^-?[0-9]++\.[0-9]++(?:E-?[0-9]++)?$'
    ) or (
        left({{ text }}, 1) in ('{', '[') and not contains(value, concat({{ opening }}, left({{ text }}, 1)))
        and {{ text }} rlike '[0-9]'
    )
    {%- endfor %}
{%- endmacro -%}
