{#- Of every partition that a message of the change is of: the two of an update may stand in two. -#}
{%- macro _seen_of_change(splits_updates, reading) -%}
    {%- set partitions = spark_cdc._partitions_seen('_cdc_topic', reading) -%}
    {%- if splits_updates -%}
        {{- return(spark_cdc._as_seen(
            "array_join(transform(array_distinct(_cdc_offsets.partition), name -> " ~ partitions ~ "[name]), ',')"
        )) -}}
    {%- endif -%}
    {{- return(spark_cdc._as_seen(partitions ~ '[_cdc_partition]')) -}}
{%- endmacro -%}

{#- What a changes model that goes on has to read: the mapping for `_new_messages_ctes`. -#}
{%- macro _changes_to_read(relation, raw_columns, where, splits_updates, has_origin, reads, finds_copies) -%}
    {%- set positions_read = spark_cdc._messages_of_changes(
        this, ["coalesce(_cdc_error.code = 'offset_taken', false) as is_taken"]
    ) -%}
    {%- set seen_before = spark_cdc._seen_before(relation, '_cdc_topic', '_cdc_seen', [raw_columns, where] + reads) -%}
    {%- set partitions = spark_cdc._partitions_to_read(relation, raw_columns, seen_before, where, finds_copies) -%}
    {%- set queries, read_again = [], [] -%}
    {%- if partitions and splits_updates -%}
        {%- do queries.append(spark_cdc._unpaired_halves(this, has_origin) | trim) -%}
    {%- endif -%}
    {%- if finds_copies and partitions | selectattr('has_late') | list -%}
        {%- do queries.append(spark_cdc._unread_messages(this) | trim) -%}
    {%- endif -%}
    {%- for row in (run_query(queries | join('\n\nunion\n\n')).rows if queries else []) -%}
        {%- do read_again.append({'topic': row[0], 'partition': row[1], 'offset': row[2]}) -%}
    {%- endfor -%}
    {{- return({
        'partitions': partitions, 'positions_read': positions_read, 'counts_copies': false, 'read_again': read_again,
        'read_again_query': queries | join('\n\nunion\n\n'),
        'seen_comment': spark_cdc._seen_comment(seen_before, partitions),
    }) -}}
{%- endmacro -%}

{#- Halves that an earlier run read and whose partners had not come: they are read once more beside the new messages. -#}
{%- macro _unpaired_halves(changes, has_origin) -%}
select pending._cdc_topic as topic, pending._cdc_partition as partition, pending._cdc_offset as offset
from {{ changes }} as pending
where
    pending._cdc_error.code = 'half_of_update'
    and not exists (
        select 1
        from {{ changes }} as completed
        where {{ spark_cdc._completes_half('completed', 'pending', has_origin) }}
    )
{%- endmacro -%}

{#-
    Messages that could not be read, of a model over raw: a copy that lands at the same place may be whole. A topic that was made anew
    is told otherwise.
-#}
{%- macro _unread_messages(changes) -%}
select unread._cdc_topic as topic, unread._cdc_partition as partition, unread._cdc_offset as offset
from {{ changes }} as unread
where
    unread._cdc_op is null
    and unread._cdc_error.code <> 'offset_taken'
    and not exists (
        select 1
        from {{ changes }} as whole
        where {{ spark_cdc._is_whole_copy('whole', 'unread') }}
    )
{%- endmacro -%}
