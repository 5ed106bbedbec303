{#-
    A row returned is a declared column that no message had: most likely the messages write its name in another way. A model
    without rows passes, because it shows nothing about its columns.
-#}
{%- test declared_columns_present(model, columns=none) -%}
    {%- if columns is not none -%}
        {%- do spark_cdc._require_names(
            'declared_columns_present', 'columns', columns, 'Leave it out to test all columns of the changes model.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_model(
        'declared_columns_present', 'a model made by spark_cdc.changes,', ['_cdc_op', '_cdc_missing_columns', '_cdc_error'], model
    ) -%}
    {%- set query = adapter.dispatch('test_declared_columns_present', 'spark_cdc')(model, columns) -%}
    {{- return(spark_cdc._with_reasons('declared_columns_present', query)) -}}
{%- endtest -%}

{%- macro default__test_declared_columns_present(model, columns) -%}
    {%- do spark_cdc._only_spark('declared_columns_present') -%}
{%- endmacro -%}

{%- macro spark__test_declared_columns_present(model, columns) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- if columns is none -%}
        {%- set columns = spark_cdc._columns_of_model(
            'declared_columns_present', model, 'With a `where`, name the columns: columns: [...].'
        ) | map(attribute='name') | reject('in', spark_cdc.change_columns() + ['_cdc_patches']) | list -%}
    {%- endif -%}
with changes as (

    select * from {{ model }}

),

{#- A delete need not have every column, and an unreadable message shows none. #}
read_changes as (

    select * from changes
    where
        _cdc_op in ('insert', 'update', 'snapshot')
        and (_cdc_error is null or _cdc_error.code in ('key_missing', 'invalid_value'))

),

carried_columns as (

    select explode(
        array_except(array({{ spark_cdc._literals(columns) }}), coalesce(_cdc_missing_columns, array()))
    ) as column_name
    from read_changes

),

declared_columns as (

    select explode(array({{ spark_cdc._literals(columns) }})) as column_name
    from (select 1 from read_changes limit 1)

),

columns_never_carried as (

    select
        declared_columns.column_name,
        'no message carried this column' as reason
    from declared_columns
    left anti join carried_columns on declared_columns.column_name = carried_columns.column_name

)

select * from columns_never_carried
{%- endmacro -%}
