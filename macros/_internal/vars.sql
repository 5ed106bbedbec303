{#- Project-wide choices and their defaults: the one place that reads `var()`. -#}
{%- macro _var(name) -%}
    {%- set defaults = {
        'spark_cdc__debezium_unavailable_values': ['__debezium_unavailable_value'],
        'spark_cdc__fill_back': [],
        'spark_cdc__lose_history': [],
    } -%}
    {{- return(var(name, defaults[name])) -}}
{%- endmacro -%}
