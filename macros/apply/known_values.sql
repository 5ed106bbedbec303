{#-
    A column's value in a struct, or null if the message does not have it. All values of a deleted row are null, and unknown to
    a later row.
-#}
{%- macro _known(name, field='value', value=none) -%}
    {{- return(
        'case when not coalesce(array_contains(_cdc_missing_columns, ' ~ spark_cdc._literal(name) ~ '), false) then named_struct('
        ~ spark_cdc._literal(field) ~ ', ' ~ (value or spark_cdc._quote(name)) ~ ", 'is_known', not _cdc_is_deleted) end"
    ) -}}
{%- endmacro -%}

{#- The names in `absent` whose value `relation` does not know; null if there are none. -#}
{%- macro _still_absent(absent, names, relation) -%}
    {%- if not names -%}
        {{- return(absent) -}}
    {%- endif -%}
    {%- set entries = [] -%}
    {%- for name in names -%}
        {%- do entries.append(
            spark_cdc._literal(name) ~ ', ' ~ relation ~ '.' ~ spark_cdc._quote(name) ~ '.is_known'
        ) -%}
    {%- endfor -%}
    {%- set left = 'filter(' ~ absent ~ ', name -> not coalesce(map(' ~ entries | join(', ') ~ ')[name], false))' -%}
    {{- return('case when size(' ~ left ~ ') > 0 then ' ~ left ~ ' end') -}}
{%- endmacro -%}

{#- The same as `_known`, with the text of the value, which patches change. -#}
{%- macro _known_text(name, variants) -%}
    {{- return(spark_cdc._known(name, 'document', spark_cdc._comparable(name, variants))) -}}
{%- endmacro -%}

{#-
    A VARIANT cannot hold every number. A patch with such a number becomes a text that is not a patch, so the value is not
    known.
-#}
{%- macro _fitting_patch(name, variants) -%}
    {%- set patch = '_cdc_patches[' ~ spark_cdc._literal(name) ~ ']' -%}
    {%- if name not in variants -%}
        {{- return(patch) -}}
    {%- endif -%}
    {%- set value = spark_cdc.value(patch, {'family': 'variant', 'encoding': none}) -%}
    {{- return('case when ' ~ patch ~ ' is null or ' ~ value ~ " is not null then " ~ patch ~ " else 'no patch' end") -}}
{%- endmacro -%}

{%- macro _known_or_patched(name, variants) -%}
    {%- set state = '_cdc_patched[' ~ spark_cdc._literal(name) ~ ']' -%}
    {%- set value = 'try_parse_json(' ~ state ~ '.document)' if name in variants else state ~ '.document' -%}
    {%- set is_known = state ~ '.is_known'
        ~ (' and (' ~ state ~ '.document is null or ' ~ value ~ ' is not null)' if name in variants) -%}
    {{- return(
        'case when ' ~ state ~ " is not null then named_struct('value', " ~ value ~ ", 'is_known', " ~ is_known ~ ') else '
        ~ spark_cdc._known(name) ~ ' end'
    ) -}}
{%- endmacro -%}
