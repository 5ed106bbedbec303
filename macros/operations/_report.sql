{#-
    What `spark-cdc report` asks, each as rows for the Python part (see `_rows_as_json`): counts, times, offsets, error codes and
    names. Nothing of a row's values, no key and no text of a statement. `messages`, `changes` and `current` are lists of names of
    models that are built.
-#}

{#- The models that are tables, and whether each is there. dbt's list of relations lacks Iceberg's views. -#}
{%- macro _report_tables_there() -%}
    {%- for node in spark_cdc._models_of(['messages', 'changes', 'cdc_current', 'cdc_history']).values()
        if not spark_cdc._is_view(node) -%}
        {%- do spark_cdc._log_row(tojson({'name': node.name, 'is_built': spark_cdc._table_of(node) is not none})) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Raises an error if Spark cannot read one of the models. -#}
{%- macro _report_readable(models) -%}
    {%- set queries = [] -%}
    {%- for relation in spark_cdc._report_relations(models) -%}
        {%- do queries.append('select 1 as one from ' ~ relation ~ ' where false') -%}
    {%- endfor -%}
    {%- do run_query(queries | join(' union all ')) -%}
{%- endmacro -%}

{%- macro _report_relations(names) -%}
    {%- set found, relations = spark_cdc._models_of(['messages', 'changes', 'cdc_current', 'cdc_history']), [] -%}
    {%- for name in names -%}
        {%- do relations.append(found[name].relation_name) -%}
    {%- endfor -%}
    {{- return(relations) -}}
{%- endmacro -%}

{#-
    Query: the row changes that models have, with their source tables and times. The rows of a message that landed twice count
    once; so does an update in two messages.
-#}
{%- macro _report_row_changes(messages, changes) -%}
    {%- set queries, found = [], spark_cdc._models_of(['messages', 'changes']) -%}
    {%- for name in messages -%}
        {%- set node = found[name] -%}
        {%- set is_read, readers = [], [] -%}
        {%- for reader in spark_cdc._readers_of(node, ['changes']) -%}
            {%- do is_read.append(spark_cdc._condition_of(reader)) -%}
        {%- endfor -%}
        {%- set query -%}
select
    {{ spark_cdc._literal(name) }} as model,
    topic,
    database_name,
    schema_name,
    table_name,
    at,
    coalesce({{ is_read | join(' or ') or 'false' }}, false) as is_routed,
    explode(ops) as op
from (
    select
        topic,
        database_name,
        schema_name,
        table_name,
        coalesce(committed_at, timestamp) as at,
        case kind
            when 'truncate' then array('truncate')
            when 'rows' then transform(
                filter(rows, row -> not row.update_part <=> 'before'), row -> coalesce(row.op, 'unknown')
            )
        end as ops,
        {{ spark_cdc._number_of_copy() }} as copy
    from {{ node.relation_name }}
)
where copy = 1
        {%- endset -%}
        {%- do queries.append(query) -%}
    {%- endfor -%}
    {#- changes models over raw tables, without a messages model -#}
    {%- for name in changes -%}
        {%- set noted = found[name].config.meta['spark_cdc.arguments'] -%}
        {%- set names = [] -%}
        {%- for part in ['database', 'schema', 'table'] -%}
            {%- set is_name = noted[part] and '*' not in noted[part] -%}
            {%- do names.append(spark_cdc._literal(noted[part]) if is_name else 'cast(null as string)') -%}
        {%- endfor -%}
        {%- set query -%}
select
    {{ spark_cdc._literal(name) }} as model,
    _cdc_topic as topic,
    {{ names[0] }} as database_name,
    {{ names[1] }} as schema_name,
    {{ names[2] }} as table_name,
    _cdc_committed_at as at,
    true as is_routed,
    _cdc_op as op
from {{ found[name].relation_name }}
where _cdc_op is not null and not _cdc_error.code <=> 'unpaired_update'
        {%- endset -%}
        {%- do queries.append(query) -%}
    {%- endfor -%}
    {{- return(queries | join('\n\nunion all\n\n')) -}}
{%- endmacro -%}

{#- The time of the newest row change that is not in the future, and of the oldest one. -#}
{%- macro _report_extent(messages, changes) -%}
    {%- set queries = [] -%}
    {%- for relation in spark_cdc._report_relations(messages) -%}
        {%- do queries.append(
            'select coalesce(committed_at, timestamp) as at from ' ~ relation ~ " where kind in ('rows', 'truncate')"
        ) -%}
    {%- endfor -%}
    {%- for relation in spark_cdc._report_relations(changes) -%}
        {%- do queries.append('select _cdc_committed_at as at from ' ~ relation ~ ' where _cdc_op is not null') -%}
    {%- endfor -%}
    {%- do spark_cdc._rows_as_json(
        'select unix_seconds(current_timestamp()) as now, unix_seconds(cast(min(at) as timestamp)) as oldest,'
        ~ ' unix_seconds(cast(max(case when at <= current_timestamp() then at end) as timestamp)) as newest from ('
        ~ queries | join(' union all ') ~ ')'
    ) -%}
{%- endmacro -%}

{#-
    One row for each topic and source table: its row changes by op, and by op and period. Periods are numbered from `begin`, in
    seconds of the epoch; a change outside of all periods has none.
-#}
{%- macro _report_tables(messages, changes, begin, seconds, periods) -%}
    {%- set query -%}
with row_changes as (

    {{ spark_cdc._report_row_changes(messages, changes) | indent(4) }}

),

numbered as (

    select *, cast(floor((unix_seconds(cast(at as timestamp)) - {{ begin }}) / {{ seconds }}) as int) as period
    from row_changes

),

counted as (

    select
        model, topic, database_name, schema_name, table_name, op, is_routed,
        case when period between 0 and {{ periods - 1 }} then period end as period,
        count(*) as rows,
        max(at) as last_at
    from numbered
    group by 1, 2, 3, 4, 5, 6, 7, 8

)

select
    model, topic, database_name, schema_name, table_name, is_routed,
    max(last_at) as last_at,
    collect_list(struct(op, period, rows)) as counts
from counted
group by 1, 2, 3, 4, 5, 6
    {%- endset -%}
    {%- do spark_cdc._rows_as_json(query) -%}
{%- endmacro -%}

{#- The newest runs: `loaded_at` is when a run began, and the messages that it read. -#}
{%- macro _report_runs(messages, runs) -%}
    {%- set queries = [] -%}
    {%- for relation in spark_cdc._report_relations(messages) -%}
        {%- do queries.append('select loaded_at, topic, kind, error from ' ~ relation) -%}
    {%- endfor -%}
    {%- do spark_cdc._rows_as_json(
        'select loaded_at, count(*) as messages, count(distinct topic) as topics, count_if(error is not null) as rejected from ('
        ~ queries | join(' union all ') ~ ') group by loaded_at order by loaded_at desc limit ' ~ runs
    ) -%}
{%- endmacro -%}

{%- macro _report_lag(messages, current) -%}
    {%- do spark_cdc._rows_as_json(spark_cdc.lag(
        messages=spark_cdc._report_relations(messages), current=spark_cdc._report_relations(current)
    )) -%}
{%- endmacro -%}

{#-
    The changes models that have rejected rows: `_report_rejected` asks these alone. Some models at once, because
    Spark plans the query of a hundred views for long.
-#}
{%- macro _report_with_errors(changes) -%}
    {%- set found = spark_cdc._models_of(['changes']) -%}
    {%- for names in changes | batch(25) -%}
        {%- set queries = [] -%}
        {%- for name in names -%}
            {%- do queries.append(
                '(select ' ~ spark_cdc._literal(name) ~ ' as name from ' ~ found[name].relation_name
                ~ ' where _cdc_error is not null limit 1)'
            ) -%}
        {%- endfor -%}
        {%- do spark_cdc._rows_as_json(queries | join(' union all ')) -%}
    {%- endfor -%}
{%- endmacro -%}

{#-
    The rejected messages by code and source table, with the newest of each and its detail; and one row of all, because a message
    with several errors counts once there.
-#}
{%- macro _report_rejected(messages, changes) -%}
    {%- set acknowledged = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
        {%- do acknowledged.extend((node.config.meta or {}).get('spark_cdc.acknowledged', [])) -%}
    {%- endfor -%}
    {%- set query -%}
with rejected as (

    {{ adapter.dispatch('dead_letters', 'spark_cdc')(
        spark_cdc._report_relations(messages), spark_cdc._report_relations(changes), acknowledged
    ) | indent(4) }}

)

select
    grouping(code) = 1 as is_total,
    code,
    database_name,
    schema_name,
    table_name,
    count(distinct struct(topic, partition, offset, timestamp)) as messages,
    count(distinct detail) as details,
    max(timestamp) as last_at,
    max(struct(timestamp, offset, topic, partition, detail, model)) as newest
from rejected
where state = 'open'
group by grouping sets ((code, database_name, schema_name, table_name), ())
    {%- endset -%}
    {%- do spark_cdc._rows_as_json(query) -%}
{%- endmacro -%}

{#-
    Rejected rows of changes models that read raw tables directly: they are the models' own. Each model has the messages that could
    not be read, whose rows name no model here; and one row of all counts each message once.
-#}
{%- macro _report_rejected_of_changes(changes) -%}
    {%- set queries, found = [], spark_cdc._models_of(['changes']) -%}
    {%- for name in changes -%}
        {%- set relation = found[name].relation_name -%}
        {%- set query -%}
select distinct
    {{ spark_cdc._literal(name) }} as model, rejected._cdc_op is not null as is_readable, rejected._cdc_topic as topic,
    rejected._cdc_partition as partition, rejected._cdc_offset as offset, rejected._cdc_error.code as code,
    rejected._cdc_error.detail as detail
from {{ relation }} as rejected
where
    rejected._cdc_error is not null
    {%- for closed_by, condition in spark_cdc._ways_to_close(relation).items() %}
    and not exists (select 1 from {{ relation }} as {{ closed_by }} where {{ condition }})
    {%- endfor %}
        {%- endset -%}
        {%- do queries.append(query) -%}
    {%- endfor -%}
    {%- do spark_cdc._rows_as_json(
        'select grouping(code) = 1 as is_total, read_by as model, code, count(distinct struct(topic, partition, offset)) as messages,'
        ~ ' count(distinct detail) as details, max(struct(offset, topic, partition, detail, model)) as newest'
        ~ ' from (select *, case when is_readable then model end as read_by from (' ~ queries | join(' union all ')
        ~ ')) group by grouping sets ((read_by, code), ())'
    ) -%}
{%- endmacro -%}

{#- The newest versions of the columns of source tables, without the first of each table. -#}
{%- macro _report_schemas(messages, versions) -%}
    {%- do spark_cdc._rows_as_json(
        'select topic, database_name, schema_name, table_name, version, valid_from, known_from, difference, count(*) over () as of'
        ~ ' from (' ~ spark_cdc.source_schemas(messages=spark_cdc._report_relations(messages)) ~ ') where version > 1'
        ~ ' order by valid_from desc, topic, database_name, schema_name, table_name, version desc limit ' ~ versions
    ) -%}
{%- endmacro -%}

{#- The newest DDL messages. A statement's text is left out: it may hold a default, or a comment. -#}
{%- macro _report_ddl(messages, statements) -%}
    {%- set column -%}
concat(
    case c.change when 'add' then 'added ' when 'drop' then 'dropped ' when 'rename' then 'renamed ' else 'changed ' end,
    case when c.old_name is not null then concat(c.old_name, ' to ') else '' end,
    c.name,
    case when c.type is not null then concat(' ', c.type) else '' end
)
    {%- endset -%}
    {%- do spark_cdc._rows_as_json(
        'select topic, database_name, schema_name, table_name, coalesce(committed_at, timestamp) as at, action,'
        ~ " array_join(transform(tables, t -> concat_ws(' to ', concat_ws('.', t.qualifier, t.name), t.new_name)), ', ') as tables,"
        ~ ' array_join(transform(columns, c -> ' ~ column ~ "), '; ') as columns, count(*) over () as of"
        ~ ' from (' ~ spark_cdc.ddl_log(messages=spark_cdc._report_relations(messages)) ~ ')'
        ~ ' order by at desc, topic, partition, offset desc limit ' ~ statements
    ) -%}
{%- endmacro -%}

{%- macro _report_anomalies(messages) -%}
    {%- do spark_cdc._rows_as_json(
        'select * from (' ~ spark_cdc.topic_anomalies(messages=spark_cdc._report_relations(messages))
        ~ ') order by topic, partition, offset'
    ) -%}
{%- endmacro -%}

{#- One query for each messages model, as the operation `undeclared_columns` has it. -#}
{%- macro _report_undeclared(messages) -%}
    {%- set found = spark_cdc._models_of(['messages']) -%}
    {%- for name in messages -%}
        {%- set node = found[name] -%}
        {%- set readers = spark_cdc._readers_of(node, ['changes']) -%}
        {%- if readers -%}
            {%- do spark_cdc._rows_as_json(
                'select database_name, schema_name, table_name, column_name, line, note, rows, last_at, changes_models from ('
                ~ spark_cdc._undeclared_columns(node.relation_name, node, readers)
                ~ ') order by database_name, schema_name, table_name, column_name'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
