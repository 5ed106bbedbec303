{%- macro _history_options(macro, key, columns, track_columns, keep_unchanged, hard_deletes) -%}
    {%- do spark_cdc._require_hard_deletes(macro, hard_deletes) -%}
    {%- do spark_cdc._require_one_of(macro, 'keep_unchanged', keep_unchanged, [true, false]) -%}
    {%- if track_columns is not none -%}
        {%- do spark_cdc._require_names(
            macro, 'track_columns', track_columns, 'Leave it out, and a change of any column makes a version.'
        ) -%}
        {%- for name in track_columns -%}
            {%- do spark_cdc._require_one_of(
                macro, 'track_columns', name, columns | reject('in', key) | list, 'Name columns that are not part of the key.'
            ) -%}
        {%- endfor -%}
        {%- if keep_unchanged -%}
            {%- do spark_cdc._raise(
                macro, 'track_columns', 'left out where every change makes a version', '`keep_unchanged` as well',
                'Take one of the two.'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {{- return({'track_columns': track_columns, 'keep_unchanged': keep_unchanged, 'hard_deletes': hard_deletes}) -}}
{%- endmacro -%}

{%- macro _require_hard_deletes(macro, hard_deletes) -%}
    {%- do spark_cdc._require_one_of(macro, 'hard_deletes', hard_deletes, ['new_record', 'invalidate', 'ignore']) -%}
{%- endmacro -%}
