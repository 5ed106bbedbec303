{#-
    For a model made by `accounts` or `ledger`. A row returned is a topic (and run, of a ledger) whose accounts do not add up to
    the messages read, or where other messages were counted than the messages models hold. A row that two runs at the same time
    both wrote to a ledger counts once.

    messages  the list of models that the accounts were made from
-#}
{%- test accounts_add_up(model, messages=none) -%}
    {%- do spark_cdc._require_relations('accounts_add_up', {'messages': messages}) -%}
    {%- do spark_cdc._require_model(
        'accounts_add_up', 'a model made by spark_cdc.accounts or spark_cdc.ledger,', ['topic', 'read'] + spark_cdc._account_names(), model
    ) -%}
    {%- set query = adapter.dispatch('test_accounts_add_up', 'spark_cdc')(model, messages) -%}
    {{- return(spark_cdc._with_reasons('accounts_add_up', query, ['topic', 'batch'])) -}}
{%- endtest -%}

{%- macro default__test_accounts_add_up(model, messages) -%}
    {%- do spark_cdc._only_spark('accounts_add_up') -%}
{%- endmacro -%}

{%- macro spark__test_accounts_add_up(model, messages) -%}
    {%- set columns = adapter.get_columns_in_relation(model) | map(attribute='name') | list -%}
    {%- set batch = 'batch' if 'batch' in columns else 'cast(null as timestamp)' -%}
with held as (

    select topic, batch, count(*) as held
    from (
        {%- for relation in messages %}
        select topic, {{ batch }} as batch from {{ relation }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    )
    group by topic, batch

),

counted as (

    select
        topic,
        {{ batch }} as batch,
        sum(read) as read,
        sum({{ spark_cdc._account_names() | join(' + ') }}) as in_accounts
    from {% if 'batch' in columns -%}
    (
        -- two runs at the same time may both have entered a run
        select *, row_number() over (
            partition by batch, topic, database_name, schema_name, table_name order by read
        ) as copy
        from {{ model }}
    )
    where copy = 1
    {%- else -%}
    {{ model }}
    {%- endif %}
    group by topic, {{ batch }}

)

select
    coalesce(held.topic, counted.topic) as topic,
    coalesce(held.batch, counted.batch) as batch,
    held.held,
    counted.read,
    counted.in_accounts,
    concat_ws(
        ' and ',
        case when not held.held <=> counted.read then concat(
            'the models hold ', coalesce(held.held, 0), ' messages, and ', coalesce(counted.read, 0), ' are counted'
        ) end,
        case when not counted.read <=> counted.in_accounts then concat(counted.in_accounts, ' of ', counted.read, ' are in an account') end
    ) as reason
from held
full outer join counted on held.topic <=> counted.topic and held.batch <=> counted.batch
where
    not held.held <=> counted.read
    or not counted.read <=> counted.in_accounts
{%- endmacro -%}
