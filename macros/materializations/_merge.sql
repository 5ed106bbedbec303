{#- Rows that the table does not have in this form, and stored rows that are no more; each of them as the MERGE reads it. -#}
{%- macro _different_rows(table, rows, stored_rows) -%}
    {%- set columns = table.columns_of(table.columns) -%}
    {%- set row_key = table.key + table.row_key -%}
    {%- set same = [] -%}
    {%- for name in columns -%}
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
        made._cdc_op is null as _cdc_is_obsolete
    from ({{ rows }}) as made
    full outer join ({{ stored_rows }}) as stored on {{ spark_cdc._same_key(row_key, 'made', 'stored') }}
    where made._cdc_op is null or stored._cdc_op is null or not ({{ same | join(' and ') }})
{%- endmacro -%}

{%- macro _merge(table, rows, target_relation) -%}
    {%- set columns = table.columns_of(table.columns) -%}
    {%- set row_key = table.key + table.row_key -%}
    merge into {{ target_relation }} as stored
    using {{ rows }} as changed
    on {{ spark_cdc._same_key(row_key, 'stored', 'changed') }}
    when matched and changed._cdc_is_obsolete then delete
    when matched then update set
        {%- for name in columns if name not in row_key %}
        {{ spark_cdc._quote(name) }} = changed.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    when not matched and not changed._cdc_is_obsolete then insert ({{ spark_cdc._quoted(columns) }})
        values ({{ spark_cdc._quoted(columns, 'changed.') }})
{%- endmacro -%}
