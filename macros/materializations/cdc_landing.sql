{#-
    Lands messages: a raw table to which each run appends the messages that it does not have yet. Model body: one call of
    `kafka_messages` or `file_messages`, and nothing else.

    config(file_format='iceberg'|'delta')

    A run appends in one commit, from the offsets after those that the table has to the ends of the logs, which it asks for
    once. So a run that is killed lands all or nothing, and the next one goes on. See decision 0026.
-#}
{%- materialization cdc_landing, adapter='spark' -%}
    {%- set file_format = spark_cdc._landing_config(config) -%}
    {%- set source = model.config.meta['spark_cdc.landing'] -%}
    {%- set existing_relation = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set is_build = existing_relation is none or should_full_refresh() -%}
    {%- do spark_cdc._refuse_other_kind('cdc_landing', existing_relation, file_format, is_build) -%}
    {%- do spark_cdc._require_call_alone(sql, source) -%}
    {%- if not is_build -%}
        {%- do spark_cdc._require_landing_columns(existing_relation, source) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- set is_refresh = is_build and existing_relation is not none -%}
    {%- set landed = {'commit': 'none', 'topics': {}, 'next': {}} if is_build
        else spark_cdc._landed(existing_relation, file_format, 'kafka' in source) -%}
    {%- set read = spark_cdc._kafka_to_land(source.kafka, landed, has_limit=not is_refresh) if 'kafka' in source
        else spark_cdc._files_to_land(source.path, existing_relation, is_build) -%}
    {%- do spark_cdc._log_state('first_build' if is_build else 'append' if read.parts else 'nothing_new') -%}
    {%- if read.parts -%}
        {%- call statement('create_landing_view') -%}
            {{ read.view }}
        {%- endcall -%}
    {%- endif -%}
    {%- if is_refresh -%}
        {%- do spark_cdc._refuse_to_lose_messages(existing_relation, read) -%}
    {%- elif read.restarted -%}
        {#- Before its rows: a run that dies in between has no row of it, and the next one begins there again. -#}
        {%- do spark_cdc._note_landed(target_relation, dict(landed, topics=read.landed.topics), none) -%}
    {%- endif -%}

    {%- call statement('main') -%}
        {{ spark_cdc._step('landing the messages of', read.size, read.unit) }}
        {%- if is_build -%}
            {{ spark_cdc._create_table(
                target_relation,
                spark_cdc._rows_of_contract(sql if read.parts else spark_cdc._no_messages(read.source)),
                file_format
            ) }}
        {%- elif read.parts -%}
            {{ spark_cdc._append(target_relation, sql) }}
        {%- else -%}
            select 'nothing new'
        {%- endif -%}
    {%- endcall -%}
    {%- if is_build -%}
        {%- do persist_constraints(target_relation, model) -%}
    {%- endif -%}
    {%- if read.parts -%}
        {%- call statement('drop_landing_view') -%}
            drop view if exists {{ spark_cdc._landing_view(read.source) }}
        {%- endcall -%}
    {%- endif -%}
    {%- if read.parts or is_build -%}
        {%- set commit = spark_cdc._own_landing_commit(target_relation, file_format, landed.commit, is_build) -%}
    {%- endif -%}
    {%- if read.source == 'kafka' and not flags.EMPTY and (is_build or dict(landed, **read.landed) != landed) -%}
        {%- do spark_cdc._note_landed(target_relation, read.landed, commit or landed.commit) -%}
    {%- endif -%}
    {%- do spark_cdc._show_outcome(spark_cdc._outcome_of_landing(target_relation, read)) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, is_build)) -%}
    {%- do persist_docs(target_relation, model) -%}

    {{ run_hooks(post_hooks) }}

    {{- return({'relations': [target_relation]}) -}}
{%- endmaterialization -%}

{%- macro _landing_config(config) -%}
    {%- do spark_cdc._refuse_unknown_keys('cdc_landing', model) -%}
    {%- if 'spark_cdc.landing' not in model.config.meta -%}
        {%- do spark_cdc._raise(
            'cdc_landing', 'sql', 'a call of spark_cdc.kafka_messages or spark_cdc.file_messages', 'a query of its own',
            'For another source write materialized=\'incremental\' with incremental_strategy=\'append\'.'
        ) -%}
    {%- endif -%}
    {{- return(spark_cdc._lake_of('cdc_landing', config)) -}}
{%- endmacro -%}

