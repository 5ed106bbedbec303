{#-
    For a messages model; by default the test warns. A row returned is a column in the messages of a source table, if changes
    models read the table and none of them declares the column. The reason has the line to paste into `columns`. The project's
    graph shows which changes models there are and what they declare.

    ignored   columns that are not to be declared, by table as the test names it: {'shop.orders': ['note'], 'shop.tmp_*': ['*']}
-#}
{%- test no_undeclared_columns(model, ignored=none) -%}
    {%- do config(severity='warn') -%}
    {%- do spark_cdc._require_ignored_columns(ignored) -%}
    {%- do spark_cdc._require_model(
        'no_undeclared_columns', 'a model made by spark_cdc.messages,',
        ['format', 'kind'] + spark_cdc._names_of_a_table() + ['column_types', 'rows'], model
    ) -%}
    {%- set query = adapter.dispatch('test_no_undeclared_columns', 'spark_cdc')(model, ignored or {}) -%}
    {{- return(spark_cdc._with_reasons('no_undeclared_columns', query, ['first_at', 'last_at', 'rows'])) -}}
{%- endtest -%}

{%- macro default__test_no_undeclared_columns(model, ignored) -%}
    {%- do spark_cdc._only_spark('no_undeclared_columns') -%}
{%- endmacro -%}

{%- macro spark__test_no_undeclared_columns(model, ignored) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- set found = spark_cdc._models_upstream(model, 'messages') -%}
    {%- if found | length != 1 -%}
        {%- do spark_cdc._raise(
            'no_undeclared_columns', 'model', 'a model made by spark_cdc.messages'
            ~ (', without a `where`' if model is not mapping else ''),
            spark_cdc._show(spark_cdc._name_of_relation(model)), 'Put the test on the messages model itself.'
        ) -%}
    {%- endif -%}
    {%- set is_ignored = [] -%}
    {%- for table, names in ignored.items() -%}
        {%- set is_name = [] -%}
        {%- for name in names -%}
            {%- do is_name.append(spark_cdc._has_name('column_name', name) if name != '*' else 'true') -%}
        {%- endfor -%}
        {%- set is_table = spark_cdc._has_name(spark_cdc._name_in_words(), table) if table != '*' else 'true' -%}
        {%- do is_ignored.append(is_table ~ ' and (' ~ is_name | join(' or ') ~ ')') -%}
    {%- endfor -%}
select
    *,
    concat(
        'no changes model declares a column of ', {{ spark_cdc._name_in_words() }}, ': ',
        -- a name may be any text of a message: only a plain one is logged
        if(column_name rlike r'^[\p{L}\p{N}_]{1,64}\z', coalesce(line, column_name), 'its name is in the row'),
        coalesce(concat(' (', note, ')'), '')
    ) as reason
from ({{ spark_cdc._undeclared_columns(model, found[0], spark_cdc._readers_of(found[0], ['changes'])) | indent(4) }}
)
where not coalesce({{ is_ignored | join(' or ') or 'false' }}, false)
{%- endmacro -%}

{%- macro _require_ignored_columns(ignored) -%}
    {%- set wrong = [] -%}
    {%- for table in (ignored if ignored is mapping else [])
        if not spark_cdc._is_list(ignored[table]) or not ignored[table] or table is not string
            or ignored[table] | reject('string') | list -%}
        {%- do wrong.append(table) -%}
    {%- endfor -%}
    {%- if ignored is not none and (ignored is not mapping or wrong) -%}
        {%- do spark_cdc._raise(
            'no_undeclared_columns', 'ignored', 'a mapping of tables to lists of columns, such as {\'shop.orders\': [\'note\']}',
            spark_cdc._show(ignored), 'Write each table as the test names it: database, schema and table with dots between.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
