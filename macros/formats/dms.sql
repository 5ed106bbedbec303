{#-
    AWS DMS, JSON for Kafka: one row a message in `data`, its operation and table in `metadata`; control records are about
    tables.
    Facts: docs.aws.amazon.com/dms/latest/userguide, "Using Apache Kafka as a target"; docs/formats/dms.md.

    Order: (0 of the full load or 1 of a change, offset). The load writes to other partitions than the changes do, so offsets
    cannot order it. stream-position is the source's own text, and no page documents its parts; transaction-id does not grow
    with the commits, and transaction-record-id counts inside one transaction only.

    Dialects: `dms` (default; the endpoint sends NULL and empty columns) and `nulls_left_out` (it does not: a column that a row
    lacks is NULL, and cannot be distinguished from an empty text).
-#}
{%- macro default__dms_schema(dialect, with_types) -%}
    {%- set columns = 'columns: map<string,struct<type: string>>, ' if with_types else '' -%}
    {%- set table_def = 'struct<' ~ columns ~ '`primary-key`: array<string>>' -%}
struct<
    data: map<string,string>,
    `before-image`: map<string,string>,
    control: struct<`table-def`: {{ table_def }}>,
    metadata: struct<
        `record-type`: string,
        operation: string,
        `schema-name`: string,
        `table-name`: string,
        `transaction-id`: string,
        `commit-timestamp`: string
    >
>
{%- endmacro -%}

{%- macro default__dms_header(dialect) -%}
    {%- set rows = ['load', 'insert', 'update', 'delete'] -%}
    {%- set control = [
        'create-table', 'rename-table', 'drop-table', 'change-columns', 'add-column', 'drop-column', 'rename-column',
        'column-type-change',
    ] -%}
    {%- set type = 'message.metadata.`record-type`' -%}
    {%- set op = 'message.metadata.operation' -%}
    {%- set is_known -%}
        (
            ({{ type }} = 'data' and {{ op }} in ({{ spark_cdc._literals(rows) }}))
            or ({{ type }} = 'control' and {{ op }} in ({{ spark_cdc._literals(control) }}))
        )
    {%- endset -%}
    {#-
        The endpoint leaves out columns that are NULL or empty, unless it is set not to. No message shows which of the two they
        are.
    -#}
    {%- set has_partner = 'map_contains_key(message.data, substr(name, 4))' -%}
    {%- set left_out -%}
        case
            when message.`before-image` is not null
                then array_except(map_keys(message.`before-image`), map_keys(message.data))
            when contains(value, '"BI_')
                and exists(map_keys(message.data), name -> startswith(name, 'BI_') and {{ has_partner }})
                then transform(
                    filter(map_keys(message.data), name -> startswith(name, 'BI_') and not {{ has_partner }}),
                    name -> substr(name, 4)
                )
        end
    {%- endset -%}
    {%- set ambiguous_null = spark_cdc._let(
        'left_out', 'case when ' ~ op ~ " = 'update' then " ~ left_out ~ ' end',
        'case when size(left_out) > 0 then '
            ~ spark_cdc._error_of(
                'ambiguous_null', "concat('data: columns of the row before are missing: ', left(array_join(left_out, ', '), 500))"
            ) ~ ' end'
    ) -%}
    {%- set commit_time = 'message.metadata.`commit-timestamp`' -%}
    {%- set committed_at = 'case when ' ~ commit_time ~ " rlike r'(?:Z|[+-][0-9]{2}:?[0-9]{2})\\z' then "
        ~ spark_cdc._timestamp_value(commit_time, 'timestamp', 'text', 'UTC') ~ ' end' -%}
    {%- set errors = {
        'wrong_format': {
            'metadata.record-type: missing': type ~ ' is null',
            'metadata.operation: missing': op ~ ' is null',
        },
        'unknown_op': {'metadata.operation: not an operation of the format, or not one of metadata.record-type': 'not ' ~ is_known},
        'missing_row': {'data: no row': type ~ " = 'data' and coalesce(size(message.data), 0) < 1"},
        'unexpected_structure': dict({
            'metadata.commit-timestamp: not a date with a time and a zone': commit_time ~ " <> '' and " ~ committed_at ~ ' is null',
            'before-image: a row, and metadata.operation is not update': op ~ " <> 'update' and size(message.`before-image`) > 0",
            'data: a row, and metadata.record-type is control': type ~ " = 'control' and size(message.data) > 0",
        }, **spark_cdc._rules_of_names({
            'metadata.schema-name': 'message.metadata.`schema-name`', 'metadata.table-name': 'message.metadata.`table-name`'
        })),
    } -%}
    {%- if dialect != 'nulls_left_out' -%}
        {%- do errors.update({'fault': ambiguous_null}) -%}
    {%- endif -%}
    {%- set columns = 'message.control.`table-def`.columns' -%}
    {{- return({
        'beside_event': spark_cdc._dms_columns(dialect),
        'nested': spark_cdc._keys_of('metadata'),
        'nested_in': 'metadata',
        'kind': 'case ' ~ type ~ " when 'data' then 'rows' else 'ddl' end",
        'database_name': none,
        'schema_name': "nullif(message.metadata.`schema-name`, '')",
        'table_name': "nullif(message.metadata.`table-name`, '')",
        'names_table': true,
        'op': op,
        'sequence': 'case when ' ~ type ~ " = 'data' then array(cast(case " ~ op
            ~ " when 'load' then 0 else 1 end as decimal(20,0))) else cast(array() as array<decimal(20,0)>) end",
        'sequence_names': spark_cdc._sequence_names(['full load (0) or change (1)']),
        'committed_at': committed_at,
        'transaction_id': 'message.metadata.`transaction-id`',
        'key_columns': 'message.control.`table-def`.`primary-key`',
        'column_types': 'case when size(' ~ columns ~ ') = size(array_distinct(map_keys(' ~ columns
            ~ '))) then map_from_arrays(map_keys(' ~ columns ~ '), map_values(' ~ columns ~ ').type) end',
        'ddl_action': "case when op in ('create-table', 'drop-table', 'rename-table') then split_part(op, '-', 1) else 'alter' end",
        'ddl': 'case when ' ~ type ~ " = 'control' then get_json_object(value, '$.control') end",
        'errors': errors,
    }) -}}
{%- endmacro -%}

{#-
    The row before is an object of its own or, with a prefix, among the columns. It has what the source sends, for PostgreSQL
    often the key alone, and may be empty.
-#}
{%- macro default__dms_rows(dialect) -%}
    {%- set rows = {
        'op': "case message.metadata.operation when 'load' then 'snapshot' else message.metadata.operation end",
        'image': 'own_columns',
        'before': "case message.metadata.operation when 'update' then columns_before when 'delete' then own_columns end",
        'value_names': '(?:BI_)?{}',
    } -%}
    {%- if dialect == 'nulls_left_out' -%}
        {{- return(dict(rows, complete='true')) -}}
    {%- endif -%}
    {#- If the row before has all columns of the row after, a column that both lack was NULL or empty before and still is. -#}
    {%- set told_before = 'coalesce(size(array_except(map_keys(own_columns), map_keys(columns_before))), 1) = 0' -%}
    {#- A NULL in the row shows that the endpoint sends them: a column that is not there came to the table later. -#}
    {%- set sends_nulls = 'exists(map_values(own_columns), text -> text is null)' -%}
    {{- return(dict(
        rows, absent_is_error="message.metadata.operation = 'update' and not " ~ told_before ~ ' and not ' ~ sends_nulls
    )) -}}
{%- endmacro -%}

{#- The columns of the row, and those of the row before, which may be among them with a prefix. -#}
{%- macro _dms_columns(dialect) -%}
    {#- An insert has no values before: a column with the prefix and a value is the table's own. -#}
    {%- set is_before = "startswith(name, 'BI_') and map_contains_key(message.data, substr(name, 4)) "
        ~ "and (text is null or message.metadata.operation in ('update', 'delete'))" -%}
    {%- if dialect == 'nulls_left_out' -%}
        {#- If other columns with the prefix have a partner, one without a partner had a value and is NULL now. -#}
        {%- set is_before = is_before ~ "\n    or startswith(name, 'BI_') and message.metadata.operation = 'update' and exists("
            ~ "\n        map_keys(message.data), other -> startswith(other, 'BI_') "
            ~ 'and map_contains_key(message.data, substr(other, 4)))' -%}
    {%- endif -%}
    {#- A task writes the row before in one way only: if there is an object, a name with the prefix is a column. -#}
    {#- A name that occurs twice stays in the row, where the check finds it; a map of its own would stop the batch. -#}
    {%- set prefixed -%}
        case
            when message.`before-image` is null and contains(value, '"BI_')
                and size(message.data) = size(array_distinct(map_keys(message.data)))
                then map_filter(message.data, (name, text) -> {{ is_before | indent(16) }})
        end
    {%- endset -%}
    {%- set before -%}
        case
            when size(message.`before-image`) > 0 then message.`before-image`
            when size(prefixed_columns) > 0 then transform_keys(prefixed_columns, (name, text) -> substr(name, 4))
        end
    {%- endset -%}
    {%- set own -%}
        case
            when size(prefixed_columns) > 0 then map_filter(message.data, (name, text) -> not map_contains_key(prefixed_columns, name))
            else message.data
        end
    {%- endset -%}
    {{- return({'prefixed_columns': prefixed, 'columns_before': before, 'own_columns': own}) -}}
{%- endmacro -%}

{#-
    Binaries of an Oracle source are hexadecimal after 0x. No page documents the others, so a model declares how they are
    written.
-#}
{%- macro default__dms_value(text, column, time_zone, dialect) -%}
    {%- if column.family == 'binary' and column.encoding in [none, 'hex'] -%}
        {%- set digits = spark_cdc.value('substr(' ~ text ~ ', 3)', dict(column, encoding='hex'), time_zone) -%}
        {%- set without_prefix = ' else ' ~ spark_cdc.value(text, column, time_zone) if column.encoding else '' -%}
        {{- return('case when startswith(' ~ text ~ ", '0x') then " ~ digits ~ without_prefix ~ ' end') -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
