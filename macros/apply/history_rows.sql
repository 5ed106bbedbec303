{#-
    Row changes -> the rows of a history table (SCD2): one row per key and version, valid over [valid_from, valid_to), with the
    columns of `_history_columns()`. A deleted key has a version with `_cdc_is_deleted`.

    Versions follow the sequence. valid_from is the commit time, never earlier than the version before it; versions with equal
    times keep their order by the sequence. A change that changes no column begins no version: it moves `_cdc_last_sequence`
    (and topic, partition and offset) of the version that it confirms, so that a late-arriving change still finds its place.

    changes         a relation or a query in parentheses; it is read several times
    carries_over    false if no message both changes a key and leaves columns out: the query is then much smaller
    variants        the columns that are VARIANT, which Spark cannot compare
    track_columns   the columns whose change begins a version; the others have the values of the version's last change
    keep_unchanged  true: a change that changes nothing begins a version, too
    hard_deletes    the effect of a delete: `new_record` begins a version with `_cdc_is_deleted`, `invalidate` only ends the row's
                    version, `ignore` leaves it open, with `_cdc_is_deleted`. With the last two, a key whose first change is a
                    delete begins with a version of no length, valid at no time
    patched_columns the columns whose parts `_cdc_patches` may change
-#}
{%- macro history_rows(
    changes, key, columns, carries_over=true, variants=[], track_columns=none, keep_unchanged=false,
    hard_deletes='new_record', patched_columns=[]
) -%}
    {%- set options = spark_cdc._history_options(
        'history_rows', key, columns, track_columns, keep_unchanged, hard_deletes
    ) -%}
    {{- return(adapter.dispatch('history_rows', 'spark_cdc')(
        changes, key, columns, carries_over, variants, options, patched_columns
    )) -}}
{%- endmacro -%}

{%- macro default__history_rows(changes, key, columns, carries_over, variants, options, patched_columns) -%}
    {%- do spark_cdc._only_spark('history_rows') -%}
{%- endmacro -%}

{%- macro spark__history_rows(changes, key, columns, carries_over, variants, options, patched_columns) -%}
    {{- return(spark_cdc._history_rows_of_operations(
        '(' ~ spark_cdc._key_operations(changes, key, columns, patched_columns) ~ ')', changes, key, columns, carries_over,
        variants, patched_columns, options
    )) -}}
{%- endmacro -%}

{%- macro _history_rows_of_operations(
    operations, changes, key, columns, carries_over, variants=[], patched=[], options={}, are_whole=false
) -%}
with {{ 'recursive ' if carries_over }}{{ spark_cdc._row_state_ctes(
    operations, changes, key, columns, carries_over, variants, patched, are_whole
) }},

{{ spark_cdc._version_ctes(key, columns, variants, options) }}

select
    {{ spark_cdc._quoted(spark_cdc._history_columns(columns) | reject('equalto', '_cdc_resume_state')) }},
    {{ spark_cdc._resume_state() }} as _cdc_resume_state
from versions
{%- endmacro -%}

{%- macro _history_columns(columns) -%}
    {{- return(
        columns + ['valid_from', 'valid_to'] + spark_cdc._key_operation_columns() + ['_cdc_last_sequence', '_cdc_resume_state']
    ) -}}
{%- endmacro -%}
