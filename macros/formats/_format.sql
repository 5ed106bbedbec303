{#-
    The formats and their dialects; the first dialect is the default. To add a format of its own, a project defines a macro
    `spark__formats` that returns this mapping and one more entry.
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
    One format as a mapping, the argument `fmt` of all stages. Only this macro makes and checks it, once for a query. Its
    fields:

    name          the format's name, a key of `formats()`
    dialect       the dialect; the format's first if the model names none; none if the format has no dialects
    named_dialect the dialect as the model names it, or none
    schema        the envelope's fields as a from_json struct
    schema_without_types
                  the same; the columns' types may be missing
    header        what `<format>_header` returns, see below; none for each part that it leaves out
    rows          what `<format>_rows` returns, likewise
    value         the macro `<format>_value`
    may_not_be_plain, plain_text
                  the macros `<format>_may_not_be_plain` and `<format>_plain_text`, of a format whose rows have `plain_text`

    `macro` is the public macro that has the arguments `format` and `dialect`.

    A format defines the macros below. Dispatch finds them, so that a project can add a format of its own. Their `dialect` is a
    dialect of `formats()`, or none if the format has no dialects.

    `<format>_schema(dialect, with_types)`
                  the envelope's fields as a from_json struct; rows as map<string, string>. Without `with_types` a format that can
                  do without the columns' types leaves them out
    `<format>_header(dialect)`, `<format>_rows(dialect)`
                  mappings of parts
    `<format>_value(text, column, time_zone, dialect)`
                  SQL of a value of the declared type, from the text that the format writes: mostly `value` with an encoding of
                  the format's own
    `<format>_may_not_be_plain(columns, dialect)`, `<format>_plain_text(columns, dialect)`
                  only of a format whose rows have `plain_text`: a condition on a change, and SQL over `text` and `name` that makes
                  the text of a column plain

    The header has SQL expressions over `message`: `kind`, the columns of `_header_columns`, and

    errors        see `_first_error`; they may read `message_kind`, which is the `kind`
    event         an expression that all others may read as `event`
    beside_event  a mapping of further names to expressions that all others may read by these names; each may read `event`
                  and those before it, and `event` reads none of them; not if the event calls Python
    statement     a mapping: the `text` of an SQL statement, and the `table` and the `qualifier` (its database or schema) that it
                  must name to be a truncate; both may be missing. All others but these two may then read `statement` and
                  `statement_kind`, see parse/statements.sql
    nested        the keys of an object inside the message; a key that occurs twice is an error
    nested_in     the name of that object
    kind_of_null  the kind of a message whose value is null in Kafka, if it is not always a tombstone
    error_of_null the error of such a message, as `_error` makes it, or NULL
    document      if a message is not JSON: an expression over the raw `value`, mostly a Python function, that returns it as JSON
                  text. That text replaces `value`, also in a messages model

    Further parts of the header are `true` or left out:

    event_calls_python  the event is evaluated once, before all filters
    splits_updates      an update may be two messages
    names_table         a row or a truncate without a table is an error
    doubles_may_be_decimals
                        true if the format sends decimals, too, under the type that `cdc_type` knows as a double
    types_of_values     `column_types` are of the values in the message, as in a document, and not of the table's columns

    Two parts are expressions over the columns of a messages model:

    sql_dialect         the SQL that the statements in `ddl` are written in: mysql, oracle, postgres or tsql; left out, or NULL, if
                        the message does not show it
    ddl_action          create, alter, drop or rename, of a DDL message whose `ddl` is not SQL; left out if it is

    `sequence_names` says what each part of `sequence` is, for people: an expression that gives as many texts, with the path of
    the field in the message. Left out if only the offset orders.

    `type_codes` names the vendor under which `cdc_type` knows the column types, if it is not the format's own name.

    The parts of the rows are plain SQL expressions over `message`, evaluated for messages of kind `rows`. `overlays`,
    `keeps_key`, `exact`, `plain_text` and `long_numbers` say how other parts are read: they are `true` or left out.

    each      a list in which each element is one row, if a message holds several; the others may then also read `element` and
              `position`
    op        insert, update, delete or snapshot
    image     the row as map<string, string>: after the change, or the deleted row
    before    the row before an update or a delete, as map<string, string>; null if the message does not have it
    overlays  true if `before` has only the columns that differ from `image`: of a delete it is then an empty map
    keeps_key true if a key column that `before` lacks did not change and has its value in `image`: no key column is NULL. The
              other columns that `before` lacks are unknown
    update_part  'before' or 'after' for one of the two messages of an update, else null
    complete  true if `image` is the whole row: a column that it lacks is then null, and not absent
    absent_is_error
              true if nothing shows whether a column that `image` lacks became null or was not changed. If the format sends an
              update as two messages: an expression over `before` and `image` of the pair
    patches   of an update that changes parts of values: map<string,string> of column -> the changes of its parts, as
              `cdc_mongo_patched` reads them
    old_key   of an update, the map that has the key before it; only its names are kept. If it lacks a key column of the model,
              nobody knows which old row to delete. Null if the message has no such map
    value_names
              a regular expression of the name in front of a column's value in the message, with {} for the column's own name;
              left out if it is that name
    exact     true if every text of a row is the source's own, because the format writes its numbers in quotes or reads them
              with a Python function: no number is then put in quotes. A format with such a function must set it, because Spark
              rejects a Python function inside a lambda. With `each` only `event` may call a Python function
    old_key_told_apart
              a condition on an update that changes the key: a message of its own deletes the old key, perhaps in another
              partition. The position is -1 then: see `_key_operations`
    type_scale
              the scale of a decimal in the type that the message names, an expression over {}; '' if there is none. If a column
              `from base64` is declared with another scale, the row is an error that names both
    no_value  a condition on {}, the text of a column, that no value of any type meets, so that `decoded` does not show it as one
    op_columns_of_others
              a list of the operation columns of other tools in the message, null if there is none. If the model does not declare
              one of them, the row is an error, because its value would be lost
    plain_text
              true if a value's text may differ from what databases write, depending on the type that the message names for its
              column, and on its quotes: `<format>_plain_text` makes it plain where `<format>_may_not_be_plain`. In other formats
              a number without quotes is never bytes
    in_quotes of a format with `plain_text`, for `image` and `before` a list each: the columns whose text reads as a number, as
              `true` or as an object, but has quotes in the message. A format may leave out numbers whose quotes do not matter
    readings  of a format with `plain_text`, for `image` and `before` a map<string,string> each: the values in an encoding that the
              message shows, read; U+FFFD if such a value cannot be read. SQL over `exact`, the list of these two, over `row` and
              the message's columns. Only messages that meet the condition `may_have_readings` have them
    long_numbers
              true if the format writes numbers of more than 1,000 digits: see `_without_long_numbers`
-#}
{%- macro _format(format, dialect=none, macro='messages') -%}
    {%- set formats = spark_cdc.formats() -%}
    {%- do spark_cdc._require_text(macro, 'format', format, 'Formats of this package: ' ~ formats.keys() | join(', ') ~ '.') -%}
    {%- do spark_cdc._require_one_of(macro, 'format', format, formats.keys() | list) -%}
    {%- if dialect is not none -%}
        {%- do spark_cdc._require_one_of(macro, 'dialect', dialect, formats[format]) -%}
    {%- endif -%}
    {%- set named_dialect = dialect -%}
    {%- set dialect = dialect or (formats[format] or [none])[0] -%}
    {#- By a name of its own, because dbt reads the first argument of `adapter.dispatch(...)` as a literal while it parses. -#}
    {%- set dispatch = adapter.dispatch -%}
    {%- set schema = dispatch(format ~ '_schema', 'spark_cdc') -%}
    {%- set rows = spark_cdc._known_parts(
        format ~ '_rows', dispatch(format ~ '_rows', 'spark_cdc')(dialect), spark_cdc._parts_of_rows()
    ) -%}
    {{- return({
        'name': format,
        'dialect': dialect,
        'named_dialect': named_dialect,
        'schema': schema(dialect, true),
        'schema_without_types': schema(dialect, false),
        'header': spark_cdc._known_parts(
            format ~ '_header', dispatch(format ~ '_header', 'spark_cdc')(dialect), spark_cdc._header_parts()
        ),
        'rows': rows,
        'value': dispatch(format ~ '_value', 'spark_cdc'),
        'may_not_be_plain': dispatch(format ~ '_may_not_be_plain', 'spark_cdc') if rows.plain_text else none,
        'plain_text': dispatch(format ~ '_plain_text', 'spark_cdc') if rows.plain_text else none,
    }) -}}
{%- endmacro -%}

{%- macro _header_parts() -%}
    {{- return([
        'kind', 'kind_of_null', 'error_of_null', 'errors', 'event', 'event_calls_python', 'beside_event', 'nested', 'nested_in',
        'splits_updates', 'names_table', 'document', 'type_codes', 'statement', 'sequence_names',
        'sql_dialect', 'ddl_action', 'types_of_values', 'doubles_may_be_decimals',
    ] + spark_cdc._header_columns().keys() | list) -}}
{%- endmacro -%}

{%- macro _parts_of_rows() -%}
    {{- return([
        'each', 'op', 'image', 'before', 'overlays', 'keeps_key', 'update_part', 'complete', 'absent_is_error', 'patches', 'old_key',
        'value_names', 'exact', 'plain_text', 'long_numbers', 'old_key_told_apart', 'type_scale',
        'op_columns_of_others', 'no_value', 'in_quotes', 'readings', 'may_have_readings',
    ]) -}}
{%- endmacro -%}

{#-
    All known parts, none for each that `parts` leaves out. An unknown part is an error: a misspelled part would silently do
    nothing.
-#}
{%- macro _known_parts(macro, parts, known) -%}
    {%- for name in parts -%}
        {%- do spark_cdc._require_one_of(
            macro, 'return', name, known, 'Correct the spelling: macros/formats/_format.sql lists the parts.'
        ) -%}
    {%- endfor -%}
    {{- return(dict(dict.fromkeys(known), **parts)) -}}
{%- endmacro -%}

{#-
    Condition on a row of a messages model: a key's changes arrive in the order of their positions in the source's log.
    Positions therefore only go back if the log was replaced.
-#}
{%- macro _has_position_in_log() -%}
    {{- return("format in ('debezium', 'kafka_river_canal')") -}}
{%- endmacro -%}
