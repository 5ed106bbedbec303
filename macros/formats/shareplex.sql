{#-
    SharePlex JSON: one row a message, `data` and, in an update, `key`. The content of the two depends on the writer:

    oms        OceanBase OMS, serialisation SharePlex: `key` is the whole row before, `data` has the changed columns
    shareplex  SharePlex itself and Alibaba DTS: `key` is the key before or the whole row before, `data` has the changed columns
    flink      the writer that Flink's reader of this format was made for: `data` is the whole new row, `key` the old values of the
               changed columns

    Facts: of OceanBase OMS help.aliyun.com/document_detail/415643.html; of the others see docs/formats/shareplex.md.

    Order: `scn`; with the dialects of SharePlex also `seq`, the number of the operation in its transaction, whose operations
    share one scn. OMS makes its own scn, in which `seq` has no part. A message without scn (full load, or a task that does not
    write it) counts as 0.
-#}
{%- macro default__shareplex_schema(dialect, with_types) -%}
struct<
    data: map<string,string>,
    meta: struct<op: string, `table`: string, scn: string, seq: string, trans: string, `time`: string>,
    key: map<string,string>
>
{%- endmacro -%}

{%- macro default__shareplex_header(dialect) -%}
    {%- set op = 'message.meta.op' -%}
    {#- DTS lists the long names and shows the short ones. -#}
    {%- set short_ops = ['ins', 'upd', 'del'] -%}
    {%- set long_ops = ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'DROP COLUMN'] -%}
    {%- set ops = short_ops if dialect == 'oms' else short_ops + long_ops -%}
    {%- set rows = ops | reject('in', ['TRUNCATE', 'DROP COLUMN']) | list -%}
    {%- set scn = spark_cdc._order_number('message.meta.scn', nulls=[]) -%}
    {%- set seq = spark_cdc._order_number('message.meta.seq', nulls=[]) -%}
    {%- set kind -%}
        case {{ op }} when 'TRUNCATE' then 'truncate' when 'DROP COLUMN' then 'ddl' else 'rows' end
    {%- endset -%}
    {#- If `data` has only the changed columns, an update that changed nothing has no column in it. -#}
    {%- set updates = ['upd', 'UPDATE'] | select('in', ops) | list if dialect != 'flink' else [] -%}
    {%- set whole_rows = rows | reject('in', updates) | list -%}
    {%- set time = 'message.meta.`time`' -%}
    {%- set table = 'message.meta.`table`' -%}
    {%- set is_oms = dialect == 'oms' -%}
    {%- set unexpected_structure = spark_cdc._rules_of_time_text('meta.time', time) -%}
    {%- if is_oms -%}
        {%- do unexpected_structure.update({
            'key: a row, and meta.op is not upd': op ~ " in ('ins', 'del') and " ~ spark_cdc._has_columns('message.key')
        }) -%}
    {%- endif -%}
    {%- do unexpected_structure.update(spark_cdc._rules_of_names({'meta.table': table})) -%}
    {%- set missing_position = {'meta.scn: not a whole number': scn ~ ' is null'} -%}
    {%- if not is_oms -%}
        {%- do missing_position.update({'meta.seq: not a whole number': seq ~ ' is null'}) -%}
    {%- endif -%}
    {%- set errors = dict(
        spark_cdc._errors_of_op('meta.op', op, ops),
        missing_row={
            'data: missing': op ~ ' in (' ~ spark_cdc._literals(rows) ~ ') and message.data is null',
            'data: no columns': op ~ ' in (' ~ spark_cdc._literals(whole_rows) ~ ') and not ' ~ spark_cdc._has_columns('message.data'),
        },
        unexpected_structure=unexpected_structure,
        missing_position=missing_position
    ) -%}
    {#- A time without a zone is a local time of an unknown zone: not an instant. -#}
    {%- set committed_at = 'case when ' ~ time ~ " rlike r'(?:Z|[+-][0-9]{2}:?[0-9]{2})\\z' then try_cast(" ~ time
        ~ ' as timestamp) end' -%}
    {{- return({
        'nested': spark_cdc._keys_of('meta', spark_cdc._without_long_numbers('value') if dialect != 'flink' else 'value'),
        'nested_in': 'meta',
        'kind': kind,
        'database_name': 'case when contains(' ~ table ~ ", '.') then substring_index(" ~ table ~ ", '.', 1) end",
        'schema_name': none,
        'table_name': 'substr(' ~ table ~ ', instr(' ~ table ~ ", '.') + 1)",
        'names_table': true,
        'op': op,
        'sequence': 'array(' ~ scn ~ ')' if is_oms
            else 'array(' ~ scn ~ ', case when ' ~ scn ~ ' > 0 then ' ~ seq ~ ' else 0BD end)',
        'sequence_names': spark_cdc._sequence_names(['meta.scn'] if is_oms else ['meta.scn', 'meta.seq']),
        'committed_at': committed_at,
        'transaction_id': "nullif(message.meta.trans, '')",
        'key_columns': none,
        'column_types': none,
        'ddl_action': "'alter'",
        'ddl': none,
        'errors': errors,
    }) -}}
{%- endmacro -%}

{%- macro default__shareplex_rows(dialect) -%}
    {%- set op = 'lower(left(message.meta.op, 3))' -%}
    {%- set op_name = 'case ' ~ op ~ " when 'ins' then 'insert' when 'upd' then 'update' else 'delete' end" -%}
    {%- if dialect == 'flink' -%}
        {{- return({
            'op': op_name,
            'image': 'message.data',
            'before': 'case ' ~ op ~ " when 'del' then cast(map() as map<string,string>) when 'upd' then message.key end",
            'overlays': true,
        }) -}}
    {%- endif -%}
    {#- map_concat stops at a name that occurs twice: such a row is not changed here and becomes an error row. -#}
    {%- set updated -%}
        case
            when message.key is null or {{ spark_cdc._has_duplicate_column('message.data') }} then message.data
            when {{ spark_cdc._has_duplicate_column('message.key') }} then message.key
            else map_concat(map_filter(message.key, (name, text) -> not map_contains_key(message.data, name)), message.data)
        end
    {%- endset -%}
    {{- return({
        'op': op_name,
        'image': 'case when ' ~ op ~ " = 'upd' then " ~ updated ~ ' else message.data end',
        'before': 'case ' ~ op ~ " when 'del' then message.data when 'upd' then message.key end",
        'old_key': 'case ' ~ op ~ " when 'upd' then coalesce(message.key, cast(map() as map<string,string>)) end",
        'long_numbers': true,
    }) -}}
{%- endmacro -%}

{%- macro default__shareplex_value(text, column, time_zone, dialect) -%}
    {%- if dialect == 'oms' -%}
        {{- return(adapter.dispatch('oms_value', 'spark_cdc')(text, column, time_zone, 'default')) -}}
    {%- endif -%}
    {{- return(spark_cdc.value(text, column, time_zone)) -}}
{%- endmacro -%}