{#- With a condition, offsets would count as landed whose messages are not in the table. -#}
{%- macro _require_call_alone(sql, source) -%}
    {%- set call = spark_cdc.spark__kafka_messages(none) if 'kafka' in source else spark_cdc.spark__file_messages(none) -%}
    {%- if modules.re.sub('--[^\n]*', ' ', sql).split() != modules.re.sub('--[^\n]*', ' ', call).split() -%}
        {%- do spark_cdc._raise(
            'cdc_landing', 'sql', 'one call of spark_cdc.kafka_messages or spark_cdc.file_messages and nothing else',
            'a query with more in it', 'Put a condition into a view over this model.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _landing_columns(source) -%}
    {%- set columns = {
        'topic': 'string', 'partition': 'int', 'offset': 'bigint', 'timestamp': 'timestamp', 'key': 'binary', 'value': 'binary',
        'headers': 'array<struct<key: string, value: binary>>', 'landed_at': 'timestamp',
    } -%}
    {{- return(columns if source == 'kafka' else dict(columns, file='string', file_modified_at='timestamp')) -}}
{%- endmacro -%}

{%- macro _require_landing_columns(relation, source) -%}
    {%- set found = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- set wanted = spark_cdc._landing_columns('kafka' if 'kafka' in source else 'files') | list -%}
    {%- if found | sort != wanted | sort -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_landing: ' ~ relation ~ ' must have the columns ' ~ wanted | join(', ') ~ '; got ' ~ found | join(', ')
            ~ '. Another source or sink made this table: give this model another alias, or drop the table.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _no_messages(source) -%}
select
    {%- for name, type in spark_cdc._landing_columns(source).items() %}
    cast(null as {{ type }}) as {{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{%- endmacro -%}

{#-
    A full refresh reads the source once more, which may have deleted what the table still has: by age, by compaction, or with the
    topic. So each message of the table is looked for.
-#}
{%- macro _refuse_to_lose_messages(relation, read) -%}
    {%- if spark_cdc._is_named_in('spark_cdc__allow_history_loss') -%}{{- return(none) -}}{%- endif -%}
    {%- set places = [] -%}
    {%- if read.source == 'files' -%}
        {%- set query = spark_cdc._step_of_comparison()
            ~ 'select distinct file from ' ~ relation ~ ' where file not in (select file from (' ~ read.found ~ '))' -%}
        {%- for row in run_query(query).rows -%}
            {%- do places.append(row[0]) -%}
        {%- endfor -%}
    {%- else -%}
        {%- set query -%}
            {{ spark_cdc._step_of_comparison() }}
            select topic, partition, min(offset)
            from {{ relation }} as landed
            {%- if read.parts %}
            left anti join {{ spark_cdc._landing_view('kafka') }} as found
                on {{ spark_cdc._same_key(['topic', 'partition', 'offset', 'timestamp'], 'landed', 'found') }}
            {%- endif %}
            group by topic, partition
            order by topic, partition
        {%- endset -%}
        {%- for row in run_query(query).rows -%}
            {%- do places.append('topic ' ~ row[0] ~ ', partition ' ~ row[1] | int ~ ', offset ' ~ row[2] | int) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if places -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_landing: a full refresh of ' ~ model.name ~ ' would lose messages that '
            ~ ('Kafka no longer has, the first at: ' if read.source == 'kafka' else 'are in files that no longer exist: ')
            ~ places[:10] | join('; ') ~ (' and ' ~ (places | length - 10) ~ ' more' if places | length > 10 else '')
            ~ '. Leave it out: dbt run --full-refresh --exclude ' ~ model.name ~ '. To lose them, say so a second time: dbt run '
            ~ '--full-refresh --select ' ~ model.name ~ ' --vars \'{spark_cdc__allow_history_loss: [' ~ model.name ~ ']}\''
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- An append never conflicts with another one: two runs at once land the same offsets twice, and the second one to end finds out. -#}
{%- macro _own_landing_commit(relation, file_format, computed_from, is_build) -%}
    {%- if is_build -%}
        {#- Iceberg may write no snapshot for a table without rows. -#}
        {%- set commits = spark_cdc._commits(relation, file_format) -%}
        {{- return(commits[0].id if commits else none) -}}
    {%- endif -%}
    {%- set commits = spark_cdc._new_commits(relation, file_format, computed_from) -%}
    {%- if commits is none or commits | length > 1 -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_landing: another run wrote ' ~ relation ~ ' at the same time as this one, and messages may be in it twice '
            ~ 'now. Models of this package apply each of them once, so nothing has to be repaired. Let one run of a model end before '
            ~ 'the next one starts.'
        ) -%}
    {%- endif -%}
    {{- return(commits[0].id if commits else computed_from) -}}
{%- endmacro -%}

{%- macro _outcome_of_landing(relation, read) -%}
    {%- set parts = [] -%}
    {%- if read.parts -%}
        {%- set query = spark_cdc._step_of_outcome()
            ~ 'select count(*) from ' ~ relation ~ ' where ' ~ spark_cdc._is_of_this_run('landed_at') -%}
        {%- do parts.append(
            spark_cdc._number_of(run_query(query).rows[0][0] | int, 'message') ~ ' of '
            ~ spark_cdc._number_of(read.parts | length, read.part) ~ ' landed'
        ) -%}
    {%- else -%}
        {%- do parts.append('nothing new') -%}
    {%- endif -%}
    {%- if read.lost -%}
        {%- set lost = read.lost[:10] | join('; ') ~ (' and more' if read.lost | length > 10 else '') -%}
        {%- do exceptions.warn(
            'spark_cdc.cdc_landing: Kafka deleted offsets before model ' ~ model.name ~ ' landed them: ' ~ lost
            ~ '. Land them from a copy of the topic, or let the source send its rows again, and run more often than the retention.'
        ) -%}
        {%- do parts.append('deleted before they landed: ' ~ lost) -%}
    {%- endif -%}
    {{- return(parts | join('; ')) -}}
{%- endmacro -%}
