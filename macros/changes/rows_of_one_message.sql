{#-
    Whether a row of a message continues an earlier row of the same message: the earlier row changed the same row in place, or
    gave it the key that this row now changes. The old key then ends after that earlier row. If rows swap keys, it ends before
    all rows.

    Rows swap keys if each holds other values than the row whose key it takes, or if the keys go round and each is left by
    exactly one row. Evaluated only for updates of the key that are not the first row of their message. `overlays`: see
    `_format`; `key` is a list of names.
-#}
{%- macro _continues_in_message(overlays, key) -%}
    {%- set new_key, old_key = [], [] -%}
    {%- for name in key -%}
        {%- set name = spark_cdc._literal(name) -%}
        {%- set old_value, new_value = 'row.before[' ~ name ~ ']', 'row.image[' ~ name ~ ']' -%}
        {%- do new_key.append(new_value) -%}
        {%- do old_key.append(
            'if(map_contains_key(row.before, ' ~ name ~ '), ' ~ old_value ~ ', ' ~ new_value ~ ')' if overlays else old_value
        ) -%}
    {%- endfor -%}
    {%- set new_key, old_key = 'array(' ~ new_key | join(', ') ~ ')', 'array(' ~ old_key | join(', ') ~ ')' -%}
    {%- set all_rows -%}
        transform(rows, row -> named_struct(
            'image', row.image,
            'key', {{ new_key }},
            'old_key', {{ old_key }}
        ))
    {%- endset -%}
    {%- set same_values -%}
        forall(map_keys(earlier.image), name ->
            case
                when map_contains_key(row.before, name) then row.before[name]
                {%- if overlays %}
                when map_contains_key(row.image, name) then row.image[name]
                {%- endif %}
                else earlier.image[name]
            end <=> earlier.image[name]
        )
    {%- endset -%}
    {%- set keys_go_round -%}
        forall(all_rows, left -> left.old_key <=> left.key or (
            exists(all_rows, taken -> not taken.old_key <=> taken.key and taken.key <=> left.old_key)
            and size(filter(all_rows, other -> not other.old_key <=> other.key and other.old_key <=> left.old_key)) = 1
        ))
    {%- endset -%}
    {%- set continues -%}
        exists(slice(all_rows, 1, position), earlier ->
            earlier.key <=> {{ old_key }}
            and (earlier.old_key <=> earlier.key or ({{ same_values }} and not {{ keys_go_round }}))
        )
    {%- endset -%}
    {%- set changes_key -%}
        case
            when coalesce(position, 0) = 0 or row.op <> 'update' then false
            when {{ old_key }} <=> {{ new_key }} then false
            else {{ spark_cdc._let('all_rows', all_rows, continues) | indent(12) }}
        end
    {%- endset -%}
    {{- return(changes_key) -}}
{%- endmacro -%}
