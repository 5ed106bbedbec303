{#-
    Every message that could not be read or applied, with its reason and its raw text.

    messages  list of models made by `messages`, or of views over them
    changes   list of models made by `changes` from these messages. A changes model that reads a raw table directly has its unreadable
              messages as its own rows with `_cdc_error`, without their text

    One row per message and reason: topic, partition, offset, timestamp, code, detail, value. It leaves out an update part whose
    partner came later, and a cut message that landed again, whole, at the same offset.
-#}
{%- macro dead_letters(messages=none, changes=[]) -%}
    {%- do spark_cdc._require_arguments('dead_letters', varargs, kwargs, ['messages', 'changes']) -%}
    {%- do spark_cdc._require_relations(
        'dead_letters', dict({'messages': messages}, **({'changes': changes} if changes != [] else {}))
    ) -%}
    {{- return(adapter.dispatch('dead_letters', 'spark_cdc')(messages, changes)) -}}
{%- endmacro -%}

{%- macro default__dead_letters(messages, changes) -%}
    {%- do spark_cdc._only_spark('dead_letters') -%}
{%- endmacro -%}

{%- macro spark__dead_letters(messages, changes) -%}
with messages as (

    {%- for relation in messages %}
    select topic, partition, offset, timestamp, cast(value as string) as value, error from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

rejected_changes as (

    {%- for relation in changes %}
    select rejected._cdc_topic, rejected._cdc_partition, rejected._cdc_offset, rejected._cdc_error
    from {{ relation }} as rejected
    where
        rejected._cdc_error is not null
        and not exists (
            select 1
            from {{ relation }} as completed
            where {{ spark_cdc._completes_update('completed', 'rejected') }}
        )
        and not exists (
            select 1
            from {{ relation }} as whole
            where {{ spark_cdc._is_whole_copy('whole', 'rejected') }}
        )
    {{ 'union all' if not loop.last }}
    {%- else %}
    select
        cast(null as string) as _cdc_topic,
        cast(null as int) as _cdc_partition,
        cast(null as bigint) as _cdc_offset,
        cast(null as struct<code: string, detail: string>) as _cdc_error
    where false
    {%- endfor %}

)

select topic, partition, offset, timestamp, error.code as code, error.detail as detail, value
from messages as unread
where
    error is not null
    and not exists (
        select 1
        from messages as whole
        where {{ spark_cdc._is_whole_message('whole', 'unread') }}
    )

union all

select distinct
    messages.topic,
    messages.partition,
    messages.offset,
    messages.timestamp,
    rejected_changes._cdc_error.code as code,
    rejected_changes._cdc_error.detail as detail,
    messages.value
from rejected_changes
inner join messages
    on rejected_changes._cdc_topic = messages.topic
    and rejected_changes._cdc_partition = messages.partition
    and rejected_changes._cdc_offset = messages.offset
    and messages.error is null
{%- endmacro -%}
