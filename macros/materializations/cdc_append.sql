{#-
    Appends what each run selects: for models made by `messages` and `changes`, which select what they have not read yet.

    config(file_format='iceberg'|'delta', on_schema_change=...)

    dbt's `incremental` with the strategy `append` works, too. Unlike it, this materialization commits nothing if nothing is
    new, and a full refresh replaces the table in place. It also needs no temporary view: dbt-spark names such a view after the
    alias alone, so if two models with one alias run at once, one may read the other's rows.
-#}
{%- materialization cdc_append, adapter='spark' -%}
    {%- set file_format = spark_cdc._log_config(config) -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set run = spark_cdc._noted_state(existing_relation is none or should_full_refresh()) -%}
    {%- set is_build = run.state in ['first_build', 'rebuild'] -%}
    {%- do spark_cdc._log_state(run.state) -%}
    {%- do spark_cdc._refuse_other_kind('cdc_append', existing_relation, file_format, is_build) -%}

    {{ run_hooks(pre_hooks) }}

    {%- call statement('main') -%}
        {{ spark_cdc._step_of_log(run) }}
        {%- if is_build -%}
            {{ spark_cdc._create_table(target_relation, spark_cdc._rows_of_contract(sql), file_format) }}
        {%- elif run.state == 'nothing_new' -%}
            select 'nothing new'
        {%- else -%}
            {{ spark_cdc._append(target_relation, sql) }}
        {%- endif -%}
    {%- endcall -%}
    {%- if is_build -%}
        {%- do persist_constraints(target_relation, model) -%}
    {%- else -%}
        {%- do spark_cdc._note_read_positions(target_relation, run.read_positions, file_format) -%}
        {%- if run.state == 'append' -%}
            {%- do spark_cdc._note_built_with(target_relation) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do spark_cdc._show_outcome(
        spark_cdc._outcome_of_log(target_relation, run.state == 'nothing_new'), run.rebuilt_for | join(', ')
    ) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, is_build)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{- return({'relations': [target_relation]}) -}}
{%- endmaterialization -%}

{%- macro _log_config(config) -%}
    {%- do spark_cdc._refuse_unknown_keys('cdc_append', model) -%}
    {%- do spark_cdc._on_schema_change('cdc_append', config.get('on_schema_change')) -%}
    {%- if config.get('unique_key') is not none -%}
        {%- do spark_cdc._raise(
            'cdc_append', 'unique_key', 'left out', spark_cdc._show(config.get('unique_key')),
            'It keeps all rows; cdc_current keeps one of each key.'
        ) -%}
    {%- endif -%}
    {%- if spark_cdc._kind_of(model) is none -%}
        {%- do spark_cdc._raise(
            'cdc_append', 'sql', 'a call of spark_cdc.messages, spark_cdc.changes, spark_cdc.run_ledger or spark_cdc.run_summary',
            'a query of its own', 'Each run would append all of it again: write materialized=\'table\' or \'incremental\'.'
        ) -%}
    {%- endif -%}
    {{- return(spark_cdc._lake_of('cdc_append', config)) -}}
{%- endmacro -%}

{%- macro _step_of_log(run) -%}
    {%- set rows = {'messages': 'message', 'changes': 'row change'}.get(spark_cdc._kind_of(model), 'row') -%}
    {%- if run.state in ['first_build', 'rebuild'] -%}
        {{- return(spark_cdc._step('writing all', noun=rows)) -}}
    {%- elif run.messages is not none and rows == 'row change' -%}
        {{- return(spark_cdc._step('appending the row changes of', run.messages, 'new message')) -}}
    {%- endif -%}
    {{- return(spark_cdc._step('appending', run.messages, 'new ' ~ rows)) -}}
{%- endmacro -%}

{%- macro _append(target_relation, sql) -%}
    {%- if config.get('contract').enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
    {%- endif -%}
    {%- set names = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | list -%}
    insert into {{ target_relation }}
    select {{ spark_cdc._quoted(names) }}
    from (
        {{ sql }}
    )
{%- endmacro -%}
