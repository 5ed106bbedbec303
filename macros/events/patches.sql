{#-
    Updates that change parts of nested values. A column's patches are a text for `cdc_mongo_patched`: a list of objects with
    `op` (set, unset, truncate), `path`, which begins with the column's name, and `value` or `size`.
-#}

{#- The declared columns that hold a nested value as its text, or parsed. A name with a dot may be a path as well. -#}
{%- macro _patchable(columns, key) -%}
    {%- set found = [] -%}
    {%- for column in columns if column.name not in key and '.' not in column.name -%}
        {%- if column.family == 'variant' or (column.family == 'string' and column.encoding in [none, 'text']) -%}
            {%- do found.append(column) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{%- macro _patches_of(patchable) -%}
    {%- if not patchable -%}
        {{- return('cast(null as map<string,string>)') -}}
    {%- endif -%}
    {%- set names = 'array(' ~ spark_cdc._literals(patchable | map(attribute='name')) ~ ')' -%}
    {{- return(
        'case when arrays_overlap(map_keys(patches), ' ~ names ~ ') then map_filter(patches, (name, patch) -> array_contains('
        ~ names ~ ', name)) end'
    ) -}}
{%- endmacro -%}

{#- A column that holds no nested value has no parts, and no server changes a value and a part of it in one update. -#}
{%- macro _patch_error_condition(column, is_patchable) -%}
    {%- set is_patched = 'patches[' ~ column.literal ~ '] is not null' -%}
    {{- return(is_patched ~ (' and map_contains_key(image, ' ~ column.literal ~ ')' if is_patchable)) -}}
{%- endmacro -%}

{%- macro _path_of_patch(column) -%}
    {{- return(
        'concat(' ~ spark_cdc._literal(column.name ~ ': ') ~ ', get_json_object(patches[' ~ column.literal ~ "], '$[0].path'))"
    ) -}}
{%- endmacro -%}
