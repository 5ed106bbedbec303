{#- The kind of the running command, and the models that it names. -#}

{#- A run writes; compile, test, docs and an editor's preview render the same models and must change nothing. -#}
{%- macro _is_run() -%}
    {{- return(execute and flags.WHICH in ['run', 'build', 'retry']) -}}
{%- endmacro -%}

{#-
    Whether this model's table keeps the rows of earlier runs, and whether this run adds to them: dbt's `is_incremental` knows
    its own materialization only.
-#}
{%- macro _is_log() -%}
    {{- return(config.get('materialized') in spark_cdc._logs()) -}}
{%- endmacro -%}

{%- macro _logs() -%}
    {{- return(['cdc_append', 'incremental']) -}}
{%- endmacro -%}

{%- macro _is_incremental_run() -%}
    {%- if not execute or config.get('materialized') != 'cdc_append' -%}
        {{- return(is_incremental()) -}}
    {%- endif -%}
    {{- return(spark_cdc._has_table() and not should_full_refresh()) -}}
{%- endmacro -%}

{%- macro _has_table() -%}
    {%- set relation = load_cached_relation(this) -%}
    {{- return(relation is not none and relation.is_table) -}}
{%- endmacro -%}

{#- Whether a var that lists models names this one. A name that no such model has is an error: it would silently do nothing. -#}
{%- macro _is_named_in(variable) -%}
    {%- set names = spark_cdc._var(variable) -%}
    {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | map(attribute='name') | list -%}
    {%- if not spark_cdc._is_list(names) or names | reject('in', models) | list -%}
        {%- do spark_cdc._raise(
            'vars', variable, 'a list of names of models', spark_cdc._show(names),
            'Write --vars \'{' ~ variable ~ ': [' ~ model.name ~ ']}\'.'
        ) -%}
    {%- endif -%}
    {{- return(model.name in names) -}}
{%- endmacro -%}

{#-
    What the running command has found out, name -> value, for all of its models: a mapping in memory. Only for what the command
    itself does not change after it was asked.
-#}
{%- macro _known_in_command() -%}
    {{- return(graph.setdefault('spark_cdc', {}).setdefault(invocation_id, {})) -}}
{%- endmacro -%}

{#- The answer to a query that is the same for all models of the running command, asked once. -#}
{%- macro _asked_once(query) -%}
    {%- set known = spark_cdc._known_in_command() -%}
    {%- if query not in known -%}
        {%- do known.update({query: run_query(query)}) -%}
    {%- endif -%}
    {{- return(known[query]) -}}
{%- endmacro -%}

{#- When this run began: one value for all that it reads. -#}
{%- macro _loaded_at() -%}
    {{- return("timestamp'" ~ run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f') ~ " UTC'") -}}
{%- endmacro -%}

{#-
    A condition with numbers of this run. A filter with a lambda has generated code of its own. So the code that Spark generates
    for the rest of the query is the same as in the last run, and is compiled already; otherwise each run of a long session
    compiles it again.
-#}
{%- macro _of_this_run(condition, column) -%}
    {{- return('((' ~ condition ~ ') and exists(array(' ~ column ~ '), any_value -> true))') -}}
{%- endmacro -%}
