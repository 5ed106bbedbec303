{#- Project-wide choices and their defaults: the one place that reads `var()`. -#}
{%- macro _var(name) -%}
    {%- set defaults = {
        'spark_cdc__debezium_unavailable_values': ['__debezium_unavailable_value'],
        'spark_cdc__fill_back': [],
        'spark_cdc__lose_history': [],
    } -%}
    {%- for given in invocation_args_dict.get('vars') or {} if given[:11] == 'spark_cdc__' -%}
        {%- do spark_cdc._require_one_of('vars', '--vars', given, defaults.keys() | list) -%}
    {%- endfor -%}
    {{- return(var(name, defaults[name])) -}}
{%- endmacro -%}
