{#-
    Updates that change parts of nested values. A column's patches are a text for `cdc_mongo_patched`: a list of objects with
    `op` (set, unset, truncate), `path`, which begins with the column's name, and `value` or `size`.
-#}

{#- The declared columns that hold a nested value as its text, or parsed. A name with a dot may also be a path. -#}
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

{#-
    SQL: all columns with patches that cannot be applied, each with the first path; NULL if there are none. A column that does
    not hold a nested value has no parts, and no server changes a value and a part of it in one update.
-#}
{%- macro _wrong_patches(columns, patchable) -%}
    {%- set names = [] -%}
    {%- for column in columns -%}
        {%- set patch = 'patches[' ~ column.literal ~ ']' -%}
        {%- set is_whole_too = ' and map_contains_key(image, ' ~ column.literal ~ ')' if column in patchable -%}
        {%- do names.append(
            '\n    case when ' ~ patch ~ ' is not null' ~ (is_whole_too or '') ~ " then concat_ws(': ', " ~ column.literal
            ~ ', get_json_object(' ~ patch ~ ", '$[0].path')) end"
        ) -%}
    {%- endfor -%}
    {{- return("nullif(concat_ws(', '," ~ names | join(',') ~ "\n), '')") -}}
{%- endmacro -%}
