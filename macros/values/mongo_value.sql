{#-
    A text of `cdc_mongo_fields` -> its declared type: as any text, and a date from MongoDB's Date, which is an instant, where
    that is midnight in `time_zone`.
-#}
{%- macro _mongo_value(text, column, time_zone) -%}
    {%- set value = spark_cdc.value(text, column, time_zone) -%}
    {%- if column.family != 'date' or column.encoding is not none -%}
        {{- return(value) -}}
    {%- endif -%}
    {%- set local = spark_cdc.value(text, dict(column, family='timestamp_ntz', type='timestamp_ntz'), time_zone) -%}
    {{- return('case when length(' ~ text ~ ') = 10 then ' ~ value ~ ' else ' ~ spark_cdc._date_at_midnight(local) ~ ' end') -}}
{%- endmacro -%}
