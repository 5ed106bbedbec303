{#-
    A messages model keeps all columns of all rows. So where the declaration of a changes model over it differs from the one that
    a table was built with, the table is built again, as for the first time: the run says what for. A model that sets
    `on_schema_change` or `full_refresh=false` is not rebuilt by itself, and neither are the tables over it.
-#}

{#-
    The names of the differences for which this run rebuilds the stored log of a changes model: arguments, and columns that were
    added, removed or have another type. None if it appends, as every log over raw messages does, and in a run with `--empty`, which
    would empty it.
-#}
{%- macro _reasons_to_rebuild_log() -%}
    {%- if not execute or not spark_cdc._is_incremental_run() or flags.EMPTY or not spark_cdc._follows_its_declaration(model) -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set relation = load_cached_relation(this) -%}
    {%- set reasons = [] -%}
    {%- for name in spark_cdc._built_otherwise(relation) -%}
        {%- do reasons.append(name | replace('columns.', '')) -%}
    {%- endfor -%}
    {%- set differences = spark_cdc._schema_differences(
        model.config.meta['spark_cdc.types'], spark_cdc._stored_changes(relation).columns, spark_cdc._file_format(relation)
    ) -%}
    {%- for names in differences.values() -%}
        {%- do reasons.extend(names) -%}
    {%- endfor -%}
    {{- return(reasons | unique | list) -}}
{%- endmacro -%}

{#- Whether a changes model always has what it declares now: as a view, or as a log that is rebuilt. -#}
{%- macro _follows_its_declaration(node) -%}
    {%- set reads_messages = spark_cdc._nodes_below(node, 'messages') | length > 0 -%}
    {{- return(
        node.config.materialized == 'view'
        or node.config.materialized == 'cdc_append' and reads_messages and spark_cdc._may_be_rebuilt(node)
    ) -}}
{%- endmacro -%}

{%- macro _may_be_rebuilt(node) -%}
    {{- return('on_schema_change' not in node.unrendered_config and node.config.full_refresh is not false) -}}
{%- endmacro -%}
