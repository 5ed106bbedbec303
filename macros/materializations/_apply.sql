{#- The model that the whole query is `select * from`, if it is one: a view over a view is analyzed once more by each query. -#}
{%- macro _selected_model(sql) -%}
    {%- set words = spark_cdc._without_comments(sql).split() -%}
    {%- for id in model.depends_on.nodes if id in graph.nodes and not model.extra_ctes -%}
        {%- set node = graph.nodes[id] -%}
        {%- if words[:3] | join(' ') | lower == 'select * from' and words[3:] == [node.relation_name] -%}
            {#- dbt's cache knows the views of some catalogs only if this run made them. -#}
            {{- return(api.Relation.create(
                database=node.database, schema=node.schema, identifier=node.alias,
                type='view' if spark_cdc._is_view(node) else 'table'
            )) -}}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#-
    The steps of both materializations. `kind` has their differences:

    materialization  its name, for errors
    rows_of        macro: operations -> the table's rows
    columns_of     macro: the source's columns -> the table's columns
    row_key        the columns that identify a row, besides the key
    last_row       condition: the row from which a key continues
    last_sequence  the sequence of that row's last change
    newest_is_row  whether a key's newest change may be its whole row
    valid_from     the time from which that row is valid
    own_types      the types of the columns besides the source's and those of a key operation
    stored_columns the further columns of such a row, besides the operation that it stands for

    `table` is `kind` with key, columns, types, variants, options and patched of this model (`_table`); once the new changes are
    known also deleted_keys_gone, has_truncates (see `_changes_to_apply`), is_altered and kept, the columns that only the table still has
    (see `_with_columns_to_write`).

    A run builds the table from all changes (the first run, `--full-refresh`, another declaration), or merges those that the
    table does not have yet into it. Either is one commit: a run is applied whole or not at all.
-#}
{%- macro _apply_changes(kind) -%}
    {%- do spark_cdc._refuse_unknown_keys(kind.materialization, model) -%}
    {%- set settings = spark_cdc._apply_config(kind.materialization, config) -%}
    {%- do spark_cdc._require_key_of_changes(kind.materialization, settings.key) -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set is_build = existing_relation is none or should_full_refresh() -%}
    {%- do spark_cdc._refuse_other_kind(kind.materialization, existing_relation, settings.file_format, is_build) -%}
    {%- set properties = spark_cdc._table_properties(existing_relation) if existing_relation else {} -%}
    {%- if not is_build -%}
        {%- do spark_cdc._refuse_other_arguments(
            kind.materialization, existing_relation, properties,
            spark_cdc._fixed_options(properties) if spark_cdc._rebuilt_changes_below() else none
        ) -%}
    {%- endif -%}
    {%- set temporaries = [] -%}

    {{ run_hooks(pre_hooks) }}

    {%- if pre_hooks and existing_relation -%}
        {#- A hook may have written the table. -#}
        {%- set properties = spark_cdc._table_properties(existing_relation) -%}
    {%- endif -%}
    {%- do spark_cdc._drop_leftovers(target_relation) -%}

    {%- set all_changes = spark_cdc._selected_model(sql) or spark_cdc._temporary_view(temporaries, 'changes', sql) -%}
    {%- set table = spark_cdc._table(kind, settings.key, all_changes, config) -%}
    {%- do spark_cdc._require_whole_select(kind.materialization, sql) -%}
    {%- set stored = {} if is_build else spark_cdc._stored_source_columns(table, existing_relation) -%}
    {%- set rebuilt_for = [] if is_build else spark_cdc._reasons_to_rebuild(table, existing_relation, properties, stored) -%}
    {%- set is_build = is_build or rebuilt_for | length > 0 -%}
    {%- set read = spark_cdc._changes_to_apply(table, all_changes, existing_relation, properties, settings.file_format, is_build) -%}
    {%- if is_build -%}
        {%- do spark_cdc._log_state('rebuild' if rebuilt_for else 'first_build') -%}
        {%- do spark_cdc._require_contract(table, settings.file_format) -%}
        {#-
            Rows of another source table have offsets that the changes do not have: the changes model itself compares with raw.
        -#}
        {%- if existing_relation is none or not spark_cdc._is_of_other_messages(properties) -%}
            {%- do spark_cdc._refuse_to_shorten(kind.materialization, existing_relation, all_changes, rebuilt_for) -%}
        {%- endif -%}
        {%- do spark_cdc._build_table(table, read, all_changes, target_relation, settings.file_format, temporaries) -%}
        {%- do persist_constraints(target_relation, model) -%}
        {%- set done = {'table': table, 'read': read, 'rows': none, 'has_written': true} -%}
    {%- else -%}
        {%- set done = spark_cdc._merge_new_changes(
            table, read, all_changes, existing_relation, target_relation, settings, stored, temporaries
        ) -%}
    {%- endif -%}

    {%- do spark_cdc._drop_temporaries(temporaries) -%}
    {%- set read = done.read -%}
    {%- if is_build or read.condition or read.is_only_read or done.table.is_altered -%}
        {%- set commit = spark_cdc._own_commit(target_relation, settings, kind.materialization, read.commit)
            if done.has_written else read.commit -%}
        {%- set read = dict(
            read,
            last_sequence=none if read.is_only_read else spark_cdc._last_sequence(done.table, read.pending, target_relation)
        ) -%}
        {%- call statement('set_read') -%}
            {{ spark_cdc._set_read(target_relation, read, commit, spark_cdc._built_with_text(spark_cdc._built_with(model))) }}
        {%- endcall -%}
    {%- endif -%}
    {%- do spark_cdc._show_outcome(
        spark_cdc._outcome_of_table(target_relation, read, is_build, done.rows), rebuilt_for | join(', ')
    ) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, is_build)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{- return({'relations': [target_relation]}) -}}
{%- endmacro -%}

{#- Writes the table from all changes, in place (create or replace). -#}
{%- macro _build_table(table, read, all_changes, target_relation, file_format, temporaries) -%}
    {#- dbt run --empty reads no row of any model -#}
    {%- set found = read.pending or {'count': 0, 'are_whole': true, 'truncates': 0, 'inherits_values': false} -%}
    {%- set operations = '(' ~ spark_cdc._key_operations(all_changes, table.key, table.columns, table.patched) ~ ')' -%}
    {%- if found.inherits_values -%}
        {#- Many steps read it then; without inherited values a build reads it once, and it is as large as the source. -#}
        {%- set operations = spark_cdc._scratch_table(temporaries, target_relation, 'operations', file_format, operations) -%}
    {%- endif -%}
    {%- set rows = spark_cdc._table_rows(
        dict(table, has_truncates=found.truncates > 0), operations, all_changes, found.inherits_values,
        found.are_whole and found.truncates == 0
    ) -%}
    {%- call statement('main') -%}
        {{ spark_cdc._step('writing the table from', found.count, 'row change') }}
        {{ spark_cdc._create_table(target_relation, spark_cdc._in_order_of_contract(table, rows), file_format) }}
    {%- endcall -%}
{%- endmacro -%}

{#-
    Brings an existing table up to date: alters its columns if the declaration has others now, and writes the changed rows in one
    MERGE. Nothing is committed if no row changes.

    Returns `table` and `read` as they are then, `rows`, what the MERGE wrote (see `_rows_to_merge`; none if no row changes), and
    `has_written`.
-#}
{%- macro _merge_new_changes(table, read, all_changes, existing_relation, target_relation, settings, stored, temporaries) -%}
    {%- set has_new_changes = read.pending is not none and read.pending.good > 0 -%}
    {%- set table = spark_cdc._with_columns_to_write(
        dict(table, deleted_keys_gone=read.deleted_keys_gone, has_truncates=read.has_truncates),
        settings, has_new_changes, all_changes, existing_relation, stored
    ) -%}
    {%- if table.is_altered or table.kept -%}
        {#- The earlier changes lack the columns that the table has now, or the new ones those that it has still. -#}
        {%- set read = dict(read, partial=[read.partial, 1] | max) -%}
    {%- endif -%}
    {%- if table.is_altered -%}
        {%- set altered_at = spark_cdc._own_commit(target_relation, settings, table.materialization, read.commit) -%}
        {%- set read = dict(read, commit=altered_at) -%}
    {%- endif -%}
    {%- if has_new_changes and table.kept -%}
        {%- set all_changes = spark_cdc._temporary_view(
            temporaries, 'changes_and_kept', spark_cdc._with_kept_columns(all_changes, table.kept)
        ) -%}
        {%- set read = dict(read, pending=dict(read.pending, are_whole=false, inherit_values=true)) -%}
    {%- endif -%}

    {%- set state, rows = 'nothing_new', none -%}
    {%- if has_new_changes -%}
        {%- set to_write = [table, read, all_changes, target_relation, settings.file_format, temporaries] -%}
        {%- set found = spark_cdc._newest_rows(*to_write) or spark_cdc._continued_rows(*to_write) -%}
        {%- set rows = found.to_merge if found else spark_cdc._changed_rows(*to_write) -%}
        {%- set state = 'newest_rows' if found else 'replay_all' if read.condition == 'true' else 'changed_rows' -%}
    {%- endif -%}
    {%- do spark_cdc._log_state(state) -%}
    {%- call statement('main') -%}
        {{ spark_cdc._step_of_merge(rows) if rows }}
        {{ spark_cdc._merge(table, rows, target_relation) if rows else "select 'no row changes'" }}
    {%- endcall -%}
    {{- return({'table': table, 'read': read, 'rows': rows, 'has_written': rows is not none}) -}}
{%- endmacro -%}
