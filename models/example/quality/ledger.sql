{{ config(materialized='incremental', incremental_strategy='append') }}
{{ spark_cdc.ledger(
    messages=[ref('stg_canal__messages'), ref('stg_debezium__messages'), ref('stg_dataworks__messages')],
    changes=[
        ref('stg_canal__t_pk_changes'),
        ref('stg_debezium__t_pk_full_changes'),
        ref('stg_dataworks__orders_changes'),
    ],
    current=[ref('canal__t_pk'), ref('debezium__t_pk_full'), ref('dataworks__orders')]
) }}
