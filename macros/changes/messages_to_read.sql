{#- The partitions of all messages of the change: the two messages of an update may be in two partitions. -#}
{%- macro _read_positions_of_change(splits_updates, reading) -%}
    {%- set partitions = spark_cdc._partitions_read('_cdc_topic', reading) -%}
    {%- if splits_updates -%}
        {{- return(spark_cdc._as_read_positions(
            "array_join(transform(array_distinct(_cdc_offsets.partition), name -> " ~ partitions ~ "[name]), ',')"
        )) -}}
    {%- endif -%}
    {{- return(spark_cdc._as_read_positions(partitions ~ '[_cdc_partition]')) -}}
{%- endmacro -%}

{#- The messages that an incremental run of a changes model reads: the mapping for `_new_messages_ctes`. -#}
{%- macro _messages_to_read(relation, raw_columns, where, splits_updates, has_source_table, reads, finds_copies) -%}
    {%- set positions_read = spark_cdc._messages_of_changes(
        this, ["coalesce(_cdc_error.code = 'offset_reused', false) as is_reused"]
    ) -%}
    {%- set read_before = spark_cdc._positions_read_before(relation, '_cdc_topic', '_cdc_read_positions', [raw_columns, where] + reads) -%}
    {%- set partitions = spark_cdc._partitions_to_read(relation, raw_columns, read_before, where, finds_copies) -%}
    {%- set queries, read_again = [], [] -%}
    {%- if partitions and splits_updates -%}
        {%- do queries.append(spark_cdc._unpaired_updates(this, has_source_table) | trim) -%}
    {%- endif -%}
    {%- if finds_copies and partitions | selectattr('has_late_messages') | list -%}
        {%- do queries.append(spark_cdc._unread_messages(this) | trim) -%}
    {%- endif -%}
    {%- set incomplete = spark_cdc._step('finding messages to read again') ~ queries | join('\n\nunion\n\n') -%}
    {%- for row in (run_query(incomplete).rows if queries else []) -%}
        {%- do read_again.append({'topic': row[0], 'partition': row[1], 'offset': row[2]}) -%}
    {%- endfor -%}
    {%- set reading = {'positions_read': positions_read, 'counts_copies': false, 'read_again': read_again} -%}
    {{- return(dict(
        reading,
        partitions=spark_cdc._with_late_ranges(partitions, relation, raw_columns, where, reading),
        read_again_query=queries | join('\n\nunion\n\n'),
        positions_after=spark_cdc._positions_after(read_before, partitions)
    )) -}}
{%- endmacro -%}

{#- Update parts that an earlier run read without their partner: the run reads them once more with the new messages. -#}
{%- macro _unpaired_updates(changes, has_source_table) -%}
select pending._cdc_topic as topic, pending._cdc_partition as partition, pending._cdc_offset as offset
from {{ changes }} as pending
where
    pending._cdc_error.code = 'unpaired_update'
    and not exists (
        select 1
        from {{ changes }} as completed
        where {{ spark_cdc._completes_update('completed', 'pending', has_source_table) }}
    )
{%- endmacro -%}

{#-
    Unreadable messages of a model over raw: a copy that lands at the same offset may be readable. Messages of a recreated topic
    are left out: they have an error of their own.
-#}
{%- macro _unread_messages(changes) -%}
select unread._cdc_topic as topic, unread._cdc_partition as partition, unread._cdc_offset as offset
from {{ changes }} as unread
where
    unread._cdc_op is null
    and unread._cdc_error.code <> 'offset_reused'
    and not exists (
        select 1
        from {{ changes }} as whole
        where {{ spark_cdc._is_whole_copy('whole', 'unread') }}
    )
{%- endmacro -%}
