{#-
    The CTE `message_rows` as `_message_rows` makes it, read from a messages model; with `reading` only the new messages.
    `where` is a condition on them. `loaded_at` is the run that read the message if `keeps_loaded_at` is true, else this run.
    `leaves_out` names columns that nobody reads: the query of a view is shorter without them.
-#}
{%- macro _stored_messages(relation, where, reading=none, keeps_loaded_at=true, leaves_out=[]) -%}
    {%- set raw = spark_cdc._raw_columns({'headers': 'headers'}) -%}
    {%- set is_joined = reading and not spark_cdc._condition_says_all(reading) -%}
    {%- set conditions = [where, spark_cdc._read_condition(reading.partitions, raw, reading.read_again) if reading] | select | list -%}
    {%- set is_as_stored = keeps_loaded_at and not is_joined -%}
    {%- set left_out = leaves_out if is_as_stored else (['loaded_at'] if not keeps_loaded_at else []) -%}
{{ 'message_rows' if is_as_stored else 'raw_messages' }} as (

    select
        {%- for name in spark_cdc._message_columns() if name not in left_out %}
        {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ relation }}
    {%- for condition in conditions %}
    {{ 'where' if loop.first else 'and' }} {{ '(' ~ condition ~ ')' if conditions[1:] else condition }}
    {%- endfor %}

)
{%- if is_joined %},

{{ spark_cdc._new_messages_ctes(reading) }}
{%- elif not is_as_stored %},
{%- endif %}
{%- if not is_as_stored %}

message_rows as (

    select *
    from {{ 'new_messages' if is_joined else 'raw_messages' }}
    {%- if not keeps_loaded_at %}
    -- explode, so that the code which Spark generates for one run serves the next, too
    lateral view explode(array({{ spark_cdc._loaded_at() }})) run as loaded_at
    {%- endif %}

)
{%- endif %}
{%- endmacro -%}
