{#- The properties of a table, in which a run leaves its state for the next one. -#}

{%- macro _file_format(relation) -%}
    {{- return('delta' if relation.is_delta else 'iceberg' if relation.is_iceberg else 'other') -}}
{%- endmacro -%}

{%- macro _table_properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{- return(properties) -}}
{%- endmacro -%}

{#-
    What the properties say was read; none if somebody deleted one of them: then all changes are read again. Where an older
    version of this package wrote last, it is not known whether changes were partial, which is as if one were, nor where the last
    truncate was (`last_truncate` is none; it is empty if there never was one).
-#}
{%- macro _read_before(properties) -%}
    {%- set needed = ['spark_cdc.read_loaded_at', 'spark_cdc.read_count', 'spark_cdc.read_truncates'] -%}
    {%- if needed | reject('in', properties) | list -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set partial = spark_cdc._of_this_count(properties, 'spark_cdc.read_partial') -%}
    {{- return({
        'loaded_at': properties['spark_cdc.read_loaded_at'] | int, 'count': properties['spark_cdc.read_count'] | int,
        'truncates': properties['spark_cdc.read_truncates'] | int,
        'partial': 1 if partial is none else partial | int,
        'last_sequence': properties.get('spark_cdc.last_sequence'),
        'last_truncate': spark_cdc._of_this_count(properties, 'spark_cdc.last_truncate'),
    }) -}}
{%- endmacro -%}

{#- A property that was written with the number of changes that were read; none if another version has written the number since. -#}
{%- macro _of_this_count(properties, name) -%}
    {%- set parts = (properties.get(name) or '').split(' of ') -%}
    {{- return(parts[0] if parts[1:] == [properties['spark_cdc.read_count']] else none) -}}
{%- endmacro -%}

{%- macro _set_read(target_relation, read, commit, built_with='') -%}
    alter table {{ target_relation }} set tblproperties (
        'spark_cdc.read_loaded_at' = '{{ read.loaded_at }}',
        'spark_cdc.read_count' = '{{ read.count }}',
        'spark_cdc.read_truncates' = '{{ read.truncates }}',
        'spark_cdc.read_partial' = '{{ read.partial }} of {{ read.count }}',
        {%- if read.last_sequence is not none %}
        'spark_cdc.last_sequence' = '{{ read.last_sequence }}',
        {%- endif %}
        {%- if read.last_truncate is not none %}
        'spark_cdc.last_truncate' = '{{ read.last_truncate }} of {{ read.count }}',
        {%- endif %}
        {%- if built_with %}
        'spark_cdc.built_with' = '{{ built_with }}',
        {%- endif %}
        'spark_cdc.read_commit' = '{{ commit }}'
    )
{%- endmacro -%}
