{#-
    The CTE `typed_changes`: rows of texts -> the declared columns and the contract's columns.

    If a value does not fit its declared type exactly, the row is an error.
-#}
{%- macro _typed_changes(source, fmt, key, columns, time_zone, has_source_table=false) -%}
    {%- set header, rows = fmt.header, fmt.rows -%}
    {%- set overlays = rows.overlays -%}
    {%- set patchable = spark_cdc._patchable(columns, key) -%}
    {#- The two parts of an update are two messages. -#}
    {%- set message_before = 'before_value' if header.splits_updates else 'value' -%}
    {%- set names = columns | map(attribute='literal') | join(', ') -%}
    {#- What is wrong with each column. An error in the row before is named only if the row itself has none. -#}
    {%- set keyless, unfit, scales = [], [], [] -%}
    {%- for column in columns -%}
        {%- set declaration = spark_cdc._declaration(column) -%}
        {%- set text, text_before = spark_cdc._text_in('image', column), spark_cdc._text_in('before', column) -%}
        {%- if column.name in key -%}
            {%- do keyless.append({
                column.name: text ~ ' is null',
                'before ' ~ column.name: "op = 'update' and " ~ text_before ~ ' is null and map_contains_key(before, '
                    ~ column.literal ~ ')',
            }) -%}
        {%- endif -%}
        {%- set no_value = 'typed_row.' ~ column.quoted ~ ' is null and ' ~ text ~ ' is not null' -%}
        {%- if rows.patches and column.family == 'string' and column in patchable -%}
            {%- set no_value = no_value ~ ' or contains(patches[' ~ column.literal ~ "], '\\uFFFD')" -%}
        {%- endif -%}
        {%- do unfit.append({
            declaration: no_value,
            'before ' ~ declaration: 'typed_before.' ~ column.quoted ~ ' is null and ' ~ text_before ~ ' is not null',
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
{%- set castable = spark_cdc._castable_columns(fmt, columns, time_zone) %}
{%- set plain_text = fmt.plain_text(columns, fmt.dialect) if rows.plain_text %}
{%- set both, of_row, of_before = 'array(image, before)', 'image', 'before' %}
{%- if plain_text -%}
{{ spark_cdc._with_other_texts(
    'plain_changes', source, both, 'plain_texts', fmt.may_not_be_plain(columns, fmt.dialect), plain_text, '(row, place)'
) }}

{% set source, both, of_row, of_before = 'plain_changes', 'plain_texts', 'plain_texts[0]', 'plain_texts[1]' %}
{%- endif -%}
{%- if castable -%}
-- texts[0] is the row, texts[1] the row before: a text that a cast would round, trim or misread becomes U+FFFD, which no cast reads
{{ spark_cdc._with_other_texts(
    'castable_changes',
    source,
    both,
    'texts',
    'not (' ~ spark_cdc._all_are_castable(castable, time_zone, [of_row, of_before]) | indent(4) ~ ')',
    spark_cdc._castable_text(castable, time_zone)
) }}

{% set source = 'castable_changes' %}
{%- endif -%}
-- in structs, because a column of the source may have any name, also one that is used here
typed_rows as (

    select
        *,
        {%- for text_of, castable_text_of, typed_row, message in [
            (of_row, 'texts[0]', 'typed_row', 'value'), (of_before, 'texts[1]', 'typed_before', message_before),
        ] %}
        named_struct(
            {%- for column in columns %}
            {%- set typed = spark_cdc._cast(spark_cdc._text_in(castable_text_of, column), column) if column in castable
                else spark_cdc._decoded(fmt, spark_cdc._text_in(text_of, column), column, time_zone, message) %}
            {{ column.literal }}, {{ typed | indent(12) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as {{ typed_row }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ source }}

),

checked_rows as (

    select
        *,
        {%- if keyless %}
        {{ spark_cdc._named(keyless) | indent(8) }} as keyless,
        {%- endif %}
        {%- if rows.patches %}
        {{ spark_cdc._wrong_patches(columns, patchable) | indent(8) }} as wrong_patches,
        {%- endif %}
        {{ spark_cdc._named(unfit) | indent(8) }} as unfit,
        case
            when op in ('delete', 'truncate'){{ ' or complete' if rows.complete }} then null
            else nullif(
                array_except(
                    array({{ names }}),
                    map_keys(image)
                ),
                cast(array() as array<string>)
            )
        end as absent
    from typed_rows

),

row_faults as (

    select
        *,
        case
            when error is not null then error
            when op = 'truncate' then null
            {%- if rows.op_columns_of_others %}
            {{ spark_cdc._when_op_column_of_others(columns | map(attribute='name') | list) }}
            {%- endif %}
            {%- if header.splits_updates %}
            when update_part is not null then {{ spark_cdc._error_of('unpaired_update', 'update_part') }}
            {%- endif %}
            when op = 'update' and image is null then {{ spark_cdc._error('missing_after', 'the row after the update is missing') }}
            {%- if not header.splits_updates %}
            when {{ spark_cdc._has_duplicate_column('image') }}
                then {{ spark_cdc._name_twice_error('map_keys(image)', 'the row') | indent(16) }}
            {%- if overlays %}
            when {{ spark_cdc._has_duplicate_column('before') }}
                then {{ spark_cdc._name_twice_error('map_keys(before)', 'the row before') | indent(16) }}
            {%- else %}
            when not map_keys(before) <=> map_keys(image) and {{ spark_cdc._has_duplicate_column('before') }}
                then {{ spark_cdc._name_twice_error('map_keys(before)', 'the row before') | indent(16) }}
            {%- endif %}
            {%- endif %}
            {%- if keyless %}
            when keyless is not null then {{ spark_cdc._error_of('key_missing', 'keyless') }}
            {%- endif %}
            {%- if rows.absent_is_error %}
            when absent_is_error and size(absent) > 0 then {{ spark_cdc._error_of('ambiguous_null', "array_join(absent, ', ')") }}
            {%- endif %}
            {%- if overlays %}
            -- what the row before lists has changed, to a value that nobody knows
            when absent is not null and arrays_overlap(absent, map_keys(before))
                then {{ spark_cdc._error_of('ambiguous_null', "array_join(array_intersect(absent, map_keys(before)), ', ')") }}
            {%- endif %}
            {%- if rows.patches %}
            when wrong_patches is not null then {{ spark_cdc._error_of('patch_of_nested_value', 'wrong_patches') }}
            {%- endif %}
            when unfit is not null then {{ spark_cdc._error_of('invalid_value', unfit_detail) }}
        end as fault
    from checked_rows

),

typed_changes as (

    select
        {%- if has_source_table %}
        concat_ws('.', replace(database_name, '.', '..'), replace(schema_name, '.', '..'), replace(table_name, '.', '..'))
            as _cdc_source_table,
        {%- endif %}
        {%- for column in columns %}
        typed.row.{{ column.quoted }},
        {%- endfor %}
        op as _cdc_op,
        sequence as _cdc_sequence,
        committed_at as _cdc_committed_at,
        transaction_id as _cdc_transaction_id,
        {%- if overlays or rows.keeps_key %}
        case when before is not null then named_struct(
            {%- for column in columns %}
            {%- set value = 'typed.before.' ~ column.quoted %}
            {#- A column that `before` leaves out has the value of the row. -#}
            {%- if overlays or column.name in key %}
            {%- set value = 'if(map_contains_key(before, ' ~ column.literal ~ '), ' ~ value ~ ', typed.row.' ~ column.quoted ~ ')' %}
            {%- endif %}
            {{ column.literal }}, {{ value }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) end as _cdc_before,
        {%- else %}
        case when before is not null then typed.before end as _cdc_before,
        {%- endif %}
        absent as _cdc_missing_columns,
        {%- if rows.patches %}
        {{ spark_cdc._patches_of(patchable) }} as _cdc_patches,
        {%- endif %}
        typed.error as _cdc_error,
        topic as _cdc_topic,
        partition as _cdc_partition,
        offset as _cdc_offset,
        offsets as _cdc_offsets,
        loaded_at as _cdc_loaded_at
    from row_faults
    -- explode, so that a condition on a value or an error does not go below them and repeat all that makes them
    lateral view explode(array(named_struct(
        'row', typed_row,
        'before', typed_before,
        'error', {{ spark_cdc._as_error('fault') | indent(8) }}
    ))) exploded as typed

)
{%- endmacro -%}

{#-
    A CTE with one more column: the row and the row before, in which values have another text. `text` says which, in SQL over
    `name` and `text` of a value. It is long, so it stands here once for both rows, and only the changes for which `condition` is
    true are read by it.
-#}
{%- macro _with_other_texts(cte, source, texts, other_texts, condition, text, row='row') -%}
{{ cte }} as (

    select
        *,
        case
            when {{ condition | indent(12) }}
                then transform({{ texts }}, {{ row }} -> transform_values(row, (name, text) -> {{ text | indent(16) }}))
            else {{ texts }}
        end as {{ other_texts }}
    from {{ source }}

),
{%- endmacro -%}

{#- The branch of a CASE for a row with an operation column of another tool that is not `declared`. -#}
{%- macro _when_op_column_of_others(declared) -%}
    {#- A name that the format leaves out of its rows is no column, also if it is declared. -#}
    {%- set columns = 'array_intersect(map_keys(image), cast(array(' ~ spark_cdc._literals(declared) ~ ') as array<string>))' -%}
    {%- set names = 'array_except(op_columns_of_others, ' ~ columns ~ ')' -%}
    {%- set detail = 'concat(array_join(' ~ names ~ ", ', '), ': an operation column of another tool; declare it if it is a column of "
        ~ "the table')" -%}
    {{- return('when size(' ~ names ~ ') > 0 then ' ~ spark_cdc._error_of('unexpected_structure', detail)) -}}
{%- endmacro -%}

{#- SQL of a value. A number without quotes is never bytes. The texts of a Python function never have such numbers. -#}
{%- macro _decoded(fmt, text, column, time_zone, message='value') -%}
    {%- set typed = fmt.value(text, column, time_zone, fmt.dialect) -%}
    {%- if fmt.rows.exact or fmt.rows.plain_text -%}
        {{- return(typed) -}}
    {%- endif -%}
    {{- return(spark_cdc._only_in_quotes(text, column, typed, fmt.rows.value_names or '{}', message)) -}}
{%- endmacro -%}

{#- The columns whose texts the format reads as every format does, and whose types are those of a cast. -#}
{%- macro _castable_columns(fmt, columns, time_zone) -%}
    {%- set castable, is_castable = [], {} -%}
    {%- for column in columns if spark_cdc._castable(column, time_zone) -%}
        {#- Asked once for all columns that are declared alike. -#}
        {%- set declared = column.type ~ ' from ' ~ column.encoding -%}
        {%- if declared not in is_castable -%}
            {%- do is_castable.update({
                declared: spark_cdc._decoded(fmt, 'text', column, time_zone) == spark_cdc.value('text', column, time_zone)
            }) -%}
        {%- endif -%}
        {%- if is_castable[declared] -%}
            {%- do castable.append(column) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(castable) -}}
{%- endmacro -%}

{%- macro _declaration(column) -%}
    {{- return(column.name ~ ': ' ~ column.type ~ (' from ' ~ column.encoding if column.encoding else '')) -}}
{%- endmacro -%}

{#-
    SQL: all names whose condition is true, with a comma between them, or NULL. In each mapping of `found` the first true one counts.
-#}
{%- macro _named(found) -%}
    {%- set names = [] -%}
    {%- for conditions in found -%}
        {%- set cases = [] -%}
        {%- for name, condition in conditions.items() -%}
            {%- do cases.append('\n        when ' ~ condition ~ ' then ' ~ spark_cdc._literal(name)) -%}
        {%- endfor -%}
        {%- do names.append('\n    case' ~ cases | join ~ '\n    end') -%}
    {%- endfor -%}
    {%- if names | length == 1 -%}
        {{- return(names[0] | replace('\n    ', '\n') | trim) -}}
    {%- endif -%}
    {{- return("nullif(concat_ws(', '," ~ names | join(',') ~ "\n), '')") -}}
{%- endmacro -%}
