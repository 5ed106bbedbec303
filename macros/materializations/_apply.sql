{#-
    The course of both materializations. `rows_of` decides what changes (macros/apply), `merge_of` writes it; between them
    stands one MERGE, so that a run is applied whole or not at all.
-#}
{%- macro _apply_changes(materialization, rows_of, merge_of) -%}
    {%- set settings = spark_cdc._apply_config(materialization) -%}
    {%- set key = settings.key -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do spark_cdc._refuse_view(materialization, existing_relation) -%}
    {%- set is_first = existing_relation is none or should_full_refresh() -%}

    {{ run_hooks(pre_hooks) }}

    {%- set all_changes = spark_cdc._temporary_view('changes', sql) -%}
    {%- set columns = spark_cdc._source_columns(materialization, all_changes, key) -%}
    {%- set views = [all_changes] -%}
    {%- if is_first -%}
        {%- call statement('main') -%}
            {{ spark_cdc._create_table(
                target_relation, spark_cdc._stored_form(rows_of(all_changes, key, columns)), settings.file_format
            ) }}
        {%- endcall -%}
    {%- else -%}
        {%- set new_changes = spark_cdc._cached_view('new', spark_cdc._new_changes(all_changes, target_relation)) -%}
        {%- do views.append(new_changes) -%}
        {%- if spark_cdc._is_up_to_date(new_changes, columns, target_relation) -%}
            {%- call statement('main') -%} select 'nothing new' {%- endcall -%}
        {%- else -%}
            {%- set columns = spark_cdc._columns_to_write(
                settings.on_schema_change, rows_of, all_changes, key, columns, existing_relation
            ) -%}
            {%- set rows = spark_cdc._temporary_view(
                'rows', rows_of(new_changes, key, columns, all_changes, target_relation)
            ) -%}
            {%- do views.append(rows) -%}
            {%- call statement('main') -%}
                {{ merge_of(target_relation, rows, key, columns) }}
            {%- endcall -%}
        {%- endif -%}
    {%- endif -%}

    {%- do spark_cdc._drop_temporary_views(views) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, is_first)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{- return({'relations': [target_relation]}) -}}
{%- endmacro -%}

