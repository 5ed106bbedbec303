{#-
    A row returned is a row of a current or history model with a column whose value was never sent: its null means "not known",
    as _cdc_missing_columns says. It becomes known when a message has the whole row, such as a snapshot.
-#}
{%- test no_missing_values(model, key=none) -%}
    {%- do spark_cdc._require_key('no_missing_values', key) -%}
    {%- do spark_cdc._require_model('no_missing_values', 'a current or history table', key + ['_cdc_missing_columns'], model) -%}
    {%- set query = adapter.dispatch('test_no_missing_values', 'spark_cdc')(model, key) -%}
    {{- return(spark_cdc._with_reasons('no_missing_values', query)) -}}
{%- endtest -%}

{%- macro default__test_no_missing_values(model, key) -%}
    {%- do spark_cdc._only_spark('no_missing_values') -%}
{%- endmacro -%}

{%- macro spark__test_no_missing_values(model, key) -%}
with rows_of_model as (

    select * from {{ model }}

),

rows_with_unknown_values as (

    select
        {{ spark_cdc._quoted(key) }},
        concat('never sent: ', array_join(_cdc_missing_columns, ', ')) as reason
    from rows_of_model
    where _cdc_missing_columns is not null

)

select * from rows_with_unknown_values
{%- endmacro -%}
