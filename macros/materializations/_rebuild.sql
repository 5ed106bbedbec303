{#-
    The names of the differences for which this run rebuilds a table; none if the run is incremental. A changes model that is a
    view returns all changes as it declares them now. So after a column was added, or a type, an encoding or a source table
    changed, the table is built from the view as for the first time. A model with `on_schema_change` or `full_refresh=false` is
    not rebuilt by itself.

    The view has to be built in the same run: an older view may still return the earlier declaration.
-#}
{%- macro _reasons_to_rebuild(table, existing_relation) -%}
    {%- set changes = spark_cdc._changes_view_below() -%}
    {%- if changes is none -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set reasons = [] -%}
    {%- for name in spark_cdc._built_otherwise(existing_relation) if name not in spark_cdc._own_options() -%}
        {%- do reasons.append(name | replace('columns.', '')) -%}
    {%- endfor -%}
    {%- set stored = spark_cdc._stored_source_columns(table, existing_relation) -%}
    {%- for names in spark_cdc._schema_differences(table.types, stored, spark_cdc._file_format(existing_relation)).values() -%}
        {%- do reasons.extend(names) -%}
    {%- endfor -%}
    {%- if reasons and changes.unique_id not in selected_resources -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ table.materialization ~ ': model ' ~ model.name ~ ' has to be rebuilt for ' ~ reasons | unique | join(', ')
            ~ ', and its changes model is not part of this run. Run both: dbt run --select ' ~ changes.name ~ '+'
        ) -%}
    {%- endif -%}
    {{- return(reasons | unique | list) -}}
{%- endmacro -%}

{#- The one changes model that this table selects from, if it is a view and the table may be rebuilt. -#}
{%- macro _changes_view_below() -%}
    {%- set changes = spark_cdc._changes_below(model) -%}
    {%- set is_free = 'on_schema_change' not in model.unrendered_config and config.get('full_refresh') is not false -%}
    {{- return(changes[0] if changes | length == 1 and changes[0].config.materialized == 'view' and is_free else none) -}}
{%- endmacro -%}
