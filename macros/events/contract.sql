{#- The columns that every changes model has beside the source's own. One list: models, tests and materializations read it. -#}
{%- macro change_columns() -%}
    {{- return(adapter.dispatch('change_columns', 'spark_cdc')()) -}}
{%- endmacro -%}

{%- macro default__change_columns() -%}
    {{- return([
        '_cdc_op', '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_before', '_cdc_absent', '_cdc_error',
        '_cdc_topic', '_cdc_partition', '_cdc_offset', '_cdc_offsets', '_cdc_batch', '_cdc_seen',
    ]) -}}
{%- endmacro -%}

{#- These and those that only some changes models have; `reading` is that of `_columns_to_read`. -#}
{%- macro _contract_columns(reading) -%}
    {{- return(
        (['_cdc_origin'] if reading.has_origin else []) + spark_cdc.change_columns()
        + (['_cdc_patches'] if reading.has_patches else [])
    ) -}}
{%- endmacro -%}

{#- Query: topic, partition and offset of each message of each change, of an update in two messages both; then `columns`. -#}
{%- macro _messages_of_changes(changes, columns=[]) -%}
    {{- return(
        'select ' ~ (['_cdc_topic as topic', 'message.partition', 'message.offset'] + columns) | join(', ') ~ ' from ' ~ changes
        ~ ' lateral view explode(_cdc_offsets) exploded as message'
    ) -}}
{%- endmacro -%}
