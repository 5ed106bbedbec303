{#-
    The latest state of each key (SCD1), from a changes model. Model body: `select * from {{ ref('..._changes') }}`.

    config(unique_key=[...], file_format='iceberg'|'delta', on_schema_change=...)

    The first run and `--full-refresh` write the table in place (create or replace). Any other run takes the changes that the
    table has not read and merges the last effect on each key, only where its sequence is higher than the stored one. Deleted
    keys stay, with `_cdc_is_deleted`: select `where not _cdc_is_deleted` for the live rows.
-#}
{%- materialization cdc_current, adapter='spark' -%}
    {{ return(spark_cdc._apply_changes('cdc_current', spark_cdc.current_rows, spark_cdc._merge_current)) }}
{%- endmaterialization -%}

{#- A column that no message carried keeps the stored value, unless the stored row is a deleted one. -#}
{%- macro _merge_current(target_relation, rows, key, columns) -%}
    merge into {{ target_relation }} as stored
    using {{ rows }} as changed
    on {{ spark_cdc._same_key(key, 'stored', 'changed') }}
    when matched and changed._cdc_sequence > stored._cdc_sequence then update set
        {%- for name in columns if name not in key %}
        {{ spark_cdc._quote(name) }} = case
            when array_contains(changed._cdc_absent, {{ spark_cdc._literal(name) }}) then stored.{{ spark_cdc._quote(name) }}
            else changed.{{ spark_cdc._quote(name) }}
        end,
        {%- endfor %}
        {%- for name in spark_cdc._effect_columns() if name != '_cdc_absent' %}
        {{ name }} = changed.{{ name }},
        {%- endfor %}
        _cdc_absent = case
            when size(array_intersect(changed._cdc_absent, stored._cdc_absent)) > 0
                then array_intersect(changed._cdc_absent, stored._cdc_absent)
        end
    when not matched then insert ({{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }})
        values ({{ spark_cdc._quoted(columns + spark_cdc._effect_columns(), 'changed.') }})
{%- endmacro -%}
