{#-
    A sentence about what a run did to a model's table: dbt shows the message of the statement `main` in its own line of the
    model, instead of Spark's OK, and keeps it in run_results.json. It has counts, error codes and names that models declare,
    and nothing of a message. `rebuilt_for`: the names of the differences for which the table was built again.
-#}
{%- macro _show_outcome(outcome, rebuilt_for='') -%}
    {%- set message = ('rebuilt for ' ~ rebuilt_for ~ ', ' if rebuilt_for else '') ~ outcome -%}
    {#- dbt's defaults of the other two are types, which its log cannot write -#}
    {%- do store_raw_result(name='main', message=message, code=none, rows_affected=none) -%}
{%- endmacro -%}

{#- For a `cdc_append`, after its rows were written. -#}
{%- macro _outcome_of_log(relation, is_nothing_new) -%}
    {%- set kind = spark_cdc._kind_of(model) -%}
    {%- if is_nothing_new -%}
        {{- return('nothing new') -}}
    {%- elif kind == 'messages' -%}
        {{- return(spark_cdc._outcome_of_messages(relation)) -}}
    {%- elif kind == 'changes' -%}
        {{- return(spark_cdc._outcome_of_changes(relation)) -}}
    {%- endif -%}
    {{- return(spark_cdc._outcome_of_reconciliation(relation, kind == 'run_summary')) -}}
{%- endmacro -%}

{#- A message is unrouted if no changes model of the project reads its table. -#}
{%- macro _outcome_of_messages(relation) -%}
    {%- set is_routed = [] -%}
    {%- for reader in spark_cdc._readers_of(model, ['changes']) -%}
        {%- do is_routed.append(spark_cdc._condition_of(reader)) -%}
    {%- endfor -%}
    {%- set query -%}
        select
            case
                when error is not null then 'rejected'
                when kind not in ('rows', 'truncate') then 'control'
                when coalesce({{ is_routed | join(' or ') or 'false' }}, false) then 'routed'
                else 'unrouted'
            end as outcome,
            error.code as code,
            count(*) as rows
        from {{ relation }}
        where {{ spark_cdc._is_of_this_run('loaded_at') }}
        group by 1, 2
        order by rows desc, code
    {%- endset -%}
    {{- return(spark_cdc._counted_in_words(query, ['routed', 'control', 'unrouted', 'rejected'])) -}}
{%- endmacro -%}

{%- macro _outcome_of_changes(relation) -%}
    {%- set query -%}
        select if(_cdc_error is null, 'read', 'rejected') as outcome, _cdc_error.code as code, count(*) as rows
        from {{ relation }}
        where {{ spark_cdc._is_of_this_run('_cdc_loaded_at') }}
        group by 1, 2
        order by rows desc, code
    {%- endset -%}
    {{- return(spark_cdc._counted_in_words(query, ['rejected'], 'row change')) -}}
{%- endmacro -%}

{#- For a run ledger or a run summary: the rows of this run, which are few. -#}
{%- macro _outcome_of_reconciliation(relation, has_details) -%}
    {%- set outcomes = ['read'] + spark_cdc._outcome_names() -%}
    {%- set query -%}
        select
            {%- for outcome in outcomes %}
            sum({{ outcome }}),
            {%- endfor %}
            {%- if has_details %}
            array_join(array_sort(array_distinct(flatten(collect_list(map_keys(rejected_codes))))), ', '),
            -- a message's own words: what is no plain name is counted only
            array_join(array_sort(filter(
                array_distinct(flatten(collect_list(undeclared_columns))), name -> name rlike '^[\\p{L}\\p{N}_]{1,64}\\z'
            )), ', '),
            sum(size(undeclared_columns))
            {%- else %}
            null,
            null,
            0
            {%- endif %}
        from {{ relation }}
        where {{ spark_cdc._is_of_this_run('loaded_at') }}
    {%- endset -%}
    {%- set found = run_query(spark_cdc._step_of_outcome() ~ query).rows[0].values() | list -%}
    {%- if not found[0] -%}
        {{- return('nothing new') -}}
    {%- endif -%}
    {%- set codes, names, undeclared = found[-3:] -%}
    {%- set parts = [] -%}
    {%- for outcome in outcomes[1:] -%}
        {%- set count = (found[loop.index] or 0) | int -%}
        {%- if count -%}
            {%- do parts.append(count ~ ' ' ~ outcome ~ (' (' ~ codes ~ ')' if outcome == 'rejected' and codes else '')) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if undeclared -%}
        {%- do parts.append(spark_cdc._number_of(undeclared | int, 'undeclared column') ~ (' (' ~ names ~ ')' if names else '')) -%}
    {%- endif -%}
    {{- return(found[0] | int ~ ' read' ~ (': ' ~ parts | join(', ') if parts else '')) -}}
{%- endmacro -%}

{#- For a current or history table. `rows` is what its MERGE wrote, as `_rows_to_merge` returns it. -#}
{%- macro _outcome_of_table(target_relation, read, is_build, rows) -%}
    {%- set pending = read.pending -%}
    {%- set rejected = pending.count - pending.good if pending else 0 -%}
    {%- set rejects = [rejected ~ ' rejected'] if rejected else [] -%}
    {%- if is_build -%}
        {#- answered from the metadata of the table that this run created -#}
        {%- set built = run_query(spark_cdc._step_of_outcome() ~ 'select count(*) from ' ~ target_relation).rows[0][0] | int -%}
        {%- set changes = spark_cdc._number_of(pending.count if pending else 0, 'row change') -%}
        {{- return(changes ~ ': ' ~ ([spark_cdc._number_of(built, 'row') ~ ' built'] + rejects) | join(', ')) -}}
    {%- elif pending is none -%}
        {{- return('nothing new') -}}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- set count = (rows or {}).get('count') -%}
    {%- if count -%}
        {%- set most = spark_cdc._most_listed_keys() -%}
        {%- do parts.append(('more than ' if count > most) ~ spark_cdc._number_of([count, most] | min, 'row') ~ ' merged') -%}
    {%- else -%}
        {%- do parts.append(pending.good ~ ' applied' if rows else 'nothing to merge') -%}
    {%- endif -%}
    {%- set again = ', all of them read again' if read.condition == 'true' else '' -%}
    {{- return(spark_cdc._number_of(pending.count, 'row change') ~ again ~ ': ' ~ (parts + rejects) | join(', ')) -}}
{%- endmacro -%}

{#- From a query of outcome, code and rows: '15 read: 12 routed, 3 rejected (broken_json 2, unknown_op 1)'. -#}
{%- macro _counted_in_words(query, outcomes, what=none) -%}
    {%- set counts, codes, parts = {}, [], [] -%}
    {%- for row in run_query(spark_cdc._step_of_outcome() ~ query).rows -%}
        {%- do counts.update({row[0]: counts.get(row[0], 0) + row[2] | int}) -%}
        {%- if row[1] is not none -%}
            {%- do codes.append(row[1] ~ ' ' ~ row[2] | int) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for outcome in outcomes if outcome in counts -%}
        {%- do parts.append(counts[outcome] ~ ' ' ~ outcome ~ (' (' ~ codes | join(', ') ~ ')' if outcome == 'rejected')) -%}
    {%- endfor -%}
    {%- set count = counts.values() | sum -%}
    {%- if not count -%}
        {{- return('nothing new') -}}
    {%- endif -%}
    {%- set read = spark_cdc._number_of(count, what) if what else count ~ ' read' -%}
    {{- return(read ~ (': ' ~ parts | join(', ') if parts)) -}}
{%- endmacro -%}

{%- macro _number_of(count, noun) -%}
    {{- return(count ~ ' ' ~ noun ~ ('s' if count != 1 else '')) -}}
{%- endmacro -%}

{#- Condition on the rows that this run has appended. They are in files of their own, so the lake opens no other file. -#}
{%- macro _is_of_this_run(loaded_at) -%}
    {{- return(spark_cdc._of_this_run(loaded_at ~ ' = ' ~ spark_cdc._loaded_at(), loaded_at)) -}}
{%- endmacro -%}
