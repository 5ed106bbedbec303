{{ config(materialized='table', tags=['demo_reconciliation']) }}
{{ spark_cdc.reconciliation(
    messages=[ref('stg_example__canal_messages'), ref('stg_example__debezium_messages'), ref('stg_example__dataworks_messages')],
    changes=[
        ref('stg_example__canal_t_pk_changes'),
        ref('stg_example__debezium_t_pk_full_changes'),
        ref('stg_example__dataworks_orders_changes'),
    ],
    current=[ref('example__canal_t_pk'), ref('example__debezium_t_pk_full'), ref('example__dataworks_orders')]
) }}
