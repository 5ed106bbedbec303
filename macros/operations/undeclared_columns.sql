{#-
    dbt run-operation spark_cdc.undeclared_columns --args '{model: stg_shop__orders_changes}'

    Prints the columns that the messages of a changes model carry and the model does not declare, each as a line to paste into
    `columns`, and the declared columns that no message carries, or none since when. It reads all messages of the table.

    The type is that of the message's own type, by the type codes of this package, where the message names one and the package's
    Python half is installed; or else string, which keeps every text.
-#}
{%- macro undeclared_columns(model=none) -%}
    {%- do spark_cdc._require_arguments('undeclared_columns', varargs, kwargs, ['model']) -%}
    {%- set node = spark_cdc._model_named('undeclared_columns', model, ['changes']) -%}
    {{- return(adapter.dispatch('undeclared_columns', 'spark_cdc')(node)) -}}
{%- endmacro -%}

{%- macro default__undeclared_columns(node) -%}
    {%- do spark_cdc._only_spark('undeclared_columns') -%}
{%- endmacro -%}

{%- macro spark__undeclared_columns(node) -%}
    {%- do spark_cdc._require_built_messages(node) -%}
    {%- set undeclared, missing = [], [] -%}
    {%- for row in run_query(render(node.raw_code)).rows -%}
        {%- set seen = 'in ' ~ row['rows'] | int ~ ' rows, last at ' ~ row['last_at'] ~ ' (partition ' ~ row['last_partition'] | int
            ~ ', offset ' ~ row['last_offset'] | int ~ ')' if row['rows'] else 'in no row' -%}
        {%- if not row['is_declared'] -%}
            {%- do undeclared.append("    '" ~ row['name'] ~ "': '" ~ spark_cdc._declarable_type(row['type']) ~ "',  # " ~ seen) -%}
        {%- elif not row['is_in_last'] -%}
            {%- do missing.append('    `' ~ row['name'] ~ '` ' ~ seen) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do print('spark_cdc.undeclared_columns: ' ~ node.name ~ ' does not declare ' ~ undeclared | length ~ ' columns of its messages'
        ~ (':' if undeclared else '.')) -%}
    {%- for line in undeclared -%}{%- do print(line) -%}{%- endfor -%}
    {%- if missing -%}
        {%- do print('Its last row lacks ' ~ missing | length ~ ' declared columns:') -%}
        {%- for line in missing -%}{%- do print(line) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_built_messages(node) -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- set read = graph.nodes[id] -%}
        {%- if read.config.materialized != 'ephemeral'
            and adapter.get_relation(database=read.database, schema=read.schema, identifier=read.alias) is none -%}
            {%- do spark_cdc._raise(
                'undeclared_columns', 'model', 'a model over messages that are there',
                spark_cdc._show(node.name) ~ ', which reads ' ~ spark_cdc._show(read.name),
                'Run dbt run --select ' ~ read.name ~ ' first.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _declarable_type(type) -%}
    {%- set type = type or 'string' -%}
    {%- set type = type | replace(')', ',0)') if type[:8] == 'decimal(' and ',' not in type else type -%}
    {{- return(type if type.split('(')[0] in spark_cdc._type_families() else 'string') -}}
{%- endmacro -%}
