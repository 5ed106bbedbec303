{#-
    What a messages model has of each message, and what the parts of its sequence are: `spark-cdc explain` prints it. `partition`
    and `offset` are those of the relation.
-#}
{%- macro _explained(relation, fmt, raw_columns=none) -%}
with {{ spark_cdc._raw_envelopes(relation, fmt, raw_columns, names_sequence=true) }},

{{ spark_cdc._message_rows(fmt) }}

select
    partition,
    offset,
    value,
    kind,
    {%- for name in spark_cdc._header_columns() %}
    {{ name }},
    {%- endfor %}
    sequence_names,
    error
from message_rows
{%- endmacro -%}
