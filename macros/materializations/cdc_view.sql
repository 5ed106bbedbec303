{#-
    A view that a run replaces only if its query is another one than the view's: for changes models and dead letters.

    dbt's `view` replaces it in each run, and Spark then analyzes all of its SQL: a quarter of a second for each table of a topic.
    Here, too, each run replaces a view if its text alone does not say what it is: if it is more than one call of `changes` or
    `dead_letters`, such as `select *` of a model whose columns may change, or has a contract, a hook before it, or descriptions in
    the catalog.
-#}
{%- materialization cdc_view, adapter='spark' -%}
    {%- if not pre_hooks and spark_cdc._has_query(this, sql) -%}
        {%- call statement('main') -%}
            select 'the same query'
        {%- endcall -%}
        {%- do spark_cdc._show_outcome('as before') -%}
        {%- do apply_grants(this, config.get('grants'), should_revoke=true) -%}
        {{ run_hooks(post_hooks) }}
        {{- return({'relations': [this.incorporate(type='view')]}) -}}
    {%- endif -%}
    {%- set relations = create_or_replace_view() -%}
    {%- do spark_cdc._show_outcome('created') -%}
    {{- return(relations) -}}
{%- endmaterialization -%}

{#- Whether the catalog has a view of this query, as `show create table` prints it. -#}
{%- macro _has_query(relation, sql) -%}
    {%- set is_one_call = spark_cdc._is_one_call(model, 'changes') or spark_cdc._is_one_call(model, 'dead_letters') -%}
    {%- set is_text_alone = is_one_call and not config.get('contract').enforced
        and not config.persist_relation_docs() and not config.persist_column_docs() -%}
    {%- if should_full_refresh() or not is_text_alone or not spark_cdc._is_view_there(relation) -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set statement = run_query('show create table ' ~ relation).rows[0][0] | trim -%}
    {#- Spark keeps a view's text from its first word on. -#}
    {%- set query = modules.re.sub('^(?:\\s|--[^\\n]*\\n|/[*](?s:.*?)[*]/)+', '', sql) | trim -%}
    {{- return(
        statement.endswith(query) and modules.re.search('(?i)\\sas\\s*$', statement[:statement | length - query | length]) is not none
    ) -}}
{%- endmacro -%}

{#- Whether the schema has a view of this name: dbt's cache knows the views of some catalogs only if this run made them. -#}
{%- macro _is_view_there(relation) -%}
    {%- set views = spark_cdc._asked_once('show views in ' ~ relation.without_identifier()).columns -%}
    {{- return((relation.identifier, false) in zip(views['viewName'].values(), views['isTemporary'].values())) -}}
{%- endmacro -%}
