{#-
    The connectors whose messages are read as Debezium's. Other connectors and writers of JSON may send messages that only look
    like them. These are rejected: a value in a cell or in a union would be read as a text, and a null that means "not changed"
    as NULL.
    Facts: debezium.io/documentation; YugabyteDB, Scylla and Cassandra connectors, "data change events"; Avro specification, "JSON
    encoding"; docs/formats/debezium.md.
-#}
{#-
    The connectors whose messages are read as Debezium's, with their kind of order. docs/formats/debezium.md has the same list.
    CloudCanal's page shows one name.
-#}
{%- macro _debezium_connectors(dialect='envelope') -%}
    {%- if dialect == 'cloudcanal' -%}
        {{- return({'MySQL': 'offset'}) -}}
    {%- endif -%}
    {{- return({
        'mysql': 'binlog', 'mariadb': 'binlog', 'postgresql': 'lsn_pair', 'oracle': 'scn', 'sqlserver': 'lsn_words', 'db2': 'lsn_words',
        'informix': 'lsn_numbers', 'TiCDC': 'commit_ts', 'vitess': 'offset', 'spanner': 'offset',
    }) -}}
{%- endmacro -%}

{#-
    Why messages of a connector are not read as Debezium's: rules of `_first_error` on its name, which is NULL if the message
    names no connector. Cells are objects around each value; between them a bare null means that the value was not changed.
-#}
{%- macro _debezium_unsupported(connector, dialect) -%}
    {%- set listed = spark_cdc._debezium_connectors(dialect).keys() | list -%}
    {%- set of_cells = spark_cdc._literals(spark_cdc._debezium_connectors_of_cells()) -%}
    {%- set details = {
        'source.connector: {} writes cells, which are not read as Debezium': [connector ~ ' in (' ~ of_cells ~ ')', connector],
    } -%}
    {%- if dialect not in ['flat', 'cloudcanal'] -%}
        {%- do details.update({
            'source.connector: mongodb is read by the format debezium_mongodb': connector ~ " = 'mongodb'",
            'source.connector: MySQL is what CloudCanal writes, read by the dialect cloudcanal; Debezium writes mysql':
                connector ~ " = 'MySQL'",
        }) -%}
    {%- endif -%}
    {%- set others = spark_cdc._var('spark_cdc__debezium_other_connectors') -%}
    {%- set allows = 'the variable spark_cdc__debezium_other_connectors allows it, ordered by the offset' -%}
    {%- if dialect == 'cloudcanal' -%}
        {%- do details.update({
            'source.connector: a connector of Debezium, which the dialect envelope reads':
                connector ~ ' in (' ~ spark_cdc._literals(spark_cdc._debezium_connectors() | reject('in', others) | list) ~ ')'
        }) -%}
    {%- endif -%}
    {%- if dialect != 'cloudcanal' -%}
        {%- set has_these_letters = 'name -> lower(name) = lower(' ~ connector ~ ')' -%}
        {%- set listed_one = 'get(filter(\n    array(' ~ spark_cdc._literals(listed) ~ '),\n    ' ~ has_these_letters ~ '\n), 0)' -%}
        {%- do details.update({
            'source.connector: did you mean {}? Other letters are another connector; ' ~ allows: [
                connector ~ ' not in (' ~ spark_cdc._literals(listed + others) ~ ') and lower(' ~ connector ~ ') in ('
                    ~ spark_cdc._literals(listed | map('lower')) ~ ')',
                listed_one,
            ]
        }) -%}
    {%- endif -%}
    {%- if 'cockroachdb' not in others and dialect != 'cloudcanal' -%}
        {%- do details.update({
            "source.connector: cockroachdb; the dialect cockroachdb reads CockroachDB's own changefeeds, and " ~ allows:
                connector ~ " = 'cockroachdb'"
        }) -%}
    {%- endif -%}
    {%- do details.update({
        "source.connector: not one that docs/formats/debezium.md lists; the variable spark_cdc__debezium_other_connectors allows it":
            connector ~ ' not in (' ~ spark_cdc._literals(listed + others) ~ ')'
    }) -%}
    {{- return(details) -}}
{%- endmacro -%}

{#-
    True if a message has a value in a cell: an object with `value` first, alone or before `set` or `deletion_ts`. Inside a text
    each quote has a backslash, so the search does not match there. Debezium's own object with a `value` begins with `scale`.
-#}
{%- macro _debezium_holds_cells(value) -%}
    {{- return(
        value ~ " rlike r'\":\\s*+\\{\\s*+\"value\"\\s*+:\\s*+" ~ spark_cdc._json_scalar()
        ~ "\\s*+(?:\\}|,\\s*+\"(?:deletion_ts|set)\"\\s*+:)'"
    ) -}}
{%- endmacro -%}

{#-
    True if YugabyteDB wrote the message, whose connector may call itself postgresql: a truth value in a cell says that the
    value was set. In PostgreSQL a value with these two names is an hstore, whose values are all texts.
-#}
{%- macro _debezium_holds_set_cells(value) -%}
    {{- return(
        'case when contains(' ~ value ~ ", '\"set\"') then " ~ value ~ " rlike r'\":\\s*+\\{\\s*+\"value\"\\s*+:\\s*+"
        ~ spark_cdc._json_scalar() ~ "\\s*+,\\s*+\"set\"\\s*+:\\s*+(?:true|false)\\s*+\\}' else false end"
    ) -}}
{%- endmacro -%}

{#- True if a message has a value in an object that names its type. A row may have one column with such a name. -#}
{%- macro _holds_avro_unions(value) -%}
    {{- return(
        value ~ " rlike r'(?<!\"before|\"after|\"payload)\":\\s*+\\{\\s*+\"(?:string|int|long|float|double|boolean|bytes)\"\\s*+:\\s*+"
        ~ spark_cdc._json_scalar() ~ "\\s*+\\}'"
    ) -}}
{%- endmacro -%}

{%- macro _json_scalar() -%}
    {{- return('(?:"(?:[^"\\\\]++|\\\\.)*+"|[^\\]\\[{},"\\s]++)') -}}
{%- endmacro -%}

{#- True if a row has a record's name instead of its columns. -#}
{%- macro _is_avro_record(image) -%}
    {{- return(
        'case when size(' ~ image ~ ') = 1 then get(map_keys(' ~ image ~ "), 0) rlike r'^(?:.*\\.)?Value\\z' and startswith(get(map_values("
        ~ image ~ "), 0), '{') else false end"
    ) -}}
{%- endmacro -%}
