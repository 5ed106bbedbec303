{#-
    The formats that macros take and their dialects; the first dialect is the default. A project that brings a format of its
    own says so with a `spark__formats` macro that returns this mapping and one more entry.
-#}
{%- macro formats() -%}
    {{- return(adapter.dispatch('formats', 'spark_cdc')()) -}}
{%- endmacro -%}

{%- macro default__formats() -%}
    {{- return({
        'canal': ['canal', 'ticdc', 'tencent', 'dts', 'flink', 'seatunnel', 'oms', 'cloudcanal', 'dataarts'],
        'debezium': ['envelope', 'by_offset', 'flat', 'cloudcanal', 'cockroachdb'],
        'dataworks': ['dataworks', 'oms'],
        'oms': ['default', 'extended'],
        'shareplex': ['oms', 'shareplex', 'flink'],
        'cloudcanal': ['cloudcanal'],
        'maxwell': ['maxwell', 'nulls_left_out'],
        'drs': ['mysql', 'postgresql', 'oracle', 'sqlserver'],
        'kafka_river_canal': ['kafka_river_canal'],
        'goldengate': ['operation', 'row'],
        'dms': ['dms', 'nulls_left_out'],
        'dts_avro': ['dts_avro'],
        'drs_mongodb': ['drs_mongodb'],
        'debezium_mongodb': ['debezium_mongodb'],
    }) -}}
{%- endmacro -%}

{#-
    A macro of a format, such as `canal_header`, by dispatch: a project may bring `spark__acme_header` and so on of its own.
    Through a name of its own, because dbt reads the first argument of `adapter.dispatch(...)` as a literal while it parses.
-#}
{%- macro _format_macro(format, part) -%}
    {%- set dispatch = adapter.dispatch -%}
    {{- return(dispatch(format ~ '_' ~ part, 'spark_cdc')) -}}
{%- endmacro -%}

{#-
    Condition on a row of a messages model: changes of a key arrive in the order of their positions in the source's log, which
    therefore do not go back unless the log is another one.
-#}
{%- macro _has_position_in_log() -%}
    {{- return("format in ('debezium', 'kafka_river_canal')") -}}
{%- endmacro -%}

{#- The first dialect of a format is the one that nobody need name; none where it has no dialects. -#}
{%- macro _dialect_or_default(format, dialect) -%}
    {{- return(dialect or (spark_cdc.formats()[format] or [none])[0]) -}}
{%- endmacro -%}

{#- What a format's header macro gives: see `_envelope`. -#}
{%- macro _header_of(format, dialect) -%}
    {{- return(spark_cdc._known_parts(format ~ '_header', spark_cdc._format_macro(format, 'header')(dialect), [
        'kind', 'kind_of_null', 'error_of_null', 'errors', 'event', 'event_calls_python', 'beside_event', 'nested', 'nested_in',
        'splits_updates', 'names_table', 'document', 'type_codes',
    ] + spark_cdc._header_columns().keys() | list)) -}}
{%- endmacro -%}

{#- What a format's rows macro gives: see `_row_changes`. -#}
{%- macro _rows_of(format, dialect) -%}
    {{- return(spark_cdc._known_parts(format ~ '_rows', spark_cdc._format_macro(format, 'rows')(dialect), [
        'each', 'op', 'image', 'before', 'overlays', 'keeps_key', 'half', 'complete', 'absent_is_error', 'patches', 'old_key',
        'value_names', 'exact', 'tells_quotes', 'long_numbers', 'old_key_told_apart', 'type_scale',
        'op_columns_of_others', 'no_value',
    ])) -}}
{%- endmacro -%}

{#- Of a project's own format too: a part whose name has a slip would do nothing, silently. -#}
{%- macro _known_parts(macro, parts, known) -%}
    {%- for name in parts -%}
        {%- do spark_cdc._require_one_of(
            macro, 'return', name, known, 'Correct the spelling: macros/parse/envelope.sql and changes/row_changes.sql list the parts.'
        ) -%}
    {%- endfor -%}
    {{- return(parts) -}}
{%- endmacro -%}

{%- macro _require_format(macro, format, dialect) -%}
    {%- do spark_cdc._require_text(
        macro, 'format', format, 'Formats of this package: ' ~ spark_cdc.formats().keys() | join(', ') ~ '.'
    ) -%}
    {%- set formats = spark_cdc.formats() -%}
    {%- do spark_cdc._require_one_of(macro, 'format', format, formats.keys() | list) -%}
    {%- if dialect is not none -%}
        {%- do spark_cdc._require_one_of(macro, 'dialect', dialect, formats[format]) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What a format tells of a message beside its kind. One list: models, tests and `spark-cdc decode` read it. -#}
{%- macro _header_columns() -%}
    {{- return({
        'database_name': 'string',
        'schema_name': 'string',
        'table_name': 'string',
        'op': 'string',
        'sequence': 'array<decimal(20,0)>',
        'committed_at': 'timestamp',
        'transaction_id': 'string',
        'key_columns': 'array<string>',
        'column_types': 'map<string,string>',
        'ddl': 'string',
    }) -}}
{%- endmacro -%}
