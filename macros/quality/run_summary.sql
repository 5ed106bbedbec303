{#-
    The run ledger with its reasons: the messages that each run read and their outcomes when the run ended, the error codes of
    the rejected ones, and the columns that the messages have and no changes model declares. One row is one run (`loaded_at`:
    when it began), topic and source table.

    For a `cdc_append` model that runs after the current tables, like `run_ledger`. dbt's own line of the model sums the run up
    in one line. Only the messages have the names of the columns, so it reads the new ones a second time.

    messages, changes, current  as for `reconciliation`

    rejected_codes      map of code to messages; a message with several errors counts under each
    undeclared_columns  array of names, for a table that some changes model reads; the messages of a table that none reads are
                        `unrouted`
-#}
{%- macro run_summary(messages=none, changes=none, current=none) -%}
    {%- do spark_cdc._require_arguments('run_summary', varargs, kwargs, ['messages', 'changes', 'current']) -%}
    {%- do spark_cdc._require_relations('run_summary', {'messages': messages, 'changes': changes, 'current': current}) -%}
    {%- do spark_cdc._note_kind('run_summary') -%}
    {{- return(adapter.dispatch('run_summary', 'spark_cdc')(messages, changes, current)) -}}
{%- endmacro -%}

{%- macro default__run_summary(messages, changes, current) -%}
    {%- do spark_cdc._only_spark('run_summary') -%}
{%- endmacro -%}

{%- macro spark__run_summary(messages, changes, current) -%}
    {%- set places = ['loaded_at', 'topic'] + spark_cdc._names_of_a_table() -%}
    {%- set runs = spark_cdc._runs_to_enter(messages) -%}
    {%- if runs.are_none -%}
        {{- return(spark_cdc._nothing_new()) -}}
    {%- endif -%}
with {{ spark_cdc._message_outcome_ctes(messages, changes, current, runs.since) }},

new_outcomes as (

    select *
    from message_outcomes
    {%- if spark_cdc._is_incremental_run() %}
    where not exists (select 1 from {{ this }} as entered where entered.loaded_at = message_outcomes.loaded_at)
    {%- endif %}

),

counts_by_code as (

    select
        {{ places | join(', ') }},
        code,
        count(*) as messages,
        -- a message with several codes is one message
        count_if(coalesce(place, 0) = 0) as read,
        {%- for outcome in spark_cdc._outcome_names() %}
        count_if(coalesce(place, 0) = 0 and outcome = '{{ outcome }}') as {{ outcome }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        select *
        from new_outcomes
        lateral view outer posexplode(case when outcome = 'rejected' then codes end) exploded as place, code
    )
    group by {{ places | join(', ') }}, code

),

counts as (

    select
        {{ places | join(', ') }},
        sum(read) as read,
        {%- for outcome in spark_cdc._outcome_names() %}
        sum({{ outcome }}) as {{ outcome }},
        {%- endfor %}
        map_from_entries(array_sort(collect_list(struct(code, messages)) filter (where code is not null))) as rejected_codes
    from counts_by_code
    group by {{ places | join(', ') }}

),

carried as (

    {{ spark_cdc._carried_names(messages, places) | indent(4) }}

),

undeclared as (

    select {{ places | join(', ') }}, array_sort(collect_set(name)) as undeclared_columns
    from carried
    where {{ spark_cdc._is_undeclared(changes) | indent(4) }}
    group by {{ places | join(', ') }}

)

select
    counts.*,
    coalesce(undeclared.undeclared_columns, cast(array() as array<string>)) as undeclared_columns
from counts
left join undeclared
    on {% for place in places %}{{ ' and ' if not loop.first }}counts.{{ place }} <=> undeclared.{{ place }}{% endfor %}
{%- endmacro -%}

{#- Query: the names of the columns in the new messages of each source table. -#}
{%- macro _carried_names(messages, places) -%}
    {%- set queries = [] -%}
    {%- for relation in messages -%}
        {%- for node in spark_cdc._models_upstream(relation, 'messages') -%}
            {%- do queries.append(spark_cdc._carried_names_of(node.relation_name, places)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not queries -%}
        {%- do queries.append(
            'select loaded_at, topic, database_name, schema_name, table_name, cast(null as string) as name from new_outcomes where false'
        ) -%}
    {%- endif -%}
    {{- return(queries | join('\n\nunion all\n\n')) -}}
{%- endmacro -%}

{%- macro _carried_names_of(relation, places) -%}
    {%- set is_new = ' and loaded_at not in (select loaded_at from ' ~ this ~ ')' if spark_cdc._is_incremental_run() else '' -%}
select distinct {{ places | join(', ') }}, name
from {{ relation }}
lateral view explode(rows) exploded as row
lateral view explode({{ spark_cdc._names_in_row() | indent(4) }}) exploded_names as name
where kind = 'rows'{{ is_new }}
{%- endmacro -%}

{#- Condition on a column of a source table: changes models read the table, and none of them declares the column. -#}
{%- macro _is_undeclared(changes) -%}
    {%- set is_read, readers = [], [] -%}
    {%- for relation in changes -%}
        {%- do readers.extend(spark_cdc._models_upstream(relation, 'changes')) -%}
    {%- endfor -%}
    {%- for node in readers -%}
        {%- do is_read.append(spark_cdc._condition_of(node)) -%}
    {%- endfor -%}
    {%- if not is_read -%}
        {{- return('false') -}}
    {%- endif -%}
    {{- return(
        'coalesce(' ~ is_read | join(' or ') ~ ', false)\nand not array_contains(' ~ spark_cdc._declared_names(readers) ~ ', name)'
    ) -}}
{%- endmacro -%}
