{#-
    What each run read and what had become of it when the run ended: `reconciliation` per run. One row is one run (`loaded_at`: when it
    began), topic and source table, with the same six outcomes.

    For a model that is a `cdc_append`, to be run after the current tables: a run adds the rows of
    what was read since the last one, and earlier rows stay as they were. As a table, it is counted again for all runs.

    messages, changes, current  as for `reconciliation`
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
with {{ spark_cdc._message_outcome_ctes(messages, changes, current) }}

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
