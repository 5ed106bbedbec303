{#-
    What a run does with a model's table has one name:

    first_build   the table is written for the first time, or by --full-refresh
    rebuild       it is written again, because the model declares something else
    append        rows are added to a log
    newest_rows   the new changes come after the rows of their keys, which they replace or continue
    changed_rows  the rows of the keys that changed are computed from the table and the new changes
    replay_all    they are computed from all changes
    nothing_new   no row is written, because there is no change to apply

    dbt's log has it: spark_cdc: model orders: newest_rows.
-#}
{%- macro _log_state(state) -%}
    {%- do log('spark_cdc: model ' ~ model.name ~ ': ' ~ state) -%}
{%- endmacro -%}

{#-
    What `messages` or `changes` found out when they wrote the query of a `cdc_append` model. The materialization must not find it
    out a second time: if another run had written meanwhile, it might replace a log by the query of an append. dbt hands a
    materialization only the query, so this is kept in the graph of the running command, in memory; no file or table has it.

    state           append, nothing_new or rebuild
    rebuilt_for     the names of the differences for which the log is rebuilt
    read_positions  what an append has read: see `_positions_after`; none if that is not known
    messages        how many new messages an append reads; none if that is not known
    run             the command: a program that runs several of dbt's commands on one manifest keeps its graph
-#}
{%- macro _note_state(state, rebuilt_for=[], read_positions=none, messages=none) -%}
    {%- if spark_cdc._is_run() and model.unique_id in graph.nodes -%}
        {%- do graph.nodes[model.unique_id].setdefault('spark_cdc.states', []).append(
            {
                'run': invocation_id, 'state': state, 'rebuilt_for': rebuilt_for, 'read_positions': read_positions,
                'messages': messages,
            }
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The same for the materialization. A model that calls the macros several times has nothing new only if each call says so. -#}
{%- macro _noted_state(is_build) -%}
    {%- set noted = graph.nodes[model.unique_id].get('spark_cdc.states', []) | selectattr('run', 'equalto', invocation_id) | list -%}
    {%- set rebuilds = noted | selectattr('state', 'equalto', 'rebuild') | list -%}
    {%- set has_nothing_new = noted and noted | rejectattr('state', 'equalto', 'nothing_new') | list == [] -%}
    {%- if is_build -%}
        {{- return({'state': 'first_build', 'rebuilt_for': [], 'read_positions': none, 'messages': none}) -}}
    {%- elif rebuilds and rebuilds | length < noted | length -%}
        {#- The others' queries have their new rows alone, and would replace all that the log has of them. -#}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_append: model ' ~ model.name ~ ' calls spark_cdc.changes several times, and one of the calls declares '
            ~ rebuilds[0].rebuilt_for | join(', ') ~ ' otherwise than the table. Rebuild it: dbt run --full-refresh --select '
            ~ model.name ~ '+'
        ) -%}
    {%- elif rebuilds -%}
        {{- return(rebuilds[0]) -}}
    {%- endif -%}
    {{- return({
        'state': 'nothing_new' if has_nothing_new else 'append',
        'rebuilt_for': [],
        'read_positions': noted[0].read_positions if noted | length == 1 else none,
        'messages': noted[0].messages if noted | length == 1 else none,
    }) -}}
{%- endmacro -%}

{#-
    The query of a model that has nothing to append: the table's columns and no row. Only in a run: dbt compile, dbt show and an
    editor's preview show the query of a first build.
-#}
{%- macro _nothing_new() -%}
    {%- do spark_cdc._note_state('nothing_new') -%}
    {{- return('select * from ' ~ this ~ ' where false') -}}
{%- endmacro -%}
