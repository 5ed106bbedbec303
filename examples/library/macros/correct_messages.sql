{#- Gives the rows of the raw table the values that a file has for the same topic, partition and offset. -#}
{% macro correct_messages(file) %}
    {% do run_query("
        merge into " ~ ref('raw_library') ~ " as raw
        using (
            select whole.* from (
                select from_json(value, 'topic string, partition int, offset bigint, value string') as whole
                from text.`" ~ file ~ "`
            )
        ) as whole
            on raw.topic = whole.topic and raw.partition = whole.partition and raw.offset = whole.offset
        when matched and raw.value <> cast(whole.value as binary)
            then update set value = cast(whole.value as binary)
    ") %}
{% endmacro %}
