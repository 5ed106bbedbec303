{#- The columns of a key operation besides the source's own, in order, with their types. -#}
{%- macro _key_operation_types() -%}
    {{- return({
        '_cdc_op': 'string',
        '_cdc_is_deleted': 'boolean',
        '_cdc_sequence': 'array<decimal(20,0)>',
        '_cdc_committed_at': 'timestamp',
        '_cdc_transaction_id': 'string',
        '_cdc_missing_columns': 'array<string>',
        '_cdc_topic': 'string',
        '_cdc_partition': 'int',
        '_cdc_offset': 'bigint',
    }) -}}
{%- endmacro -%}

{%- macro _key_operation_columns() -%}
    {{- return(spark_cdc._key_operation_types() | list) -}}
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
