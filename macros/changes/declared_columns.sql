{#-
    The declared columns of a changes model whose runs append, compared with those of its stored table. If they differ, it alters
    the table as `_on_schema_change` says. Returns

    columns     the columns to read: all declared ones, or those that the table has
    undeclared  columns that the table has and the model no longer declares, with their types
    has_source_table  whether `_cdc_source_table` is one of them
    has_patches whether there is `_cdc_patches`
    before      the fields of `_cdc_before` in the table's order, with their types; none if the run does not append to a table

    Only a run alters the table: dbt compile, test or docs show the query of the model as it is written.
-#}
{%- macro _columns_after_schema_change(columns, types, key, has_source_table, has_patches, appends) -%}
    {%- set as_declared = {
        'columns': columns, 'undeclared': {}, 'before': none, 'has_source_table': has_source_table, 'has_patches': has_patches,
    } -%}
    {%- if not appends or not spark_cdc._is_run() -%}
        {{- return(as_declared) -}}
    {%- endif -%}
    {%- set policy = spark_cdc._on_schema_change('changes', config.get('on_schema_change')) -%}
    {%- set relation = load_cached_relation(this) -%}
    {%- set file_format = spark_cdc._file_format(relation) -%}
    {%- set stored = spark_cdc._stored_changes(relation) -%}
    {%- if has_source_table != stored.has_source_table -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.changes: model ' ~ model.name ~ ' reads ' ~ ('several source tables' if has_source_table else 'one source table')
            ~ ' now, and its table ' ~ relation ~ (' has' if stored.has_source_table else ' lacks')
            ~ ' the column _cdc_source_table. Rebuild the tables: dbt run --full-refresh --select ' ~ model.name ~ '+'
        ) -%}
    {%- endif -%}
    {%- if has_patches != stored.has_patches -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.changes: model ' ~ model.name ~ ' reads a format ' ~ ('with' if has_patches else 'without')
            ~ ' patches of nested values now, and its table ' ~ relation ~ (' has' if stored.has_patches else ' lacks')
            ~ ' the column _cdc_patches. Rebuild the tables: dbt run --full-refresh --select ' ~ model.name ~ '+'
        ) -%}
    {%- endif -%}
    {%- set found = spark_cdc._schema_differences(types, stored.columns, file_format) -%}
    {%- if found.values() | select | list -%}
        {%- do spark_cdc._judge_schema('changes', policy, found, types, stored.columns, relation, key) -%}
        {%- do spark_cdc._refuse_partly_added(policy, found, stored, relation, file_format) -%}
        {%- do spark_cdc._evolve_table(
            relation, policy, found, file_format, "_cdc_op in ('insert', 'update', 'snapshot')",
            {'_cdc_before': stored.before}
        ) -%}
        {%- set stored = spark_cdc._stored_changes(relation) -%}
    {%- endif -%}
    {%- set undeclared = {} -%}
    {%- for name, type in stored.columns.items() if name not in types -%}
        {%- do undeclared.update({name: type}) -%}
    {%- endfor -%}
    {{- return({
        'columns': columns | selectattr('name', 'in', stored.columns) | list,
        'undeclared': undeclared,
        'before': stored.before,
        'has_source_table': has_source_table,
        'has_patches': has_patches,
    }) -}}
{%- endmacro -%}

{#- A run that failed may have added a column to `_cdc_before` alone; if it had another type, the new one would not fit there. -#}
{%- macro _refuse_partly_added(policy, found, stored, relation, file_format) -%}
    {%- for name, type in found.added.items() if policy in ['evolve', 'sync_all_columns'] and name in stored.before
        and stored.before[name] != spark_cdc._stored_type(type, file_format) -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.changes: model ' ~ model.name ~ ' declares `' ~ name ~ '` as ' ~ type ~ ', and a run that was killed has added '
            ~ 'it to `_cdc_before` of ' ~ relation ~ ' as ' ~ stored.before[name] ~ '. Declare that type, or drop the field: alter table '
            ~ relation ~ ' drop column _cdc_before.' ~ spark_cdc._quote(name)
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- One query, only for names and types. `_cdc_` is reserved, so the mark cannot be a source column. -#}
{%- macro _stored_changes(relation) -%}
    {%- set before, columns = {}, {} -%}
    {%- for row in run_query('describe query select _cdc_before.*, null as _cdc_end, * from ' ~ relation).rows -%}
        {%- if '_cdc_end' in before -%}
            {%- do columns.update({row[0]: row[1]}) -%}
        {%- else -%}
            {%- do before.update({row[0]: row[1]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set has_source_table = columns.pop('_cdc_source_table', none) is not none -%}
    {%- set has_patches = columns.pop('_cdc_patches', none) is not none -%}
    {%- for name in spark_cdc.change_columns() -%}
        {%- do columns.pop(name, none) -%}
    {%- endfor -%}
    {%- do before.pop('_cdc_end') -%}
    {{- return({'columns': columns, 'before': before, 'has_source_table': has_source_table, 'has_patches': has_patches}) -}}
{%- endmacro -%}
