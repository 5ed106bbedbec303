{#-
    The rows that `prune` may delete, as {'query': rows, 'columns': the columns that identify them}; or {'needed_for': reason}
    if all rows are needed. `columns` maps expressions over the stored row to columns of the query.
-#}

{#-
    Messages that every reader has without an error, of a raw table or a messages model. A messages model has a row for each
    message; a changes model has one for each message of its own tables, which are those that it has messages of.
-#}
{%- macro _read_messages(node, before) -%}
    {%- set is_raw = spark_cdc._is_raw(node) -%}
    {%- set readers = spark_cdc._readers_of(node, ['messages', 'changes'] if is_raw else ['changes']) -%}
    {%- set needed_for = spark_cdc._why_all_are_needed(node, readers) -%}
    {%- if needed_for -%}
        {{- return({'needed_for': needed_for}) -}}
    {%- endif -%}
    {%- set place = spark_cdc._place_in_raw(readers[0]) if is_raw else ('topic', 'partition', 'offset') -%}
    {%- set query = spark_cdc._read_rows_of_raw(node, readers, before, place) if is_raw
        else spark_cdc._read_rows_of_messages(node, readers, before) -%}
    {{- return({
        'query': query, 'columns': {place[0]: '_cdc_topic', place[1]: '_cdc_partition', place[2]: '_cdc_offset'},
    }) -}}
{%- endmacro -%}

{#- A sentence, or none if messages may be deleted that all `readers` have read. -#}
{%- macro _why_all_are_needed(node, readers) -%}
    {%- set is_raw, kinds, places = spark_cdc._is_raw(node), [], [] -%}
    {%- for reader in readers -%}
        {%- set needed_for = spark_cdc._reads_all(reader, spark_cdc._table_of(reader), node) -%}
        {%- if needed_for -%}
            {{- return(needed_for) -}}
        {%- endif -%}
        {%- do kinds.append(spark_cdc._kind_of(reader)) -%}
        {%- do places.append(spark_cdc._place_in_raw(reader)) -%}
    {%- endfor -%}
    {%- set names = readers | map(attribute='name') | sort | join(', ') -%}
    {%- if not readers -%}
        {{- return('no ' ~ ('messages or changes model' if is_raw else 'changes model') ~ ' reads it') -}}
    {%- elif is_raw and 'changes' in kinds and readers | length > 1 -%}
        {{- return(names ~ ' read it, and which rows a changes model needs the raw table does not say. Let them read one messages '
            ~ 'model.') -}}
    {%- elif is_raw and places | unique | list | length > 1 -%}
        {{- return(names ~ ' read it with different raw_columns.') -}}
    {%- endif -%}
    {%- for id in (node.depends_on.nodes if not is_raw else []) -%}
        {%- set source = graph.sources.get(id) or graph.nodes.get(id) -%}
        {%- if spark_cdc._raw_table(source) is none -%}
            {{- return('what it reads, ' ~ source.name ~ ', is no table with the columns topic, partition, offset and timestamp, so '
                ~ 'that prune cannot know what is still there.') -}}
        {%- endif -%}
    {%- endfor -%}
    {{- return(none) -}}
{%- endmacro -%}

{#-
    The CTE `read_by` has a row for each message and each of its `readers`, which are counted from 1. The CTE `read` has a row for
    each message.
-#}
{%- macro _read_by_ctes(readers) -%}
    {%- set read_by = [] -%}
    {%- for reader in readers -%}
        {%- set table = spark_cdc._table_of(reader) -%}
        {%- if spark_cdc._kind_of(reader) == 'messages' -%}
            {%- do read_by.append(
                'select topic, partition, offset, error is not null as is_error, ' ~ loop.index ~ ' as reader from ' ~ table
            ) -%}
        {%- else -%}
            {%- do read_by.append(spark_cdc._messages_of_changes(
                table, ['_cdc_error is not null as is_error', loop.index ~ ' as reader']
            )) -%}
        {%- endif -%}
    {%- endfor -%}
    read_by as (

        {{ read_by | join(' union all ') }}

    ),

    read as (

        select topic, partition, offset, collect_set(reader) as readers, bool_or(is_error) as has_error
        from read_by
        group by topic, partition, offset

    )
{%- endmacro -%}

{#-
    A model that reads some topics needs no message of others. A message that no model needs stays: one may name its topic later.
    The last message of each partition stays, and one of each landed file, which says that the file has landed.
-#}
{%- macro _read_rows_of_raw(node, readers, before, place) -%}
    {%- set needed_by = [] -%}
    {%- for reader in readers -%}
        {%- set of_topics = spark_cdc._topics_condition(
            reader.config.meta['spark_cdc.raw_columns'], reader.config.meta.get('spark_cdc.topics')
        ) -%}
        {%- do needed_by.append('case when ' ~ of_topics ~ ' then ' ~ loop.index ~ ' end' if of_topics else loop.index) -%}
    {%- endfor -%}
    with
    {{ spark_cdc._read_by_ctes(readers) }}

    select old.*
    from (
        select
            *,
            row_number() over (partition by _cdc_topic, _cdc_partition order by _cdc_offset desc) = 1
            {%- if 'path' in spark_cdc._landing_of(node) %}
                or row_number() over (partition by file order by _cdc_offset desc) = 1
            {%- endif %} as is_kept
        from (
            select
                *,
                {{ place[0] }} as _cdc_topic,
                {{ place[1] }} as _cdc_partition,
                {{ place[2] }} as _cdc_offset,
                array_compact(array({{ needed_by | join(', ') }})) as needed_by
            from {{ spark_cdc._table_of(node) }}
        )
    ) as old
    left join read
        on old._cdc_topic <=> read.topic and old._cdc_partition <=> read.partition and old._cdc_offset = read.offset
    where
        timestamp < {{ before }}
        and not old.is_kept
        and not coalesce(read.has_error, false)
        and size(old.needed_by) > 0
        and size(array_except(old.needed_by, read.readers)) = 0
{%- endmacro -%}

{#-
    The CTE `names` has the readers of each source table. A message that the raw table still has stays: a run would read it again,
    and the tests would miss it. Of each partition the message stays that has the last state of its reading.
-#}
{%- macro _read_rows_of_messages(node, readers, before) -%}
    {%- set relation, still_in_raw = spark_cdc._table_of(node), [] -%}
    {%- set raw = spark_cdc._place_in_raw(node) -%}
    {%- for id in node.depends_on.nodes -%}
        {%- do still_in_raw.append(
            'select ' ~ raw[0] ~ ' as topic, ' ~ raw[1] ~ ' as partition, ' ~ raw[2] ~ ' as offset from '
            ~ spark_cdc._raw_table(graph.sources.get(id) or graph.nodes.get(id))
        ) -%}
    {%- endfor -%}
    with
    {{ spark_cdc._read_by_ctes(readers) }},

    names as (

        select messages.database_name, messages.schema_name, messages.table_name, collect_set(read_by.reader) as readers
        from {{ relation }} as messages
        inner join read_by
            on messages.topic <=> read_by.topic
            and messages.partition <=> read_by.partition
            and messages.offset = read_by.offset
        group by messages.database_name, messages.schema_name, messages.table_name

    )

    select old.*
    from (
        select
            *,
            topic as _cdc_topic,
            partition as _cdc_partition,
            offset as _cdc_offset,
            row_number() over (
                partition by topic, partition order by {{ spark_cdc._read_positions('read_positions') }} desc, offset desc
            ) = 1 as is_kept
        from {{ relation }}
    ) as old
    left join read
        on old.topic <=> read.topic and old.partition <=> read.partition and old.offset = read.offset
    left join names
        on old.database_name <=> names.database_name
        and old.schema_name <=> names.schema_name
        and old.table_name <=> names.table_name
    {%- if still_in_raw %}
    left anti join ({{ still_in_raw | join(' union all ') }}) as raw
        on old.topic <=> raw.topic and old.partition <=> raw.partition and old.offset = raw.offset
    {%- endif %}
    where
        old.timestamp < {{ before }}
        and old.error is null
        and not old.is_kept
        and not coalesce(read.has_error, false)
        and (size(array_except(names.readers, read.readers)) = 0 or old.kind not in ('rows', 'truncate'))
{%- endmacro -%}

{#-
    Why a reader needs all messages, or none. A table that does not exist has read nothing. A table that does not append is
    built from all messages in each run. A view may leave out or rename the columns by which a source's row is found.
-#}
{%- macro _reads_all(reader, table, node) -%}
    {%- if table is none -%}
        {{- return(reader.name ~ (
            ' is a view, which reads them again with each query.' if spark_cdc._is_view(reader) else ' is not built yet.'
        )) -}}
    {%- elif reader.config.materialized not in spark_cdc._logs() -%}
        {{- return(reader.name ~ ' is made from all of them in each run: write materialized=\'cdc_append\'.') -}}
    {%- elif spark_cdc._is_raw(node) and node.unique_id not in reader.depends_on.nodes -%}
        {%- set views = [] -%}
        {%- for id in reader.depends_on.nodes if id in graph.nodes and spark_cdc._reads(graph.nodes[id], node.unique_id) -%}
            {%- do views.append(graph.nodes[id].name) -%}
        {%- endfor -%}
        {{- return(
            reader.name ~ ' reads it through ' ~ views | join(', ') ~ ', which may leave rows out or change their offsets. Let '
            ~ reader.name ~ ' read the table itself, with raw_columns, or delete by hand what is no longer needed.'
        ) -}}
    {%- endif -%}
    {{- return(none) -}}
{%- endmacro -%}

{#- Topic, partition and offset of a raw table's row, as in a model that reads the table. -#}
{%- macro _place_in_raw(reader) -%}
    {%- set raw = spark_cdc._raw_columns(reader.config.meta['spark_cdc.raw_columns']) -%}
    {{- return((raw.topic, raw.partition, raw.offset)) -}}
{%- endmacro -%}
