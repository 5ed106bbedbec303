{#- dbt's contracts: the names and types in a model's YAML, which its table must have. -#}

{#-
    Raises dbt's own error unless the YAML of a current or history table names its columns and their types. The types are those
    of the changes: to analyze the query of the table's rows takes longer than to write a small batch. Columns of this package,
    which begin with `_cdc_`, may be left out of the YAML, and a type may be one that the lake stores as another.
-#}
{%- macro _require_contract(table, file_format) -%}
    {%- if config.get('contract').enforced -%}
        {%- set types = dict(table.types, **spark_cdc._types_of_own_columns()) -%}
        {%- set described = spark_cdc._described_columns() -%}
        {%- set columns = [] -%}
        {%- for name in table.columns_of(table.columns) if not name.startswith('_cdc_') or name in described -%}
            {%- set declared = (model.columns.get(name, {}).get('data_type') or '') | lower -%}
            {%- set is_stored_so = spark_cdc._stored_type(declared, file_format) == types[name] -%}
            {%- do columns.append(
                'cast(null as ' ~ (declared if is_stored_so else types[name]) ~ ') as ' ~ spark_cdc._quote(name)
            ) -%}
        {%- endfor -%}
        {%- do get_assert_columns_equivalent('select ' ~ columns | join(', ')) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The rows of a current or history table, with the columns of its contract first, as dbt has them in its own tables. -#}
{%- macro _in_order_of_contract(table, rows) -%}
    {%- if not config.get('contract').enforced -%}
        {{- return(rows) -}}
    {%- endif -%}
    {%- set described = spark_cdc._described_columns() -%}
    {%- set others = table.columns_of(table.columns) | reject('in', described) | list -%}
    {{- return('select ' ~ spark_cdc._quoted(described + others) ~ ' from (' ~ rows ~ ')') -}}
{%- endmacro -%}

{#- The rows of a log, whose contract names all its columns. -#}
{%- macro _rows_of_contract(rows) -%}
    {%- if not config.get('contract').enforced -%}
        {{- return(rows) -}}
    {%- endif -%}
    {%- do get_assert_columns_equivalent(rows) -%}
    {{- return(get_select_subquery(rows)) -}}
{%- endmacro -%}

{%- macro _described_columns() -%}
    {{- return(model.columns.values() | map(attribute='name') | list) -}}
{%- endmacro -%}

{#- The columns that this package adds to a table, with their types. -#}
{%- macro _types_of_own_columns() -%}
    {{- return({
        'valid_from': 'timestamp',
        'valid_to': 'timestamp',
        '_cdc_op': 'string',
        '_cdc_is_deleted': 'boolean',
        '_cdc_sequence': 'array<decimal(20,0)>',
        '_cdc_committed_at': 'timestamp',
        '_cdc_transaction_id': 'string',
        '_cdc_missing_columns': 'array<string>',
        '_cdc_topic': 'string',
        '_cdc_partition': 'int',
        '_cdc_offset': 'bigint',
        '_cdc_last_sequence': 'array<decimal(20,0)>',
        '_cdc_resume_state': 'string',
    }) -}}
{%- endmacro -%}
