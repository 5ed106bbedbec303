{#-
    A row returned is a message, or a change, with an error. The test returns none while there are at most `max_count` of them,
    or at most the share `max_share` of all rows. An update part counts only until its partner has come, and a cut message only
    until it has landed again, whole, at the same offset.
-#}
{%- test no_errors(model, column_name=none, max_count=0, max_share=0) -%}
    {%- if column_name is not none -%}
        {%- do spark_cdc._require_one_of('no_errors', 'column_name', column_name, ['_cdc_error', 'error']) -%}
    {%- endif -%}
    {%- do spark_cdc._require_number('no_errors', 'max_count', max_count) -%}
    {%- do spark_cdc._require_number('no_errors', 'max_share', max_share, highest=1) -%}
    {{- return(adapter.dispatch('test_no_errors', 'spark_cdc')(model, column_name, max_count, max_share)) -}}
{%- endtest -%}

{%- macro default__test_no_errors(model, column_name, max_count, max_share) -%}
    {%- do spark_cdc._only_spark('no_errors') -%}
{%- endmacro -%}

{%- macro spark__test_no_errors(model, column_name, max_count, max_share) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- if column_name is none -%}
        {%- set found = spark_cdc._columns_of_model(
            'no_errors', model, 'With a `where`, test the column: put no_errors below _cdc_error or error.'
        ) | map(attribute='name') | list -%}
    {%- endif -%}
    {%- set is_changes = column_name == '_cdc_error' or '_cdc_error' in (found or []) -%}
    {%- set prefix = '_cdc_' if is_changes else '' -%}
    {%- do spark_cdc._require_model(
        'no_errors', 'a model made by spark_cdc.' ~ ('changes,' if is_changes else 'messages,'),
        [prefix ~ 'topic', prefix ~ 'partition', prefix ~ 'offset'] + ([] if is_changes else ['timestamp']) + [prefix ~ 'error'], model
    ) -%}
    {%- set closes = spark_cdc._ways_to_close(model) if is_changes
        else {'whole': spark_cdc._is_whole_message('whole', 'rejected')} -%}
    {%- set query -%}
with rows_of_model as (

    select * from {{ model }}

),

rows_with_errors as (

    select
        {{ prefix }}topic,
        {{ prefix }}partition,
        {{ prefix }}offset,
        concat_ws(': ', {{ prefix }}error.code, {{ prefix }}error.detail) as reason
    from rows_of_model as rejected
    {%- for closed_by, condition in closes.items() %}
    left anti join rows_of_model as {{ closed_by }} on {{ condition }}
    {%- endfor %}
    where {{ prefix }}error is not null

)
{%- if max_count or max_share %},

counts as (

    select
        (select count(*) from rows_with_errors) as error_count,
        (select count(*) from rows_of_model) as row_count

)
{%- endif %}

select rows_with_errors.*
from rows_with_errors
{%- if max_count or max_share %}
cross join counts
where counts.error_count > {{ max_count }} and counts.error_count > {{ max_share }} * counts.row_count
{%- endif %}
    {%- endset -%}
    {{- return(spark_cdc._with_reasons('no_errors', query, [prefix ~ 'topic', prefix ~ 'partition', prefix ~ 'offset'])) -}}
{%- endmacro -%}
