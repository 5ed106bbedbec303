{#-
    The table with the columns that an incremental run writes, after contract and on_schema_change were checked. It runs before
    the rows are made: they are made from the table, and cannot name a column that the table does not have yet. `stored` are its
    source columns now.
-#}
{%- macro _with_columns_to_write(table, settings, has_pending_changes, all_changes, existing_relation, stored) -%}
    {%- set file_format = spark_cdc._file_format(existing_relation) -%}
    {%- if has_pending_changes or table.columns | reject('in', stored) | list -%}
        {%- do spark_cdc._require_contract(table, file_format) -%}
    {%- endif -%}
    {%- set found = spark_cdc._schema_differences(table.types, stored, file_format) -%}
    {%- if found.values() | select | list -%}
        {%- do spark_cdc._judge_schema(
            table.materialization, settings.on_schema_change, found, table.types, stored, existing_relation,
            table.key
        ) -%}
        {%- do spark_cdc._evolve_table(
            existing_relation, settings.on_schema_change, found, file_format, 'not _cdc_is_deleted',
            has_text='_cdc_resume_state' in table.columns_of([])
        ) -%}
        {%- set altered = spark_cdc._stored_source_columns(table, existing_relation) -%}
        {%- set is_altered = altered != stored -%}
        {%- set stored = altered -%}
    {%- endif -%}
    {%- set kept = {} -%}
    {%- for name, type in stored.items() if name not in table.types -%}
        {%- do kept.update({name: type}) -%}
    {%- endfor -%}
    {{- return(dict(
        table,
        columns=table.columns | select('in', stored) | list + kept | list,
        variants=table.variants + kept | dictsort | selectattr(1, 'equalto', 'variant') | map(attribute=0) | list,
        kept=kept,
        is_altered=is_altered or false
    )) -}}
{%- endmacro -%}

{#- Changes with the columns that only the table has: no message has such a column. -#}
{%- macro _with_kept_columns(all_changes, kept) -%}
    select
        * except (_cdc_missing_columns),
        {%- for name, type in kept.items() %}
        cast(null as {{ type }}) as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        {{ spark_cdc._absent_with(kept) }} as _cdc_missing_columns
    from {{ all_changes }}
{%- endmacro -%}

{#- The stored table's columns that come from the source, with their types. -#}
{%- macro _stored_source_columns(table, relation) -%}
    {%- set types = {} -%}
    {%- for column in adapter.get_columns_in_relation(relation) if column.name not in table.columns_of([]) -%}
        {%- do types.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {{- return(types) -}}
{%- endmacro -%}
