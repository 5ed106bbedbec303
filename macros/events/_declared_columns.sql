{#-
    The declared columns of an incremental changes model beside those of its stored table: see `_on_schema_change`. Gives

    columns     the columns to read: all declared ones, or those that the table has
    undeclared  columns that the table has and the model no longer declares, with their types
    before      the fields of `_cdc_before` in the table's order; none where there is no table to go on with

    Only a run alters the table: dbt compile, test or docs show the query of the model as it is written.
-#}
{%- macro _columns_to_read(columns, key) -%}
    {%- set as_declared = {'columns': columns, 'undeclared': {}, 'before': none} -%}
    {%- if not spark_cdc._is_run() or not is_incremental() -%}
        {{- return(as_declared) -}}
    {%- endif -%}
    {%- set policy = spark_cdc._on_schema_change('changes', config.get('on_schema_change')) -%}
    {%- set declared = {} -%}
    {%- for column in columns -%}
        {%- do declared.update({column.name: column.type}) -%}
    {%- endfor -%}
    {%- set relation = load_cached_relation(this) -%}
    {%- set file_format = spark_cdc._file_format(relation) -%}
    {%- set stored = spark_cdc._stored_changes(relation) -%}
    {%- set found = spark_cdc._schema_differences(declared, stored.columns, file_format) -%}
    {%- if found.values() | select | list -%}
        {%- do spark_cdc._judge_schema('changes', policy, found, declared, stored.columns, relation) -%}
        {%- do spark_cdc._evolve_table(
            relation, policy, found, file_format, "_cdc_op in ('insert', 'update', 'snapshot')",
            {'_cdc_before': stored.before}
        ) -%}
        {%- set stored = spark_cdc._stored_changes(relation) -%}
    {%- endif -%}
    {%- for name in key if name not in stored.columns -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.changes: column `' ~ name ~ '` of the key is not in ' ~ relation ~ ', the table of model ' ~ model.name
            ~ '. Set on_schema_change=\'evolve\', or build the tables anew: dbt run --full-refresh --select ' ~ model.name ~ '+'
        ) -%}
    {%- endfor -%}
    {%- set undeclared = {} -%}
    {%- for name, type in stored.columns.items() if name not in declared -%}
        {%- do undeclared.update({name: type}) -%}
    {%- endfor -%}
    {{- return({
        'columns': columns | selectattr('name', 'in', stored.columns) | list,
        'undeclared': undeclared,
        'before': stored.before,
    }) -}}
{%- endmacro -%}

{#- One query, of which nothing but the names and types is asked for. `_cdc_` is reserved, so the mark is no source column. -#}
{%- macro _stored_changes(relation) -%}
    {%- set before, columns = [], {} -%}
    {%- for row in run_query('describe query select _cdc_before.*, null as _cdc_end, * from ' ~ relation).rows -%}
        {%- if '_cdc_end' in before -%}
            {%- do columns.update({row[0]: row[1]}) -%}
        {%- else -%}
            {%- do before.append(row[0]) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in spark_cdc.change_columns() -%}
        {%- do columns.pop(name, none) -%}
    {%- endfor -%}
    {{- return({'columns': columns, 'before': before[:-1]}) -}}
{%- endmacro -%}

{#-
    The model's query in the form of the stored table. An append matches a struct's fields by their place, so `_cdc_before` is
    given them in the table's order. A column that is no longer declared is one that no message carries.
-#}
{%- macro _as_stored(query, reading) -%}
    {%- if reading.before is none or (
        not reading.undeclared and reading.before == reading.columns | map(attribute='name') | list
    ) -%}
        {{- return(query) -}}
    {%- endif -%}
select
    {%- for column in reading.columns %}
    {{ column.quoted }},
    {%- endfor %}
    {%- for name, type in reading.undeclared.items() %}
    cast(null as {{ type }}) as {{ spark_cdc._quote(name) }},
    {%- endfor %}
    {%- for name in spark_cdc.change_columns() if name not in ['_cdc_before', '_cdc_absent'] %}
    {{ name }},
    {%- endfor %}
    case when _cdc_before is not null then named_struct(
        {%- for name in reading.before %}
        {{ spark_cdc._literal(name) }}, {# -#}
        {{ 'cast(null as ' ~ reading.undeclared[name] ~ ')' if name in reading.undeclared else '_cdc_before.' ~ spark_cdc._quote(name) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    ) end as _cdc_before,
    {%- if reading.undeclared %}
    case
        when _cdc_op in ('insert', 'update', 'snapshot') then array_union(
            coalesce(_cdc_absent, cast(array() as array<string>)), array({{ spark_cdc._literals(reading.undeclared) }})
        )
        else _cdc_absent
    end as _cdc_absent
    {%- else %}
    _cdc_absent
    {%- endif %}
from (
    {{ query }}
)
{%- endmacro -%}
