{#-
    How a stored table follows its model when the declared columns change. config(on_schema_change=...) decides, for changes
    models, cdc_current and cdc_history alike:

    not set             a changes model over messages, and the tables over it, are rebuilt; others do as with `ignore`
    ignore              a new column of the model is left out, with a warning in each run
    fail                any difference stops the model before anything is written
    evolve              new columns are added, and types are widened if the table's format can. `append_new_columns`, dbt's word,
                        means the same
    sync_all_columns    evolve, and columns that the model no longer has are dropped

    In stored rows an added column counts as missing from their messages (`_cdc_missing_columns`): absent is not null. A type
    that cannot be widened in place and a new key column always stop the model: values would be guessed.
-#}
{%- macro _on_schema_change(macro, chosen) -%}
    {%- set words = {
        'ignore': 'ignore', 'fail': 'fail', 'evolve': 'evolve', 'append_new_columns': 'evolve',
        'sync_all_columns': 'sync_all_columns',
    } -%}
    {%- do spark_cdc._require_one_of(macro, 'on_schema_change', chosen or 'ignore', words.keys() | list) -%}
    {{- return(words[chosen or 'ignore']) -}}
{%- endmacro -%}

{#- The differences: both arguments are mappings of names to types. -#}
{%- macro _schema_differences(declared, stored, file_format) -%}
    {%- set found = {'added': {}, 'removed': {}, 'widened': {}, 'unfit': {}} -%}
    {%- for name, type in declared.items() -%}
        {%- set stored_type = stored.get(name) -%}
        {%- if stored_type is none -%}
            {%- do found.added.update({name: type}) -%}
        {%- elif spark_cdc._stored_type(type, file_format) != stored_type -%}
            {%- set kind = 'widened' if spark_cdc._is_wider(stored_type, type, file_format) else 'unfit' -%}
            {%- do found[kind].update({name: type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, type in stored.items() if name not in declared -%}
        {%- do found.removed.update({name: type}) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#- Stops or warns as the policy says; `_evolve_table` writes the differences that it allows. -#}
{%- macro _judge_schema(macro, policy, found, declared, stored, relation, key) -%}
    {%- set refused = dict(found.unfit) -%}
    {%- if policy in ['ignore', 'fail'] -%}
        {%- do refused.update(found.widened) -%}
    {%- endif -%}
    {%- set differences = [] -%}
    {%- for name in refused -%}
        {%- do differences.append('`' ~ name ~ '` is ' ~ declared[name] ~ ' in the model and ' ~ stored[name] ~ ' in the table') -%}
    {%- endfor -%}
    {#- Iceberg 1.12 cannot describe a table with a new variant column until a row has a value in it. -#}
    {%- set cannot_come = 'variant' if spark_cdc._file_format(relation) == 'iceberg' and policy != 'ignore' -%}
    {%- for name in found.added if policy == 'fail' or name in key or declared[name] == cannot_come -%}
        {%- do differences.append('`' ~ name ~ '` (' ~ declared[name] ~ ') is not in the table') -%}
    {%- endfor -%}
    {%- for name in found.removed if policy == 'fail' -%}
        {%- do differences.append('`' ~ name ~ '` (' ~ stored[name] ~ ') is in the table alone') -%}
    {%- endfor -%}
    {%- if found.removed and policy == 'sync_all_columns' and not differences and spark_cdc._file_format(relation) == 'delta'
        and spark_cdc._table_properties(relation).get('delta.columnMapping.mode', 'none') == 'none' -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': model ' ~ model.name ~ ' no longer has the columns ' ~ found.removed | join(', ')
            ~ ', and Delta drops none from ' ~ relation ~ ' until its columns are known by name: alter table ' ~ relation
            ~ " set tblproperties ('delta.columnMapping.mode' = 'name'). Or set on_schema_change='evolve', which keeps them."
        ) -%}
    {%- endif -%}
    {%- if differences -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': the columns of model ' ~ model.name ~ ' are not those of its table ' ~ relation ~ ': '
            ~ differences | join('; ') ~ '. on_schema_change=\'evolve\' adds columns and widens integers and decimals '
            ~ 'in place. Declare anything else as the table has it, or rebuild the tables: dbt run --full-refresh --select '
            ~ model.name ~ '+'
        ) -%}
    {%- elif policy == 'ignore' and found.added -%}
        {%- do exceptions.warn(
            'spark_cdc.' ~ macro ~ ': model ' ~ model.name ~ ' goes on without `' ~ found.added | join('`, `') ~ '`, which its table '
            ~ relation ~ ' does not have. Set on_schema_change=\'evolve\' to add it.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    Alters the table. Old rows are marked first, and the top-level column is added last: if the run fails in between, the column
    is still missing and the next run does all of it again. `live_rows` is a condition on the rows whose messages may lack the
    column; `nested` names a struct that has the same columns, as {name: its fields}; `has_text`: see `_mark_absent`.
-#}
{%- macro _evolve_table(relation, policy, found, file_format, live_rows, nested={}, has_text=false) -%}
    {%- if policy not in ['evolve', 'sync_all_columns'] -%}{{- return(none) -}}{%- endif -%}
    {%- if found.added -%}
        {%- call statement('mark_absent') -%}
            {{ spark_cdc._mark_absent(relation, found.added | list, live_rows, has_text) }}
        {%- endcall -%}
    {%- endif -%}
    {%- if found.widened and file_format == 'delta' -%}
        {%- do spark_cdc._alter(relation, "set tblproperties ('delta.enableTypeWidening' = 'true')") -%}
    {%- endif -%}
    {#- Delta needs these features before an existing table can get its first column of such a type. -#}
    {%- for type, feature in {'timestamp_ntz': 'timestampNtz', 'variant': 'variantType'}.items()
        if file_format == 'delta' and type in found.added.values() -%}
        {%- do spark_cdc._alter(relation, "set tblproperties ('delta.feature." ~ feature ~ "' = 'supported')") -%}
    {%- endfor -%}
    {%- for struct, fields in (nested | dictsort) + [('', [])] -%}
        {%- set prefix = struct ~ '.' if struct else '' -%}
        {%- for name, type in found.added.items() if name not in fields -%}
            {%- do spark_cdc._alter(relation, 'add columns (' ~ prefix ~ spark_cdc._quote(name) ~ ' ' ~ type ~ ')') -%}
        {%- endfor -%}
        {%- for name, type in found.widened.items() -%}
            {%- do spark_cdc._alter(relation, 'alter column ' ~ prefix ~ spark_cdc._quote(name) ~ ' type ' ~ type) -%}
        {%- endfor -%}
        {%- for name in (found.removed if policy == 'sync_all_columns' else {}) if not struct or name in fields -%}
            {%- do spark_cdc._alter(relation, 'drop column ' ~ prefix ~ spark_cdc._quote(name)) -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro -%}
