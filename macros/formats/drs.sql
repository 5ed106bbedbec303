{#-
    Huawei DRS, "JSON" messages of the relational sources: Canal's field names, but a deleted row is in `old`, binaries are
    texts of Java byte lists, and `id` is an order.
    Facts: support.huaweicloud.com/realtimesyn-drs/drs_03_0052.html; docs/formats/drs.md.

    Order: (id, offset, position in the message): the page calls `id` a monotonic number of the task. `es` orders nothing: for
    PostgreSQL it is the commit time of the transaction before.

    Dialects: `mysql` (default; mysqlType, also GaussDB(for MySQL)) and, with columnType, dbType and schema, `postgresql` (also
    GaussDB), `oracle` and `sqlserver`.
-#}
{%- macro default__drs_schema(dialect, with_types) -%}
    {%- set types = 'mysqlType' if dialect == 'mysql' else 'columnType' -%}
struct<
    id: string,
    database: string,
    `schema`: string,
    `table`: string,
    type: string,
    opType: string,
    dbType: string,
    isDdl: boolean,
    sql: string,
    es: bigint,
    pkNames: array<string>,
    {{ types ~ ': map<string,string>,' if with_types }}
    data: array<map<string,string>>,
    old: array<map<string,string>>
>
{%- endmacro -%}

{%- macro default__drs_header(dialect) -%}
    {%- set qualifier = 'message.database' if dialect == 'mysql' else "nullif(message.`schema`, '')" -%}
    {%- set sequence = spark_cdc._whole_number('message.id') -%}
    {%- set kind -%}
        case
            when {{ spark_cdc._drs_is_row() }} then 'rows'
            when statement_kind = 'truncate' then 'truncate'
            else 'ddl'
        end
    {%- endset -%}
    {#- The page has the types of two databases. One of its names may be another type elsewhere: float of SQL Server has 8 bytes. -#}
    {%- set type_codes = 'drs' if dialect in ['mysql', 'postgresql'] else 'drs_' ~ dialect -%}
    {#- For PostgreSQL `es` is the time of another transaction: no time is better than a wrong one. -#}
    {%- set has_commit_time = 'message.es > 0' ~ (" and startswith(message.dbType, 'GaussDB')" if dialect == 'postgresql' else '') -%}
    {{- return({
        'kind': kind,
        'database_name': "nullif(message.database, '')",
        'schema_name': "nullif(message.`schema`, '')" if dialect != 'mysql' else none,
        'table_name': 'message.`table`',
        'names_table': true,
        'op': 'message.type',
        'sequence': 'array_compact(array(' ~ sequence ~ '))',
        'sequence_names': spark_cdc._sequence_names(['id']),
        'committed_at': 'case when ' ~ has_commit_time ~ ' then ' ~ spark_cdc._instant('message.es', 'milliseconds') ~ ' end',
        'transaction_id': none,
        'key_columns': 'message.pkNames',
        'column_types': 'message.' ~ ('mysqlType' if dialect == 'mysql' else 'columnType'),
        'statement': {'text': 'message.sql', 'table': 'message.`table`', 'qualifier': qualifier},
        'type_codes': type_codes,
        'sql_dialect': spark_cdc._literal({'postgresql': 'postgres', 'sqlserver': 'tsql'}.get(dialect, dialect)),
        'ddl': "nullif(message.sql, '')",
        'errors': spark_cdc._drs_errors(dialect, sequence),
    }) -}}
{%- endmacro -%}

{%- macro _drs_is_row(type='message.type') -%}
    {{- return(type ~ " in ('INSERT', 'UPDATE', 'DELETE', 'INIT')") -}}
{%- endmacro -%}

{#- The rules that reject a message, by error code. `sequence` is NULL if its place is no number. -#}
{%- macro _drs_errors(dialect, sequence) -%}
    {%- set is_row = spark_cdc._drs_is_row() -%}
    {%- set is_ddl = "(message.type in ('DDL', 'INIT_DDL') or coalesce(message.isDdl, false))" -%}
    {%- set is_delete = "message.type = 'DELETE'" -%}
    {%- set row_list = "case message.type when 'DELETE' then message.old else message.data end" -%}
    {#- Only the statement shows the effect of a DDL. The page lists no TRUNCATE: with a statement it is read like any DDL. -#}
    {%- set fault -%}
        case
            when {{ is_row }} then null
            when message.type = 'TRUNCATE' and statement_kind = 'none'
                then {{ spark_cdc._error('unknown_op', 'sql: a TRUNCATE without its statement') }}
            else {{ spark_cdc._statement_fault('sql') | indent(12) }}
        end
    {%- endset -%}
    {{- return({
        'wrong_format': spark_cdc._drs_wrong_format(dialect),
        'unknown_op': {
            'type: not an operation of the format, and isDdl is not true': 'not (' ~ is_row ~ ' or ' ~ is_ddl ~ ')',
            'isDdl: true, and type is a row operation': is_row ~ ' and coalesce(message.isDdl, false)',
        },
        'unexpected_structure': spark_cdc._drs_unexpected_structure(),
        'missing_rows': {
            'old: no row, and a DELETE has its row there': is_delete ~ ' and coalesce(size(message.old), 0) < 1',
            'data: no row': is_row ~ ' and coalesce(size(' ~ row_list ~ '), 0) < 1',
            'old[]: a row without columns': is_delete ~ ' and exists(message.old, image -> coalesce(size(image), 0) < 1)',
            'data[]: a row without columns': is_row ~ ' and exists(' ~ row_list ~ ', image -> coalesce(size(image), 0) < 1)',
        },
        'missing_row': {
            'sql: no statement': is_ddl ~ " and message.type <> 'TRUNCATE' and statement_kind = 'none'"
        },
        'array_length_mismatch': {
            'old: not as many rows as data': "message.type = 'UPDATE' and size(message.old) > 0 and size(message.old) <> size(message.data)"
        },
        'fault': fault,
        'missing_position': {
            'id: not a whole number': '(' ~ is_row ~ " or statement_kind = 'truncate') and " ~ sequence ~ ' is null'
        },
    }) -}}
{%- endmacro -%}

{#- The page does not list the names: a name that surely belongs to another dialect is rejected. -#}
{%- macro _drs_wrong_format(dialect) -%}
    {%- set of_others = {
        'postgresql': 'mysql|mariadb|oracle|sql ?server|mongo',
        'oracle': 'mysql|mariadb|postgres|gaussdb|sql ?server|mongo',
        'sqlserver': 'mysql|mariadb|postgres|gaussdb|oracle|mongo',
    } -%}
    {%- set rules = {'type: missing': 'message.type is null'} -%}
    {%- if dialect == 'mysql' -%}
        {{- return(dict(rules, **{'dbType: only the other dialects have it': 'message.dbType is not null'})) -}}
    {%- endif -%}
    {{- return(dict(rules, **{
        'dbType: missing, as in the dialect mysql': 'message.dbType is null',
        'dbType: a source of another dialect or format': "message.dbType rlike '(?i)" ~ of_others[dialect] ~ "'",
    })) -}}
{%- endmacro -%}

{#- The page says that `sql` is empty in a row, and that the flag marks a DDL. -#}
{%- macro _drs_unexpected_structure() -%}
    {%- set is_row = spark_cdc._drs_is_row() -%}
    {#- The other field may well call a row of the full load an INSERT. -#}
    {%- set two_types -%}
        (
            message.opType <> message.type
            and ({{ is_row }} or {{ spark_cdc._drs_is_row('message.opType') }})
            and not (message.type = 'INIT' and message.opType = 'INSERT')
        )
    {%- endset -%}
    {%- set rules = {
        'opType: another operation than type': two_types,
        'data: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.data) > 0',
        'old: rows, and type is not a row operation': 'not ' ~ is_row ~ ' and size(message.old) > 0',
        'old: a row in an insert': "message.type in ('INSERT', 'INIT') and " ~ spark_cdc._holds_a_row('message.old'),
        'data: another row than old has, in a DELETE': "message.type = 'DELETE' and size(message.old) > 0 and "
            ~ spark_cdc._other_rows('message.data', 'message.old'),
        'sql: a statement, and type is a row operation': "message.type in ('INSERT', 'UPDATE', 'DELETE') and trim(message.sql) <> ''",
        'isDdl: false, and type is a DDL': "message.type in ('DDL', 'INIT_DDL') and not coalesce(message.isDdl, true)",
        'sql: not the TRUNCATE that type says':
            "message.type = 'TRUNCATE' and statement_kind in ('changes_rows', 'replaces_rows', 'other')",
    } -%}
    {%- do rules.update(spark_cdc._rules_of_milliseconds('es', 'message.es')) -%}
    {%- do rules.update(spark_cdc._rules_of_names({
        'database': 'message.database', 'schema': 'message.`schema`', 'table': 'message.`table`', 'dbType': 'message.dbType',
    })) -%}
    {{- return(rules) -}}
{%- endmacro -%}

{#-
    For MySQL `old` is overlaid on `data`: the page shows it whole, and if a writer leaves out unchanged columns, as Canal does,
    the row before is the same. PostgreSQL may know only the key of an old row, so nothing is added to it.
-#}
{%- macro default__drs_rows(dialect) -%}
    {%- set overlays = dialect == 'mysql' -%}
    {%- set deleted = 'cast(map() as map<string,string>)' if overlays else 'element' -%}
    {{- return({
        'each': "case message.type when 'DELETE' then message.old else message.data end",
        'op': "case message.type when 'DELETE' then 'delete' when 'UPDATE' then 'update' when 'INSERT' then 'insert' else 'snapshot' end",
        'image': 'element',
        'before': "case message.type when 'DELETE' then " ~ deleted ~ " when 'UPDATE' then get(message.old, position) end",
        'old_key': none if overlays else "case when message.type = 'UPDATE' and size(get(message.old, position)) > 0 then "
            ~ 'get(message.old, position) end',
        'overlays': overlays,
    }) -}}
{%- endmacro -%}

{#-
    For MySQL a TIMESTAMP is seconds since 1970 with a fraction, in which 0 is the zero date and 1 the first second, and
    binaries are Java byte lists. For PostgreSQL binaries are hexadecimal, and an offset may lack its minutes. No page says how
    binaries of Oracle and SQL Server are written, so a model declares it; otherwise no binary fits.
-#}
{%- macro default__drs_value(text, column, time_zone, dialect) -%}
    {%- set is_mysql = dialect == 'mysql' -%}
    {%- if column.encoding in ['enum', 'set'] -%}
        {#- The types have no labels here. -#}
        {{- return('cast(null as string)') -}}
    {%- elif column.encoding == 'seconds' and is_mysql -%}
        {#- A number of the source may well be 0. -#}
        {%- set type = column.source_type -%}
        {{- return(
            'case when ' ~ text ~ " rlike '^(?:0*[1-9]|-)' or not startswith(lower(" ~ type ~ "), 'timestamp') then "
            ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- elif column.encoding is not none -%}
        {{- return(spark_cdc.value(text, column, time_zone)) -}}
    {%- elif column.family == 'binary' -%}
        {%- set encoding = {'mysql': 'java_bytes', 'postgresql': 'hex'}.get(dialect) -%}
        {{- return(spark_cdc.value(text, dict(column, encoding=encoding), time_zone) if encoding else 'cast(null as binary)') -}}
    {%- elif column.family in ['timestamp', 'timestamp_ntz'] and is_mysql -%}
        {{- return(
            'case when ' ~ text ~ " rlike r'^[0-9]++(?:\\.[0-9]++)?\\z' then case when " ~ text ~ " rlike '^0*[1-9]' then "
            ~ spark_cdc.value(text, dict(column, encoding='seconds'), time_zone)
            ~ ' end else ' ~ spark_cdc.value(text, column, time_zone) ~ ' end'
        ) -}}
    {%- elif column.family in ['timestamp', 'timestamp_ntz'] -%}
        {%- set with_minutes = "regexp_replace(" ~ text ~ ", r'(:[0-9]{2}(?:\\.[0-9]+)?[+-][0-9]{2})\\z', '$1:00')" -%}
        {%- if dialect == 'sqlserver' -%}
            {#- DRS writes a datetimeoffset with a blank before the offset. -#}
            {%- set with_minutes = spark_cdc._without_blank_before_offset(with_minutes) -%}
        {%- endif -%}
        {{- return(spark_cdc.value(with_minutes, column, time_zone)) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
