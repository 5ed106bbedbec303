{#- The differences of the two materializations: see `_apply_changes`. -#}
{%- macro _target_kind(materialization) -%}
    {{- return({
        'cdc_current': {
            'materialization': 'cdc_current',
            'rows_of': spark_cdc._current_rows_of_operations,
            'columns_of': spark_cdc._current_columns,
            'row_key': [],
            'last_row': 'true',
            'last_sequence': '_cdc_sequence',
            'newest_is_row': true,
            'valid_from': 'cast(null as timestamp)',
            'own_types': {},
            'stored_columns': {},
        },
        'cdc_history': {
            'materialization': 'cdc_history',
            'rows_of': spark_cdc._history_rows_of_operations,
            'columns_of': spark_cdc._history_columns,
            'row_key': ['_cdc_sequence'],
            'last_row': 'stored.valid_to is null',
            'last_sequence': '_cdc_last_sequence',
            'newest_is_row': false,
            'valid_from': 'valid_from',
            'own_types': {
                'valid_from': 'timestamp',
                'valid_to': 'timestamp',
                '_cdc_last_sequence': 'array<decimal(20,0)>',
                '_cdc_resume_state': 'string',
            },
            'stored_columns': {
                'valid_from': '_cdc_stored_valid_from',
                'valid_to': 'cast(null as timestamp)',
                '_cdc_last_sequence': '_cdc_stored_last_sequence',
                '_cdc_resume_state': 'cast(null as string)',
            },
        },
    }[materialization]) -}}
{%- endmacro -%}
