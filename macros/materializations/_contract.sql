{#- dbt's contracts: the names and types in a model's YAML, which its table must have. -#}

{#-
    Raises dbt's own error unless the YAML of a current or history table names its columns and their types. The types are those
    of the changes: to analyze the query of the table's rows takes longer than to write a small batch. Columns of this package,
    which begin with `_cdc_`, may be left out of the YAML, and a type may be one that the lake stores as another.
-#}
{%- macro _require_contract(table, file_format) -%}
    {%- if config.get('contract').enforced -%}
        {%- set types = dict(dict(table.types, **table.own_types), **spark_cdc._key_operation_types()) -%}
        {%- set columns = [] -%}
        {%- for name in table.columns_of(table.columns) if not name.startswith('_cdc_') or name in model.columns -%}
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
    {%- set others = table.columns_of(table.columns) | reject('in', model.columns) | list -%}
    {{- return('select ' ~ spark_cdc._quoted(model.columns | list + others) ~ ' from (' ~ rows ~ ')') -}}
{%- endmacro -%}

{#- The rows of a log, whose contract names all its columns. -#}
{%- macro _rows_of_contract(rows) -%}
    {%- if not config.get('contract').enforced -%}
        {{- return(rows) -}}
    {%- endif -%}
    {%- do get_assert_columns_equivalent(rows) -%}
    {{- return(get_select_subquery(rows)) -}}
{%- endmacro -%}
