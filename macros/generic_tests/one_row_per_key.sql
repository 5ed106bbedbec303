{#- A row returned is a key with more than one row; null counts as a value. -#}
{%- test one_row_per_key(model, key=none) -%}
    {%- do spark_cdc._require_key('one_row_per_key', key) -%}
    {%- do spark_cdc._require_model('one_row_per_key', 'a model', key, model) -%}
    {%- set query = adapter.dispatch('test_one_row_per_key', 'spark_cdc')(model, key) -%}
    {{- return(spark_cdc._with_reasons('one_row_per_key', query)) -}}
{%- endtest -%}

{%- macro default__test_one_row_per_key(model, key) -%}
    {%- do spark_cdc._only_spark('one_row_per_key') -%}
{%- endmacro -%}

{%- macro spark__test_one_row_per_key(model, key) -%}
with rows_of_model as (

    select * from {{ model }}

),

keys_with_several_rows as (

    select
        {{ spark_cdc._quoted(key) }},
        concat('the key has ', count(*), ' rows') as reason
    from rows_of_model
    group by {{ spark_cdc._quoted(key) }}
    having count(*) > 1

)

select * from keys_with_several_rows
{%- endmacro -%}
