{#- The models that an operation works on, found by name in the project's graph. -#}

{%- macro _model_named(operation, name, kinds) -%}
    {%- set found = spark_cdc._models_of(kinds) -%}
    {%- if name not in found.keys() | list -%}
        {%- do spark_cdc._raise(
            operation, 'model', 'one of ' ~ spark_cdc._names_found(found), spark_cdc._show(name),
            'Write --args \'{model: ' ~ (found | sort | first or 'orders') ~ '}\'.'
        ) -%}
    {%- endif -%}
    {{- return(found[name]) -}}
{%- endmacro -%}

{#- The named models, or all of these kinds. -#}
{%- macro _models_named(operation, names, kinds) -%}
    {%- set found = spark_cdc._models_of(kinds) -%}
    {%- set names = found | sort if names is none else names -%}
    {%- if not spark_cdc._is_list(names) or names | reject('in', found | list) | list -%}
        {%- do spark_cdc._raise(
            operation, 'models', 'a list of ' ~ spark_cdc._names_found(found), spark_cdc._show(names),
            'Leave it out for all of them.'
        ) -%}
    {%- endif -%}
    {%- set nodes = [] -%}
    {%- for name in names | unique(case_sensitive=true) -%}
        {%- do nodes.append(found[name]) -%}
    {%- endfor -%}
    {{- return(nodes) -}}
{%- endmacro -%}

{%- macro _names_found(found) -%}
    {{- return(found | sort | join(', ') or 'what this operation is for, of which this project has none') -}}
{%- endmacro -%}

{#- The node's table, or none before its first run. -#}
{%- macro _table_of(node) -%}
    {%- set relation = adapter.get_relation(database=node.database, schema=node.schema, identifier=node.identifier or node.alias) -%}
    {{- return(relation if relation is not none and not relation.is_view else none) -}}
{%- endmacro -%}

{%- macro _relation_of(operation, node) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- if relation is none -%}
        {%- do spark_cdc._raise(
            operation, 'model', 'a model that was built as a table', spark_cdc._show(node.name),
            'Run dbt run --select ' ~ node.name ~ ' first.'
        ) -%}
    {%- endif -%}
    {{- return(relation) -}}
{%- endmacro -%}

{#- Raw tables: sources by 'source.table', and landing models by their names. -#}
{%- macro _sources_named(operation, names) -%}
    {%- set found = {} -%}
    {%- for node in graph.sources.values() | list + graph.nodes.values() | list
        if spark_cdc._is_raw(node) and spark_cdc._readers_of(node, ['messages', 'changes']) -%}
        {%- do found.update({(node.source_name ~ '.' if node.resource_type == 'source' else '') ~ node.name: node}) -%}
    {%- endfor -%}
    {%- if not spark_cdc._is_list(names) or names | reject('in', found | list) | list -%}
        {%- do spark_cdc._raise(
            operation, 'sources', 'a list of ' ~ spark_cdc._names_found(found), spark_cdc._show(names), 'Leave it out for none.'
        ) -%}
    {%- endif -%}
    {%- set nodes = [] -%}
    {%- for name in names | unique(case_sensitive=true) -%}
        {%- if spark_cdc._raw_table(found[name]) is none -%}
            {%- do spark_cdc._raise(
                operation, 'sources', 'a list of tables with the columns topic, partition, offset and timestamp',
                spark_cdc._show(name), 'Delete from other tables by hand, once the messages models have read them.'
            ) -%}
        {%- endif -%}
        {%- do nodes.append(found[name]) -%}
    {%- endfor -%}
    {{- return(nodes) -}}
{%- endmacro -%}

{#- A table with Kafka's own columns; none if they have other names. -#}
{%- macro _raw_table(node) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | list if relation else [] -%}
    {{- return(relation if not ['topic', 'partition', 'offset', 'timestamp'] | reject('in', columns) | list else none) -}}
{%- endmacro -%}

{#- Whether a node has messages as Kafka gave them: a source, or a model that lands them. -#}
{%- macro _is_raw(node) -%}
    {{- return(node.resource_type == 'source' or spark_cdc._landing_of(node) != {}) -}}
{%- endmacro -%}

{#- What a landing model lands, as `cdc_landing` reads it: a mapping with `kafka` or `path`; empty for other nodes. -#}
{%- macro _landing_of(node) -%}
    {{- return((node.config.meta or {}).get('spark_cdc.landing', {}) if node.resource_type == 'model' else {}) -}}
{%- endmacro -%}
