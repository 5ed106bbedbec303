{#-
    Query: the keys of which all changes are needed; or none. These are the keys that get something before their stored row,
    and the keys that take values over from another one.

    A late value of one key may have gone on to a second and a third one. Such keys are rare, and following the way of each
    costs a query a step; so all keys between which values ever went are built anew together, as soon as one of them is.
-#}
{%- macro _keys_built_anew(table, batch, all_changes) -%}
    {%- set late_keys -%}
    select {{ spark_cdc._quoted(table.key) }}
    from {{ batch }}
    where _cdc_is_late or _cdc_takes_over or _cdc_taken_over_by is not null
    group by {{ spark_cdc._quoted(table.key) }}
    {%- endset -%}
    {%- if not spark_cdc._has_rows('(' ~ late_keys ~ ')') -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set joined_keys -%}
    select {{ spark_cdc._quoted(table.key) }}
    from ({{ spark_cdc._effects(all_changes, table.key, table.key) }})
    where _cdc_takes_over or _cdc_taken_over_by is not null
    {%- endset -%}
    {%- set late_joined_keys -%}
    (select joined.* from ({{ joined_keys }}) as joined
    left semi join ({{ late_keys }}) as late on {{ spark_cdc._same_key(table.key, 'joined', 'late') }})
    {%- endset -%}
    {{- return(late_keys ~ ' union ' ~ joined_keys if spark_cdc._has_rows(late_joined_keys) else late_keys) -}}
{%- endmacro -%}

{#- The batch, with all effects of keys that are built anew in the place of their new ones and their stored row. -#}
{%- macro _effects_anew(table, batch, all_changes, anew) -%}
    {%- set columns = spark_cdc._quoted(spark_cdc._event_columns(table.columns, table.patched), 'effects.') -%}
    select {{ columns }}, false as _cdc_is_anew
    from {{ batch }} as effects
    left anti join ({{ anew }}) as anew on {{ spark_cdc._same_key(table.key, 'effects', 'anew') }}

    union all

    select {{ columns }}, true as _cdc_is_anew
    from ({{ spark_cdc._effects(all_changes, table.key, table.columns, table.patched) }}) as effects
    left semi join ({{ anew }}) as anew on {{ spark_cdc._same_key(table.key, 'effects', 'anew') }}
{%- endmacro -%}
