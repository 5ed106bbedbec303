{{ config(materialized='cdc_view', tags=['demo']) }}
{{ spark_cdc.dead_letters(
    messages=[ref('stg_example__canal_messages'), ref('stg_example__debezium_messages'), ref('stg_example__dataworks_messages')],
    changes=[
        ref('stg_example__canal_t_pk_changes'),
        ref('stg_example__debezium_t_pk_full_changes'),
        ref('stg_example__dataworks_orders_changes'),
    ]
) }}
