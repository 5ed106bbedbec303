{#-
    The CTEs `row_changes` (one row per change of one source row, values as texts) and, if a format sends an update as two
    messages, `paired_changes`. `_last_changes` returns the name of the last one. They read the CTE `message_rows`. `columns`
    are the declared columns, if the changes are typed afterwards; `parts` are further columns of a message that are carried along.

    `sequence` is an array of the vendor's order in parts, then the offset, then the position in the message: arrays compare
    part by part, and one type serves every format. It has one more part, 0, if the row `continues` an earlier one of its
    message, see `_placed_rows`. An old key ends at the sequence without its last part: for such a row after the rows before it,
    else before all rows of the message.
-#}
{%- macro _row_changes(fmt, where, columns=none, key=[], parts=[]) -%}
    {%- set header, rows = fmt.header, fmt.rows -%}
    {%- set old_key_columns = (columns or []) | selectattr('name', 'in', key) | list if rows.old_key else [] -%}
    {%- set finds_continuing = rows.each and key -%}
    {%- set place = 'if(row.old_key_told_apart, -1, coalesce(position, 0))' if rows.old_key_told_apart else 'coalesce(position, 0)' -%}
    {%- set no_old_key, conditions = [], [] -%}
    {%- for column in old_key_columns -%}
        {%- do conditions.append(
            'not array_contains(row.old_key, ' ~ column.literal ~ ') and coalesce(map_contains_key(row.image, ' ~ column.literal
            ~ '), true)'
        ) -%}
        {%- do no_old_key.append({'before ' ~ column.name: conditions[-1]}) -%}
    {%- endfor -%}
{% if finds_continuing -%}
{{ spark_cdc._placed_rows(rows.overlays, key) }}

{% endif -%}
row_changes as (

    select
        topic,
        partition,
        offset,
        array(struct(partition, offset)) as offsets,
        loaded_at,
        case
            when error is not null then concat_ws(': ', error.code, error.detail)
            {%- for image, place in [('row.image', 'the row'), ('row.before', 'the row before')] if header.splits_updates %}
            when kind = 'rows' and {{ spark_cdc._has_duplicate_column(image) }}
                then {{ spark_cdc._name_twice_error('map_keys(' ~ image ~ ')', place) | indent(16) }}
            {%- endfor %}
            {%- if old_key_columns %}
            when kind = 'rows' and ({{ conditions | join(' or ') }})
                then {{ spark_cdc._error_of('key_missing', spark_cdc._named(no_old_key)) | indent(16) }}
            {%- endif %}
        end as error,
        {%- if header.splits_updates %}
        sequence as vendor_sequence,
        coalesce(position, 0) as position,
        {%- endif %}
        concat(
            sequence,
            array(cast(offset as decimal(20,0)), cast({{ place }} as decimal(20,0)))
            {%- if finds_continuing %},
            if(continues, array(0BD), array())
            {%- endif %}
        ) as sequence,
        committed_at,
        transaction_id,
        {%- for name in parts %}
        {{ name }},
        {%- endfor %}
        if(kind = 'truncate', 'truncate', row.op) as op,
        {%- if header.splits_updates or columns is none %}
        row.update_part as update_part,
        {%- endif %}
        row.image as image,
        row.before as before
        {%- set others = ['complete', 'absent_is_error', 'patches', 'op_columns_of_others', 'in_quotes', 'readings'] %}
        {%- for name in others if rows[name] and not header.splits_updates %},
        row.{{ name }} as {{ name }}
        {%- endfor %}
    {%- if finds_continuing %}
    from placed_rows
    {%- else %}
    from message_rows
    lateral view outer posexplode(rows) exploded as position, row
    {%- endif %}
    {%- if where %}
    where {{ where }}
    {%- endif %}

)
{%- if header.splits_updates %},

{#- An update part as a value that can be compared: Spark cannot compare maps. -#}
{%- set before_as_text = spark_cdc._part_to_compare('before', columns) %}
{%- set after_as_text = spark_cdc._part_to_compare('image', columns) %}
updates_by_part as (

    select
        array_sort(collect_set(offsets[0])) as offsets,
        max(loaded_at) as loaded_at,
        min_by(struct(*), offset) filter (where update_part = 'before') as before_part,
        min_by(struct(*), offset) filter (where not update_part <=> 'before') as after_part,
        coalesce(
            min({{ before_as_text }}) filter (where update_part = 'before')
                <> max({{ before_as_text }}) filter (where update_part = 'before'),
            false
        ) or coalesce(
            min({{ after_as_text }}) filter (where update_part = 'after')
                <> max({{ after_as_text }}) filter (where update_part = 'after'),
            false
        ) as is_contradiction
    from row_changes
    -- a change that is whole is a group of its own: to take such rows out first would read all messages twice;
    -- so is a part with an error, whose partner waits for its repaired copy
    group by
        topic,
        vendor_sequence,
        database_name,
        schema_name,
        table_name,
        case when update_part is null or error is not null then struct(partition, offset, position) end

),

{#-
    A pair is one update with the order of its second part; a part without its partner keeps its mark. If there are several
    different parts, nobody knows which of them belong together.
#}
paired_changes as (

    select
        {%- for name in [
            'topic', 'partition', 'offset', 'sequence', 'committed_at', 'transaction_id', 'op',
        ] + parts %}
        coalesce(after_part.{{ name }}, before_part.{{ name }}) as {{ name }},
        {%- endfor %}
        {%- if 'value' in parts %}
        coalesce(before_part.value, after_part.value) as before_value,
        {%- endif %}
        case
            when is_contradiction then {{ spark_cdc._error('unexpected_structure', 'one part of an update came with two contents') }}
            else coalesce(after_part.error, before_part.error)
        end as error,
        -- a part that was sent again comes after the two
        array_distinct(concat(array_compact(array(before_part.offsets[0], after_part.offsets[0])), offsets)) as offsets,
        loaded_at,
        case
            when after_part is null then 'before'
            when before_part is null then after_part.update_part
        end as update_part,
        coalesce(before_part.before, after_part.before) as before,
        after_part.image as image
        {%- if rows.absent_is_error %},
        {{ rows.absent_is_error }} as absent_is_error
        {%- endif %}
    from updates_by_part

)
{%- endif %}
{%- endmacro -%}

{%- macro _last_changes(fmt) -%}
    {{- return('paired_changes' if fmt.header.splits_updates else 'row_changes') -}}
{%- endmacro -%}

{#- The row of an update part as a value that can be compared: Spark cannot compare maps. -#}
{%- macro _part_to_compare(row, columns) -%}
    {%- if not columns -%}
        {{- return('sort_array(map_entries(' ~ row ~ '))') -}}
    {%- endif -%}
    {%- set texts = [] -%}
    {%- for column in columns -%}
        {%- do texts.append(spark_cdc._text_in(row, column)) -%}
    {%- endfor -%}
    {{- return("named_struct('columns', size(" ~ row ~ "), 'texts', array(" ~ texts | join(', ') ~ '))') -}}
{%- endmacro -%}
