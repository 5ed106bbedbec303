{#-
    dbt run-operation spark_cdc.prune --args '{older_than_days: 30}'

    Deletes rows that no later run needs. It cannot delete a row that a run needs:

    sources  raw messages that every messages or changes model of their topic has read without an error
    models   messages   those that the raw table no longer has: control messages, and messages whose rows every changes model
                        over it has without an error
             changes    under cdc_current alone: changes before a later one of the same key that has the whole row
             cdc_current  deleted keys; a late-arriving change still finds the delete in the changes model

    It keeps dead letters, update parts, messages that no model reads, truncates, all changes under a cdc_history, for each topic
    and partition the row that shows the next run which messages were read, and a message of each landed file.

    older_than_days  by the message's timestamp; for changes and deleted keys by the commit time
    models           names of models; all of this package's if left out
    sources          raw tables that have Kafka's own column names: ['raw.messages'] a source, ['raw_shop'] a model that lands them;
                     none if left out
    dry_run          true, the default, counts
-#}
{%- macro prune(older_than_days=none, models=none, sources=[], dry_run=true) -%}
    {%- do spark_cdc._require_arguments('prune', varargs, kwargs, ['older_than_days', 'models', 'sources', 'dry_run']) -%}
    {%- set nodes = spark_cdc._models_named('prune', models, ['messages', 'changes', 'cdc_current']) -%}
    {%- set raw_tables = spark_cdc._sources_named('prune', sources) -%}
    {%- do spark_cdc._require_days('prune', 'older_than_days', older_than_days, 1, 'Nothing younger than a day is pruned.') -%}
    {%- do spark_cdc._require_one_of('prune', 'dry_run', dry_run, [true, false]) -%}
    {{- return(adapter.dispatch('prune', 'spark_cdc')(nodes, raw_tables, older_than_days, dry_run)) -}}
{%- endmacro -%}

{%- macro default__prune(nodes, raw_tables, older_than_days, dry_run) -%}
    {%- do spark_cdc._only_spark('prune') -%}
{%- endmacro -%}

{#- Raw tables first: a messages model loses only messages that they no longer have. -#}
{%- macro spark__prune(nodes, raw_tables, older_than_days, dry_run) -%}
    {%- set before = spark_cdc._days_ago(older_than_days) -%}
    {%- for node in raw_tables -%}
        {%- do spark_cdc._prune_table(node, spark_cdc._read_messages(node, before), dry_run) -%}
    {%- endfor -%}
    {%- for kind in ['messages', 'changes', 'cdc_current'] -%}
        {%- for node in nodes if spark_cdc._kind_of(node) == kind and spark_cdc._is_kept(node) -%}
            {%- if kind == 'messages' -%}
                {%- do spark_cdc._prune_table(node, spark_cdc._read_messages(node, before), dry_run) -%}
            {%- elif kind == 'changes' -%}
                {%- set readings = [] if dry_run else spark_cdc._readings_over(node) -%}
                {%- do spark_cdc._prune_table(node, spark_cdc._superseded_changes(node, before), dry_run) -%}
                {%- do spark_cdc._count_again(readings) -%}
            {%- else -%}
                {%- do spark_cdc._prune_deleted_keys(node, before, dry_run) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if dry_run -%}
        {%- do print('spark_cdc.prune: nothing was deleted. Run it again with dry_run: false.') -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether runs append to the model's table; a table that each run rebuilds needs no pruning. -#}
{%- macro _is_kept(node) -%}
    {{- return(node.config.materialized in spark_cdc._logs() + ['cdc_current'] and spark_cdc._table_of(node) is not none) -}}
{%- endmacro -%}

{#-
    `rows` has a query of whole rows of the table, with the columns that identify a row in `columns`; or the reason why all rows
    are needed.
-#}
{%- macro _prune_table(node, rows, dry_run) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- if rows.needed_for -%}
        {%- do print('spark_cdc.prune: ' ~ relation ~ ': all rows are needed: ' ~ rows.needed_for) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set number = run_query('select count(*) from (' ~ rows.query ~ ')').rows[0][0] | int -%}
    {%- do print('spark_cdc.prune: ' ~ relation ~ ': ' ~ number ~ ' rows' ~ (' would go' if dry_run else ' go')) -%}
    {%- if number and not dry_run -%}
        {%- call statement('prune') -%}
        merge into {{ relation }} as stored
        using (select distinct {{ rows.columns.values() | join(', ') }} from ({{ rows.query }})) as old
        on {% for stored, name in rows.columns.items() %}{{ 'and ' if not loop.first }}{{ stored }} <=> old.{{ name }} {% endfor %}
        when matched then delete
        {%- endcall -%}
    {%- endif -%}
{%- endmacro -%}
