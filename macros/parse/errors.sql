{#- The error of a message or a row: a code and a detail. The detail names rules and fields, never a value of the message. -#}

{%- macro _error(code, detail=none) -%}
    {{- return(spark_cdc._error_of(code, spark_cdc._literal(detail) if detail else 'cast(null as string)')) -}}
{%- endmacro -%}

{#- An error whose detail is an SQL expression. It may contain names of columns and fields, but no values of the message. -#}
{%- macro _error_of(code, detail) -%}
    {{- return("named_struct('code', '" ~ code ~ "', 'detail', " ~ detail ~ ')') -}}
{%- endmacro -%}

{#-
    The first `errors` of a header: the message has no operation, or one that the format does not know. `path`: the field of the
    operation.
-#}
{%- macro _errors_of_op(path, op, known) -%}
    {{- return({
        'wrong_format': {path ~ ': missing': op ~ ' is null'},
        'unknown_op': {path ~ ': not an operation of the format': op ~ ' not in (' ~ spark_cdc._literals(known) ~ ')'},
    }) -}}
{%- endmacro -%}

{#- The error of a list in which a name occurs twice. `where` is the object that has the names. -#}
{%- macro _name_twice_error(names, where) -%}
    {%- set first = spark_cdc._let(
        'sorted', 'array_sort(' ~ names ~ ')', 'get(filter(sorted, (name, place) -> name = get(sorted, place - 1)), 0)'
    ) -%}
    {%- set detail = 'concat(left(' ~ first ~ ', 100), ' ~ spark_cdc._literal(': occurs twice in ' ~ where) ~ ')' -%}
    {{- return(spark_cdc._error_of('duplicate_key', detail)) -}}
{%- endmacro -%}

{#-
    The first error of a message, NULL if it has none. `errors` maps codes to rules, in the order in which they are checked. The
    rules of a code map a detail to the condition of the error: {'missing_rows': {'data: no rows': 'size(message.data) = 0'}}.
    `fault` is not a code: it is an expression that returns the error itself, as `_error` makes it, or NULL.

    A detail begins with the path of the field and names rules and fields, never a value of the message.
-#}
{%- macro _first_error(errors) -%}
    {%- set found = [] -%}
    {%- for code, rules in errors.items() -%}
        {%- if code == 'fault' -%}
            {%- do found.append(rules) -%}
        {%- else -%}
            {#- A project's own format may give a condition without a detail. -#}
            {%- set rules = {none: rules} if rules is string else rules -%}
            {%- set cases = [] -%}
            {%- for detail, condition in rules.items() -%}
                {%- do cases.append('    when ' ~ condition | trim | indent(8) ~ ' then ' ~ spark_cdc._error(code, detail)) -%}
            {%- endfor -%}
            {%- do found.append('case\n' ~ cases | join('\n') ~ '\nend') -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(found | join(',\n')) -}}
{%- endmacro -%}
