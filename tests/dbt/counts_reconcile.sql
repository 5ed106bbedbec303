-- A row returned is a topic whose outcomes do not add up to the messages read, or to those landed.
with landed_messages as (

    select topic from {{ ref('example__raw_canal') }}

    union all

    select topic from {{ ref('example__raw_debezium') }}

    union all

    select topic from {{ ref('example__raw_dataworks') }}

),

landed as (

    select
        topic,
        count(*) as messages
    from landed_messages
    group by topic

),

accounted as (

    select
        topic,
        sum(read) as messages,
        sum(applied + superseded + duplicate + control + unrouted + rejected) as in_outcomes
    from {{ ref('example__reconciliation') }}
    group by topic

)

select
    coalesce(landed.topic, accounted.topic) as topic,
    landed.messages as landed,
    accounted.messages as messages_read,
    accounted.in_outcomes
from landed
full outer join accounted on landed.topic = accounted.topic
where
    not landed.messages <=> accounted.messages
    or not accounted.messages <=> accounted.in_outcomes
