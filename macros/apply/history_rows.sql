{#-
    Row changes -> the rows of a history table (SCD2): one row per key and version, valid over [valid_from, valid_to),
    columns as `_history_columns()`. A deleted key has a version with `_cdc_is_deleted`.

    Versions follow the sequence. valid_from is the commit time, never earlier than the version before it; versions with
    equal times keep their order by the sequence. A change that changes no column makes no version: it moves
    `_cdc_last_sequence` (and topic, partition and offset) of the version that it confirms, so that a change that comes late
    still finds its place.

    changes         a relation or a query in parentheses; it is read several times
    carries_over    false where no message changes a key and leaves columns out: the query is then much smaller
    variants        those of the columns that are VARIANT, which Spark does not compare
    track_columns   the columns of which a change makes a version; the others have their values of its last change
    keep_unchanged  true: a change that changes nothing makes a version too
    hard_deletes    what a delete does: `new_record` makes a version that says so, `invalidate` only ends the row's version,
                    `ignore` leaves that open, with `_cdc_is_deleted`. With the last two a key whose first change is a
                    delete begins with a version of no length, valid at no time
    patched_columns the columns of which `_cdc_patches` may change parts
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
