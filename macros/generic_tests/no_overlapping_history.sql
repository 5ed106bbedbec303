{#-
    A row returned is a version that begins before an earlier version of its key ends, or ends before it begins. Versions are
    valid over [valid_from, valid_to): one may begin when another ends, and a version of no length is valid at no time.
-#}
{%- test no_overlapping_history(model, key=none) -%}
    {%- do spark_cdc._require_key('no_overlapping_history', key) -%}
    {%- do spark_cdc._require_model('no_overlapping_history', 'a history', key + ['valid_from', 'valid_to'], model) -%}
    {%- set query = adapter.dispatch('test_no_overlapping_history', 'spark_cdc')(model, key) -%}
    {{- return(spark_cdc._with_reasons('no_overlapping_history', query)) -}}
{%- endtest -%}

{%- macro default__test_no_overlapping_history(model, key) -%}
    {%- do spark_cdc._only_spark('no_overlapping_history') -%}
{%- endmacro -%}

{%- macro spark__test_no_overlapping_history(model, key) -%}
with versions as (

    select * from {{ model }}

),

versions_of_no_interval as (

    select
        {{ spark_cdc._quoted(key) }},
        valid_from,
        valid_to,
        case when valid_from is null then 'valid_from is null' else 'ends before it begins' end as reason
    from versions
    where valid_from is null or valid_to < valid_from

),

versions_with_those_before_them as (

    select
        {{ spark_cdc._quoted(key) }},
        valid_from,
        valid_to,
        max(valid_to) over versions_before as last_end_before,
        count_if(valid_to is null) over versions_before > 0 as is_one_before_open
    from versions
    where valid_to is null or valid_from < valid_to
    window versions_before as (
        partition by {{ spark_cdc._quoted(key) }}
        order by valid_from, valid_to asc nulls last
        rows between unbounded preceding and 1 preceding
    )

),

overlapping_versions as (

    select
        {{ spark_cdc._quoted(key) }},
        valid_from,
        valid_to,
        'begins before an earlier version ends' as reason
    from versions_with_those_before_them
    where is_one_before_open or valid_from < last_end_before

)

select * from versions_of_no_interval

union all

select * from overlapping_versions
{%- endmacro -%}
