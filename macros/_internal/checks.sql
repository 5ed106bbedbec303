{#- Errors for people: package.macro: argument, what is allowed, what was got, what to do next. -#}

{%- macro _raise(macro, argument, allowed, got, next_step) -%}
    {%- do exceptions.raise_compiler_error(
        'spark_cdc.' ~ macro ~ ': argument `' ~ argument ~ '` must be ' ~ allowed ~ '; got ' ~ got ~ '. ' ~ next_step
    ) -%}
{%- endmacro -%}

{%- macro _only_spark(macro) -%}
    {%- do exceptions.raise_compiler_error(
        'spark_cdc.' ~ macro ~ ': only Spark adapters are supported; got `' ~ target.type ~ '`. '
        ~ 'Run this model with a profile of type spark.'
    ) -%}
{%- endmacro -%}

{%- macro _show(value) -%}
    {{- return('nothing' if value is undefined or value is none else '`' ~ value ~ '`') -}}
{%- endmacro -%}

{%- macro _require_one_of(
    macro, argument, value, allowed, next_step='Correct the spelling, or leave the argument out where it has a default.'
) -%}
    {#- 0 is false to Python -#}
    {%- if value not in allowed or (true in allowed and value is not boolean) -%}
        {%- do spark_cdc._raise(macro, argument, 'one of ' ~ allowed | join(', '), spark_cdc._show(value), next_step) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _is_list(value) -%}
    {{- return(value is not string and value is not mapping and value is iterable) -}}
{%- endmacro -%}

{#- A whole number from 0 on. `true` is a number to Jinja. -#}
{%- macro _is_count(value) -%}
    {{- return(value is integer and value is not boolean and value >= 0) -}}
{%- endmacro -%}

{%- macro _require_names(macro, argument, value, next_step) -%}
    {%- if not spark_cdc._is_list(value) or value | length == 0
        or value | select('string') | list | length != value | length -%}
        {%- do spark_cdc._raise(
            macro, argument, 'a list of column names, such as [\'id\']', spark_cdc._show(value), next_step
        ) -%}
    {%- endif -%}
    {%- if value | unique | list | length != value | length -%}
        {%- do spark_cdc._raise(
            macro, argument, 'a list that names each column once', spark_cdc._show(value), next_step
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_text(macro, argument, value, next_step) -%}
    {%- if value is not string or value | trim == '' -%}
        {%- do spark_cdc._raise(macro, argument, 'a text', spark_cdc._show(value), next_step) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_relations(macro, arguments) -%}
    {%- for argument, value in arguments.items() -%}
        {%- if not spark_cdc._is_list(value) or value | length == 0 -%}
            {%- do spark_cdc._raise(
                macro, argument, 'a list of relations, such as [ref(\'orders\')]', spark_cdc._show(value),
                'Name each with ref(...), in square brackets.'
            ) -%}
        {%- endif -%}
        {%- do spark_cdc._require_kind(macro, argument, value) -%}
    {%- endfor -%}
    {#- Last, because it queries the tables; an ephemeral model has none. -#}
    {%- for relation in arguments.get('messages', []) if '__dbt__cte__' not in relation | string -%}
        {%- do spark_cdc._require_columns_in(
            macro, 'messages', relation, ['kind', 'error'], 'models made by spark_cdc.messages, or views over them',
            'Name a model that spark_cdc.messages makes of that table.'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#-
    For relations that are models of this project: whether each has the kind that the argument's name says. The kind of other
    models, such as a view over a model of ours, is not known here.
-#}
{%- macro _require_kind(macro, argument, relations) -%}
    {%- set kind, allowed = {
        'messages': ('messages', 'made by spark_cdc.messages'), 'changes': ('changes', 'made by spark_cdc.changes'),
        'current': ('cdc_current', 'that are cdc_current'),
    }[argument] -%}
    {%- set names = [] -%}
    {%- for relation in relations -%}
        {%- do names.append(spark_cdc._name_of_relation(relation) | string) -%}
    {%- endfor -%}
    {%- for node in (graph.nodes.values() if execute else []) if node.relation_name in names or node.name in relations -%}
        {%- if node.name in relations -%}
            {%- do spark_cdc._raise(
                macro, argument, 'relations', 'the name `' ~ node.name ~ '`', 'Write ref(\'' ~ node.name ~ '\') in its place.'
            ) -%}
        {%- endif -%}
        {%- set found = spark_cdc._kind_of(node) -%}
        {%- if found and found != kind -%}
            {%- do spark_cdc._raise(
                macro, argument, 'models ' ~ allowed,
                spark_cdc._show(node.name) ~ ', ' ~ ('a ' if found[:4] == 'cdc_' else 'made by spark_cdc.') ~ found,
                'Name the model over the same topic that is.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Only builds query a source: an incremental run relies on them. -#}
{%- macro _require_columns_in(macro, argument, relation, names, allowed, next_step) -%}
    {%- if spark_cdc._is_run() and not spark_cdc._is_incremental_run() -%}
        {%- do spark_cdc._require_found(macro, argument, relation, names, allowed, next_step) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_found(macro, argument, relation, names, allowed, next_step) -%}
    {%- set found = spark_cdc._column_names(relation) -%}
    {%- if names | map('lower') | reject('in', found | map('lower') | list) | list -%}
        {%- do spark_cdc._raise(
            macro, argument, allowed,
            spark_cdc._show(spark_cdc._name_of_relation(relation)) ~ ', which has ' ~ found | join(', '), next_step
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Jinja's own error for an unknown argument names neither the package nor the known arguments. -#}
{%- macro _require_arguments(macro, positional, named, arguments) -%}
    {%- set there_are = 'there is ' if arguments | length == 1 else 'there are ' -%}
    {%- for argument in named -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': there is no argument `' ~ argument ~ '`; ' ~ there_are ~ arguments | join(', ')
            ~ '. Correct the spelling.'
        ) -%}
    {%- endfor -%}
    {%- if positional -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': ' ~ there_are ~ arguments | length ~ ' argument' ~ ('s' if arguments | length > 1) ~ ', '
            ~ arguments | join(', ') ~ '; got '
            ~ (arguments | length + positional | length) ~ '. Write each with its name.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Without the `limit 0` that --empty puts around a relation. -#}
{%- macro _name_of_relation(relation) -%}
    {{- return(relation.render() if relation is mapping else relation) -}}
{%- endmacro -%}

{#- A relation, or its name as a text. -#}
{%- macro _require_source(macro, argument, value) -%}
    {%- if value is not mapping and (value is not string or value | trim == '') -%}
        {%- do spark_cdc._raise(
            macro, argument, 'a source or a model', spark_cdc._show(value),
            'Write source(\'...\', \'...\') or ref(\'...\').'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- With a zone that Spark does not know, every value would be NULL. -#}
{%- macro _require_time_zone(macro, time_zone) -%}
    {%- if time_zone != 'UTC' and (time_zone is not string or not (
        time_zone in modules.pytz.all_timezones or modules.re.match('^[+-](0[0-9]|1[0-7]):[0-5][0-9]$', time_zone)
    )) -%}
        {%- do spark_cdc._raise(
            macro, 'time_zone', 'the name of a region or an offset, such as Asia/Shanghai or +08:00', spark_cdc._show(time_zone),
            'Correct the spelling; upper and lower case count.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
