{#-
    Whether a row of a message goes on from an earlier row of it: that one changed the row in place, or gave it the key that it
    leaves now. Its old key then ends behind that earlier row, and not, as that of rows which change places, before all rows.

    Rows that change places hold other values than the row whose key they take, or the keys go round, each left by one row.
    Evaluated for updates of the key that are not the first row of their message. `rows` as `_row_changes` has them, `key` as names.
-#}
{%- macro _goes_on_in_message(rows, key) -%}
    {%- set new_key, old_key = [], [] -%}
    {%- for name in key -%}
        {%- set literal = spark_cdc._literal(name) -%}
        {%- do new_key.append('images.image[' ~ literal ~ ']') -%}
        {%- do old_key.append(
            'case when map_contains_key(images.before, ' ~ literal ~ ') then images.before[' ~ literal ~ ']'
            ~ (' else images.image[' ~ literal ~ ']' if rows.get('overlays')) ~ ' end'
        ) -%}
    {%- endfor -%}
    {%- set images = "named_struct('image', " ~ rows.image ~ ", 'before', " ~ rows.before ~ ')' -%}
    {%- set with_keys = spark_cdc._let('images', images,
        "named_struct('image', images.image, 'before', images.before, 'key', array(" ~ new_key | join(', ')
        ~ "), 'old_key', array(" ~ old_key | join(', ') ~ '))'
    ) -%}
    {%- set known = 'when map_contains_key(this.image, name) then this.image[name]' if rows.get('overlays') else '' -%}
    {%- set same_values -%}
        forall(map_keys(earlier.image), name ->
            case
                when map_contains_key(this.before, name) then this.before[name]
                {{ known }}
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
    {%- set goes_on -%}
        exists(slice(all_rows, 1, position), earlier ->
            earlier.key <=> this.old_key
            and (earlier.old_key <=> earlier.key or ({{ same_values }} and not {{ keys_go_round }}))
        )
    {%- endset -%}
    {%- set all_rows = 'transform(sequence(0, size(' ~ rows.each ~ ') - 1), position -> '
        ~ spark_cdc._let('element', 'get(' ~ rows.each ~ ', position)', with_keys) ~ ')' -%}
    {{- return(
        "case when position > 0 and kind = 'rows' and " ~ rows.op ~ " = 'update' then "
        ~ spark_cdc._let('this', with_keys,
            'case when not this.old_key <=> this.key then ' ~ spark_cdc._let('all_rows', all_rows, goes_on) ~ ' else false end'
        )
        ~ ' else false end'
    ) -}}
{%- endmacro -%}
