{#- The columns of an effect beside the source's own, in order. -#}
{%- macro _effect_columns() -%}
    {{- return([
        '_cdc_op', '_cdc_is_deleted', '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_absent',
        '_cdc_topic', '_cdc_partition', '_cdc_offset',
    ]) -}}
{%- endmacro -%}

{#- An effect as a query has it; what starts with `_cdc_stored` only a stored row has, in the place of an effect. -#}
{%- macro _event_columns(columns, patched=[]) -%}
    {{- return(columns + spark_cdc._effect_columns() + [
        '_cdc_takes_over', '_cdc_taken_over_by', '_cdc_stored_last_sequence', '_cdc_stored_valid_from',
    ] + (['_cdc_patches'] if patched else [])) -}}
{%- endmacro -%}
