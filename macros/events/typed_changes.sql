{#-
    The CTE `typed_changes`: images of texts -> the declared columns and the contract's columns.

    A value that is there but does not fit its declared type exactly makes the row an error. A number that Spark may have
    rewritten while it read the message (a bare 1.50 that came out as 1.5) is read once more from the message with its
    numbers quoted; `_holds_other_numbers` finds such messages without a second parse of all others.
-#}
{%- macro _typed_changes(source, format, dialect, key, columns, time_zone, has_origin=false) -%}
    {%- set value = spark_cdc._format_macro(format, 'value') -%}
    {%- set rows = spark_cdc._format_macro(format, 'rows')(dialect) -%}
    {%- set overlays = rows.get('overlays') -%}
    {%- set header = spark_cdc._format_macro(format, 'header')(dialect) -%}
    {%- set patchable = spark_cdc._patchable(columns, key) -%}
    {%- set names = columns | map(attribute='literal') | join(', ') -%}
{#- In a struct, because a column of the source may have any name, also one that is used here. #}
decoded as (

    select
        *,
        named_struct(
            {%- for column in columns %}
            {{ column.literal }}, {{ value('image_texts.' ~ column.quoted, column, time_zone, dialect) | indent(12) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as decoded_image
    from {{ source }}

),

{#- A value of the old row is mostly the new row's value, which is decoded already. #}
decoded_pairs as (

    select
        *,
        case when before is not null then named_struct(
            {%- for column in columns %}
            {%- set text = 'before_texts.' ~ column.quoted %}
            {{ column.literal }}, case
                {%- if overlays %}
                when {{ text }} is null then case when not map_contains_key(before, {{ column.literal }}) then decoded_image.{{ column.quoted }} end
                {%- else %}
                when {{ text }} <=> image_texts.{{ column.quoted }} then decoded_image.{{ column.quoted }}
                {%- endif %}
                else {{ value(text, column, time_zone, dialect) | indent(16) }}
            end{{ ',' if not loop.last }}
            {%- endfor %}
        ) end as decoded_before,
        case
            when op in ('delete', 'truncate'){{ ' or complete' if rows.get('complete') }} then null
            when {% for column in columns -%}
                {{ 'or ' if not loop.first }}(image_texts.{{ column.quoted }} is null and not map_contains_key(image, {{ column.literal }}))
                {% endfor -%}
                then array_except(array({{ names }}), map_keys(image))
        end as absent
    from decoded

),

typed_changes as (

    select
        {%- if has_origin %}
        concat_ws('.', replace(database_name, '.', '..'), replace(schema_name, '.', '..'), replace(table_name, '.', '..'))
            as _cdc_origin,
        {%- endif %}
        {%- for column in columns %}
        decoded_image.{{ column.quoted }},
        {%- endfor %}
        op as _cdc_op,
        sequence as _cdc_sequence,
        committed_at as _cdc_committed_at,
        transaction_id as _cdc_transaction_id,
        decoded_before as _cdc_before,
        absent as _cdc_absent,
        {%- if rows.get('patches') %}
        {{ spark_cdc._patches_of(patchable) }} as _cdc_patches,
        {%- endif %}
        case
            when error_code is not null then {{ spark_cdc._error('error_code') }}
            when op = 'truncate' then null
            when half is not null then {{ spark_cdc._error("'half_of_update'", 'half') }}
            when op = 'update' and image is null then {{ spark_cdc._error("'no_after_image'") }}
            {%- if not header.get('splits_updates') %}
            when {{ spark_cdc._has_duplicate_column('image') }} then {{ spark_cdc._error("'duplicate_key'") }}
            {%- if overlays %}
            when {{ spark_cdc._has_duplicate_column('before') }} then {{ spark_cdc._error("'duplicate_key'") }}
            {%- else %}
            when not map_keys(before) <=> map_keys(image) and {{ spark_cdc._has_duplicate_column('before') }} then {# -#}
                {{ spark_cdc._error("'duplicate_key'") }}
            {%- endif %}
            {%- endif %}
            {%- for column in columns if column.name in key %}
            when image_texts.{{ column.quoted }} is null then {{ spark_cdc._error("'key_missing'", column.literal) }}
            when op = 'update' and before_texts.{{ column.quoted }} is null and map_contains_key(before, {{ column.literal }}) then {# -#}
                {{ spark_cdc._error("'key_missing'", spark_cdc._literal('before ' ~ column.name)) }}
            {%- endfor %}
            {%- if rows.get('absent_is_error') %}
            when absent_is_error and size(absent) > 0 then {{ spark_cdc._error("'null_left_out'", "array_join(absent, ', ')") }}
            {%- endif %}
            {%- for column in columns if rows.get('patches') %}
            when {{ spark_cdc._patch_error_condition(column, column in patchable) }} then {# -#}
                {{ spark_cdc._error("'patch_of_nested_value'", spark_cdc._path_of_patch(column)) }}
            {%- endfor %}
            {%- for column in patchable if rows.get('patches') and column.family == 'string' %}
            when contains(patches[{{ column.literal }}], '\uFFFD') then {# -#}
                {{ spark_cdc._error("'value_does_not_fit'", spark_cdc._literal(spark_cdc._declaration(column))) }}
            {%- endfor %}
            {%- for column in columns %}
            when decoded_image.{{ column.quoted }} is null and image_texts.{{ column.quoted }} is not null then {# -#}
                {{ spark_cdc._error("'value_does_not_fit'", spark_cdc._literal(spark_cdc._declaration(column))) }}
            {%- endfor %}
            {%- for column in columns %}
            when decoded_before.{{ column.quoted }} is null and before_texts.{{ column.quoted }} is not null then {# -#}
                {{ spark_cdc._error("'value_does_not_fit'", spark_cdc._literal('before ' ~ spark_cdc._declaration(column))) }}
            {%- endfor %}
        end as _cdc_error,
        topic as _cdc_topic,
        partition as _cdc_partition,
        offset as _cdc_offset,
        offsets as _cdc_offsets,
        batch as _cdc_batch
    from decoded_pairs

)
{%- endmacro -%}

{%- macro _declaration(column) -%}
    {{- return(column.name ~ ': ' ~ column.type ~ (' from ' ~ column.encoding if column.encoding else '')) -}}
{%- endmacro -%}

{%- macro _error(code, detail='cast(null as string)') -%}
    {{- return("named_struct('code', " ~ code ~ ", 'detail', " ~ detail ~ ')') -}}
{%- endmacro -%}

{%- macro _has_duplicate_column(image) -%}
    {{- return('size(' ~ image ~ ') > 1 and size(' ~ image ~ ') <> size(array_distinct(map_keys(' ~ image ~ ')))') -}}
{%- endmacro -%}

{#- The texts of the declared columns stand in structs from here on: a look into a map costs more, and each is read often. -#}
{%- macro _with_exact_numbers(source, format, dialect, columns) -%}
    {%- set exact_columns = columns | selectattr('family', 'in', [
        'decimal', 'float', 'double', 'string', 'variant', 'timestamp', 'timestamp_ntz'
    ]) | list -%}
    {%- set is_exact = not exact_columns or spark_cdc._format_macro(format, 'rows')(dialect).get('exact') -%}
    {%- set with_texts -%}
        select
            *,
            {{ spark_cdc._texts('image', columns) }} as image_texts,
            {{ spark_cdc._texts('before', columns) }} as before_texts
        from {{ source }}
    {%- endset -%}
    {%- if is_exact -%}
        {{- return(with_texts) -}}
    {%- endif -%}
    {%- set header = spark_cdc._format_macro(format, 'header')(dialect) -%}
    {%- set rows = spark_cdc._format_macro(format, 'rows')(dialect) -%}
    {%- set images = "named_struct('image', " ~ rows.image ~ ", 'before', " ~ rows.before ~ ')' -%}
    {%- if rows.get('each') -%}
        {%- set images = spark_cdc._let('element', 'get(' ~ rows.each ~ ', position)', images) -%}
    {%- endif -%}
    {%- if header.get('event') -%}
        {%- set images = spark_cdc._let('event', header.event, images) -%}
    {%- endif -%}
    {%- set message_again = 'get(' ~ spark_cdc._parsed(format, dialect, true, false) ~ '.message, 0)' -%}
    {%- set texts_again = spark_cdc._let('image', spark_cdc._unquoted_image('exact.image'), spark_cdc._texts('image', columns)) -%}
    {%- set before_again = spark_cdc._let('image', spark_cdc._unquoted_image('exact.before'), spark_cdc._texts('image', columns)) -%}
select
    * except (image_texts, before_texts, exact),
    case when exact is null then image_texts else {{ texts_again | indent(4) }} end as image_texts,
    case when exact is null then before_texts else {{ before_again | indent(4) }} end as before_texts
from (
    select
        *,
        case
            when kind = 'rows' and ({{ spark_cdc._holds_other_numbers(exact_columns, rows.get('value_names') or '{}') | trim | indent(12) }})
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
    case
        when {{ spark_cdc._may_be_another_number('image_texts.' ~ column.quoted, column) }}
            or {{ spark_cdc._may_be_another_number('before_texts.' ~ column.quoted, column) }}
            then {{ 'true' if modules.re.search('["\\\\/\\x00-\\x1f]', column.name) else 'value rlike ' ~ spark_cdc._literal('"' ~ of_column) }}
        else false
    end or{{ ' ' }}
    {%- endfor %}
    case when contains(value, '\\u') then value rlike r'\\u(?:[^"\\]++|\\.)*+"\s*+:' else false end
{%- endmacro -%}

{%- macro _may_be_another_number(text, column) -%}
    {%- if column.family in ['float', 'double'] -%}
        {{- return(text ~ " in ('0.0', '-0.0')") -}}
    {%- endif -%}
    {%- set is_no_time = ' and not contains(' ~ text ~ ", ':')" if 'timestamp' in column.family else '' -%}
    {{- return(
        'case when ' ~ text ~ " between '-' and ':' then " ~ text ~ " = '0' or contains(" ~ text ~ ", '.')" ~ is_no_time
        ~ ' and (not endswith(' ~ text ~ ", '0') or endswith(" ~ text ~ ", '.0') or contains(" ~ text ~ ", 'E')) else left("
        ~ text ~ ", 1) in ('{', '[') or " ~ text ~ " in ('\"Infinity\"', '\"-Infinity\"') end"
    ) -}}
{%- endmacro -%}
