{#- Project-wide choices and their defaults: the one place that reads `var()`. -#}
{%- macro _var(name) -%}
    {%- set defaults = dict(
        spark_cdc._vars_of_messages(), spark_cdc__allow_history_loss=[], spark_cdc__land_recreated_topics=[]
    ) -%}
    {%- for given in invocation_args_dict.get('vars') or {} if given[:9] == 'spark_cdc' -%}
        {%- do spark_cdc._require_one_of('vars', '--vars', given, defaults.keys() | list) -%}
    {%- endfor -%}
    {#- There dbt finds variables only for models of this package, such as its examples. -#}
    {%- for given in var('spark_cdc', {}) if model and model.package_name != 'spark_cdc' -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.vars: `' ~ given ~ '` is under `spark_cdc:` in the vars of dbt_project.yml, where it has no effect on your '
            ~ 'models. Write it at the top level of vars.'
        ) -%}
    {%- endfor -%}
    {%- set value = var(name, defaults[name]) -%}
    {%- if name == 'spark_cdc__land_recreated_topics'
        and (not spark_cdc._is_list(value) or value | select('string') | list | length != value | length) -%}
        {%- do spark_cdc._raise(
            'vars', name, 'a list of names of topics', spark_cdc._show(value), 'Write --vars \'{' ~ name ~ ': [shop]}\'.'
        ) -%}
    {%- endif -%}
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
    {%- elif name in ['spark_cdc__debezium_unavailable_pattern', 'spark_cdc__debezium_invalid_pattern']
        and not (value is none or value is string) -%}
        {%- do spark_cdc._raise(
            'vars', name, 'a regular expression as a text, or empty', spark_cdc._show(value),
            'Write what a whole value is, such as java[.]lang[.]Object@[0-9a-f]+.'
        ) -%}
    {%- endif -%}
    {{- return(value) -}}
{%- endmacro -%}

{#- The choices for reading messages, which are also options of `spark-cdc decode`. -#}
{%- macro _vars_of_messages() -%}
    {{- return({
        'spark_cdc__debezium_other_connectors': [],
        'spark_cdc__debezium_unavailable_values': ['__debezium_unavailable_value'],
        'spark_cdc__debezium_unavailable_pattern': '',
        'spark_cdc__debezium_invalid_pattern': '(?:java|oracle|com[.]ibm)[.][A-Za-z0-9_.$]++@[0-9a-f]{1,8}|\\["\\[++Ljava[.].*',
    }) -}}
{%- endmacro -%}

{#- The choices that the rows in a messages model depend on, as `_refuse_other_arguments` names them. -#}
{%- macro _vars_of_rows(format) -%}
    {%- set found = {} -%}
    {%- for name in ['spark_cdc__debezium_unavailable_values', 'spark_cdc__debezium_unavailable_pattern'] if format[:8] == 'debezium' -%}
        {%- do found.update({'vars.' ~ name: spark_cdc._var(name)}) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#- Connectors of Debezium that write each value in a cell: see formats/debezium/connectors.sql. -#}
{%- macro _debezium_connectors_of_cells() -%}
    {{- return(['cassandra', 'scylla', 'yugabytedb']) -}}
{%- endmacro -%}
