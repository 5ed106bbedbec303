{#-
    Every version of each key (SCD2), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    One row is one version, valid over [valid_from, valid_to); valid_to is null while it is open. A delete closes the version
    and opens one with `_cdc_is_deleted`, so that each key has exactly one open version, which is its row in cdc_current.
-#}
{%- materialization cdc_history, adapter='spark' -%}
    {%- set settings = spark_cdc._apply_config('cdc_history') -%}
    {%- set key = settings.key -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do spark_cdc._refuse_other_relation('cdc_history', existing_relation) -%}
    {%- set grants = config.get('grants') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set all_changes = spark_cdc._temporary_view('changes', sql) -%}
    {%- set columns = spark_cdc._source_columns('cdc_history', all_changes, key) -%}
    {%- set is_first = existing_relation is none or should_full_refresh() -%}
    {%- if is_first -%}
        {%- set rows = spark_cdc.history_rows(all_changes, key, columns) -%}
        {%- set versions = 'select * except (_cdc_obsolete) from (' ~ rows ~ ')' -%}
        {%- call statement('main') -%}
            {{ create_table_as(false, target_relation, versions) }}
        {%- endcall -%}
        {%- set views = [all_changes] -%}
    {%- else -%}
        {%- set new_changes = spark_cdc._temporary_view('new', spark_cdc._new_changes(all_changes, target_relation)) -%}
        {%- set rows = spark_cdc._temporary_view(
            'rows', spark_cdc.history_rows(new_changes, key, columns, all_changes, target_relation)
        ) -%}
        {%- set versions = spark_cdc._temporary_view('versions', 'select * except (_cdc_obsolete) from ' ~ rows) -%}
        {%- do process_schema_changes(settings.on_schema_change, versions, existing_relation) -%}
        {%- set stored = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | list -%}
        {%- call statement('main') -%}
            {{ spark_cdc._merge_history(target_relation, rows, key, columns | select('in', stored) | list) }}
        {%- endcall -%}
        {%- set views = [versions, rows, new_changes, all_changes] -%}
    {%- endif -%}

    {%- do spark_cdc._drop_temporary_views(views) -%}
    {%- do apply_grants(target_relation, grants, should_revoke(existing_relation, is_first)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{%- endmaterialization -%}

{%- macro _merge_history(target_relation, rows, key, columns) -%}
    {%- set all_columns = spark_cdc._history_columns(columns) -%}
    merge into {{ target_relation }} as stored
    using {{ rows }} as versions
    on {{ spark_cdc._same_key(key, 'stored', 'versions') }} and stored._cdc_sequence = versions._cdc_sequence
    when matched and versions._cdc_obsolete then delete
    when matched then update set
        {%- for name in all_columns if name not in key %}
        {{ spark_cdc._quote(name) }} = versions.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    when not matched and not versions._cdc_obsolete then insert ({{ spark_cdc._quoted(all_columns) }})
        values ({{ spark_cdc._quoted(all_columns, 'versions.') }})
{%- endmacro -%}
