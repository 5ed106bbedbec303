{#-
    What each run read and what had become of it when the run ended: `accounts` per run. One row is one run (`batch`: when it
    began), topic and source table, with the same six accounts.

    For a model that is a `cdc_log`, to be run behind the current tables: a run adds the rows of
    what was read since the last one, and earlier rows stay as they were. As a table, it is counted anew for all runs.

    messages, changes, current  as for `accounts`
-#}
{%- macro ledger(messages=none, changes=none, current=none) -%}
    {%- do spark_cdc._require_arguments('ledger', varargs, kwargs, ['messages', 'changes', 'current']) -%}
    {%- do spark_cdc._require_relations('ledger', {'messages': messages, 'changes': changes, 'current': current}) -%}
    {%- do spark_cdc._note_kind('ledger') -%}
    {{- return(adapter.dispatch('ledger', 'spark_cdc')(messages, changes, current)) -}}
{%- endmacro -%}

{%- macro default__ledger(messages, changes, current) -%}
    {%- do spark_cdc._only_spark('ledger') -%}
{%- endmacro -%}

{%- macro spark__ledger(messages, changes, current) -%}
with {{ spark_cdc._message_accounts_ctes(messages, changes, current) }}

select
    batch,
    topic,
    database_name,
    schema_name,
    table_name,
    {{ spark_cdc._account_counts() }}
from message_accounts
{%- if spark_cdc._goes_on() %}
where not exists (
    select 1 from {{ this }} as entered
    where entered.batch = message_accounts.batch and entered.topic <=> message_accounts.topic
)
{%- endif %}
group by batch, topic, database_name, schema_name, table_name
{%- endmacro -%}
