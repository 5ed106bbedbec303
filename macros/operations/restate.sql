{#-
    dbt run-operation spark_cdc.restate --args '{model: orders, keys: [7, 8]}'

    Rebuilds the rows of some keys of a cdc_current or cdc_history table from all their changes, as a full refresh would. Other
    rows do not change. Use it for rows that somebody edited, added or deleted by hand.

    model    the model's name
    keys     [7, 8]; if the key has several columns [{order_id: 7, line: 1}]
    since    instead of keys: {topic: shop, partition: 0, offset: 1200}: all keys that a message touched from there on; after a
             truncate these are all keys
    dry_run  true prints the number of these keys and writes nothing

    Keys between which values passed (see decision 0004) are rebuilt together. Do not use it while a run writes the same table.
-#}
{%- macro restate(model=none, keys=none, since=none, dry_run=false) -%}
    {%- do spark_cdc._require_arguments('restate', varargs, kwargs, ['model', 'keys', 'since', 'dry_run']) -%}
    {%- set node = spark_cdc._model_named('restate', model, ['cdc_current', 'cdc_history']) -%}
    {%- if (keys is none) == (since is none) -%}
        {%- do spark_cdc._raise(
            'restate', 'keys', 'given when `since` is not, and only then', 'neither' if keys is none else 'both',
            'Write keys: [1, 2], or since: {topic: shop, partition: 0, offset: 1200}.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_one_of('restate', 'dry_run', dry_run, [true, false]) -%}
    {{- return(adapter.dispatch('restate', 'spark_cdc')(node, keys, since, dry_run)) -}}
{%- endmacro -%}

{%- macro default__restate(node, keys, since, dry_run) -%}
    {%- do spark_cdc._only_spark('restate') -%}
{%- endmacro -%}

{%- macro spark__restate(node, keys, since, dry_run) -%}
    {%- set temporaries = [] -%}
    {%- set relation = spark_cdc._relation_of('restate', node) -%}
    {%- set materialization = node.config.materialized -%}
    {%- set settings = spark_cdc._apply_config(materialization, node.config) -%}
    {%- set all_changes = spark_cdc._temporary_view(temporaries, 'changes', render(node.raw_code)) -%}
    {%- set table = spark_cdc._table(spark_cdc._target_kind(materialization), settings.key, all_changes, node.config) -%}
    {%- set stored = spark_cdc._stored_source_columns(table, relation) -%}
    {%- set table = dict(table, columns=table.columns | select('in', stored) | list) -%}
    {%- set chosen -%}
        {{ spark_cdc._keys_listed(table, keys, all_changes, relation) if keys is not none
            else spark_cdc._keys_since(table, since, all_changes, relation) }}
    {%- endset -%}
    {%- set chosen_keys = spark_cdc._cached_view(temporaries, 'keys', spark_cdc._with_joined_keys(table, chosen, all_changes)) -%}
    {%- set number = run_query('select count(*) from ' ~ chosen_keys).rows[0][0] | int -%}
    {%- if not dry_run -%}
        {%- do spark_cdc._drop_leftovers(relation) -%}
        {%- set reading = spark_cdc._reading_of(relation, settings.file_format) -%}
        {%- do spark_cdc._rebuild_keys(table, chosen_keys, all_changes, relation, settings.file_format, temporaries) -%}
        {#- The rows may have changes that no run has read yet, so how far the table has come is not known until the next run. -#}
        {%- set read = dict(reading.read, last_sequence='') if reading.read else none -%}
        {%- do spark_cdc._keep_reading('restate', relation, settings, dict(reading, read=read)) -%}
    {%- endif -%}
    {%- do spark_cdc._drop_temporaries(temporaries) -%}
    {%- do print(
        'spark_cdc.restate: ' ~ number ~ ' keys of ' ~ relation ~ (' would be' if dry_run else ' were') ~ ' rebuilt.'
        ~ (' Run it again with dry_run: false.' if dry_run)
    ) -%}
{%- endmacro -%}

{%- macro _rebuild_keys(table, keys, all_changes, relation, file_format, temporaries) -%}
    {%- set same_key = spark_cdc._same_key(table.key, 'every', 'chosen') -%}
    {%- set operations = spark_cdc._scratch_table(temporaries, relation, 'operations', file_format,
        'select every.* from (' ~ spark_cdc._key_operations(all_changes, table.key, table.columns, table.patched)
        ~ ') as every left semi join ' ~ keys ~ ' as chosen on ' ~ same_key
    ) -%}
    {%- set carries_over = spark_cdc._has_rows(operations ~ ' where _cdc_inherits_values') -%}
    {%- set rows = spark_cdc._scratch_table(temporaries, relation, 'rows', file_format, spark_cdc._different_rows(
        table,
        spark_cdc._table_rows(dict(table, has_truncates=true), operations, all_changes, carries_over),
        'select ' ~ spark_cdc._quoted(table.columns_of(table.columns), 'every.') ~ ' from ' ~ relation ~ ' as every left semi join '
        ~ keys ~ ' as chosen on ' ~ same_key,
        finds_copies=true
    )) -%}
    {%- set to_merge = spark_cdc._rows_to_merge(table, rows, has_copies=true) -%}
    {%- if to_merge -%}
        {%- call statement('merge') -%}
            {{ spark_cdc._merge(table, to_merge, relation) }}
        {%- endcall -%}
    {%- endif -%}
{%- endmacro -%}
