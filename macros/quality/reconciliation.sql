{#-
    The outcome of each message: read = applied + superseded + duplicate + control + unrouted + rejected, per topic and source
    table. These are the outcomes now; `run_ledger` has the messages of each run.

    messages  list of models made by `messages`
    changes   list of models made by `changes`
    current   list of models materialised as cdc_current, over those changes

    applied     the current table has its change, or it is a truncate of a routed table
    superseded  a change with a higher sequence replaced it
    duplicate   an earlier message has the same topic, partition and offset, or it is an unreadable copy that landed again, whole,
                or was replayed
    control     DDL, heartbeat, transaction mark, tombstone, or a message without rows
    unrouted    rows of a table that no model reads
    rejected    an error row: see `dead_letters`
-#}
{%- macro reconciliation(messages=none, changes=none, current=none) -%}
    {%- do spark_cdc._require_arguments('reconciliation', varargs, kwargs, ['messages', 'changes', 'current']) -%}
    {%- do spark_cdc._require_relations('reconciliation', {'messages': messages, 'changes': changes, 'current': current}) -%}
    {{- return(adapter.dispatch('reconciliation', 'spark_cdc')(messages, changes, current)) -}}
{%- endmacro -%}

{%- macro default__reconciliation(messages, changes, current) -%}
    {%- do spark_cdc._only_spark('reconciliation') -%}
{%- endmacro -%}

{%- macro spark__reconciliation(messages, changes, current) -%}
with {{ spark_cdc._message_outcome_ctes(messages, changes, current) }}

select
    topic,
    database_name,
    schema_name,
    table_name,
    {{ spark_cdc._outcome_counts() }}
from message_outcomes
group by topic, database_name, schema_name, table_name
{%- endmacro -%}

{#-
    The CTE `message_outcomes`: the outcome of each message, which `reconciliation` and `run_ledger` count. With `since`, only of
    messages with this `loaded_at` or a later one (microseconds); where changes are views of these messages, only the changes of
    these runs are read then.
-#}
{%- macro _message_outcome_ctes(messages, changes, current, since=none) -%}
messages as (

    {%- for relation in messages %}
    select topic, partition, offset, timestamp, kind, database_name, schema_name, table_name, loaded_at, error.code as message_code
    from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

numbered_messages as (

    select
        *,
        {{ spark_cdc._number_of_copy() }} as copy
    from messages

),

change_rows as (

    {%- for relation in changes %}
    {{ spark_cdc._messages_of_changes(relation, ['_cdc_op', '_cdc_error', '_cdc_partition', '_cdc_offset']) }}
    {%- if since and spark_cdc._is_view_of(relation, messages) %}
    where _cdc_loaded_at is null or _cdc_loaded_at >= timestamp_micros({{ since }})
    {%- endif %}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

held as (

    {%- for relation in current %}
    select distinct _cdc_topic as topic, _cdc_partition as partition, _cdc_offset from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

{#- A message with several rows counts once: an error outweighs the other outcomes, then a row that the table has. #}
message_changes as (

    select
        change_rows.topic,
        change_rows.partition,
        change_rows.offset,
        -- without an operation it is a copy that could not be read, beside one that could
        count_if(
            change_rows._cdc_error is not null
            and change_rows._cdc_error.code <> 'unpaired_update'
            and change_rows._cdc_op is not null
        ) > 0 as has_error,
        every(change_rows._cdc_error is not null) as has_only_errors,
        count_if(held.topic is not null or change_rows._cdc_op = 'truncate') > 0 as is_held,
        collect_set(change_rows._cdc_error.code) as codes,
        collect_set(change_rows._cdc_error.code) filter (where change_rows._cdc_op is not null) as codes_of_rows
    from change_rows
    left join held
        on change_rows.topic = held.topic
        and change_rows._cdc_partition = held.partition
        and change_rows._cdc_offset = held._cdc_offset
    group by change_rows.topic, change_rows.partition, change_rows.offset

),

message_outcomes as (

    select
        numbered_messages.*,
        -- where another row of the message says more, a cut copy and a half of an update are no reason
        case
            when numbered_messages.message_code is not null then array(numbered_messages.message_code)
            when not message_changes.has_error then message_changes.codes
            when message_changes.has_only_errors then message_changes.codes_of_rows
            else array_remove(message_changes.codes_of_rows, 'unpaired_update')
        end as codes,
        case
            when numbered_messages.copy > 1 then 'duplicate'
            when numbered_messages.kind = 'unreadable' or message_changes.has_error or message_changes.has_only_errors
                then 'rejected'
            when message_changes.is_held then 'applied'
            when message_changes.topic is not null then 'superseded'
            when numbered_messages.kind in ('rows', 'truncate') then 'unrouted'
            else 'control'
        end as outcome
    from numbered_messages
    left join message_changes
        on numbered_messages.topic = message_changes.topic
        and numbered_messages.partition = message_changes.partition
        and numbered_messages.offset = message_changes.offset
    {%- if since %}
    where numbered_messages.loaded_at >= timestamp_micros({{ since }})
    {%- endif %}

)
{%- endmacro -%}

{#-
    Whether a relation is a changes model that is a view of these messages and no others: its `_cdc_loaded_at` is the messages'
    own. A stored log has the time of the run that made it, which may be earlier if the messages were built again since.
-#}
{%- macro _is_view_of(relation, messages) -%}
    {%- set found, given = spark_cdc._models_upstream(relation, 'changes'), [] -%}
    {%- for of_messages in messages -%}
        {%- do given.extend(spark_cdc._models_upstream(of_messages, 'messages')) -%}
    {%- endfor -%}
    {%- if found | length != 1 or found[0].relation_name != spark_cdc._name_of_relation(relation) | string -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set below = spark_cdc._messages_of_view(found[0]) -%}
    {{- return(below != [] and below | reject('in', given) | list == []) -}}
{%- endmacro -%}

{#-
    What a run of a log of outcomes enters: the runs from `since` on, all runs if that is none, or nothing (`are_none`), because
    the log has them all. `places` are the columns besides `loaded_at` that say what it has.
-#}
{%- macro _runs_to_enter(messages, places=[]) -%}
    {%- set adds_runs = spark_cdc._adds_runs(messages) -%}
    {%- set since = spark_cdc._first_run_to_enter(messages, places) if adds_runs else none -%}
    {%- if not adds_runs or since is not none -%}
        {%- do spark_cdc._note_state('append') -%}
    {%- endif -%}
    {{- return({'since': since, 'are_none': adds_runs and since is none}) -}}
{%- endmacro -%}

{#-
    Whether this run adds the runs to a log of outcomes that it lacks, and can ask for them: an ephemeral model is no table.
-#}
{%- macro _adds_runs(messages) -%}
    {{- return(spark_cdc._is_run() and spark_cdc._is_incremental_run() and '__dbt__cte__' not in messages | join(' ')) -}}
{%- endmacro -%}

{#-
    The first run that a log of outcomes lacks: microseconds of `loaded_at`, or none if it has all. `places` as above.
-#}
{%- macro _first_run_to_enter(messages, places) -%}
    {%- set queries = [] -%}
    {%- for relation in messages -%}
        {%- do queries.append('select ' ~ (['loaded_at'] + places) | join(', ') ~ ' from ' ~ relation) -%}
    {%- endfor -%}
    {%- set query -%}
        {{ spark_cdc._step('looking for runs to enter') }}
        select unix_micros(min(messages.loaded_at))
        from ({{ queries | join(' union all ') }}) as messages
        where not exists (
            select 1 from {{ this }} as entered
            where entered.loaded_at = messages.loaded_at
            {%- for name in places %} and entered.{{ name }} <=> messages.{{ name }}{% endfor %}
        )
    {%- endset -%}
    {%- set first = run_query(query).rows[0][0] -%}
    {{- return(none if first is none else first | int) -}}
{%- endmacro -%}

{#-
    SQL over messages: 1 for the message that counts, more for its further copies. A message with the offset of another one and
    another timestamp is not its copy. If a cut message landed again, whole, the whole copy counts as the message.
-#}
{%- macro _number_of_copy() -%}
row_number() over (partition by topic, partition, offset, timestamp order by kind = 'unreadable', loaded_at, kind)
{%- endmacro -%}

{%- macro _outcome_counts() -%}
    {%- set counts = ['count(*) as read'] -%}
    {%- for outcome in spark_cdc._outcome_names() -%}
        {%- do counts.append("count_if(outcome = '" ~ outcome ~ "') as " ~ outcome) -%}
    {%- endfor -%}
    {{- return(counts | join(',\n    ')) -}}
{%- endmacro -%}
