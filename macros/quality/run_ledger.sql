{#-
    The messages that each run read, and their outcomes when the run ended: `reconciliation` per run. One row is one run
    (`loaded_at`: when it began), topic and source table, with the same six outcomes.

    For a `cdc_append` model that runs after the current tables: a run adds the rows of the messages since the last one, and
    earlier rows do not change. Materialised as a table, it counts all runs again.

    messages, changes, current: as for `reconciliation`
-#}
{%- macro run_ledger(messages=none, changes=none, current=none) -%}
    {%- do spark_cdc._require_arguments('run_ledger', varargs, kwargs, ['messages', 'changes', 'current']) -%}
    {%- do spark_cdc._require_relations('run_ledger', {'messages': messages, 'changes': changes, 'current': current}) -%}
    {%- do spark_cdc._note_kind('run_ledger') -%}
    {{- return(adapter.dispatch('run_ledger', 'spark_cdc')(messages, changes, current)) -}}
{%- endmacro -%}

{%- macro default__run_ledger(messages, changes, current) -%}
    {%- do spark_cdc._only_spark('run_ledger') -%}
{%- endmacro -%}

{%- macro spark__run_ledger(messages, changes, current) -%}
    {%- set runs = spark_cdc._runs_to_enter(messages, ['topic']) -%}
    {%- if runs.are_none -%}
        {{- return(spark_cdc._nothing_new()) -}}
    {%- endif -%}
with {{ spark_cdc._message_outcome_ctes(messages, changes, current, runs.since) }}

select
    loaded_at,
    topic,
    database_name,
    schema_name,
    table_name,
    {{ spark_cdc._outcome_counts() }}
from message_outcomes
{%- if spark_cdc._is_incremental_run() %}
where not exists (
    select 1 from {{ this }} as entered
    where entered.loaded_at = message_outcomes.loaded_at and entered.topic <=> message_outcomes.topic
)
{%- endif %}
group by loaded_at, topic, database_name, schema_name, table_name
{%- endmacro -%}
