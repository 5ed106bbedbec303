{#- A column as Spark compares it. -#}
{%- macro _comparable(name, variants, prefix='') -%}
    {%- set column = prefix ~ spark_cdc._quote(name) -%}
    {{- return('to_json(' ~ column ~ ')' if name in variants else column) -}}
{%- endmacro -%}
