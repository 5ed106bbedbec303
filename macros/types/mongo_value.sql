{#-
    A text of `cdc_mongo_fields` -> its declared type, like any text. In addition a MongoDB Date, which is an instant, becomes a
    date if it is midnight in `time_zone`.
-#}
{%- macro _mongo_value(text, column, time_zone) -%}
    {%- set value = spark_cdc.value(text, column, time_zone) -%}
    {%- if column.family != 'date' or column.encoding is not none -%}
        {{- return(value) -}}
    {%- endif -%}
    {%- set local = spark_cdc.value(text, dict(column, family='timestamp_ntz', type='timestamp_ntz'), time_zone) -%}
    {{- return('case when length(' ~ text ~ ') = 10 then ' ~ value ~ ' else ' ~ spark_cdc._date_at_midnight(local) ~ ' end') -}}
{%- endmacro -%}

{#- The text of a document -> the text that returns its fields with their types in front: `string:7`. -#}
{%- macro _mongo_typed(text) -%}
    {{- return("concat('typed:', " ~ text ~ ')') -}}
{%- endmacro -%}

{%- macro _mongo_texts(fields) -%}
    {{- return('transform_values(' ~ fields ~ ', (name, typed) -> ' ~ spark_cdc._mongo_text('typed') ~ ')') -}}
{%- endmacro -%}

{#- The text after the type. -#}
{%- macro _mongo_text(typed) -%}
    {{- return('substr(' ~ typed ~ ', instr(' ~ typed ~ ", ':') + 1)") -}}
{%- endmacro -%}

{#-
    The types of both rows in one map: `string`, or `binary before string` if the old value had another type. If the texts are
    equal and the types are not, it is `binary or string`, and neither value is certain.
-#}
{%- macro _mongo_types(image, before) -%}
    {%- set type_of = "substring_index({}, ':', 1)" -%}
    {%- set new_type, old_type = type_of.format('new'), type_of.format('old') -%}
    {{- return(
        'map_zip_with(' ~ image ~ ', coalesce(' ~ before ~ ', cast(map() as map<string,string>)), (name, new, old) -> case '
        ~ 'when new is null then ' ~ old_type ~ ' when old is null or ' ~ new_type ~ ' = ' ~ old_type ~ ' then ' ~ new_type
        ~ ' when ' ~ spark_cdc._mongo_text('new') ~ ' = ' ~ spark_cdc._mongo_text('old') ~ ' then concat(' ~ new_type ~ ", ' or ', "
        ~ old_type ~ ') else concat(' ~ new_type ~ ", ' before ', " ~ old_type ~ ') end)'
    ) -}}
{%- endmacro -%}

{#-
    A text does not show its BSON type: base64 may come from a string, and a string may look like JSON. So the BSON type decides
    where it matters. A VARIANT drops a decimal's trailing zeros and the sign of zero, and turns a number with an exponent into
    a double.
-#}
{%- macro _mongo_typed_value(text, column, time_zone) -%}
    {%- set value = spark_cdc._mongo_value(text, column, time_zone) -%}
    {%- if column.family not in ['binary', 'variant'] -%}
        {{- return(value) -}}
    {%- endif -%}
    {%- set side = -1 if text.startswith('before[') else 1 -%}
    {%- set type = 'substring_index(' ~ column.source_type ~ ", ' before ', " ~ side ~ ')' -%}
    {%- if column.family == 'binary' -%}
        {%- set types = {none: "'binary'", 'base64': "'binary', 'string'"}.get(column.encoding, "'string'") -%}
        {{- return('case when ' ~ type ~ ' in (' ~ types ~ ') then ' ~ value ~ ' end') -}}
    {%- endif -%}
    {%- set string = spark_cdc.value(text, dict(column, family='string', type='string', encoding=none), time_zone) -%}
    {%- set is_json = "case " ~ type ~ " when 'decimal' then " ~ text ~ " rlike r'^(?!-0\\z)-?[0-9]++(?:\\.[0-9]*[1-9])?\\z' "
        ~ "when 'number' then " ~ text ~ " <> '-0.0' else " ~ type ~ " in ('boolean', 'document', 'list') end" -%}
    {{- return(
        'case when ' ~ type ~ " = 'string' then cast(" ~ string ~ ' as variant) when ' ~ is_json ~ ' then ' ~ value ~ ' end'
    ) -}}
{%- endmacro -%}
