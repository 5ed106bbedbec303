{#-
    The rows that `prune` may delete, as {'query': rows, 'columns': the columns that identify them}; or {'needed_for': reason}
    if all rows are needed. `columns` maps expressions over the stored row to columns of the query.
-#}

{#-
    Messages that every reader has without an error. A messages model has a row for each message; a changes model has one for
    each message of its own tables, which are those that it has messages of. A raw table names no tables: if more than one
    changes model reads it, all rows are needed. All rows are needed, too, if readers count offsets in several ways, or read a
    view that may. A model that reads some topics needs no message of others, and a message that no model needs stays: one may
    name its topic later. A message that the raw table still has stays in the messages model: a run would read it again, and the
    tests would miss it. Of a landed file one message stays, which says that the file has landed.
-#}
{%- macro _read_messages(node, before) -%}
    {%- set is_raw = spark_cdc._is_raw(node) -%}
    {%- set readers = spark_cdc._readers_of(node, ['messages', 'changes'] if is_raw else ['changes']) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set conditions = ['timestamp < ' ~ before] -%}
    {%- if not is_raw -%}
        {%- do conditions.append('error is null') -%}
    {%- endif -%}
    {%- set read, kinds, places, needed = [], [], [], [] -%}
    {%- for reader in readers -%}
        {%- set table = spark_cdc._table_of(reader) -%}
        {%- set needed_for = spark_cdc._reads_all(reader, table, node) -%}
        {%- if needed_for -%}{{- return({'needed_for': needed_for}) -}}{%- endif -%}
        {%- set of_topics = spark_cdc._topics_condition(
            reader.config.meta['spark_cdc.raw_columns'], reader.config.meta.get('spark_cdc.topics')
        ) -%}
        {%- do needed.append('case when ' ~ of_topics ~ ' then ' ~ loop.index ~ ' end' if of_topics else loop.index) -%}
        {%- do places.append(spark_cdc._place_in_raw(reader)) -%}
        {%- do kinds.append(spark_cdc._kind_of(reader)) -%}
        {%- if spark_cdc._kind_of(reader) == 'messages' -%}
            {%- do read.append(
                'select topic, partition, offset, error is not null as is_error, ' ~ loop.index ~ ' as reader from ' ~ table
            ) -%}
        {%- else -%}
            {%- do read.append(spark_cdc._messages_of_changes(
                table, ['_cdc_error is not null as is_error', loop.index ~ ' as reader']
            )) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set names = readers | map(attribute='name') | sort | join(', ') -%}
    {%- if not read -%}
        {{- return({'needed_for': 'no ' ~ ('messages or changes model' if is_raw else 'changes model') ~ ' reads it'}) -}}
    {%- elif is_raw and 'changes' in kinds and readers | length > 1 -%}
        {{- return({'needed_for': names ~ ' read it, and which rows a changes model needs the raw table does not say. Let '
            ~ 'them read one messages model.'}) -}}
    {%- elif is_raw and places | unique | list | length > 1 -%}
        {{- return({'needed_for': names ~ ' read it with different raw_columns.'}) -}}
    {%- endif -%}
    {%- set place = places[0] if is_raw else ('topic', 'partition', 'offset') -%}
    {%- set raw_positions = [] -%}
    {%- for id in (node.depends_on.nodes if not is_raw else []) -%}
        {%- set raw_table = spark_cdc._raw_table(graph.sources.get(id) or graph.nodes.get(id)) -%}
        {%- if raw_table is none -%}
            {{- return({'needed_for': 'what it reads, ' ~ (graph.sources.get(id) or graph.nodes.get(id)).name ~ ', is no table with '
                ~ 'the columns topic, partition, offset and timestamp, so that prune cannot know what is still there.'}) -}}
        {%- endif -%}
        {%- set raw = spark_cdc._place_in_raw(node) -%}
        {%- do raw_positions.append(
            'select ' ~ raw[0] ~ ' as topic, ' ~ raw[1] ~ ' as partition, ' ~ raw[2] ~ ' as offset from ' ~ raw_table
        ) -%}
    {%- endfor -%}
    {%- set order = (spark_cdc._read_positions('read_positions') ~ ' desc, ' if not is_raw else '') ~ '_cdc_offset desc' -%}
    {%- set partitions = ['_cdc_topic, _cdc_partition'] + (['file'] if 'path' in spark_cdc._landing_of(node) else []) -%}
    {%- set query -%}
    with
    read_by as (

        {{ read | join(' union all ') }}

    ),

    read as (

        select topic, partition, offset, collect_set(reader) as readers, bool_or(is_error) as has_error
        from read_by
        group by topic, partition, offset

    )
    {%- if not is_raw %},

    names as (

        select messages.database_name, messages.schema_name, messages.table_name, collect_set(read_by.reader) as readers
        from {{ relation }} as messages
        inner join read_by
            on messages.topic <=> read_by.topic
            and messages.partition <=> read_by.partition
            and messages.offset = read_by.offset
        group by messages.database_name, messages.schema_name, messages.table_name

    )
    {%- endif %}

    select old.*
    from (
        select
            *,
            {%- for columns in partitions %}
            row_number() over (partition by {{ columns }} order by {{ order }}) = 1{{ ' or' if not loop.last }}
            {%- endfor %} as is_kept
        from (
            select
                *,
                {{ place[0] }} as _cdc_topic,
                {{ place[1] }} as _cdc_partition,
                {{ place[2] }} as _cdc_offset
                {%- if is_raw %},
                array_compact(array({{ needed | join(', ') }})) as needed_by
                {%- endif %}
            from {{ relation }}
        )
    ) as old
    left join read
        on old._cdc_topic <=> read.topic and old._cdc_partition <=> read.partition and old._cdc_offset = read.offset
    {%- if not is_raw %}
    left join names
        on old.database_name <=> names.database_name
        and old.schema_name <=> names.schema_name
        and old.table_name <=> names.table_name
    {%- endif %}
    {%- if raw_positions %}
    left anti join ({{ raw_positions | join(' union all ') }}) as raw
        on old._cdc_topic <=> raw.topic and old._cdc_partition <=> raw.partition and old._cdc_offset = raw.offset
    {%- endif %}
    where
        {{ conditions | join(' and ') }}
        and not old.is_kept
        and not coalesce(read.has_error, false)
        {%- if is_raw %}
        and size(old.needed_by) > 0
        and size(array_except(old.needed_by, read.readers)) = 0
        {%- else %}
        and (size(array_except(names.readers, read.readers)) = 0 or kind not in ('rows', 'truncate'))
        {%- endif %}
    {%- endset -%}
    {{- return({
        'query': query, 'columns': {place[0]: '_cdc_topic', place[1]: '_cdc_partition', place[2]: '_cdc_offset'},
    }) -}}
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
