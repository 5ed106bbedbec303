{#-
    All threads of a session share temporary views: dbt-spark's own names collide between schemas, so a name here includes the
    model and the run. Each macro notes what it creates in `temporaries`, for `_drop_temporaries`.
-#}
{%- macro _temporary_view(temporaries, suffix, sql) -%}
    {{- return(spark_cdc._make_view(temporaries, suffix, 'create or replace temporary view', sql)) -}}
{%- endmacro -%}

{#- Computed once and cached for this run: what a run reads more than once is small, but its plan is large. -#}
{%- macro _cached_view(temporaries, suffix, sql) -%}
    {{- return(spark_cdc._make_view(temporaries, suffix, 'cache table', sql)) -}}
{%- endmacro -%}

{%- macro _make_view(temporaries, suffix, statement_start, sql) -%}
    {%- set name = '_cdc_' ~ suffix ~ '_' ~ local_md5(model.unique_id ~ invocation_id) -%}
    {%- for view in temporaries if view.identifier == name -%}
        {{- return(view) -}}
    {%- endfor -%}
    {%- call statement('create_' ~ suffix) -%}
        {{ spark_cdc._step_of_temporary(suffix) }}
        {{ statement_start }} {{ name }} as
        {{ sql }}
    {%- endcall -%}
    {%- set view = api.Relation.create(identifier=name) -%}
    {%- do temporaries.append(view) -%}
    {{- return(view) -}}
{%- endmacro -%}

{#-
    A scratch table next to the target for the length of a run. Spark identifies a cached view by its plan, which it walks and
    prints wherever the view is read, and twice in each view that reads it: at the start of a long chain of steps, a table costs
    less. Its name includes the run: of two runs at once, neither writes the rows of the other.
-#}
{%- macro _scratch_table(temporaries, target_relation, suffix, file_format, sql) -%}
    {%- set scratch = target_relation.incorporate(path={
        'identifier': target_relation.identifier ~ '__cdc_' ~ suffix ~ '_' ~ local_md5(invocation_id)
    }) -%}
    {%- do temporaries.append(scratch) -%}
    {%- call statement('create_' ~ suffix) -%}
        {{ spark_cdc._step_of_temporary(suffix) }}
        create or replace table {{ scratch }}
        using {{ file_format }}
        {{ tblproperties_clause() }}
        as
        {{ sql }}
    {%- endcall -%}
    {{- return(scratch) -}}
{%- endmacro -%}

{%- macro _step_of_temporary(suffix) -%}
    {{- return(spark_cdc._step({
        'new': 'reading the new row changes', 'newest': 'finding the newest change of each key',
        'batch': 'reading the stored rows of the changed keys', 'operations': 'ordering changes by their keys',
        'keys': 'finding the keys to restate', 'rows': 'computing the changed rows',
    }.get(suffix, 'making a view'))) -}}
{%- endmacro -%}

{#-
    Drops the scratch tables of failed runs, which the schema has when the command comes to its first table. If such a run is still
    alive, it fails now and writes nothing.
-#}
{%- macro _drop_leftovers(target_relation) -%}
    {%- set schema = target_relation.without_identifier() -%}
    {%- set prefix = target_relation.identifier ~ '__cdc_' -%}
    {%- set temporaries = [] -%}
    {%- for row in spark_cdc._asked_once('show tables in ' ~ schema ~ " like '*__cdc_*'").rows -%}
        {%- if modules.re.fullmatch(modules.re.escape(prefix) ~ '(new|operations|rows)_[0-9a-f]{32}', row[1], modules.re.IGNORECASE) -%}
            {%- do temporaries.append(target_relation.incorporate(path={'identifier': row[1]})) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do spark_cdc._drop_temporaries(temporaries) -%}
{%- endmacro -%}

{%- macro _drop_temporaries(temporaries) -%}
    {#- in reverse order: later ones read earlier ones -#}
    {%- for temporary in temporaries | reverse -%}
        {%- call statement('drop_' ~ loop.index) -%}
            {%- if temporary.is_table -%}
            drop table if exists {{ temporary }} purge
            {%- else -%}
            drop view if exists {{ temporary }}
            {%- endif -%}
        {%- endcall -%}
    {%- endfor -%}
{%- endmacro -%}
