{#-
    A row returned is a fault of a topic that nobody has settled: the topic was recreated, got a partition, lost messages before they
    were landed, or has changes with lower positions than earlier ones. The row's sentence explains the fault and what to do: see
    `topic_faults`. List a fault that is settled in `accepted`, as its column `accept` has it: accepted: ['hole shop 0 1200'].
-#}
{%- test topics_whole(model, accepted=none) -%}
    {%- if accepted is not none and not spark_cdc._is_list(accepted) -%}
        {%- do spark_cdc._raise(
            'topics_whole', 'accepted', 'a list of texts, such as [\'hole shop 0 1200\']', spark_cdc._show(accepted),
            'Copy the column accept of each fault that is settled.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_model(
        'topics_whole', 'a model made by spark_cdc.messages,', [
            'topic', 'partition', 'offset', 'timestamp', 'batch', 'error', 'key', 'format', 'kind', 'database_name', 'schema_name',
            'table_name', 'sequence', 'committed_at',
        ], model
    ) -%}
    {%- set query = adapter.dispatch('test_topics_whole', 'spark_cdc')(model, accepted or []) -%}
    {{- return(spark_cdc._with_reasons('topics_whole', query, reason='sentence')) -}}
{%- endtest -%}

{%- macro default__test_topics_whole(model, accepted) -%}
    {%- do spark_cdc._only_spark('topics_whole') -%}
{%- endmacro -%}

{%- macro spark__test_topics_whole(model, accepted) -%}
select *
from ({{ spark_cdc.topic_faults([model]) }})
{%- if accepted %}
where accept not in ({{ spark_cdc._literals(accepted) }})
{%- endif %}
{%- endmacro -%}
