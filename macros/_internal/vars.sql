{#- Project-wide choices and their defaults: the one place that reads `var()`. -#}
{%- macro _var(name) -%}
    {%- set defaults = {
        'spark_cdc__debezium_other_connectors': [],
        'spark_cdc__debezium_unavailable_values': ['__debezium_unavailable_value'],
        'spark_cdc__fill_back': [],
        'spark_cdc__lose_history': [],
    } -%}
    {%- for given in invocation_args_dict.get('vars') or {} if given[:9] == 'spark_cdc' -%}
        {%- do spark_cdc._require_one_of('vars', '--vars', given, defaults.keys() | list) -%}
    {%- endfor -%}
    {%- set value = var(name, defaults[name]) -%}
    {%- if name in ['spark_cdc__debezium_other_connectors', 'spark_cdc__debezium_unavailable_values']
        and (not spark_cdc._is_list(value) or value | select('string') | select | list | length != value | length) -%}
        {%- do spark_cdc._raise(
            'vars', name, 'a list of texts', spark_cdc._show(value),
            'Write --vars \'{' ~ name ~ ': [' ~ (defaults[name] or ['singlestoredb'])[0] ~ ']}\', with what the connector writes.'
        ) -%}
    {%- endif -%}
    {%- if name == 'spark_cdc__debezium_other_connectors' -%}
        {%- for connector in value if connector in spark_cdc._debezium_connectors_of_cells() + ['mongodb'] -%}
            {%- do spark_cdc._raise(
                'vars', name, 'a list of connectors that write rows as Debezium does', spark_cdc._show(connector),
                'Remove it: its values are not those of Debezium, and would be read wrong.'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(value) -}}
{%- endmacro -%}
