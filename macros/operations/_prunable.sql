{#- What `prune` may delete, as {'query': rows, 'columns': what identifies them}; none where all is needed. -#}

{#- Models that read a node: changes models read messages models and sources, messages models read sources. -#}
{%- macro _readers_of(node, kinds) -%}
    {%- set readers = [] -%}
    {%- for reader in spark_cdc._models_of(kinds).values() if node.unique_id in reader.depends_on.nodes -%}
        {%- do readers.append(reader) -%}
    {%- endfor -%}
    {{- return(readers) -}}
{%- endmacro -%}

{#-
    Messages that every reader has without an error. A messages model has a row of each message; a changes model has one of its
    own table's, so a message of several readers is one that any of them has and none of them as an error.
-#}
{%- macro _read_messages(node, before) -%}
    {%- set is_source = node.resource_type == 'source' -%}
    {%- set readers = spark_cdc._readers_of(node, ['messages', 'changes'] if is_source else ['changes']) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set conditions = ['timestamp < ' ~ before] -%}
    {%- if not is_source -%}
        {%- do conditions.append('error is null') -%}
    {%- endif -%}
    {%- set read = [] -%}
    {%- for reader in readers -%}
        {%- set table = spark_cdc._table_of(reader) -%}
        {#- A reader that is no incremental table is made from all messages in each run. -#}
        {%- if table is none or reader.config.materialized != 'incremental' -%}{{- return(none) -}}{%- endif -%}
        {%- if spark_cdc._kind_of(reader) == 'messages' -%}
            {%- do read.append('select topic, partition, offset, error is not null as is_error from ' ~ table) -%}
        {%- else -%}
            {%- do read.append(
                'select _cdc_topic as topic, message.partition, message.offset, _cdc_error is not null as is_error from ' ~ table
                ~ ' lateral view explode(_cdc_offsets) exploded as message'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not read -%}{{- return(none) -}}{%- endif -%}
    {%- set order = 'seen desc, offset desc' if not is_source else 'offset desc' -%}
    {%- set query -%}
    select old.*
    from (
        select *, row_number() over (partition by topic, partition order by {{ order }}) as place from {{ relation }}
    ) as old
    left join (
        select topic, partition, offset, count(*) as copies, bool_or(is_error) as has_error
        from ({{ read | join(' union all ') }})
        group by topic, partition, offset
    ) as read
        on old.topic <=> read.topic and old.partition <=> read.partition and old.offset = read.offset
    where
        {{ conditions | join(' and ') }}
        and old.place > 1
        and not coalesce(read.has_error, false)
        and (read.copies > 0{{ " or kind not in ('rows', 'truncate')" if not is_source }})
    {%- endset -%}
    {{- return({'query': query, 'columns': ['topic', 'partition', 'offset']}) -}}
{%- endmacro -%}
