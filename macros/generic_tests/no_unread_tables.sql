{#-
    For a messages model. A row returned is a source table that has rows in the messages, and that none of the changes models
    reads: it was forgotten, or its name is misspelled in one of them. In the reconciliation its messages are `unrouted`.

    changes         the changes models over these messages: [ref('...')]
    ignored_tables  tables that are not to be read, as the test names them: ['shop.audit', 'shop.tmp_*']
-#}
{%- test no_unread_tables(model, changes=none, ignored_tables=none) -%}
    {%- if ignored_tables is not none and not spark_cdc._is_list(ignored_tables) -%}
        {%- do spark_cdc._raise(
            'no_unread_tables', 'ignored_tables', 'a list of names, such as [\'shop.audit\']', spark_cdc._show(ignored_tables),
            'Write each as the test names it: database, schema and table with dots between.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_relations('no_unread_tables', {'changes': changes}) -%}
    {%- do spark_cdc._require_model(
        'no_unread_tables', 'a model made by spark_cdc.messages,',
        ['topic', 'kind'] + spark_cdc._names_of_a_table(), model
    ) -%}
    {%- set query = adapter.dispatch('test_no_unread_tables', 'spark_cdc')(model, changes, ignored_tables or []) -%}
    {{- return(spark_cdc._with_reasons('no_unread_tables', query, ['topic', 'messages'])) -}}
{%- endtest -%}

{%- macro default__test_no_unread_tables(model, changes, ignored_tables) -%}
    {%- do spark_cdc._only_spark('no_unread_tables') -%}
{%- endmacro -%}

{%- macro spark__test_no_unread_tables(model, changes, ignored_tables) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- set is_read = [] -%}
    {%- for relation in changes -%}
        {%- do is_read.append(spark_cdc._condition_of(spark_cdc._changes_model('no_unread_tables', 'changes', relation))) -%}
    {%- endfor -%}
    {%- for name in ignored_tables -%}
        {%- do is_read.append(spark_cdc._has_name(spark_cdc._name_in_words(), name)) -%}
    {%- endfor -%}
with tables as (

    select topic, database_name, schema_name, table_name, count(*) as messages
    from {{ model }}
    where kind in ('rows', 'truncate')
    group by topic, database_name, schema_name, table_name

)

select *, concat('no changes model reads ', {{ spark_cdc._name_in_words() }}) as reason
from tables
where not coalesce({{ is_read | join(' or ') }}, false)
{%- endmacro -%}
