{#-
    Query: the columns that messages of one table carry, and those that a model declares, by name: rows that carry it, the last of
    them, whether the last row of all does, the Spark type of the message's own type. Of inserts, updates and snapshots: a delete
    need not carry every column.
-#}
{%- macro _carried_columns(relation, fmt, columns, of_this_table, messages, raw_columns) -%}
    {%- set type_codes = fmt.header.type_codes or fmt.name -%}
    {%- set type = "cdc_type('" ~ type_codes ~ "', source_type).spark_type" if spark_cdc._has_function('cdc_type')
        else 'cast(null as string)' -%}
with {% if messages -%}
{{ spark_cdc._stored_messages(relation, "kind = 'rows' and " ~ of_this_table) }},
{%- else -%}
{{ spark_cdc._envelope(relation, fmt, raw_columns) }},

{{ spark_cdc._message_rows(fmt) }},
{%- endif %}

{{ spark_cdc._row_changes(fmt, "kind = 'rows' and " ~ of_this_table) }},

images as (

    select
        map_keys(image) as names,
        column_types,
        named_struct('sequence', sequence, 'at', committed_at, 'partition', partition, 'offset', offset) as place
    from {{ spark_cdc._last_changes(fmt) }}
    where op <> 'delete' and image is not null

),

carried as (

    select name, place, element_at(column_types, name) as source_type
    from images
    lateral view explode(names) exploded as name

    union all

    select name, null as place, null as source_type
    from (select explode(array({{ spark_cdc._literals(columns | map(attribute='name')) }})) as name)

),

columns as (

    select
        name,
        count(place) as rows,
        max(place) as last_place,
        max_by(source_type, place.sequence) as source_type
    from carried
    group by name

)

select
    name,
    rows,
    last_place.at as last_at,
    last_place.partition as last_partition,
    last_place.offset as last_offset,
    coalesce(last_place = (select max(place) from images), false) as is_in_last,
    name in ({{ spark_cdc._literals(columns | map(attribute='name')) }}) as is_declared,
    {{ type }} as type
from columns
order by name
{%- endmacro -%}
