{#-
    Raw messages -> one row per message or row change, with values as texts: `spark-cdc decode` prints it. A number keeps its
    text in the message, and a column that the message does not have is not in the row. If a format's updates change parts of
    nested values, `patched` has the names in the row that are paths to such parts. `declared` are the columns that a model
    declares: such a column is not another tool's operation column.
-#}
{%- macro decoded(relation, format, dialect=none, raw_columns=none, declared=[]) -%}
    {%- set fmt = spark_cdc._format(format, dialect, 'decoded') -%}
    {%- do spark_cdc._require_raw_columns('decoded', raw_columns) -%}
    {{- return(adapter.dispatch('decoded', 'spark_cdc')(relation, fmt, raw_columns, declared)) -}}
{%- endmacro -%}

{%- macro default__decoded(relation, fmt, raw_columns, declared) -%}
    {%- do spark_cdc._only_spark('decoded') -%}
{%- endmacro -%}

{%- macro spark__decoded(relation, fmt, raw_columns, declared) -%}
    {%- set rows = fmt.rows -%}
    {%- set before = spark_cdc._overlaid('image', 'before') if rows.overlays else 'before' -%}
with {{ spark_cdc._raw_envelopes(relation, fmt, raw_columns) }},

{{ spark_cdc._message_rows(fmt) }},

{{ spark_cdc._row_changes(fmt, none, parts=['kind'] + spark_cdc._names_of_a_table() + ['key_columns']) }},

row_faults as (

    select
        *,
        case
            when error is not null then error
            {%- if rows.op_columns_of_others %}
            {{ spark_cdc._when_op_column_of_others(declared) }}
            {%- endif %}
            when {{ spark_cdc._has_duplicate_column('image') }}
                then {{ spark_cdc._name_twice_error('map_keys(image)', 'the row') | indent(16) }}
            when {{ spark_cdc._has_duplicate_column('before') }}
                then {{ spark_cdc._name_twice_error('map_keys(before)', 'the row before') | indent(16) }}
            {%- if rows.no_value and not declared %}
            {%- set is_no_value = rows.no_value | replace('{}', 'text') %}
            when exists(map_values(image), text -> {{ is_no_value }}) or exists(map_values(before), text -> {{ is_no_value }})
                then {{ spark_cdc._error_of('invalid_value', spark_cdc._names_of_no_values(is_no_value)) }}
            {%- endif %}
        end as fault
    from {{ spark_cdc._last_changes(fmt) }}

)

select
    topic,
    partition,
    offsets,
    kind,
    update_part,
    database_name,
    schema_name,
    table_name,
    op,
    {{ before }} as before,
    case when op <> 'delete' then image end as after,
    {{ 'map_keys(patches)' if rows.patches else 'cast(null as array<string>)' }} as patched,
    sequence,
    committed_at,
    key_columns,
    {{ spark_cdc._as_error('fault') | indent(4) }} as error
from row_faults
{%- endmacro -%}

{#- The columns with such texts, as a model names them. The row before counts only if the row itself has none. -#}
{%- macro _names_of_no_values(is_no_value) -%}
    {%- set names = "map_keys(map_filter({}, (name, text) -> " ~ is_no_value ~ '))' -%}
    {%- set of_row, of_before = names | replace('{}', 'image'), names | replace('{}', 'before') -%}
    {{- return(
        "array_join(concat(transform(coalesce(" ~ of_row ~ ", array()), name -> concat(name, ': string')), "
        ~ "transform(array_except(coalesce(" ~ of_before ~ ", array()), coalesce(" ~ of_row
        ~ ", array())), name -> concat('before ', name, ': string'))), ', ')"
    ) -}}
{%- endmacro -%}
