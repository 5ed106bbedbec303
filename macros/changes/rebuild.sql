{#-
    A messages model keeps all columns of all rows. So where the declaration of a changes model over it differs from the one that
    a table was built with, the table is built again, as for the first time: the run says what for. A model that sets
    `on_schema_change` or `full_refresh=false` is not rebuilt by itself, and neither are the tables over it.
-#}

{#-
    The names of the differences for which this run rebuilds the stored log of a changes model; none if it appends, as every log
    over raw messages does, and in a run with `--empty`, which would empty it.
-#}
{%- macro _reasons_to_rebuild_log(types) -%}
    {%- if not execute or not spark_cdc._is_incremental_run() or flags.EMPTY or not spark_cdc._follows_its_declaration(model) -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set relation = load_cached_relation(this) -%}
    {{- return(spark_cdc._declared_otherwise(
        relation, spark_cdc._table_properties(relation), types, spark_cdc._stored_changes(relation).columns
    )) -}}
{%- endmacro -%}

{#-
    The names of the arguments that differ from those that a table was built with, and of the columns that were added, removed or
    have another type. `types` and `stored`: column -> type, in the model and in the table.
-#}
{%- macro _declared_otherwise(relation, properties, types, stored, leaves_out=[]) -%}
    {%- set names = [] -%}
    {%- for name in spark_cdc._built_otherwise(properties) if name not in leaves_out -%}
        {%- do names.append(name | replace('columns.', '')) -%}
    {%- endfor -%}
    {%- for columns in spark_cdc._schema_differences(types, stored, spark_cdc._file_format(relation)).values() -%}
        {%- do names.extend(columns) -%}
    {%- endfor -%}
    {{- return(names | unique | list) -}}
{%- endmacro -%}

{#- Whether a changes model always has what it declares now: as a view, or as a log that is rebuilt. -#}
{%- macro _follows_its_declaration(node) -%}
    {%- set reads_messages = spark_cdc._nodes_below(node, 'messages') | length > 0 -%}
    {{- return(
        spark_cdc._is_view(node)
        or node.config.materialized == 'cdc_append' and reads_messages and spark_cdc._may_be_rebuilt(node)
    ) -}}
{%- endmacro -%}

{%- macro _may_be_rebuilt(node) -%}
    {{- return('on_schema_change' not in node.unrendered_config and node.config.full_refresh is not false) -}}
{%- endmacro -%}
