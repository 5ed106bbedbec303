{#-
    A row returned is an anomaly of a topic that nobody has settled: the topic was recreated, got a partition, lost messages
    before they were landed, or has changes with lower positions than earlier ones. The row's advice explains the anomaly and
    what to do: see `topic_anomalies`. To settle an anomaly, list the text of its column `acknowledge`: acknowledged:
    ['offset_gap shop 0 1200'].
-#}
{%- test topics_intact(model, acknowledged=none) -%}
    {%- if acknowledged is not none and not spark_cdc._is_list(acknowledged) -%}
        {%- do spark_cdc._raise(
            'topics_intact', 'acknowledged', 'a list of texts, such as [\'offset_gap shop 0 1200\']', spark_cdc._show(acknowledged),
            'Copy the column acknowledge of each anomaly that is settled.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._require_model(
        'topics_intact', 'a model made by spark_cdc.messages,', [
            'topic', 'partition', 'offset', 'timestamp', 'loaded_at', 'error', 'key', 'format', 'kind', 'database_name', 'schema_name',
            'table_name', 'sequence', 'committed_at',
        ], model
    ) -%}
    {%- set query = adapter.dispatch('test_topics_intact', 'spark_cdc')(model, acknowledged or []) -%}
    {{- return(spark_cdc._with_reasons('topics_intact', query, reason='advice')) -}}
{%- endtest -%}

{%- macro default__test_topics_intact(model, acknowledged) -%}
    {%- do spark_cdc._only_spark('topics_intact') -%}
{%- endmacro -%}

{%- macro spark__test_topics_intact(model, acknowledged) -%}
select *
from ({{ spark_cdc.topic_anomalies([model]) }})
{%- if acknowledged %}
where acknowledge not in ({{ spark_cdc._literals(acknowledged) }})
{%- endif %}
{%- endmacro -%}
