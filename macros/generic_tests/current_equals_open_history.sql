{#-
    A row returned is a key whose row in the current model is not its open version in the history: one of the two is missing, or
    they differ in a column of the source, in _cdc_is_deleted or in the sequence of their last change (_cdc_sequence here,
    _cdc_last_sequence there).

    The test does not compare the other columns that start with _cdc_: a change that changes no value moves them in the current
    model and not in the history.

    Set `hard_deletes` as the history has it: with `invalidate` a deleted key has no open version; with `ignore` it has one with
    the values from before, or none.
-#}
{%- test current_equals_open_history(model, history=none, key=none, hard_deletes='new_record') -%}
    {%- do spark_cdc._require_relation('current_equals_open_history', 'history', history) -%}
    {%- do spark_cdc._require_key('current_equals_open_history', key) -%}
    {%- do spark_cdc._require_hard_deletes('current_equals_open_history', hard_deletes) -%}
    {%- do spark_cdc._require_model(
        'current_equals_open_history', 'a current table', key + ['_cdc_is_deleted', '_cdc_sequence'], model
    ) -%}
    {%- do spark_cdc._require_model(
        'current_equals_open_history', 'a history', ['valid_to', '_cdc_is_deleted', '_cdc_last_sequence'], history, 'history'
    ) -%}
    {%- set query = adapter.dispatch('test_current_equals_open_history', 'spark_cdc')(model, history, key, hard_deletes) -%}
    {{- return(spark_cdc._with_reasons('current_equals_open_history', query)) -}}
{%- endtest -%}

{%- macro default__test_current_equals_open_history(model, history, key, hard_deletes) -%}
    {%- do spark_cdc._only_spark('current_equals_open_history') -%}
{%- endmacro -%}

{%- macro spark__test_current_equals_open_history(model, history, key, hard_deletes) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- set test = 'current_equals_open_history' -%}
    {%- set found = spark_cdc._columns_of_model(test, model, 'Take the `where` out: the whole of both models is compared.') -%}
    {#- `prune` removes deleted keys from the current model alone. -#}
    {%- set keys_gone = spark_cdc._table_properties(model).get('spark_cdc.deleted_keys_gone') -%}
    {%- set in_history = adapter.get_columns_in_relation(history) | map(attribute='name') | list -%}
    {%- set columns = [] -%}
    {%- for column in found if column.name in key or not column.name.startswith('_cdc_') -%}
        {%- if column.name not in in_history -%}
            {%- do spark_cdc._raise(
                test, 'history', 'a model with all columns of ' ~ model, history ~ ' without ' ~ column.name,
                'Give both models the same changes and the same on_schema_change, then build them.'
            ) -%}
        {%- endif -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
with current_rows as (

    select
        {{ spark_cdc._quoted(columns | map(attribute='name')) }},
        _cdc_is_deleted,
        _cdc_sequence as last_sequence,
        true as is_there
    from {{ model }}

),

open_versions as (

    select
        {{ spark_cdc._quoted(columns | map(attribute='name')) }},
        _cdc_is_deleted,
        _cdc_last_sequence as last_sequence,
        true as is_there
    from {{ history }}
    where valid_to is null

),

compared as (

    select
        {%- for name in key %}
        coalesce(current_rows.{{ spark_cdc._quote(name) }}, open_versions.{{ spark_cdc._quote(name) }})
            as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        case
            {%- if hard_deletes != 'new_record' %}
            when current_rows._cdc_is_deleted and open_versions.is_there is null then null
            {%- endif %}
            {%- if keys_gone %}
            when current_rows.is_there is null and open_versions._cdc_is_deleted
                and open_versions.last_sequence <= {{ spark_cdc._sequence_literal(keys_gone) }} then null
            {%- endif %}
            when open_versions.is_there is null then 'no open version in the history'
            when current_rows.is_there is null then 'no row in the current model'
            else nullif(concat_ws(
                ' and ',
                {%- for column in columns if column.name not in key %}
                {%- set left = 'current_rows.' ~ spark_cdc._quote(column.name) %}
                {%- set right = 'open_versions.' ~ spark_cdc._quote(column.name) %}
                {#- Spark cannot compare variants: their texts are compared. #}
                {%- if column.dtype | lower == 'variant' %}
                {%- set left, right = 'to_json(' ~ left ~ ')', 'to_json(' ~ right ~ ')' %}
                {%- endif %}
                case
                    when not {{ left }} <=> {{ right }}{{ ' and not current_rows._cdc_is_deleted' if hard_deletes == 'ignore' }}
                        then {{ spark_cdc._literal(column.name ~ ' differs') }}
                end,
                {%- endfor %}
                case
                    when not current_rows._cdc_is_deleted <=> open_versions._cdc_is_deleted
                        then 'only one of them is deleted'
                end,
                case
                    when not current_rows.last_sequence <=> open_versions.last_sequence
                        then 'their last changes differ'
                end
            ), '')
        end as reason
    from current_rows
    full outer join open_versions on
        {%- for name in key %}
        current_rows.{{ spark_cdc._quote(name) }} <=> open_versions.{{ spark_cdc._quote(name) }}
        {{- ' and' if not loop.last }}
        {%- endfor %}

)

select * from compared
where reason is not null
{%- endmacro -%}