{#-
    The columns that a later run writes, after contract and on_schema_change had their say, which compare the table with what a
    first run would make. Before the rows are: they read the table, and so cannot name a column that it is about to get.
-#}
{%- macro _columns_to_write(on_schema_change, rows_of, all_changes, key, columns, existing_relation) -%}
    {%- if on_schema_change != 'ignore' or config.get('contract').enforced -%}
        {%- set first_form = spark_cdc._temporary_view('form', spark_cdc._stored_form(rows_of(all_changes, key, columns))) -%}
        {%- if config.get('contract').enforced -%}
            {%- do get_assert_columns_equivalent('select * from ' ~ first_form) -%}
        {%- endif -%}
        {%- do process_schema_changes(on_schema_change, first_form, existing_relation) -%}
        {%- do spark_cdc._drop_temporary_views([first_form]) -%}
    {%- endif -%}
    {%- set stored = adapter.get_columns_in_relation(existing_relation) | map(attribute='name') | list -%}
    {{- return(columns | select('in', stored) | list) -}}
{%- endmacro -%}

{#- As dbt-spark's own `create_table_as`, which replaces a table in place only where the model itself names a format. -#}
{%- macro _create_table(target_relation, rows, file_format) -%}
    create or replace table {{ target_relation }}
    {%- if config.get('contract').enforced -%}
        {%- do get_assert_columns_equivalent(rows) -%}
        {%- set rows = get_select_subquery(rows) -%}
    {%- endif %}
    using {{ file_format }}
    {{ options_clause() }}
    {{ tblproperties_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
    as
    {{ rows }}
{%- endmacro -%}

{#- Rows without the marks that only a MERGE reads. -#}
{%- macro _stored_form(rows) -%}
    {{- return('select * except (_cdc_obsolete) from (' ~ rows ~ ')') -}}
{%- endmacro -%}

{%- macro _apply_config(materialization) -%}
    {%- set key = config.get('unique_key') -%}
    {%- set key = [key] if key is string else key -%}
    {%- do spark_cdc._require_names(
        materialization, 'unique_key', key, 'Set config(unique_key=[\'id\']) with the key that the changes model declares.'
    ) -%}
    {%- set file_format = config.get('file_format', 'iceberg') -%}
    {%- do spark_cdc._require_one_of(materialization, 'file_format', file_format, ['iceberg', 'delta']) -%}
    {%- set on_schema_change = config.get('on_schema_change') or 'ignore' -%}
    {%- do spark_cdc._require_one_of(
        materialization, 'on_schema_change', on_schema_change,
        ['ignore', 'fail', 'append_new_columns', 'sync_all_columns']
    ) -%}
    {{- return({'key': key, 'file_format': file_format, 'on_schema_change': on_schema_change}) -}}
{%- endmacro -%}

{#- The source's own columns of a changes model; without the contract's columns it is none. -#}
{%- macro _source_columns(materialization, relation, key) -%}
    {%- set found = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- set missing = spark_cdc.change_columns() | reject('in', found) | list -%}
    {%- if missing -%}
        {%- do spark_cdc._raise(
            materialization, 'sql', 'a select of all columns of a model made by spark_cdc.changes',
            'a select without ' ~ missing | join(', '), 'Write select * from {{ ref(\'...\') }}, with where or not.'
        ) -%}
    {%- endif -%}
    {%- set columns = found | reject('in', spark_cdc.change_columns()) | list -%}
    {%- for name in key -%}
        {%- do spark_cdc._require_one_of(materialization, 'unique_key', name, columns) -%}
    {%- endfor -%}
    {{- return(columns) -}}
{%- endmacro -%}

{#-
    Changes behind the highest offset that the target holds, per topic and partition. A target keeps what it has read in its
    own rows, and a row that is read again changes nothing.
-#}
{%- macro _new_changes(all_changes, target_relation) -%}
    select changes.*
    from {{ all_changes }} as changes
    left join (
        select _cdc_topic, _cdc_partition, max(_cdc_offset) as _cdc_offset
        from {{ target_relation }}
        group by _cdc_topic, _cdc_partition
    ) as applied
        on changes._cdc_topic = applied._cdc_topic and changes._cdc_partition = applied._cdc_partition
    where
        changes._cdc_error is null
        and (applied._cdc_offset is null or changes._cdc_offset > applied._cdc_offset)
{%- endmacro -%}

{#- A temporary view whose name no other model and no other run has: dbt-spark's own names collide between schemas. -#}
{%- macro _temporary_view(suffix, sql) -%}
    {%- set name = '_cdc_' ~ suffix ~ '_' ~ local_md5(model.unique_id ~ invocation_id) -%}
    {%- call statement('create_' ~ suffix) -%}
        create or replace temporary view {{ name }} as
        {{ sql }}
    {%- endcall -%}
    {{- return(api.Relation.create(identifier=name)) -}}
{%- endmacro -%}

{#-
    The same, computed once and kept for this run: what a run reads more than once is small, and its plan is not. Gone with
    `_drop_temporary_views`, or with the session.
-#}
{%- macro _cached_view(suffix, sql) -%}
    {%- set name = '_cdc_' ~ suffix ~ '_' ~ local_md5(model.unique_id ~ invocation_id) -%}
    {%- call statement('create_' ~ suffix) -%}
        cache table {{ name }} as
        {{ sql }}
    {%- endcall -%}
    {{- return(api.Relation.create(identifier=name)) -}}
{%- endmacro -%}

{#- Nothing to do: no change that the target has not read, and no column that it does not have. -#}
{%- macro _is_up_to_date(new_changes, columns, target_relation) -%}
    {%- set stored = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | list -%}
    {%- if columns | reject('in', stored) | list -%}
        {{- return(false) -}}
    {%- endif -%}
    {{- return(run_query('select 1 from ' ~ new_changes ~ ' limit 1').rows | length == 0) -}}
{%- endmacro -%}

{%- macro _drop_temporary_views(views) -%}
    {#- the last first: they stand on each other -#}
    {%- for view in views | reverse -%}
        {%- call statement('drop_' ~ loop.index) -%}
            drop view if exists {{ view }}
        {%- endcall -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _refuse_view(materialization, existing_relation) -%}
    {%- if existing_relation is not none and existing_relation.is_view -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ materialization ~ ': ' ~ existing_relation ~ ' is a view, and a table of that name is to be built. '
            ~ 'Drop the view, or give this model another alias.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
