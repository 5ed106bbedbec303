{#- Argument checks that only the generic tests need, and the columns of the model under test. -#}

{%- macro _require_key(test, key) -%}
    {%- do spark_cdc._require_names(
        test, 'key', key, 'Name the columns that identify a row, such as key: [id].'
    ) -%}
{%- endmacro -%}

{%- macro _require_relation(test, argument, value) -%}
    {%- if value is not mapping or not value.identifier -%}
        {%- do spark_cdc._raise(
            test, argument, 'a model or a source', spark_cdc._show(value),
            'Write ' ~ argument ~ ': ref(\'...\') or ' ~ argument ~ ': source(\'...\', \'...\').'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    Columns that the test reads: without this check the user would see Spark's plan. `what` is the kind of model that has them.
-#}
{%- macro _require_model(test, what, names, relation, argument='model') -%}
    {%- if execute and flags.WHICH in ['test', 'build', 'retry'] -%}
        {%- do spark_cdc._require_found(
            test, argument, relation, names, what ~ ' with ' ~ names | unique | join(', '),
            'Put the test on such a model, or correct the names in its arguments.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_number(test, argument, value, highest=none) -%}
    {%- set is_count = highest is none -%}
    {%- if not (
        spark_cdc._is_count(value) if is_count else value is number and value is not boolean and 0 <= value <= highest
    ) -%}
        {%- do spark_cdc._raise(
            test, argument, 'a whole number from 0 on' if is_count else 'a number from 0 to ' ~ highest,
            spark_cdc._show(value), 'Leave the argument out to allow none.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- With a `where` dbt passes a query instead of the model, and a query has no columns to look up. -#}
{%- macro _columns_of_model(test, model, next_step) -%}
    {%- if model is not mapping -%}
        {%- do spark_cdc._raise(test, 'model', 'a model or a source without a `where`', 'a query', next_step) -%}
    {%- endif -%}
    {{- return(adapter.get_columns_in_relation(model)) -}}
{%- endmacro -%}

{#-
    The query of a test, which also logs its reasons: dbt shows only the number of rows. There is one line for each reason, with
    its number of rows and the place of the first one. Nothing else of a row is logged, because the rest may be values of the
    source.

    The query runs while dbt compiles the test. If it finds nothing, dbt gets it as a comment: to plan it once more can take as
    long as to run it. Only where dbt stores the rows or computes with their columns it gets the query, with `where false`.
-#}
{%- macro _with_reasons(test, query, places=[], reason='reason') -%}
    {%- if not execute or flags.WHICH not in ['test', 'build', 'retry'] -%}
        {{- return(query) -}}
    {%- endif -%}
    {%- set most_lines = 20 -%}
    {%- set first_at = 'to_json(min(struct(' ~ places | join(', ') ~ ')))' if places else "''" -%}
    {%- set found = run_query(
        'select ' ~ reason ~ ', count(*), ' ~ first_at ~ ' as first_at from (' ~ query ~ '\n) group by ' ~ reason ~ ' order by 2 desc, 1'
    ).rows -%}
    {%- set counts_rows = config.get('fail_calc', 'count(*)') == 'count(*)' -%}
    {%- set stores_rows = config.get('store_failures') or flags.STORE_FAILURES -%}
    {%- if not found and (stores_rows or not counts_rows) -%}
        {{- return('select * from (\n' ~ query ~ '\n)\n-- it was asked already, and found nothing\nwhere false') -}}
    {%- elif not found -%}
        {%- set columns = [] -%}
        {%- for name in [reason] + places -%}
            {%- do columns.append('cast(null as string) as ' ~ name) -%}
        {%- endfor -%}
        {{- return(
            '-- This was asked already, and found nothing:\n-- ' ~ query | trim | replace('\n', '\n-- ')
            ~ '\nselect ' ~ columns | join(', ') ~ '\nwhere false'
        ) -}}
    {%- endif -%}
    {%- set tested = ' on ' ~ model.attached_node.split('.')[-1] if model.attached_node else '' -%}
    {%- do log('spark_cdc.' ~ test ~ tested ~ ' found:', info=true) -%}
    {%- for row in found[:most_lines] -%}
        {%- do log(
            '    ' ~ row[1] | int ~ ' x ' ~ (row[0] or 'a row') | replace('\n', ' ') ~ (', first at ' ~ row[2] if row[2]), info=true
        ) -%}
    {%- endfor -%}
    {%- if found | length > most_lines -%}
        {%- do log('    and ' ~ (found | length - most_lines) ~ ' more reasons: --store-failures keeps all rows.', info=true) -%}
    {%- endif -%}
    {{- return(query) -}}
{%- endmacro -%}
