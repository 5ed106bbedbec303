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
    A format as all stages know it: one mapping, which only this macro makes and checks, once for a query, and which is passed on as
    the one argument `fmt`. Its fields:

    name          the format's name, a key of `formats()`
    dialect       the dialect; the format's first where the model names none, and none where the format has no dialects
    named_dialect the dialect as the model names it, or none
    schema        the envelope's fields as a from_json struct
    schema_without_types
                  the same; the columns' types may be missing
    header        what `<format>_header` gives, see below; none for each part that it leaves out
    rows          what `<format>_rows` gives, likewise
    value         the macro `<format>_value`
    may_not_be_plain, plain_text
                  the macros `<format>_may_not_be_plain` and `<format>_plain_text`, of a format whose rows have `plain_text`

    `macro` is the public macro whose arguments `format` and `dialect` are.

    A format gives four macros, found by dispatch, so that a project may add a format of its own. Their `dialect` is a dialect of
    `formats()`, or none of a format without any:

    `<format>_schema(dialect, with_types)`
                  the envelope's fields as a from_json struct; row images as map<string, string>. Without `with_types` the columns'
                  types may be left out, if the format can do without
    `<format>_header(dialect)`, `<format>_rows(dialect)`
                  mappings of parts
    `<format>_value(text, column, time_zone, dialect)`
                  SQL of a value as the format writes one of the declared type: mostly `value` with an encoding of the format's own
    `<format>_may_not_be_plain(columns)`, `<format>_plain_text(columns, dialect)`
                  only of a format whose rows have `plain_text`: a condition on a change, and SQL over `text` and `name` that makes the
                  text of a column plain

    The header's SQL expressions over `message`: kind and what `_header_columns` lists, and

    errors        see `_first_error`
    event         what all others may read by that name
    beside_event  a mapping of further names to expressions over the same, which all others may read, too; not of an event that
                  calls Python
    statement     a mapping: SQL of the `text` of an SQL statement, and of the `table` and the `qualifier` (its database or schema)
                  that it must name to be a truncate; both may be missing. All others but `event` may then read `statement` and
                  `statement_kind`, see parse/statements.sql
    nested        the keys of an object below the message, which may not occur twice
    nested_in     the name of that object
    kind_of_null  the kind of a Kafka null, where it is not always a tombstone
    error_of_null the error of one, an expression as `_error` makes it, or NULL
    document      where a message is no JSON, an expression over the raw `value`, mostly a Python function, that gives it as JSON
                  text. That text is `value` from then on, also in a messages model

    And what is true, or left out:

    event_calls_python  the event is then evaluated once, below all filters
    splits_updates      an update may be two messages
    names_table         a row or a truncate without a table is an error

    `type_codes` names the vendor whose types `cdc_type` knows the columns by, where that is not the format's own name.

    The parts of the rows are plain SQL expressions over `message`, evaluated for messages of kind `rows`; of `overlays`,
    `keeps_key`, `exact`, `plain_text` and `long_numbers`, which say how others are read, `true` or nothing:

    each      a list in which each element is one row, where a message holds several; the others then also read `element`
              and `position`
    op        insert, update, delete or snapshot
    image     the row as map<string, string>: after the change, or of a delete as it was
    before    the row before an update or a delete, as map<string, string>; null where the message does not tell
    overlays  true where `before` has only what differs from `image`
    keeps_key true where a column of the key that `before` lacks is the one of `image`: of a key no column is NULL, so it did not
              change. What else `before` lacks is unknown
    update_part  'before' or 'after' for one of the two messages of an update, else null
    complete  true where `image` is the whole row, so that a column which is not in it is null and not merely absent
    absent_is_error
              true where nothing tells if a column that is not in `image` became null or was not changed. Of a format that sends
              an update as two messages an expression over `before` and `image` of the pair
    patches   of an update that changes parts of values, map<string,string> of column -> what is done to its parts, as
              `cdc_mongo_patched` reads it
    old_key   of an update, the map that has the key before it; only its names are kept. A column of the model's key
              that is not in it had a value that nobody knows, and the old row would stay. Null where the message has no such map
    value_names
              a regular expression of the name that a column's value stands after in the message, with {} for the columns'
              own names; it may be left out where it is just that
    exact     true where every text of an image is the source's own already, because the format writes its numbers in quotes
              or reads them with a Python function: no number is then put in quotes. Such a function has to say so, because
              Spark refuses a Python function inside a lambda. With `each` no expression here may call one: `event` may
    old_key_told_apart
              a condition on an update that changes the key: the old key is deleted by a message of its own, which may be in another
              partition. The position is -1 then: see `_key_operations`
    type_scale
              the scale of a decimal in the type that the message names, an expression over {}; it gives '' where there is none. Of a
              column that says `from base64` another scale than the declared one is an error that names both
    no_value  a condition on {}, the text of a column, on which it is no value of any type, so that `decoded` may not show it as one
    op_columns_of_others
              a list of the operation columns of other tools that the message has, null of none: each that the model does not
              declare makes the row an error, because its value would be lost
    plain_text
              true where a value's text may be another than databases write, by the type that the message names for its column:
              `<format>_plain_text` makes it plain where `<format>_may_not_be_plain`, and asks if a number stands in quotes. Of other
              formats a bare one is no bytes
    long_numbers
              true where the format writes numbers of more than 1,000 digits: see `_without_long_numbers`
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
        'splits_updates', 'names_table', 'document', 'type_codes', 'statement',
    ] + spark_cdc._header_columns().keys() | list) -}}
{%- endmacro -%}

{%- macro _parts_of_rows() -%}
    {{- return([
        'each', 'op', 'image', 'before', 'overlays', 'keeps_key', 'update_part', 'complete', 'absent_is_error', 'patches', 'old_key',
        'value_names', 'exact', 'plain_text', 'long_numbers', 'old_key_told_apart', 'type_scale',
        'op_columns_of_others', 'no_value',
    ]) -}}
{%- endmacro -%}

{#-
    All known parts, none for what `parts` leaves out. Of a project's own format too: a part whose name has a slip would do nothing,
    silently.
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
    Condition on a row of a messages model: changes of a key arrive in the order of their positions in the source's log, which
    therefore do not go back unless the log is another one.
-#}
{%- macro _has_position_in_log() -%}
    {{- return("format in ('debezium', 'kafka_river_canal')") -}}
{%- endmacro -%}
