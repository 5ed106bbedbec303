{#-
    One row for each DDL message: position, commit time, source table, statement, and what the statement does.

    messages  list of models made by `messages`, or of views over them

    action          create, alter, drop, rename or truncate of tables; `other` for a statement about something else; `unknown` if it
                    is not certain what the statement does. The statement is there in any case
    is_conditional  the statement has IF EXISTS or IF NOT EXISTS, and may have done nothing
    tables          tables that the statement names, in its own letters: qualifier, name, new_name
    columns         columns that it adds, changes, renames or drops: change, name, old_name, type, nullable. Empty if it changes
                    none, and null if they are not known. A field is null if the statement does not say it

    A message that landed twice is one row, with the smaller `loaded_at`.

    The Python function cdc_ddl reads the statements. A view and a Thrift server cannot call it: the action is then that of the
    statement's first two words, and `is_conditional`, `tables` and `columns` are null. A rejected DDL message is in `dead_letters`.
-#}
{%- macro ddl_log(messages=none) -%}
    {%- do spark_cdc._require_arguments('ddl_log', varargs, kwargs, ['messages']) -%}
    {%- do spark_cdc._require_relations('ddl_log', {'messages': messages}) -%}
    {{- return(adapter.dispatch('ddl_log', 'spark_cdc')(messages)) -}}
{%- endmacro -%}

{%- macro default__ddl_log(messages) -%}
    {%- do spark_cdc._only_spark('ddl_log') -%}
{%- endmacro -%}

{%- macro spark__ddl_log(messages) -%}
with {{ spark_cdc._statements_read_ctes(messages) }}

select
    topic,
    partition,
    offset,
    timestamp,
    committed_at,
    sequence,
    database_name,
    schema_name,
    table_name,
    op,
    statement,
    action,
    is_conditional,
    tables,
    columns,
    loaded_at
from statements_read
{%- endmacro -%}

{#- The CTE `statements_read`: the DDL messages, each with what its statement does. -#}
{%- macro _statements_read_ctes(messages) -%}
ddl_messages as (

    {%- for relation in messages %}
    {%- set nodes = spark_cdc._models_upstream(relation, 'messages') %}
    select
        topic,
        partition,
        offset,
        timestamp,
        committed_at,
        sequence,
        database_name,
        schema_name,
        table_name,
        kind,
        op,
        ddl as statement,
        {{ spark_cdc._part_of_each_format(nodes, 'sql_dialect') | indent(8) }} as sql_dialect,
        {{ spark_cdc._part_of_each_format(nodes, 'ddl_action') | indent(8) }} as ddl_action,
        loaded_at
    from {{ relation }}
    where error is null and kind in ('ddl', 'truncate')
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

-- a message that landed twice is one statement
ddl_messages_once as (

    select * except (copy)
    from (
        select *, row_number() over (partition by topic, partition, offset order by loaded_at, timestamp, statement) as copy
        from ddl_messages
    )
    where copy = 1

),

parsed_statements as (

    select *
    from ddl_messages_once
    -- explode, so that the statement is not read again for each field
    lateral view explode(array({{ spark_cdc._statement_read('statement', 'sql_dialect') | indent(4) }})) exploded as read

),

statements_read as (

    select
        * except (read, ddl_action),
        case
            when kind = 'truncate' then 'truncate'
            else coalesce(ddl_action, read.action, 'unknown')
        end as action,
        read.is_conditional as is_conditional,
        read.tables as tables,
        read.columns as columns
    from parsed_statements

)
{%- endmacro -%}

{#- No view of Spark's can call a Python function of a session. -#}
{%- macro _reads_statements() -%}
    {{- return(not spark_cdc._is_view(model) and spark_cdc._has_function('cdc_ddl')) -}}
{%- endmacro -%}

{#- SQL of a struct: what a statement does, or where there are no functions its first two words alone. -#}
{%- macro _statement_read(statement, dialect) -%}
    {%- if spark_cdc._reads_statements() -%}
        {{- return('cdc_ddl(' ~ statement ~ ', ' ~ dialect ~ ')') -}}
    {%- endif -%}
named_struct(
    'action', nullif(lower(regexp_extract({{ statement }}, r'(?i)^\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE)\s+TABLE\b', 1)), ''),
    'is_conditional', cast(null as boolean),
    'tables', cast(null as array<struct<qualifier: string, name: string, new_name: string>>),
    'columns', cast(null as array<struct<change: string, name: string, old_name: string, type: string, nullable: boolean>>)
)
{%- endmacro -%}

{#-
    SQL of a part of the header of each message's format; NULL for the formats without it, and for one that the messages models
    read as two dialects that differ in it.
-#}
{%- macro _part_of_each_format(nodes, part) -%}
    {%- set expressions = {} -%}
    {%- for node in nodes -%}
        {%- for format, dialect in node.config.meta['spark_cdc.dialect_of'].items() -%}
            {%- set expression = spark_cdc._format(format, dialect).header[part] -%}
            {%- set is_same = expressions.get(format, expression) == expression -%}
            {%- do expressions.update({format: expression if is_same else none}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set cases = [] -%}
    {%- for format, expression in expressions.items() if expression -%}
        {%- do cases.append('    when ' ~ spark_cdc._literal(format) ~ ' then ' ~ expression | trim | indent(4)) -%}
    {%- endfor -%}
    {{- return('case format\n' ~ cases | join('\n') ~ '\nend' if cases else 'cast(null as string)') -}}
{%- endmacro -%}
