{#-
    Stops a full refresh that would lose history, because the table has messages that its source no longer holds. To allow it,
    the user names the model in the var spark_cdc__allow_history_loss. One query over topic, partition and offset of both sides.

    `stored` and `source` are queries of topic, partition and offset. `rebuilt_for` has the differences for which a run rebuilds
    the table by itself.
-#}
{%- macro _refuse_history_loss(macro, stored, source, source_name, rebuilt_for=[]) -%}
    {%- if spark_cdc._is_named_in('spark_cdc__allow_history_loss') -%}{{- return(none) -}}{%- endif -%}
    {%- set lost_offsets -%}
    {{ spark_cdc._step_of_comparison() }}
    select stored.topic, stored.partition, count(*), min(stored.offset), max(stored.offset)
    from (select topic, partition, offset from ({{ stored }}) group by topic, partition, offset) as stored
    left anti join ({{ source }}) as source
        on stored.topic <=> source.topic
        and stored.partition <=> source.partition
        and stored.offset <=> source.offset
    group by stored.topic, stored.partition
    order by stored.topic, stored.partition
    {%- endset -%}
    {%- set places = [] -%}
    {%- for row in run_query(lost_offsets).rows -%}
        {%- do places.append(
            'topic ' ~ row[0] ~ ', partition ' ~ (row[1] | int if row[1] is not none else 'null') ~ ': ' ~ row[2] | int
            ~ ' offsets from ' ~ row[3] | int ~ ' to ' ~ row[4] | int
        ) -%}
    {%- endfor -%}
    {%- if places -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': ' ~ (
                'a rebuild of ' ~ model.name ~ ' for ' ~ rebuilt_for | join(', ') if rebuilt_for
                else 'a full refresh of ' ~ model.name
            ) ~ ' would lose what ' ~ spark_cdc._name_of_relation(source_name) ~ ' no longer holds: '
            ~ places[:10] | join('; ') ~ (' and ' ~ (places | length - 10) ~ ' more partitions' if places | length > 10 else '')
            ~ '. ' ~ (
                "Set on_schema_change='evolve' to keep the stored rows as they are." if rebuilt_for
                else 'Run it without --full-refresh.'
            ) ~ ' To lose this history, say so a second time: dbt run --full-refresh --select '
            ~ model.name ~ ' --vars \'{spark_cdc__allow_history_loss: [' ~ model.name ~ ']}\''
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether a run rewrites a table that runs append to. The caller knows that it is a run. -#}
{%- macro _is_full_refresh() -%}
    {{- return(spark_cdc._is_log() and should_full_refresh() and spark_cdc._has_table()) -}}
{%- endmacro -%}

{%- macro _positions_of_messages(relation, raw_columns=none) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {{- return(
        'select ' ~ raw.topic ~ ' as topic, ' ~ raw.partition ~ ' as partition, ' ~ raw.offset ~ ' as offset from ' ~ relation
    ) -}}
{%- endmacro -%}

{#- The messages from which the rows of a current or history table were made. -#}
{%- macro _positions_of_rows(relation) -%}
    {{- return('select _cdc_topic as topic, _cdc_partition as partition, _cdc_offset as offset from ' ~ relation) -}}
{%- endmacro -%}

{#- A current or history table over pruned changes. Another kind of table with that name has no positions to lose. -#}
{%- macro _refuse_to_shorten(materialization, existing_relation, all_changes, rebuilt_for=[]) -%}
    {%- if existing_relation is none -%}{{- return(none) -}}{%- endif -%}
    {%- set names = adapter.get_columns_in_relation(existing_relation) | map(attribute='name') | list -%}
    {%- if ['_cdc_topic', '_cdc_partition', '_cdc_offset'] | reject('in', names) | list -%}{{- return(none) -}}{%- endif -%}
    {%- do spark_cdc._refuse_history_loss(
        materialization, spark_cdc._positions_of_rows(existing_relation), spark_cdc._positions_of_rows(all_changes),
        'its changes model', rebuilt_for
    ) -%}
{%- endmacro -%}
