{#-
    The CTEs `row_changes` (one row is one change of one source row, images as texts); where a format sends an update as two
    messages, `paired_changes`. The last of them has the name that `_last_changes` gives. They read the CTE `message_rows`.
    `columns` are those that are declared, where they are typed afterwards.

    `sequence` is the vendor's order in parts, then the offset, then the position in the message: an array, because arrays
    compare part by part and one type serves every format. It has one part more, 0, of a row that `_goes_on_in_message`: an old
    key ends at the sequence without its last part, here behind the rows before this one and else before all rows of the message.
-#}
{%- macro _row_changes(fmt, where, columns=none, key=[]) -%}
    {%- set header, rows = fmt.header, fmt.rows -%}
    {%- set old_key_columns = (columns or []) | selectattr('name', 'in', key) | list if rows.old_key else [] -%}
    {%- set parts = spark_cdc._parts_to_type(fmt, columns) if columns else ['column_types', 'key_columns'] -%}
    {%- set no_old_key, conditions = [], [] -%}
    {%- for column in old_key_columns -%}
        {%- do conditions.append(
            'not array_contains(row.old_key, ' ~ column.literal ~ ') and coalesce(map_contains_key(row.image, ' ~ column.literal
            ~ '), true)'
        ) -%}
        {%- do no_old_key.append({'before ' ~ column.name: conditions[-1]}) -%}
    {%- endfor -%}
row_changes as (

    select
        topic,
        partition,
        offset,
        array(named_struct('partition', partition, 'offset', offset)) as offsets,
        batch,
        kind,
        {%- if old_key_columns or header.splits_updates %}
        case
            when error is not null then error
            {%- for image, where in [('row.image', 'the row'), ('row.before', 'the row before')] if header.splits_updates %}
            when kind = 'rows' and {{ spark_cdc._has_duplicate_column(image) }} then {# -#}
                {{ spark_cdc._name_twice_error('map_keys(' ~ image ~ ')', where) }}
            {%- endfor %}
            {%- if old_key_columns %}
            when kind = 'rows' and ({{ conditions | join(' or ') }}) then {# -#}
                {{ spark_cdc._error_of('key_missing', spark_cdc._named(no_old_key)) | indent(16) }}
            {%- endif %}
        end as error,
        {%- else %}
        error,
        {%- endif %}
        database_name,
        schema_name,
        table_name,
        sequence as vendor_sequence,
        concat(
            sequence,
            array(cast(offset as decimal(20,0)), cast(if(row.old_key_told_apart, -1, coalesce(position, 0)) as decimal(20,0)))
            {%- if rows.each and key %},
            case when {{ spark_cdc._goes_on_in_message(rows.overlays, key) }} then array(0BD) else array() end
            {%- endif %}
        ) as sequence,
        committed_at,
        transaction_id,
        {%- for name in parts %}
        {{ name }},
        {%- endfor %}
        coalesce(position, 0) as position,
        if(kind = 'truncate', 'truncate', row.op) as op,
        row.half as half,
        row.image as image,
        row.before as before
        {%- set others = ['complete', 'absent_is_error', 'patches', 'op_columns_of_others'] %}
        {%- for name in others if rows[name] and not header.splits_updates %},
        row.{{ name }} as {{ name }}
        {%- endfor %}
    from message_rows
    lateral view outer posexplode(rows) exploded as position, row
    {%- if where %}
    where {{ where }}
    {%- endif %}

)
{%- if header.splits_updates %},

{#- A half as one thing that can be compared: a map cannot. -#}
{%- set half_before = spark_cdc._half_to_compare('before', columns) %}
{%- set half_after = spark_cdc._half_to_compare('image', columns) %}
half_changes as (

    select
        array_sort(collect_set(offsets[0])) as offsets,
        max(batch) as batch,
        min_by(struct(*), offset) filter (where half = 'before') as before_half,
        min_by(struct(*), offset) filter (where not half <=> 'before') as after_half,
        coalesce(
            min({{ half_before }}) filter (where half = 'before') <> max({{ half_before }}) filter (where half = 'before'), false
        ) or coalesce(
            min({{ half_after }}) filter (where half = 'after') <> max({{ half_after }}) filter (where half = 'after'), false
        ) as is_contradiction
    from row_changes
    -- a change that is whole is a group of its own: to take such rows out first would read all messages twice;
    -- so is a half with an error, whose partner waits for its repaired copy
    group by
        topic,
        vendor_sequence,
        database_name,
        schema_name,
        table_name,
        case when half is null or error is not null then struct(partition, offset, position) end

),

{#-
    A pair is one update under the order of its second half; a half without its partner keeps its mark. Which of several
    different halves belong together nobody knows.
#}
paired_changes as (

    select
        {%- for name in [
            'topic', 'partition', 'offset', 'kind', 'database_name', 'schema_name', 'table_name', 'vendor_sequence', 'sequence',
            'committed_at', 'transaction_id', 'position', 'op',
        ] + parts %}
        coalesce(after_half.{{ name }}, before_half.{{ name }}) as {{ name }},
        {%- endfor %}
        {%- if 'value' in parts %}
        coalesce(before_half.value, after_half.value) as before_value,
        {%- endif %}
        case
            when is_contradiction then {{ spark_cdc._error('other_structure', 'one half of an update came with two contents') }}
            else coalesce(after_half.error, before_half.error)
        end as error,
        -- a half that was sent again stands behind the two
        array_distinct(concat(array_compact(array(before_half.offsets[0], after_half.offsets[0])), offsets)) as offsets,
        batch,
        case
            when after_half is null then 'before'
            when before_half is null then after_half.half
        end as half,
        coalesce(before_half.before, after_half.before) as before,
        after_half.image as image
        {%- if rows.absent_is_error %},
        {{ rows.absent_is_error }} as absent_is_error
        {%- endif %}
    from half_changes

)
{%- endif %}
{%- endmacro -%}

{%- macro _last_changes(fmt) -%}
    {{- return('paired_changes' if fmt.header.splits_updates else 'row_changes') -}}
{%- endmacro -%}

{#- The row of a half as something that can be compared: a map cannot. -#}
{%- macro _half_to_compare(row, columns) -%}
    {%- if not columns -%}
        {{- return('sort_array(map_entries(' ~ row ~ '))') -}}
    {%- endif -%}
    {%- set texts = [] -%}
    {%- for column in columns -%}
        {%- do texts.append(spark_cdc._text_in(row, column)) -%}
    {%- endfor -%}
    {{- return("named_struct('columns', size(" ~ row ~ "), 'texts', array(" ~ texts | join(', ') ~ '))') -}}
{%- endmacro -%}
