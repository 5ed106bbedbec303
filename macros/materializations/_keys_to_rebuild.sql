{#-
    Query: the keys that need all their changes; or none. These are the keys with an operation before their stored row, and the
    keys that inherit values from another key.

    A second and a third key may have inherited a late-arriving value. Such keys are rare, and following each of them costs a
    query a step. So if one of them is rebuilt, all keys between which values ever passed are rebuilt together.
-#}
{%- macro _keys_to_rebuild(table, batch, all_changes) -%}
    {%- set late_arriving_keys -%}
    select {{ spark_cdc._quoted(table.key) }}
    from {{ batch }}
    where _cdc_is_late_arriving or _cdc_inherits_values or _cdc_inherited_by is not null
    group by {{ spark_cdc._quoted(table.key) }}
    {%- endset -%}
    {%- if not spark_cdc._has_rows('(' ~ late_arriving_keys ~ ')', spark_cdc._step('looking for late-arriving changes')) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set joined_keys -%}
    select {{ spark_cdc._quoted(table.key) }}
    from ({{ spark_cdc._key_operations(all_changes, table.key, table.key) }})
    where _cdc_inherits_values or _cdc_inherited_by is not null
    {%- endset -%}
    {%- set late_arriving_joined_keys -%}
    (select joined.* from ({{ joined_keys }}) as joined
    left semi join ({{ late_arriving_keys }}) as late_arriving on {{ spark_cdc._same_key(table.key, 'joined', 'late_arriving') }})
    {%- endset -%}
    {%- set has_joined = spark_cdc._has_rows(
        late_arriving_joined_keys, spark_cdc._step('looking for values that pass from key to key')
    ) -%}
    {{- return(late_arriving_keys ~ ' union ' ~ joined_keys if has_joined else late_arriving_keys) -}}
{%- endmacro -%}

{#- The batch; for rebuilt keys all operations replace the new ones and the stored row. -#}
{%- macro _with_rebuilt_keys(table, batch, all_changes, rebuilt_keys) -%}
    {%- set event_columns = spark_cdc._event_columns(table.columns, table.patched) -%}
    {%- set columns = spark_cdc._quoted(event_columns) -%}
    select {{ spark_cdc._quoted(event_columns, 'operations.') }}, operations._cdc_is_rebuilt
    from (
        select {{ columns }}, false as _cdc_is_rebuilt
        from {{ batch }}

        union all

        select {{ columns }}, true as _cdc_is_rebuilt
        from ({{ spark_cdc._key_operations(all_changes, table.key, table.columns, table.patched) }})
    ) as operations
    left join (select *, true as _cdc_is_rebuilt from ({{ rebuilt_keys }})) as rebuilt_keys
        on {{ spark_cdc._same_key(table.key, 'operations', 'rebuilt_keys') }}
    where operations._cdc_is_rebuilt = coalesce(rebuilt_keys._cdc_is_rebuilt, false)
{%- endmacro -%}
