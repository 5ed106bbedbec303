{#- Models that read a node: changes models read messages models and sources, messages models read sources. -#}
{%- macro _readers_of(node, kinds) -%}
    {%- set readers = [] -%}
    {%- for reader in spark_cdc._models_of(kinds).values() if node.unique_id in reader.depends_on.nodes -%}
        {%- do readers.append(reader) -%}
    {%- endfor -%}
    {{- return(readers) -}}
{%- endmacro -%}

{#- A table with Kafka's own columns; none where they have other names. -#}
{%- macro _raw_table(node) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | list if relation else [] -%}
    {{- return(relation if not ['topic', 'partition', 'offset', 'timestamp'] | reject('in', columns) | list else none) -}}
{%- endmacro -%}
