{#- A row returned is a change without an error, and not a truncate, with a null in a key column. -#}
{%- test key_not_null(model, key=none) -%}
    {%- do spark_cdc._require_key('key_not_null', key) -%}
    {%- do spark_cdc._require_model(
        'key_not_null', 'a model made by spark_cdc.changes,', key + ['_cdc_op', '_cdc_error'], model
    ) -%}
    {%- set query = adapter.dispatch('test_key_not_null', 'spark_cdc')(model, key) -%}
    {{- return(spark_cdc._with_reasons('key_not_null', query, ['_cdc_topic', '_cdc_partition', '_cdc_offset'])) -}}
{%- endtest -%}

{%- macro default__test_key_not_null(model, key) -%}
    {%- do spark_cdc._only_spark('key_not_null') -%}
{%- endmacro -%}

{%- macro spark__test_key_not_null(model, key) -%}
with changes as (

    select * from {{ model }}

),

changes_without_a_key as (

    select
        {{ spark_cdc._quoted(key) }},
        concat_ws(
            ' and ',
            {%- for name in key %}
            case when {{ spark_cdc._quote(name) }} is null then {{ spark_cdc._literal(name ~ ' is null') }} end
            {{- ',' if not loop.last }}
            {%- endfor %}
        ) as reason,
        _cdc_topic,
        _cdc_partition,
        _cdc_offset
    from changes
    where _cdc_error is null and _cdc_op <> 'truncate'

)

select * from changes_without_a_key
where reason <> ''
{%- endmacro -%}
