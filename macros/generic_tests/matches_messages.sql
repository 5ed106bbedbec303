{#-
    For a changes model. A row returned is a source table in its messages, if messages were read and none of them matches the
    model: most likely the messages write its `table`, `database` or `schema` in another way. Without any messages the test
    passes.
-#}
{%- test matches_messages(model) -%}
    {%- do spark_cdc._require_model('matches_messages', 'a model made by spark_cdc.changes,', ['_cdc_op', '_cdc_topic'], model) -%}
    {%- set query = adapter.dispatch('test_matches_messages', 'spark_cdc')(model) -%}
    {{- return(spark_cdc._with_reasons('matches_messages', query, ['topic', 'messages'])) -}}
{%- endtest -%}

{%- macro default__test_matches_messages(model) -%}
    {%- do spark_cdc._only_spark('matches_messages') -%}
{%- endmacro -%}

{%- macro spark__test_matches_messages(model) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- set changes = spark_cdc._changes_model('matches_messages', 'model', model) -%}
    {%- set source = spark_cdc._source_of_changes('matches_messages', changes) -%}
    {%- set noted = changes.config.meta['spark_cdc.arguments'] -%}
    {%- set names = spark_cdc._names_of_a_table() -%}
    {#- It has the rows of its tables in the messages, and no others. -#}
    {%- set is_view_of_messages = spark_cdc._messages_of_view(changes) != [] -%}
with {% if source.is_messages -%}
envelopes as (

    select * from {{ source.relation_name }}

)
{%- else -%}
{{ spark_cdc._raw_envelopes(
    source.relation_name, spark_cdc._format(noted.format, noted.dialect or none), changes.config.meta['spark_cdc.raw_columns'],
    leaves_out=spark_cdc._header_columns() | list | reject('in', names) | list
) }}
{%- endif %},

tables as (

    select topic, {{ names | join(', ') }}, count(*) as messages
    from envelopes
    where kind in ('rows', 'truncate')
    group by topic, {{ names | join(', ') }}

)
{%- if not is_view_of_messages %},

changes as (

    select * from {{ model }} where _cdc_op is not null

)
{%- endif %}

select
    *,
    concat(
        'messages of ', {{ spark_cdc._name_in_words() }}, ', none of ', {{ spark_cdc._literal(spark_cdc._tables_of(changes)) }}
    ) as reason
from tables
where
    {% if not is_view_of_messages -%}
    not exists (select 1 from changes)
    and {% endif -%}
    not exists (select 1 from tables where {{ spark_cdc._condition_of(changes) }})
{%- endmacro -%}

{%- macro _name_in_words() -%}
    {{- return("coalesce(nullif(concat_ws('.', database_name, schema_name, table_name), ''), 'a table without a name')") -}}
{%- endmacro -%}

{#- The one changes model whose rows a relation shows. -#}
{%- macro _changes_model(test, argument, relation) -%}
    {%- set found = spark_cdc._models_upstream(relation, 'changes') -%}
    {%- if found | length != 1 -%}
        {%- do spark_cdc._raise(
            test, argument, 'a model made by spark_cdc.changes' ~ (', without a `where`' if relation is not mapping else ''),
            spark_cdc._show(spark_cdc._name_of_relation(relation)), 'Put the test on the changes model itself.'
        ) -%}
    {%- endif -%}
    {{- return(found[0]) -}}
{%- endmacro -%}

{#- The messages model or the raw table that a changes model reads: `relation_name`, and `is_messages`. -#}
{%- macro _source_of_changes(test, changes) -%}
    {%- set raw, messages = [], [] -%}
    {%- for id in changes.depends_on.nodes -%}
        {%- set node = graph.nodes.get(id) or graph.sources.get(id) -%}
        {%- do (messages if node.resource_type == 'model' and spark_cdc._nodes_upstream(node, 'messages') else raw).append(node) -%}
    {%- endfor -%}
    {%- set found = messages or raw -%}
    {%- if found | length != 1 -%}
        {%- do spark_cdc._raise(
            test, 'model', 'a changes model that reads one source or model',
            spark_cdc._show(changes.name) ~ ', which reads ' ~ (found | map(attribute='name') | join(', ') or 'none that dbt knows of'),
            'Name what it reads with ref(...) or source(...).'
        ) -%}
    {%- endif -%}
    {{- return({'relation_name': found[0].relation_name, 'is_messages': messages != []}) -}}
{%- endmacro -%}
