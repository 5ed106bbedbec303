{#-
    What DataWorks and its dialect `oms` share: parts of the header, the effect of a message's statement on rows, the time of the
    change, and keys that occur twice. Facts and reasons: docs/formats/dataworks.md.
-#}
{#- The statement, NULL if there is none. `also_bare`: OMS may write it without an object around it. -#}
{%- macro _dataworks_statement(ddl, also_bare=false) -%}
    {#- As Spark writes JSON: only a text, not an object or a number. -#}
    {{- return(
        'case when contains(' ~ ddl ~ ", '\"text\":\"') then nullif(get_json_object(" ~ ddl ~ ", '$.text'), '')"
        ~ (' when left(' ~ ddl ~ ", 1) <> '{' then nullif(" ~ ddl ~ ", '')" if also_bare) ~ ' end'
    ) -}}
{%- endmacro -%}

{#-
    The error if op and statement leave the effect on the table's rows unclear, else NULL: the statement changes rows, empties
    another table, contradicts op or is missing. A number, a truth value or an object counts as missing.
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

{#- TRUNCATE needs no statement; but a value that is not a text may mean a statement on another table. -#}
{%- macro _dataworks_truncates_otherwise(op, ddl) -%}
    {{- return('(' ~ op ~ " = 'TRUNCATE' and statement is null and get_json_object(" ~ ddl ~ ", '$.text') <> '')") -}}
{%- endmacro -%}

{#- The time of the change in the source. A row of the full load has 0 or -1. -#}
{%- macro _dataworks_time() -%}
    {%- set milliseconds = 'message.payload.`timestamp`.eventTime' -%}
    {{- return(
        'case when ' ~ milliseconds ~ ' > 0 then ' ~ spark_cdc._instant(milliseconds, 'milliseconds') ~ ' end'
    ) -}}
{%- endmacro -%}

{#- OMS writes seconds in another field of the same object. -#}
{%- macro _dataworks_rules_of_time() -%}
    {%- set path, milliseconds = 'payload.timestamp.eventTime', 'message.payload.`timestamp`.eventTime' -%}
    {{- return(dict({path ~ ': below -1': milliseconds ~ ' < -1'}, **spark_cdc._rules_of_milliseconds(path, milliseconds))) -}}
{%- endmacro -%}

{#-
    The keys of `payload`, with one of them repeated if a part of `payload` has a field twice: from_json keeps the last of two.
    Spark writes the parts in the map as JSON without blanks, so that a search makes the count unnecessary for most of them.
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
        'case\n    when ' ~ twice | join('\n        or ') ~ "\n        then array('op', 'op')\n    else map_keys(payload)\nend"
    )) -}}
{%- endmacro -%}

{#-
    Errors if the message's table or its statement is not certain. A message is parsed a second time only if the name itself
    occurs twice, or if a letter of it may be written as an escape.
-#}
{%- macro _dataworks_rules_of_names_once(ddl, value='value') -%}
    {%- set keys = spark_cdc._keys_of('schema', value) -%}
    {{- return({
        'schema.source: a field occurs twice': spark_cdc._has_duplicate_column('message.`schema`.source'),
        'schema: a field occurs twice': "case when regexp_count(value, '\"source\"') > 1 "
            ~ "or contains(value, '\\\\u006') or contains(value, '\\\\u007') then " ~ spark_cdc._names_twice(keys) ~ ' else false end',
        'payload.ddl: a field occurs twice': 'case when contains(substr(' ~ ddl ~ ", 3), '\"text\":') then "
            ~ spark_cdc._names_twice('json_object_keys(' ~ ddl ~ ')') ~ ' else false end',
    }) -}}
{%- endmacro -%}

{#- The operations of a DDL message. -#}
{%- macro _dataworks_ddl_ops() -%}
    {{- return(['CREATE', 'ALTER', 'ERASE', 'QUERY', 'RENAME', 'CINDEX', 'DINDEX']) -}}
{%- endmacro -%}

{#- Condition: the message's statement is a truncate, of its own table or of another one. -#}
{%- macro _dataworks_is_truncate(op) -%}
    {{- return(op ~ " = 'QUERY' and statement_kind in ('truncate', 'truncate_of_other_table')") -}}
{%- endmacro -%}

{#- The parts of the header that are alike for both, from the names that each gives the same fields. -#}
{%- macro _dataworks_parts_of_both(op, database, schema, table, statement, rows, heartbeat) -%}
    {%- set kind -%}
        case
            when {{ op }} in ({{ spark_cdc._literals(rows) }}) then 'rows'
            when {{ op }} = 'TRUNCATE' or {{ spark_cdc._dataworks_is_truncate(op) }} then 'truncate'
            when {{ op }} in ({{ spark_cdc._literals(spark_cdc._dataworks_ddl_ops()) }}) then 'ddl'
            when {{ op }} = 'TRANSACTION_BEGIN' then 'begin'
            when {{ op }} = 'TRANSACTION_END' then 'commit'
            when {{ op }} = '{{ heartbeat }}' then 'heartbeat'
            else 'other'
        end
    {%- endset -%}
    {{- return({
        'nested_in': 'payload',
        'kind': kind,
        'database_name': database,
        'schema_name': schema,
        'table_name': table,
        'names_table': true,
        'doubles_may_be_decimals': true,
        'op': op,
        'committed_at': spark_cdc._dataworks_time(),
        'transaction_id': none,
        'statement': {
            'text': statement, 'table': table, 'qualifier': 'coalesce(nullif(' ~ schema ~ ", ''), " ~ database ~ ')',
        },
        'ddl': 'statement',
    }) -}}
{%- endmacro -%}
