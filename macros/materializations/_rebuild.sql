{#-
    The names of the differences for which this run rebuilds a table; none if the run is incremental. A changes model that follows
    its declaration has all changes as it declares them now: see `_follows_its_declaration`. So after a column was added, or a type,
    an encoding or a source table changed, the table is built from it as for the first time. A table with `on_schema_change` or
    `full_refresh=false` is not rebuilt by itself, nor any in a run with `--empty`.

    The changes model has to be part of the run: what is in the lake may still be the earlier declaration.
-#}
{%- macro _reasons_to_rebuild(table, existing_relation, properties, stored) -%}
    {%- set changes = spark_cdc._rebuilt_changes_below() -%}
    {%- if changes is none or flags.EMPTY -%}
        {{- return([]) -}}
    {%- endif -%}
    {%- set reasons = spark_cdc._declared_otherwise(
        existing_relation, properties, table.types, stored, spark_cdc._own_options()
    ) -%}
    {%- if reasons and changes.unique_id not in selected_resources -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ table.materialization ~ ': model ' ~ model.name ~ ' has to be rebuilt for ' ~ reasons | join(', ')
            ~ ', and its changes model is not part of this run. Run both: dbt run --select ' ~ changes.name ~ '+'
        ) -%}
    {%- endif -%}
    {{- return(reasons) -}}
{%- endmacro -%}

{#- The one changes model that this table selects from, if it follows its declaration and the table may be rebuilt. -#}
{%- macro _rebuilt_changes_below() -%}
    {%- set changes = spark_cdc._nodes_below(model, 'changes') -%}
    {%- set is_followed = changes | length == 1 and spark_cdc._follows_its_declaration(changes[0]) -%}
    {{- return(changes[0] if is_followed and spark_cdc._may_be_rebuilt(model) else none) -}}
{%- endmacro -%}

{#- The options with which a table is not rebuilt by itself. `unique_key` follows the key of the changes, which is a reason to rebuild. -#}
{%- macro _fixed_options(properties) -%}
    {%- set has_other_key = 'key' in spark_cdc._built_otherwise(properties) -%}
    {{- return(spark_cdc._own_options() | reject('equalto', 'unique_key' if has_other_key else none) | list) -}}
{%- endmacro -%}
