{#- Project-wide choices and their defaults: the one place that reads `var()`. -#}
{%- macro _var(name) -%}
    {%- set defaults = {
        'spark_cdc__debezium_unavailable_values': ['__debezium_unavailable_value'],
        'spark_cdc__fill_back': [],
        'spark_cdc__lose_history': [],
    } -%}
    {%- for given in invocation_args_dict.get('vars') or {} if given[:9] == 'spark_cdc' -%}
        {%- do spark_cdc._require_one_of('vars', '--vars', given, defaults.keys() | list) -%}
    {%- endfor -%}
    {%- set value = var(name, defaults[name]) -%}
    {%- if name == 'spark_cdc__debezium_unavailable_values'
        and (not spark_cdc._is_list(value) or value | select('string') | select | list | length != value | length) -%}
        {%- do spark_cdc._raise(
            'vars', name, 'a list of texts', spark_cdc._show(value),
            'Write --vars \'{' ~ name ~ ': [' ~ defaults[name][0] ~ ']}\', with what the connector writes.'
        ) -%}
    {%- endif -%}
    {{- return(value) -}}
{%- endmacro -%}
