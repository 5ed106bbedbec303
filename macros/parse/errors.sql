{#-
    The error of a message or a row. While a query looks for it, it is one text, `code: detail`, or only the code; `_as_error`
    makes the struct that is stored. The detail names rules and fields, never a value of the message. A code has no colon.
-#}
{%- macro _error(code, detail=none) -%}
    {%- do spark_cdc._require_code(code) -%}
    {{- return(spark_cdc._literal([code, detail] | select | join(': '))) -}}
{%- endmacro -%}

{#- An error whose detail is an SQL expression. It may contain names of columns and fields, but no values of the message. -#}
{%- macro _error_of(code, detail) -%}
    {%- do spark_cdc._require_code(code) -%}
    {{- return("concat_ws(': ', '" ~ code ~ "', " ~ detail ~ ')') -}}
{%- endmacro -%}

{%- macro _require_code(code) -%}
    {%- if not modules.re.match('[a-z0-9_]+$', code | string) -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc: the code of an error must be small letters, digits and _; got `' ~ code ~ '`. What follows a colon is its detail.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The struct of an error: `found` is the name of a column with its text, or with NULL. -#}
{%- macro _as_error(found) -%}
case
    when {{ found }} is not null
        then named_struct('code', substring_index({{ found }}, ': ', 1), 'detail', get(split({{ found }}, ': ', 2), 1))
end
{%- endmacro -%}

{#-
    The first `errors` of a header: the message has no operation, or one that the format does not know. `path`: the field of the
    operation. `wrong_format`: rules before these, of messages that are known to be something else.
-#}
{%- macro _errors_of_op(path, op, known, wrong_format={}) -%}
    {{- return({
        'wrong_format': dict(wrong_format, **{path ~ ': missing': op ~ ' is null'}),
        'unknown_op': {path ~ ': not an operation of the format': op ~ ' not in (' ~ spark_cdc._literals(known) ~ ')'},
    }) -}}
{%- endmacro -%}

{#- The error of a list in which a name occurs twice. `where` is the object that has the names. -#}
{%- macro _name_twice_error(names, where) -%}
    {%- set repeated = 'filter(' ~ names ~ ', (name, place) -> array_position(' ~ names ~ ', name) <= place)' -%}
    {{- return(spark_cdc._error_of(
        'duplicate_key', 'left(array_min(' ~ repeated ~ '), 100), ' ~ spark_cdc._literal('occurs twice in ' ~ where)
    )) -}}
{%- endmacro -%}

{#-
    The first error of a message, NULL if it has none. `errors` maps codes to rules, in the order in which they are checked. The
    rules of a code map a detail to the condition of the error: {'missing_rows': {'data: no rows': 'size(message.data) = 0'}}.
    `fault` is not a code: it is an expression that returns the error itself, as `_error` makes it, or NULL.

    A detail begins with the path of the field and names rules and fields, never a value of the message. A rule with `{}` in its
    detail is a pair: the condition, and SQL of the text that takes the place of `{}`.
-#}
{%- macro _first_error(errors) -%}
    {%- set found, branches = [], [] -%}
    {%- for code, rules in errors.items() -%}
        {%- if code == 'fault' -%}
            {%- do found.extend([spark_cdc._case_of(branches), rules | trim]) -%}
            {%- do branches.clear() -%}
        {%- else -%}
            {#- A project's own format may give a condition without a detail. -#}
            {%- for detail, condition in ({none: rules} if rules is string else rules).items() -%}
                {%- do branches.append(spark_cdc._rule(code, detail, condition)) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do found.append(spark_cdc._case_of(branches)) -%}
    {{- return(found | select | join(',\n')) -}}
{%- endmacro -%}

{%- macro _case_of(branches) -%}
    {{- return('case\n' ~ branches | join('\n') ~ '\nend' if branches else none) -}}
{%- endmacro -%}

{#- The branch of a CASE for one rule of `_first_error`. -#}
{%- macro _rule(code, detail, condition) -%}
    {%- set condition, named = [condition, none] if condition is string else condition -%}
    {%- set error = spark_cdc._error(code, detail) -%}
    {%- if named -%}
        {%- set error = "concat_ws('', " ~ error | replace('{}', "', " ~ named ~ ", '") ~ ')' -%}
    {%- endif -%}
    {%- set branch = '    when ' ~ condition | trim | indent(8) -%}
    {{- return(branch ~ ('\n        then ' if branch | length + error | length > 110 else ' then ') ~ error) -}}
{%- endmacro -%}
