{#-
    Raw Kafka messages -> one row per message with its envelope read.

    relation     the raw table: topic, partition, offset, timestamp, key, value
    format       the envelope: see `formats()`
    dialect      whose way of writing the format, where there are several
    raw_columns  {'value': 'payload', ...}: SQL expressions where the raw table names a column otherwise

    One row: topic, partition, offset, timestamp, key, value as in Kafka; format; kind (rows, ddl, truncate, begin, commit,
    heartbeat, tombstone, other, unreadable); database_name, schema_name, table_name; op as the vendor writes it;
    sequence (the vendor's order in parts); committed_at; transaction_id; key_columns; column_types; ddl;
    error (code, detail), which is not null exactly for unreadable messages.

    In an incremental model only messages behind the highest offset read per topic and partition are read.
-#}
{%- macro messages(relation, format, dialect=none, raw_columns=none) -%}
    {%- do spark_cdc._require_format('messages', format, dialect) -%}
    {{- return(adapter.dispatch('messages', 'spark_cdc')(relation, format, dialect, raw_columns)) -}}
{%- endmacro -%}

{%- macro default__messages(relation, format, dialect, raw_columns) -%}
    {%- do spark_cdc._only_spark('messages') -%}
{%- endmacro -%}

{%- macro spark__messages(relation, format, dialect, raw_columns) -%}
    {%- set read_before -%}
        select topic, partition, max(offset) as offset from {{ this }} group by topic, partition
    {%- endset -%}
    {%- if is_incremental() and not spark_cdc._has_new_messages(relation, raw_columns, read_before, []) -%}
        {{- return('select * from ' ~ this ~ ' where false') -}}
    {%- endif -%}
with {{ spark_cdc._envelope(
    relation, format, dialect, raw_columns, read_before=read_before if is_incremental() else none
) }}

select
    topic,
    partition,
    offset,
    timestamp,
    key,
    value,
    headers,
    format,
    kind,
    {%- for name in spark_cdc._header_columns() %}
    {{ name }},
    {%- endfor %}
    case when error_code is not null then named_struct(
        'code', error_code, 'detail', cast(null as string)
    ) end as error
from envelopes
{%- endmacro -%}
