{#-
    What a model made by this package is. The call that makes it notes this in the model's `meta`, where docs and other models
    see it. dbt ignores a call inside `execute`: it would be too late.

    spark_cdc               messages, changes, run_ledger or run_summary
    spark_cdc.dialect_of    of messages: format -> dialect
    spark_cdc.key           of changes: the key
    spark_cdc.topics        of messages: the topics that it reads; none for all of the raw table
    spark_cdc.raw_columns   of both: the columns of a message in raw
    spark_cdc.arguments     of both: the arguments that their rows depend on, name -> text: see `_built_with`
-#}
{%- macro _note_kind(kind, facts={}) -%}
    {%- do config(meta=dict({'spark_cdc': kind}, **facts)) -%}
{%- endmacro -%}

{#-
    Arguments as texts that can be compared. The number that `raw_columns` adds to the offset is left out: it gives the messages
    of a recreated topic offsets after the old ones, and stored rows stay right. `columns` keeps only how each column is
    written: the table has the types.
-#}
{%- macro _as_noted(arguments, raw_columns, columns=[]) -%}
    {%- set noted = {} -%}
    {%- for name, value in arguments.items() -%}
        {%- do noted.update({name: value | sort | join(', ') if spark_cdc._is_list(value) else value or ''}) -%}
    {%- endfor -%}
    {%- for name, default in spark_cdc._raw_columns(none).items() -%}
        {%- set expression = ((raw_columns or {}).get(name) or (name if default else '')) | trim -%}
        {%- do noted.update({'raw_columns.' ~ name: (expression.split() or [''])[0] if name == 'offset' else expression}) -%}
    {%- endfor -%}
    {%- for column in columns -%}
        {%- do noted.update({'columns.' ~ column.name: column.encoding or ''}) -%}
    {%- endfor -%}
    {{- return(noted) -}}
{%- endmacro -%}

{#- The kind of a node: messages, changes, run_ledger, run_summary, cdc_current, cdc_history; none for other nodes. -#}
{%- macro _kind_of(node) -%}
    {%- if node.resource_type != 'model' -%}
        {{- return(none) -}}
    {%- elif node.config.materialized in ['cdc_current', 'cdc_history'] -%}
        {{- return(node.config.materialized) -}}
    {%- endif -%}
    {{- return((node.config.meta or {}).get('spark_cdc')) -}}
{%- endmacro -%}

{#-
    The models of one kind whose rows a relation, a model of this project, shows: the model itself, or those that views select
    from.
-#}
{%- macro _models_upstream(relation, kind) -%}
    {%- set found, names = [], [spark_cdc._name_of_relation(relation) | string] -%}
    {%- for node in (graph.nodes.values() if execute else []) if node.relation_name in names -%}
        {%- do found.extend(spark_cdc._nodes_upstream(node, kind)) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{%- macro _nodes_upstream(node, kind) -%}
    {%- if spark_cdc._kind_of(node) is not none -%}
        {{- return([node] if spark_cdc._kind_of(node) == kind else []) -}}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- do found.extend(spark_cdc._nodes_upstream(graph.nodes[id], kind)) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#- The nodes of one kind that a node reads, directly or through nodes of no kind, such as a user's views. -#}
{%- macro _nodes_below(node, kind) -%}
    {%- set found = [] -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- for below in spark_cdc._nodes_upstream(graph.nodes[id], kind) if below not in found -%}
            {%- do found.append(below) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{%- macro _is_view(node) -%}
    {{- return(node.config.materialized in ['view', 'cdc_view']) -}}
{%- endmacro -%}

{#- The messages models that a changes model shows as a view; none if it is stored. -#}
{%- macro _messages_of_view(changes) -%}
    {{- return(spark_cdc._nodes_below(changes, 'messages') if spark_cdc._is_view(changes) else []) -}}
{%- endmacro -%}

{#-
    Whether the code of a model calls this package's `macro` once and has nothing else but its config. SQL around the call might
    leave rows out or add some, and of several calls dbt's meta keeps the last one.
-#}
{%- macro _is_one_call(node, macro) -%}
    {%- set comment, config_call = '[{]#.*?#[}]|--[^\\n]*|/[*].*?[*]/', '[{][{]-?\\s*config[(].*?[)]\\s*-?[}][}]' -%}
    {#- A text in quotes stays, because it may have two hyphens. -#}
    {%- set text = "('[^'\n]*'|\"[^\"\n]*\")" -%}
    {%- set code = modules.re.sub('(?s)' ~ text ~ '|' ~ comment ~ '|' ~ config_call, '\\1', node.raw_code) | trim -%}
    {%- set call = '(?s)[{][{]-?\\s*spark_cdc[.]' ~ macro ~ '[(](?:(?![}][}]).)*[)]\\s*-?[}][}]' -%}
    {{- return(modules.re.fullmatch(call, code) is not none) -}}
{%- endmacro -%}

{#- Model name -> node. Kinds: those of `_kind_of`, and cdc_landing. -#}
{%- macro _models_of(kinds) -%}
    {%- set found = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model'
        and (spark_cdc._kind_of(node) in kinds or node.config.materialized in kinds) -%}
        {%- do found.update({node.name: node}) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#-
    Models that read a node, directly or through a user's own model: changes models read messages models and sources, messages
    models read sources.
-#}
{%- macro _readers_of(node, kinds) -%}
    {%- set readers = [] -%}
    {%- for reader in spark_cdc._models_of(kinds).values() if spark_cdc._reads(reader, node.unique_id) -%}
        {%- do readers.append(reader) -%}
    {%- endfor -%}
    {{- return(readers) -}}
{%- endmacro -%}

{%- macro _reads(reader, id) -%}
    {%- for read in reader.depends_on.nodes -%}
        {%- set node = graph.nodes.get(read) -%}
        {%- if read == id or node and spark_cdc._kind_of(node) is none and spark_cdc._reads(node, id) -%}
            {{- return(true) -}}
        {%- endif -%}
    {%- endfor -%}
    {{- return(false) -}}
{%- endmacro -%}
