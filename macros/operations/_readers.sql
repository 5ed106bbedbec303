{#-
    Models that read a node, itself or a model of the user's over it: changes models read messages models and sources, messages
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

{#- A table with Kafka's own columns; none where they have other names. -#}
{%- macro _raw_table(node) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | list if relation else [] -%}
    {{- return(relation if not ['topic', 'partition', 'offset', 'timestamp'] | reject('in', columns) | list else none) -}}
{%- endmacro -%}
