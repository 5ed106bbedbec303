{#-
    The rows that differ from the stored ones, and stored rows that no longer exist (`_cdc_is_obsolete`), in the form that the
    MERGE reads. `_cdc_is_stored` is true if the table has any version of the row.

    finds_copies    whether the table may have a row twice, as after two runs at once: then all copies are obsolete, and the row
                    is written again (`_cdc_replaces_copies`), which the MERGE must not find among them
-#}
{%- macro _different_rows(table, rows, stored_rows, finds_copies=false) -%}
    {%- set columns = table.columns_of(table.columns) -%}
    {%- set row_key = table.key + table.row_key -%}
    {%- set same = [] -%}
    {#- the text repeats the other columns -#}
    {%- for name in columns if name != '_cdc_resume_state' -%}
        {%- do same.append(
            spark_cdc._comparable(name, table.variants, 'made.') ~ ' <=> '
            ~ spark_cdc._comparable(name, table.variants, 'stored.')
        ) -%}
    {%- endfor -%}
    select
        {%- for name in columns %}
        {% if name in row_key -%}
            coalesce(made.{{ spark_cdc._quote(name) }}, stored.{{ spark_cdc._quote(name) }}) as {{ spark_cdc._quote(name) }}
        {%- else -%}
            made.{{ spark_cdc._quote(name) }}
        {%- endif %},
        {%- endfor %}
        {%- if finds_copies %}
        made._cdc_op is null or coalesce(stored._cdc_copies > 1, false) and not parts._cdc_replaces_copies as _cdc_is_obsolete,
        parts._cdc_replaces_copies,
        {%- else %}
        made._cdc_op is null as _cdc_is_obsolete,
        {%- endif %}
        stored._cdc_op is not null as _cdc_is_stored
    from ({{ rows }}) as made
    full outer join ({{ spark_cdc._stored_once(row_key, stored_rows) if finds_copies else stored_rows }}) as stored
        on {{ spark_cdc._same_key(row_key, 'made', 'stored') }}
    {%- if finds_copies %}
    lateral view explode(if(stored._cdc_copies > 1 and made._cdc_op is not null, array(false, true), array(false)))
        parts as _cdc_replaces_copies
    {%- endif %}
    where made._cdc_op is null or stored._cdc_op is null or not ({{ same | join(' and ') }})
        {{- ' or stored._cdc_copies > 1' if finds_copies }}
{%- endmacro -%}

{#- Query: stored rows, each once, with the number of its copies. -#}
{%- macro _stored_once(row_key, stored_rows) -%}
    select *
    from (
        select
            *,
            count(*) over (partition by {{ spark_cdc._quoted(row_key) }}) as _cdc_copies,
            row_number() over (partition by {{ spark_cdc._quoted(row_key) }} order by _cdc_topic, _cdc_partition, _cdc_offset)
                as _cdc_copy
        from ({{ stored_rows }})
    )
    where _cdc_copy = 1
{%- endmacro -%}

{#-
    The rows of a MERGE, their number (or one more than are listed), and the condition that narrows the MERGE; none if there are
    no rows. A MERGE that may insert is an outer join, for which Spark shuffles the whole table: so its condition lists the keys
    of a small batch.

    are_open    whether every stored row among them is the open version of its key: the MERGE then compares nothing but the key.
                Iceberg reads a scan with an array in it, as a sequence is, row by row
    has_copies  whether they come from `_different_rows` with finds_copies
-#}
{%- macro _rows_to_merge(table, rows, are_open=false, has_copies=false) -%}
    {%- set name = spark_cdc._quote(spark_cdc._listed_key(table)) -%}
    {%- set found = run_query(
        spark_cdc._step('listing the changed keys') ~ 'select count(*), ' ~ spark_cdc._key_list([name])
        ~ ' from (select ' ~ name ~ ' from ' ~ rows ~ ' limit ' ~ (spark_cdc._most_listed_keys() + 1) ~ ')'
    ).rows[0] -%}
    {%- set count = found[0] | int -%}
    {%- if count == 0 -%}
        {{- return(none) -}}
    {%- endif -%}
    {{- return({
        'rows': rows,
        'count': count,
        'condition': spark_cdc._is_listed(table, found[1]) if count <= spark_cdc._most_listed_keys() else none,
        'are_open': are_open and table.row_key and table.options.hard_deletes == 'new_record',
        'has_copies': has_copies,
    }) -}}
{%- endmacro -%}

{%- macro _most_listed_keys() -%}
    {{- return(20000) -}}
{%- endmacro -%}

{#- If the key has several columns, one of them is listed. -#}
{%- macro _listed_key(table) -%}
    {{- return((table.key | reject('equalto', '_cdc_source_table') | list + table.key)[0]) -}}
{%- endmacro -%}

{#- Condition on a stored row; none if there is no list. -#}
{%- macro _is_listed(table, list) -%}
    {{- return('stored.' ~ spark_cdc._quote(spark_cdc._listed_key(table)) ~ ' ' ~ list if list else none) -}}
{%- endmacro -%}

{#-
    Aggregate: the values of some columns as the text `in (...)`. Whole numbers are written as they are and texts in hexadecimal
    digits, so that neither can be read as SQL. Null for values of other types, if there are no values, and if there are more
    than are listed.
-#}
{%- macro _key_list(columns, filter='') -%}
    {%- set lists = [] -%}
    {%- for column in columns -%}
        {%- set literal = "case when typeof(" ~ column ~ ") = 'string' then concat(" ~ spark_cdc._literal("cast(X'") ~ ', hex(cast('
            ~ column ~ ' as string)), ' ~ spark_cdc._literal("' as string)") ~ ') when typeof(' ~ column
            ~ ") in ('tinyint', 'smallint', 'int', 'bigint') then cast(" ~ column ~ ' as string) end' -%}
        {%- do lists.append('collect_set(' ~ literal ~ ') ' ~ filter) -%}
    {%- endfor -%}
    {%- set values = 'array_distinct(concat(' ~ lists | join(', ') ~ '))' -%}
    {{- return(
        'case when size(' ~ values ~ ') <= ' ~ spark_cdc._most_listed_keys()
        ~ " then concat('in (', nullif(array_join(" ~ values ~ ", ', '), ''), ')') end"
    ) -}}
{%- endmacro -%}

{#- `rows` has no number if they are read once only, and one too many if they are more than are listed. -#}
{%- macro _step_of_merge(rows) -%}
    {%- set count = rows.get('count') -%}
    {%- set is_known = count and count <= spark_cdc._most_listed_keys() -%}
    {{- return(spark_cdc._step('merging', count if is_known else none, 'row')) -}}
{%- endmacro -%}

{%- macro _merge(table, to_merge, target_relation) -%}
    {%- set columns = table.columns_of(table.columns) -%}
    {%- set row_key = table.key + ([] if to_merge.are_open else table.row_key) -%}
    merge into {{ target_relation }} as stored
    using {{ to_merge.rows }} as changed
    on {{ spark_cdc._same_key(row_key, 'stored', 'changed') }}
        {{- ' and ' ~ to_merge.condition if to_merge.condition }}
        {{- ' and changed._cdc_is_stored and ' ~ table.last_row if to_merge.are_open }}
        {{- ' and not changed._cdc_replaces_copies' if to_merge.has_copies }}
    when matched and changed._cdc_is_obsolete then delete
    when matched then update set
        {#- 0.0 and -0.0 are one key -#}
        {%- for name in columns if name not in row_key or table.types.get(name) in ['float', 'double'] %}
        {{ spark_cdc._quote(name) }} = changed.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    when not matched and not changed._cdc_is_obsolete then insert ({{ spark_cdc._quoted(columns) }})
        values ({{ spark_cdc._quoted(columns, 'changed.') }})
{%- endmacro -%}
