{#-
    What a MERGE has to write, as `_rows_to_merge` gives it, or none. A key goes on from its last row where its new effects all
    come behind that row and none of them needs another key's values; any other key is built anew from all its changes.
-#}
{%- macro _changed_rows(table, read, all_changes, target_relation, file_format, temporaries) -%}
    {%- set new_changes = spark_cdc._new_changes(temporaries, read, all_changes) -%}
    {%- set effects = spark_cdc._cached_view(
        temporaries, 'batch', spark_cdc._batch(table, new_changes, target_relation)
    ) -%}
    {%- set anew = spark_cdc._keys_built_anew(table, effects, all_changes) -%}
    {%- if anew -%}
        {%- set effects = spark_cdc._scratch_table(
            temporaries, target_relation, 'effects', file_format,
            spark_cdc._effects_anew(table, effects, all_changes, anew)
        ) -%}
    {%- endif -%}
    {%- set carries_over = anew is not none and spark_cdc._has_rows(effects ~ ' where _cdc_takes_over') -%}
    {%- set are_whole = read.news.are_whole and anew is none and not table.has_truncates -%}
    {%- set rows = spark_cdc._scratch_table(temporaries, target_relation, 'rows', file_format, spark_cdc._different_rows(
        table,
        spark_cdc._table_rows(table, effects, all_changes, carries_over, are_whole),
        spark_cdc._stored_rows(table, effects, target_relation, anew)
    )) -%}
    {{- return(spark_cdc._rows_to_merge(table, rows, are_open=not anew)) -}}
{%- endmacro -%}

{#- The stored rows beside which the rows that were made are held: the last ones, and of a key built anew all of them. -#}
{%- macro _stored_rows(table, effects, target_relation, anew) -%}
    {%- set columns = spark_cdc._quoted(table.columns_of(table.columns), 'stored.') -%}
    select {{ columns }}
    from (
        select
            *
            {%- for name, value in table.stored_columns.items() %},
            {{ value }} as {{ name }}
            {%- endfor %}
        from {{ effects }}
        where _cdc_stored_last_sequence is not null
    ) as stored
    {%- if anew %}

    union all

    select {{ columns }}
    from {{ target_relation }} as stored
    left semi join {{ effects }} as effects
        on effects._cdc_is_anew and {{ spark_cdc._same_key(table.key, 'stored', 'effects') }}
    {%- endif %}
{%- endmacro -%}
