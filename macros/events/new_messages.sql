{#-
    Whether a run of an incremental model has anything to read. One short query: to plan the model's own one takes seconds, and
    most runs of most tables find nothing.
-#}
{%- macro _has_new_messages(relation, raw_columns, read_before, columns, where=none) -%}
    {%- set stored = adapter.get_columns_in_relation(this) | map(attribute='name') | list -%}
    {%- if columns | reject('in', stored) | list -%}
        {#- A column is new in the model: the model's own query has to say so. -#}
        {{- return(true) -}}
    {%- endif -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set new_message -%}
    select 1
    from (
        select {{ raw.topic }} as topic, {{ raw.partition }} as partition, {{ raw.offset }} as offset
        from {{ relation }}
        {{- ' where ' ~ where if where }}
    ) as raw_messages
    left join ({{ read_before }}) as read_before
        on raw_messages.topic = read_before.topic and raw_messages.partition = read_before.partition
    where read_before.offset is null or raw_messages.offset > read_before.offset
    limit 1
    {%- endset -%}
    {{- return(run_query(new_message).rows | length > 0) -}}
{%- endmacro -%}
