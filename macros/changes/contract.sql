{#- The columns that every changes model has besides the source's own. One list: models, tests and materializations read it. -#}
{%- macro change_columns() -%}
    {{- return(adapter.dispatch('change_columns', 'spark_cdc')()) -}}
{%- endmacro -%}

{%- macro default__change_columns() -%}
    {{- return([
        '_cdc_op', '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_before', '_cdc_missing_columns', '_cdc_error',
        '_cdc_topic', '_cdc_partition', '_cdc_offset', '_cdc_offsets', '_cdc_loaded_at', '_cdc_read_positions',
    ]) -}}
{%- endmacro -%}

{#- The same with the columns that only some changes models have; `stored` is that of `_columns_after_schema_change`. -#}
{%- macro _contract_columns(stored) -%}
    {{- return(
        (['_cdc_source_table'] if stored.has_source_table else []) + spark_cdc.change_columns()
        + (['_cdc_patches'] if stored.has_patches else [])
    ) -}}
{%- endmacro -%}

{#- Query: topic, partition and offset of each message of each change (two for an update in two messages), then `columns`. -#}
{%- macro _messages_of_changes(changes, columns=[]) -%}
    {{- return(
        'select ' ~ (['_cdc_topic as topic', 'message.partition', 'message.offset'] + columns) | join(', ') ~ ' from ' ~ changes
        ~ ' lateral view explode(_cdc_offsets) exploded as message'
    ) -}}
{%- endmacro -%}

{#-
    Condition on two rows of a changes model: `completed` is the whole update and `pending` is a part of it. A part that arrives
    again after its update does not wait for a partner.
-#}
{%- macro _completes_update(completed, pending, has_source_table=false) -%}
    {%- set vendor_sequence = 'slice({0}._cdc_sequence, 1, size({0}._cdc_sequence) - 2)' -%}
    {%- set conditions = [
        pending ~ "._cdc_error.code = 'unpaired_update'",
        completed ~ "._cdc_op = 'update'",
        completed ~ '._cdc_error is null',
        completed ~ '._cdc_topic = ' ~ pending ~ '._cdc_topic',
        vendor_sequence.format(completed) ~ ' = ' ~ vendor_sequence.format(pending),
    ] -%}
    {%- if has_source_table -%}
        {%- do conditions.append(completed ~ '._cdc_source_table <=> ' ~ pending ~ '._cdc_source_table') -%}
    {%- endif -%}
    {{- return(conditions | join(' and ')) -}}
{%- endmacro -%}

{#-
    Condition on two rows of a changes model with one offset: `unread` is a cut or damaged copy of a message, and `whole` was
    read from a whole copy. All that the message says is in the whole copy.
-#}
{%- macro _is_whole_copy(whole, unread) -%}
    {{- return([
        unread ~ '._cdc_op is null',
        unread ~ "._cdc_error.code <> 'offset_reused'",
        whole ~ '._cdc_op is not null',
        whole ~ '._cdc_topic = ' ~ unread ~ '._cdc_topic',
        whole ~ '._cdc_partition = ' ~ unread ~ '._cdc_partition',
        whole ~ '._cdc_offset = ' ~ unread ~ '._cdc_offset',
    ] | join(' and ')) -}}
{%- endmacro -%}

{#- The same for two rows of a messages model. With another timestamp it is another message, of a recreated topic. -#}
{%- macro _is_whole_message(whole, unread) -%}
    {{- return([
        unread ~ '.error is not null',
        whole ~ '.error is null',
        whole ~ '.topic = ' ~ unread ~ '.topic',
        whole ~ '.partition = ' ~ unread ~ '.partition',
        whole ~ '.offset = ' ~ unread ~ '.offset',
        whole ~ '.timestamp <=> ' ~ unread ~ '.timestamp',
    ] | join(' and ')) -}}
{%- endmacro -%}

{#-
    The arrays of an open version as one text for the next run: Iceberg reads a scan with an array in it row by row, and each
    run searches all open versions for its keys.
-#}
{%- macro _resume_state(absent='_cdc_missing_columns') -%}
    {{- return(
        'case when valid_to is null then to_json(struct(_cdc_sequence, ' ~ absent ~ ' as _cdc_missing_columns, _cdc_last_sequence)) end'
    ) -}}
{%- endmacro -%}

{#- Name of an array -> SQL that reads it from that text in `stored`. -#}
{%- macro _from_resume_state() -%}
    {%- set types = {
        '_cdc_sequence': 'array<decimal(20,0)>', '_cdc_missing_columns': 'array<string>', '_cdc_last_sequence': 'array<decimal(20,0)>',
    } -%}
    {%- set arrays = {} -%}
    {%- for name, type in types.items() -%}
        {%- do arrays.update({name: "from_json(stored._cdc_resume_state, '" ~ name ~ ' ' ~ type ~ "')." ~ name}) -%}
    {%- endfor -%}
    {{- return(arrays) -}}
{%- endmacro -%}

{#- The possible outcomes of a message. One list: models and tests read it. -#}
{%- macro _outcome_names() -%}
    {{- return(['applied', 'superseded', 'duplicate', 'control', 'unrouted', 'rejected']) -}}
{%- endmacro -%}
