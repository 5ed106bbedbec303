{#-
    dbt run-operation spark_cdc.undeclared_columns

    Prints, for each changes model over a messages model, the columns in the messages of its tables that no changes model of
    these tables declares: first lines to paste into `columns`, then a note on each column. One query for each messages model.

    models  names of changes models; all of them if left out

    If the messages name a type and the package's Python part is installed, the type follows from it, by the type codes of this
    package. Otherwise the type is string, which keeps every text.

    The lines have no comments: Jinja rejects comments inside a mapping.
-#}
{%- macro undeclared_columns(models=none) -%}
    {%- do spark_cdc._require_arguments('undeclared_columns', varargs, kwargs, ['models']) -%}
    {%- set nodes = spark_cdc._models_named('undeclared_columns', models, ['changes']) -%}
    {{- return(adapter.dispatch('undeclared_columns', 'spark_cdc')(nodes)) -}}
{%- endmacro -%}

{%- macro default__undeclared_columns(nodes) -%}
    {%- do spark_cdc._only_spark('undeclared_columns') -%}
{%- endmacro -%}

{%- macro spark__undeclared_columns(nodes) -%}
    {%- set found = {} -%}
    {%- for node in nodes -%}
        {%- set sources, unbuilt, columns = spark_cdc._messages_read_by(node), [], {} -%}
        {%- for messages in sources.values() -%}
            {#- dbt's list of relations lacks Iceberg's views: if a view is missing, Spark's own error says so. -#}
            {%- if not spark_cdc._is_view(messages)
                and adapter.get_relation(database=messages.database, schema=messages.schema, identifier=messages.alias) is none -%}
                {%- do unbuilt.append(messages.name) -%}
            {%- elif messages.unique_id not in found -%}
                {%- do found.update({messages.unique_id: run_query(
                    'select * from (' ~ spark_cdc._undeclared_columns(
                        messages.relation_name, messages, spark_cdc._readers_of(messages, ['changes'])
                    ) ~ ') order by column_name, database_name, schema_name, table_name'
                ).rows}) -%}
            {%- endif -%}
            {%- for row in found.get(messages.unique_id, []) if node.name in row['changes_models'].split(', ') -%}
                {%- do columns.setdefault(row['column_name'], []).append(row) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- if not sources -%}
            {%- do print('spark_cdc.undeclared_columns: ' ~ node.name ~ ' reads raw messages: make a messages model of them, and let it '
                ~ 'read that one, `messages=ref(...)`. The columns of messages are known from messages models.') -%}
        {%- elif unbuilt -%}
            {%- do print('spark_cdc.undeclared_columns: ' ~ node.name ~ ' reads ' ~ unbuilt | join(', ') ~ ', which is not there as a '
                ~ 'table. Run dbt run --select ' ~ unbuilt | join(' ') ~ ' first.') -%}
        {%- else -%}
            {%- do spark_cdc._print_columns(node, columns) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Messages models that a changes model reads, directly or through views, by id. -#}
{%- macro _messages_read_by(node) -%}
    {%- set found = {} -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- for messages in spark_cdc._nodes_upstream(graph.nodes[id], 'messages') -%}
            {%- do found.update({messages.unique_id: messages}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#- `columns` maps a name to its rows of `_undeclared_columns`, one for each source table of the model. -#}
{%- macro _print_columns(node, columns) -%}
    {%- set lines, known = [], [] -%}
    {%- for name, rows in columns.items() -%}
        {%- set tables_lines = rows | map(attribute='line') | unique(case_sensitive=true) | list -%}
        {%- if tables_lines[0] is not none -%}
            {#- if the tables have different types, only a text fits all values -#}
            {%- do lines.append(tables_lines[0] if tables_lines | length == 1 else tables_lines[0].rsplit(': ', 1)[0] ~ ": 'string'") -%}
        {%- endif -%}
        {%- for row in rows -%}
            {%- set table = [row['database_name'], row['schema_name'], row['table_name']] | select | join('.') -%}
            {%- do known.append(
                spark_cdc._in_one_line(name) ~ (' of ' ~ spark_cdc._in_one_line(table) if table)
                ~ (': ' ~ spark_cdc._in_one_line(row['vendor_type']) if row['vendor_type']) ~ ' in '
                ~ spark_cdc._number_of(row['rows'] | int, 'row') ~ ', first at ' ~ row['first_at'] ~ ', last at ' ~ row['last_at']
                ~ ('; ' ~ spark_cdc._in_one_line(row['note']) if row['note'])
                ~ ('; string, because the types of the tables differ' if tables_lines | length > 1)
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do print('spark_cdc.undeclared_columns: ' ~ node.name ~ ' does not declare '
        ~ spark_cdc._number_of(columns | length, 'column') ~ ' of its messages'
        ~ (':' if columns else '.')) -%}
    {%- for line in lines -%}{%- do print('    ' ~ line ~ ',') -%}{%- endfor -%}
    {%- for line in known -%}{%- do print('  ' ~ line) -%}{%- endfor -%}
{%- endmacro -%}

{#- A message's text for a terminal: unprintable characters as Python writes them, cut after 100 characters. -#}
{%- macro _in_one_line(text) -%}
    {%- set characters = [] -%}
    {%- for character in text[:100] -%}
        {%- do characters.append(character if character.isprintable() else character.encode('unicode_escape').decode()) -%}
    {%- endfor -%}
    {{- return(characters | join ~ ('...' if text | length > 100 else '')) -}}
{%- endmacro -%}
