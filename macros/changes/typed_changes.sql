{#-
    The CTE `typed_changes`: images of texts -> the declared columns and the contract's columns.

    A value that is there but does not fit its declared type exactly makes the row an error.
-#}
{%- macro _typed_changes(source, fmt, key, columns, time_zone, has_origin=false) -%}
    {%- set header, rows = fmt.header, fmt.rows -%}
    {%- set overlays = rows.overlays -%}
    {%- set patchable = spark_cdc._patchable(columns, key) -%}
    {%- set names = columns | map(attribute='literal') | join(', ') -%}
    {#- The two halves of an update are two messages. -#}
    {%- set message_before = 'before_value' if header.splits_updates else 'value' -%}
    {%- set is_other_value, same_value = [], [] -%}
    {%- for column in columns -%}
        {%- set text, same = 'before_texts.' ~ column.quoted, 'decoded_image.' ~ column.quoted -%}
        {%- if overlays or rows.keeps_key and column.name in key -%}
            {%- do is_other_value.append(text ~ ' is not null') -%}
            {%- do same_value.append('case when not map_contains_key(before, ' ~ column.literal ~ ') then ' ~ same ~ ' end') -%}
        {%- else -%}
            {%- set is_in_another_message = header.splits_updates and spark_cdc._is_bytes(column) -%}
            {%- do is_other_value.append(
                '(not ' ~ text ~ ' <=> image_texts.' ~ column.quoted ~ (' or before_value <> value' if is_in_another_message else '') ~ ')'
            ) -%}
            {%- do same_value.append(same) -%}
        {%- endif -%}
    {%- endfor -%}
    {#- What is wrong with a column, and what names it: of the row before only where the row itself has nothing. -#}
    {%- set keyless, unfit, scales = [], [], [] -%}
    {%- for column in columns -%}
        {%- set declaration = spark_cdc._declaration(column) -%}
        {%- set image_text, before_text = 'image_texts.' ~ column.quoted, 'before_texts.' ~ column.quoted -%}
        {%- if column.name in key -%}
            {%- do keyless.append({
                column.name: image_text ~ ' is null',
                'before ' ~ column.name: "op = 'update' and " ~ before_text ~ ' is null and map_contains_key(before, '
                    ~ column.literal ~ ')',
            }) -%}
        {%- endif -%}
        {%- set no_value = 'decoded_image.' ~ column.quoted ~ ' is null and ' ~ image_text ~ ' is not null' -%}
        {%- if rows.patches and column.family == 'string' and column in patchable -%}
            {%- set no_value = no_value ~ ' or contains(patches[' ~ column.literal ~ "], '\\uFFFD')" -%}
        {%- endif -%}
        {%- do unfit.append({
            declaration: no_value,
            'before ' ~ declaration: 'decoded_before.' ~ column.quoted ~ ' is null and ' ~ before_text ~ ' is not null',
        }) -%}
        {%- if rows.type_scale and column.family == 'decimal' and column.encoding == 'base64' -%}
            {%- set type_scale = rows.type_scale | replace('{}', column.source_type) -%}
            {%- do scales.append(
                'case when ' ~ type_scale ~ " not in ('', '" ~ column.scale ~ "') and (" ~ unfit[-1].values() | join(' or ')
                ~ ') then concat(' ~ spark_cdc._literal(column.name ~ ': the schema of the message says scale ') ~ ', ' ~ type_scale
                ~ ') end'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set unfit_detail = "concat_ws(', ', " ~ (['unfit'] + scales) | join(', ') ~ ')' if scales else 'unfit' -%}
{#-
    In structs, because a column of the source may have any name, also one that is used here. A value of the old row is mostly the
    new row's value. Side by side and not one behind the other: Spark's analyzer walks over the whole query for each step.
#}
decoded as (

    select
        *,
        named_struct(
            {%- for column in columns %}
            {%- set decoded = spark_cdc._decoded(fmt, 'image_texts.' ~ column.quoted, column, time_zone) %}
            {{ column.literal }}, {{ decoded | indent(12) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as decoded_image,
        case when before is not null then named_struct(
            {%- for column in columns %}
            {%- set text = 'before_texts.' ~ column.quoted %}
            {%- set decoded = spark_cdc._decoded(fmt, text, column, time_zone, message_before) %}
            {{ column.literal }}, case when {{ is_other_value[loop.index0] }} then {{ decoded | indent(12) }} end{{ ',' if not loop.last }}
            {%- endfor %}
        ) end as decoded_other_values
    from {{ source }}

),

decoded_pairs as (

    select
        *,
        case when before is not null then named_struct(
            {%- for column in columns %}
            {{ column.literal }}, case
                when {{ is_other_value[loop.index0] }} then decoded_other_values.{{ column.quoted }}
                else {{ same_value[loop.index0] }}
            end{{ ',' if not loop.last }}
            {%- endfor %}
        ) end as decoded_before,
        case
            when op in ('delete', 'truncate'){{ ' or complete' if rows.complete }} then null
            when {% for column in columns -%}
                {{ 'or ' if not loop.first }}(
                    image_texts.{{ column.quoted }} is null and not map_contains_key(image, {{ column.literal }})
                )
                {% endfor -%}
                then array_except(array({{ names }}), map_keys(image))
        end as absent
    from decoded

),

checked_pairs as (

    select
        *,
        {%- if keyless %}
        {{ spark_cdc._named(keyless) | indent(8) }} as keyless,
        {%- endif %}
        {%- if rows.patches %}
        {{ spark_cdc._wrong_patches(columns, patchable) | indent(8) }} as wrong_patches,
        {%- endif %}
        {{ spark_cdc._named(unfit) | indent(8) }} as unfit
    from decoded_pairs

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
        {%- if rows.patches %}
        {{ spark_cdc._patches_of(patchable) }} as _cdc_patches,
        {%- endif %}
        case
            when error is not null then error
            when op = 'truncate' then null
            {%- if rows.op_columns_of_others %}
            {{ spark_cdc._when_op_column_of_others(columns | map(attribute='name') | list) }}
            {%- endif %}
            when half is not null then {{ spark_cdc._error_of('half_of_update', 'half') }}
            when op = 'update' and image is null then {{ spark_cdc._error('no_after_image', 'the row after the update is missing') }}
            {%- if not header.splits_updates %}
            when {{ spark_cdc._has_duplicate_column('image') }} then {# -#}
                {{ spark_cdc._name_twice_error('map_keys(image)', 'the row') }}
            {%- if overlays %}
            when {{ spark_cdc._has_duplicate_column('before') }} then {# -#}
                {{ spark_cdc._name_twice_error('map_keys(before)', 'the row before') }}
            {%- else %}
            when not map_keys(before) <=> map_keys(image) and {{ spark_cdc._has_duplicate_column('before') }} then {# -#}
                {{ spark_cdc._name_twice_error('map_keys(before)', 'the row before') }}
            {%- endif %}
            {%- endif %}
            {%- if keyless %}
            when keyless is not null then {{ spark_cdc._error_of('key_missing', 'keyless') }}
            {%- endif %}
            {%- if rows.absent_is_error %}
            when absent_is_error and size(absent) > 0 then {{ spark_cdc._error_of('null_left_out', "array_join(absent, ', ')") }}
            {%- endif %}
            {%- if overlays %}
            -- what the row before lists has changed, to a value that nobody knows
            when absent is not null and arrays_overlap(absent, map_keys(before)) then {# -#}
                {{ spark_cdc._error_of('null_left_out', "array_join(array_intersect(absent, map_keys(before)), ', ')") }}
            {%- endif %}
            {%- if rows.patches %}
            when wrong_patches is not null then {{ spark_cdc._error_of('patch_of_nested_value', 'wrong_patches') }}
            {%- endif %}
            when unfit is not null then {{ spark_cdc._error_of('value_does_not_fit', unfit_detail) }}
        end as _cdc_error,
        topic as _cdc_topic,
        partition as _cdc_partition,
        offset as _cdc_offset,
        offsets as _cdc_offsets,
        batch as _cdc_batch
    from checked_pairs

)
{%- endmacro -%}

{#- The branch of a CASE for a row with an operation column of another tool that is not `declared`. -#}
{%- macro _when_op_column_of_others(declared) -%}
    {%- set names = 'array_except(op_columns_of_others, cast(array(' ~ spark_cdc._literals(declared) ~ ') as array<string>))' -%}
    {%- set detail = 'concat(array_join(' ~ names ~ ", ', '), ': an operation column of another tool; declare it if it is a column of "
        ~ "the table')" -%}
    {{- return('when size(' ~ names ~ ') > 0 then ' ~ spark_cdc._error_of('other_structure', detail)) -}}
{%- endmacro -%}

{#- SQL of a value. A number is no bytes, in whatever format: of a Python function's own texts none is one. -#}
{%- macro _decoded(fmt, text, column, time_zone, message='value') -%}
    {%- set typed = fmt.value(text, column, time_zone, fmt.dialect) -%}
    {%- if fmt.rows.exact or fmt.rows.tells_quotes -%}
        {{- return(typed) -}}
    {%- endif -%}
    {{- return(spark_cdc._only_in_quotes(text, column, typed, fmt.rows.value_names or '{}', message)) -}}
{%- endmacro -%}

{%- macro _declaration(column) -%}
    {{- return(column.name ~ ': ' ~ column.type ~ (' from ' ~ column.encoding if column.encoding else '')) -}}
{%- endmacro -%}

{#- SQL: all names of which the condition holds, with commas between, NULL of none. Of each mapping in `found` the first counts. -#}
{%- macro _named(found) -%}
    {%- set names = [] -%}
    {%- for conditions in found -%}
        {%- set cases = [] -%}
        {%- for name, condition in conditions.items() -%}
            {%- do cases.append(' when ' ~ condition ~ ' then ' ~ spark_cdc._literal(name)) -%}
        {%- endfor -%}
        {%- do names.append('\n    case' ~ cases | join ~ ' end') -%}
    {%- endfor -%}
    {{- return("nullif(concat_ws(', '," ~ names | join(',') ~ "\n), '')") -}}
{%- endmacro -%}
