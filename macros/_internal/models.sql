{#-
    What a model made by this package is, noted by the call that makes it in the model's `meta`, where docs and other models see it.
    dbt hears a call inside `execute` when it is too late.

    spark_cdc               messages, changes or ledger
    spark_cdc.dialect_of    of messages: format -> dialect
    spark_cdc.key           of changes: the key
    spark_cdc.raw_columns   of both: where a message stands in raw
-#}
{%- macro _note_kind(kind, facts={}) -%}
    {%- do config(meta=dict({'spark_cdc': kind}, **facts)) -%}
{%- endmacro -%}

{#- What a node is to this package: messages, changes, ledger, cdc_current or cdc_history; none where it is nothing. -#}
{%- macro _kind_of(node) -%}
    {%- if node.resource_type != 'model' -%}
        {{- return(none) -}}
    {%- elif node.config.materialized in ['cdc_current', 'cdc_history'] -%}
        {{- return(node.config.materialized) -}}
    {%- endif -%}
    {{- return((node.config.meta or {}).get('spark_cdc')) -}}
{%- endmacro -%}

{#- The models of one kind that a relation, a model of this project, shows the rows of: itself, or what views select from. -#}
{%- macro _models_behind(relation, kind) -%}
    {%- set found, names = [], [spark_cdc._name_of_relation(relation) | string] -%}
    {%- for node in (graph.nodes.values() if execute else []) if node.relation_name in names -%}
        {%- do found.extend(spark_cdc._nodes_behind(node, kind)) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{%- macro _nodes_behind(node, kind) -%}
    {%- if spark_cdc._kind_of(node) is not none -%}
        {{- return([node] if spark_cdc._kind_of(node) == kind else []) -}}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- do found.extend(spark_cdc._nodes_behind(graph.nodes[id], kind)) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}
