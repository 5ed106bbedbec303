{#- The columns of a key operation besides the source's own, in order. -#}
{%- macro _key_operation_columns() -%}
    {{- return([
        '_cdc_op', '_cdc_is_deleted', '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_missing_columns',
        '_cdc_topic', '_cdc_partition', '_cdc_offset',
    ]) -}}
{%- endmacro -%}

{#-
    The columns of a key operation in a query. Only a stored row that takes the place of a key operation has the columns that
    begin with `_cdc_stored`.
-#}
{%- macro _event_columns(columns, patched=[]) -%}
    {{- return(columns + spark_cdc._key_operation_columns() + [
        '_cdc_inherits_values', '_cdc_inherited_by', '_cdc_stored_last_sequence', '_cdc_stored_valid_from',
    ] + (['_cdc_patches'] if patched else [])) -}}
{%- endmacro -%}
