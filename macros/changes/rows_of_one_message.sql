{#-
    The CTE `placed_rows`: the rows of `message_rows` with their `position` in the message and `continues`, whether a row
    continues an earlier row of the same message: the earlier row changed the same row in place, or gave it the key that this row
    now changes. The old key then ends after that earlier row. If rows swap keys, it ends before all rows.

    Rows swap keys if each holds other values than the row whose key it takes, or if the keys go round and each is left by
    exactly one row. Looked for only in updates of the key that are not the first row of their message. `overlays`: see
    `_format`; `key` is a list of names.
-#}
{%- macro _placed_rows(overlays, key) -%}
    {%- set key_after, key_before = [], [] -%}
    {%- for name in key -%}
        {%- set name = spark_cdc._literal(name) -%}
        {%- set old_value, new_value = 'row.before[' ~ name ~ ']', 'row.image[' ~ name ~ ']' -%}
        {%- do key_after.append(new_value) -%}
        {%- do key_before.append(
            'if(map_contains_key(row.before, ' ~ name ~ '), ' ~ old_value ~ ', ' ~ new_value ~ ')' if overlays else old_value
        ) -%}
    {%- endfor -%}
keyed_rows as (

    select
        *,
        case
            when size(rows) > 1 then transform(rows, row -> named_struct(
                'image', row.image,
                'key_after', array({{ key_after | join(', ') }}),
                'key_before', array({{ key_before | join(', ') }})
            ))
        end as all_rows
    from message_rows

),

placed_rows as (

    select
        *,
        case
            when position > 0 and row.op = 'update'
                and not all_rows[position].key_before <=> all_rows[position].key_after
                then exists(slice(all_rows, 1, position), earlier ->
                    earlier.key_after <=> all_rows[position].key_before
                    and (
                        earlier.key_before <=> earlier.key_after
                        -- it has the same values, and the keys do not go round
                        or forall(map_keys(earlier.image), name -> earlier.image[name] <=> case
                            when map_contains_key(row.before, name) then row.before[name]
                            {%- if overlays %}
                            when map_contains_key(row.image, name) then row.image[name]
                            {%- endif %}
                            else earlier.image[name]
                        end)
                        and not forall(all_rows, left -> left.key_before <=> left.key_after or (
                            exists(all_rows, taken -> not taken.key_before <=> taken.key_after and taken.key_after <=> left.key_before)
                            and size(filter(
                                all_rows, other -> not other.key_before <=> other.key_after and other.key_before <=> left.key_before
                            )) = 1
                        ))
                    )
                )
        end as continues
    from keyed_rows
    lateral view outer posexplode(rows) exploded as position, row

),
{%- endmacro -%}
