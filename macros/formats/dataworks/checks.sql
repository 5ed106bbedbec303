{#-
    What DataWorks and its dialect `oms` both ask of a message: what its statement does to rows, when it changed, and which of
    its keys occur twice. Facts and reasons: docs/formats/dataworks.md.
-#}
{#- The statement, NULL where there is none. `also_bare`: OMS may write it without an object around it. -#}
{%- macro _dataworks_statement(ddl, also_bare=false) -%}
    {#- As Spark writes JSON: a text, not an object or a number in its place. -#}
    {{- return(
        'case when contains(' ~ ddl ~ ", '\"text\":\"') then nullif(get_json_object(" ~ ddl ~ ", '$.text'), '')"
        ~ (' when left(' ~ ddl ~ ", 1) <> '{' then nullif(" ~ ddl ~ ", '')" if also_bare) ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    The error where op and statement do not tell what became of the table's rows, else NULL: a statement that changes rows, or that empties
    another table, or that says something else than op, or none: a number, a truth value or an object in its place is none.
-#}
{%- macro _dataworks_ddl_fault(op, ddl) -%}
    {%- set fault -%}
        case
            when {{ op }} = 'TRUNCATE' and statement is not null then case
                when statement_kind = 'truncate' then null
                when startswith(statement_kind, 'truncate') then {{ spark_cdc._statement_fault('payload.ddl') | indent(16) }}
                else {# -#}
                    {{ spark_cdc._error('unexpected_structure', 'payload.ddl: the statement is not the TRUNCATE that payload.op says') }}
            end
            when {{ op }} in ({{ spark_cdc._literals(ddl) }}) then case
                when statement_kind = 'none' then {# -#}
                    {{ spark_cdc._error('missing_row', 'payload.ddl: no statement') }}
                when {{ op }} <> 'QUERY' and statement_kind = 'truncate' then {# -#}
                    {{ spark_cdc._error(
                        'unexpected_structure', 'payload.ddl: the statement is a TRUNCATE and payload.op says something else'
                    ) }}
                else {{ spark_cdc._statement_fault('payload.ddl') | indent(16) }}
            end
        end
    {%- endset -%}
    {{- return(fault) -}}
{%- endmacro -%}

{#- TRUNCATE needs no statement; what stands in the place of one and is no text may be one of another table. -#}
{%- macro _dataworks_truncates_otherwise(op, ddl) -%}
    {{- return('(' ~ op ~ " = 'TRUNCATE' and statement is null and get_json_object(" ~ ddl ~ ", '$.text') <> '')") -}}
{%- endmacro -%}

{#- When the source changed. A row of the full load has 0 or -1. -#}
{%- macro _dataworks_time() -%}
    {%- set milliseconds = 'message.payload.`timestamp`.eventTime' -%}
    {{- return(
        'case when ' ~ milliseconds ~ ' > 0 then ' ~ spark_cdc._instant(milliseconds, 'milliseconds') ~ ' end'
    ) -}}
{%- endmacro -%}

{#- OMS writes seconds in the field beside it. -#}
{%- macro _dataworks_rules_of_time() -%}
    {%- set path, milliseconds = 'payload.timestamp.eventTime', 'message.payload.`timestamp`.eventTime' -%}
    {{- return(dict({path ~ ': below -1': milliseconds ~ ' < -1'}, **spark_cdc._rules_of_milliseconds(path, milliseconds))) -}}
{%- endmacro -%}

{#-
    The keys of `payload`, and one of them once more where a part of it has its own field twice: from_json keeps the last of
    two. The parts stand in the map as Spark writes JSON, without blanks, so that a search spares most of them the count.
-#}
{%- macro _dataworks_keys(rows_name, value='value') -%}
    {%- set twice = [] -%}
    {%- for part, name in [('before', rows_name), ('after', rows_name), ('timestamp', 'eventTime')] -%}
        {%- set text = "payload['" ~ part ~ "']" -%}
        {%- set keys = 'json_object_keys(' ~ text ~ ')' -%}
        {%- do twice.append(
            'case when contains(substr(' ~ text ~ ", 3), '\"" ~ name ~ "\":') then " ~ spark_cdc._names_twice(keys)
            ~ ' else false end'
        ) -%}
    {%- endfor -%}
    {{- return(spark_cdc._let(
        'payload', 'from_json(' ~ value ~ ", 'payload map<string,string>').payload",
        'case when ' ~ twice | join(' or ') ~ " then array('op', 'op') else map_keys(payload) end"
    )) -}}
{%- endmacro -%}

{#-
    Where it cannot be known of which table a message is, or which statement it has. A second parse only where the name itself
    occurs twice, or where a letter of it may stand as an escape.
-#}
{%- macro _dataworks_rules_of_names_once(ddl, value='value') -%}
    {%- set keys = spark_cdc._keys_of('schema', value) -%}
    {{- return({
        'schema.source: a field occurs twice': spark_cdc._has_duplicate_column('message.`schema`.source'),
        'schema: a field occurs twice': "case when octet_length(value) - octet_length(replace(value, '\"source\"', '')) > 8 "
            ~ "or contains(value, '\\\\u006') or contains(value, '\\\\u007') then " ~ spark_cdc._names_twice(keys) ~ ' else false end',
        'payload.ddl: a field occurs twice': 'case when contains(substr(' ~ ddl ~ ", 3), '\"text\":') then "
            ~ spark_cdc._names_twice('json_object_keys(' ~ ddl ~ ')') ~ ' else false end',
    }) -}}
{%- endmacro -%}
