{#-
    For a model made by `reconciliation` or `run_ledger`. A row returned is a topic (and run, of a run ledger) whose outcomes do
    not add up to the messages read, or whose counted messages are not those of the messages models. A row that two simultaneous
    runs both wrote to a run ledger counts once.

    messages  the list of models that the reconciliation was made from
-#}
{%- test counts_reconcile(model, messages=none) -%}
    {%- do spark_cdc._require_relations('counts_reconcile', {'messages': messages}) -%}
    {%- do spark_cdc._require_model(
        'counts_reconcile', 'a model made by spark_cdc.reconciliation or spark_cdc.run_ledger,',
        ['topic', 'read'] + spark_cdc._outcome_names(), model
    ) -%}
    {%- set query = adapter.dispatch('test_counts_reconcile', 'spark_cdc')(model, messages) -%}
    {{- return(spark_cdc._with_reasons('counts_reconcile', query, ['topic', 'loaded_at'])) -}}
{%- endtest -%}

{%- macro default__test_counts_reconcile(model, messages) -%}
    {%- do spark_cdc._only_spark('counts_reconcile') -%}
{%- endmacro -%}

{%- macro spark__test_counts_reconcile(model, messages) -%}
    {%- set columns = adapter.get_columns_in_relation(model) | map(attribute='name') | list -%}
    {%- set loaded_at = 'loaded_at' if 'loaded_at' in columns else 'cast(null as timestamp)' -%}
with held as (

    select topic, loaded_at, count(*) as held
    from (
        {%- for relation in messages %}
        select topic, {{ loaded_at }} as loaded_at from {{ relation }}
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    )
    group by topic, loaded_at

),

counted as (

    select
        topic,
        {{ loaded_at }} as loaded_at,
        sum(read) as read,
        sum({{ spark_cdc._outcome_names() | join(' + ') }}) as in_outcomes
    from {% if 'loaded_at' in columns -%}
    (
        -- two runs at the same time may both have entered a run
        select *, row_number() over (
            partition by loaded_at, topic, database_name, schema_name, table_name order by read
        ) as copy
        from {{ model }}
    )
    where copy = 1
    {%- else -%}
    {{ model }}
    {%- endif %}
    group by topic, {{ loaded_at }}

)

select
    coalesce(held.topic, counted.topic) as topic,
    coalesce(held.loaded_at, counted.loaded_at) as loaded_at,
    held.held,
    counted.read,
    counted.in_outcomes,
    concat_ws(
        ' and ',
        case when not held.held <=> counted.read then concat(
            'the models hold ', coalesce(held.held, 0), ' messages, and ', coalesce(counted.read, 0), ' are counted'
        ) end,
        case when not counted.read <=> counted.in_outcomes then concat(counted.in_outcomes, ' of ', counted.read, ' have an outcome') end
    ) as reason
from held
full outer join counted on held.topic <=> counted.topic and held.loaded_at <=> counted.loaded_at
where
    not held.held <=> counted.read
    or not counted.read <=> counted.in_outcomes
{%- endmacro -%}
