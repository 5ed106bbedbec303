{#-
    A row returned is a change whose operation is none of insert, update, delete, snapshot and truncate. An unreadable message
    has no operation: `no_errors` finds it.
-#}
{%- test valid_op(model, column_name='_cdc_op') -%}
    {%- do spark_cdc._require_text('valid_op', 'column_name', column_name, 'Leave it out to test _cdc_op.') -%}
    {%- do spark_cdc._require_model(
        'valid_op', 'a model made by spark_cdc.changes,', [column_name | replace('`', ''), '_cdc_error'], model
    ) -%}
    {%- set query = adapter.dispatch('test_valid_op', 'spark_cdc')(model, column_name) -%}
    {{- return(spark_cdc._with_reasons('valid_op', query, ['_cdc_topic', '_cdc_partition', '_cdc_offset'])) -}}
{%- endtest -%}

{%- macro default__test_valid_op(model, column_name) -%}
    {%- do spark_cdc._only_spark('valid_op') -%}
{%- endmacro -%}

{%- macro spark__test_valid_op(model, column_name) -%}
with changes as (

    select * from {{ model }}

),

changes_with_another_op as (

    select
        _cdc_topic,
        _cdc_partition,
        _cdc_offset,
        concat('the operation is ', coalesce({{ column_name }}, 'null')) as reason
    from changes
    where
        {{ column_name }} not in ('insert', 'update', 'delete', 'snapshot', 'truncate')
        or ({{ column_name }} is null and _cdc_error is null)

)

select * from changes_with_another_op
{%- endmacro -%}
