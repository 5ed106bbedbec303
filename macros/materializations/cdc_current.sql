{#-
    The latest state of each key (SCD1), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    The first run and `--full-refresh` write the table in place (create or replace). Any other run takes the changes that the
    table has not read and merges the last effect on each key, only where its sequence is higher than the stored one. Deleted
    keys stay, with `_cdc_is_deleted`: select `where not _cdc_is_deleted` for the live rows.
-#}
{%- materialization cdc_current, adapter='spark' -%}
    {%- set settings = spark_cdc._apply_config('cdc_current') -%}
    {%- set key = settings.key -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do spark_cdc._refuse_other_relation('cdc_current', existing_relation) -%}
    {%- set grants = config.get('grants') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set all_changes = spark_cdc._temporary_view('changes', sql) -%}
    {%- set columns = spark_cdc._source_columns('cdc_current', all_changes, key) -%}
    {%- set is_first = existing_relation is none or should_full_refresh() -%}
    {%- if is_first -%}
        {%- set rows = spark_cdc.current_rows(all_changes, key, columns) -%}
        {%- call statement('main') -%}
            {{ create_table_as(false, target_relation, rows) }}
        {%- endcall -%}
        {%- set views = [all_changes] -%}
    {%- else -%}
        {%- set new_changes = spark_cdc._temporary_view('new', spark_cdc._new_changes(all_changes, target_relation)) -%}
        {%- set rows = spark_cdc._temporary_view(
            'rows', spark_cdc.current_rows(new_changes, key, columns, all_changes, target_relation)
        ) -%}
        {%- do process_schema_changes(settings.on_schema_change, rows, existing_relation) -%}
        {%- set stored = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | list -%}
        {%- call statement('main') -%}
            {{ spark_cdc._merge_current(target_relation, rows, key, columns | select('in', stored) | list) }}
        {%- endcall -%}
        {%- set views = [rows, new_changes, all_changes] -%}
    {%- endif -%}

    {%- do spark_cdc._drop_temporary_views(views) -%}
    {%- do apply_grants(target_relation, grants, should_revoke(existing_relation, is_first)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{%- endmaterialization -%}

{#- A column that no message carried keeps the stored value, unless the stored row is a deleted one. -#}
{%- macro _merge_current(target_relation, rows, key, columns) -%}
    merge into {{ target_relation }} as stored
    using {{ rows }} as changed
    on {{ spark_cdc._same_key(key, 'stored', 'changed') }}
    when matched and changed._cdc_sequence > stored._cdc_sequence then update set
        {%- for name in columns if name not in key %}
        {{ spark_cdc._quote(name) }} = case
            when array_contains(changed._cdc_absent, {{ spark_cdc._literal(name) }}) then stored.{{ spark_cdc._quote(name) }}
            else changed.{{ spark_cdc._quote(name) }}
        end,
        {%- endfor %}
        {%- for name in spark_cdc._effect_columns() if name != '_cdc_absent' %}
        {{ name }} = changed.{{ name }},
        {%- endfor %}
        _cdc_absent = case
            when stored._cdc_is_deleted then changed._cdc_absent
            when size(array_intersect(changed._cdc_absent, stored._cdc_absent)) > 0
                then array_intersect(changed._cdc_absent, stored._cdc_absent)
        end
    when not matched then insert ({{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }})
        values ({{ spark_cdc._quoted(columns + spark_cdc._effect_columns(), 'changed.') }})
{%- endmacro -%}
