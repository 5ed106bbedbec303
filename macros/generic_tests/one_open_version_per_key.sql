{#-
    A row returned is a key of a history that has no open version (valid_to is null), or more than one. Set `hard_deletes` as
    the history has it: unless that is new_record, a deleted key may have no open version.
-#}
{%- test one_open_version_per_key(model, key=none, hard_deletes='new_record') -%}
    {%- do spark_cdc._require_key('one_open_version_per_key', key) -%}
    {%- do spark_cdc._require_hard_deletes('one_open_version_per_key', hard_deletes) -%}
    {%- do spark_cdc._require_model('one_open_version_per_key', 'a history', key + ['valid_to'], model) -%}
    {%- set query = adapter.dispatch('test_one_open_version_per_key', 'spark_cdc')(model, key, hard_deletes) -%}
    {{- return(spark_cdc._with_reasons('one_open_version_per_key', query)) -}}
{%- endtest -%}

{%- macro default__test_one_open_version_per_key(model, key, hard_deletes) -%}
    {%- do spark_cdc._only_spark('one_open_version_per_key') -%}
{%- endmacro -%}

{%- macro spark__test_one_open_version_per_key(model, key, hard_deletes) -%}
with versions as (

    select * from {{ model }}

),

keys_with_another_number_of_open_versions as (

    select
        {{ spark_cdc._quoted(key) }},
        concat('the key has ', count_if(valid_to is null), ' open versions') as reason
    from versions
    group by {{ spark_cdc._quoted(key) }}
    having count_if(valid_to is null) {{ '<> 1' if hard_deletes == 'new_record' else '> 1' }}

)

select * from keys_with_another_number_of_open_versions
{%- endmacro -%}
