{#- What the two materializations share: the model's configuration, the changes that are new, and writing in place. -#}

{%- macro _apply_config(materialization) -%}
    {%- set key = config.get('unique_key') -%}
    {%- set key = [key] if key is string else key -%}
    {%- do spark_cdc._require_names(
        materialization, 'unique_key', key, 'Set config(unique_key=[\'id\']) with the key that the changes model declares.'
    ) -%}
    {%- set file_format = config.get('file_format', 'iceberg') -%}
    {%- do spark_cdc._require_one_of(materialization, 'file_format', file_format, ['iceberg', 'delta']) -%}
    {%- set on_schema_change = config.get('on_schema_change') or 'ignore' -%}
    {%- do spark_cdc._require_one_of(
        materialization, 'on_schema_change', on_schema_change,
        ['ignore', 'fail', 'append_new_columns', 'sync_all_columns']
    ) -%}
    {{- return({'key': key, 'file_format': file_format, 'on_schema_change': on_schema_change}) -}}
{%- endmacro -%}

{#- The source's own columns of a changes model; without the contract's columns it is none. -#}
{%- macro _source_columns(materialization, relation, key) -%}
    {%- set found = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- set missing = spark_cdc.change_columns() | reject('in', found) | list -%}
    {%- if missing -%}
        {%- do spark_cdc._raise(
            materialization, 'sql', 'a select of all columns of a model made by spark_cdc.changes',
            'a select without ' ~ missing | join(', '), 'Write select * from {{ ref(\'...\') }}, with where or not.'
        ) -%}
    {%- endif -%}
    {%- set columns = found | reject('in', spark_cdc.change_columns()) | list -%}
    {%- for name in key -%}
        {%- do spark_cdc._require_one_of(materialization, 'unique_key', name, columns) -%}
    {%- endfor -%}
    {{- return(columns) -}}
{%- endmacro -%}

{#-
    Changes behind the highest offset that the target holds, per topic and partition. A target keeps what it has read in its
    own rows, and a row that is read again changes nothing.
-#}
{%- macro _new_changes(all_changes, target_relation) -%}
    select changes.*
    from {{ all_changes }} as changes
    left join (
        select _cdc_topic, _cdc_partition, max(_cdc_offset) as _cdc_offset
        from {{ target_relation }}
        group by _cdc_topic, _cdc_partition
    ) as applied
        on changes._cdc_topic = applied._cdc_topic and changes._cdc_partition = applied._cdc_partition
    where applied._cdc_offset is null or changes._cdc_offset > applied._cdc_offset
{%- endmacro -%}

{#- A temporary view whose name no other model and no other run has: dbt-spark's own names collide between schemas. -#}
{%- macro _temporary_view(suffix, sql) -%}
    {%- set name = '_cdc_' ~ suffix ~ '_' ~ local_md5(model.unique_id ~ invocation_id) -%}
    {%- call statement('create_' ~ suffix) -%}
        create or replace temporary view {{ name }} as
        {{ sql }}
    {%- endcall -%}
    {{- return(api.Relation.create(identifier=name)) -}}
{%- endmacro -%}

{%- macro _drop_temporary_views(views) -%}
    {%- for view in views -%}
        {%- call statement('drop_' ~ loop.index) -%}
            drop view if exists {{ view.identifier }}
        {%- endcall -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _refuse_other_relation(materialization, existing_relation) -%}
    {%- if existing_relation is not none and existing_relation.is_view -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ materialization ~ ': ' ~ existing_relation ~ ' is a view, and a table of that name is to be built. '
            ~ 'Drop the view, or give this model another alias.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
