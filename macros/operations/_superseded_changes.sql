{#-
    Changes of a key before a later one that has the whole row or says that there is none; the later one must itself be old
    enough. It leaves out keys between which values pass: a value may start its way through them at any of their changes.
-#}
{%- macro _superseded_changes(node, before) -%}
    {%- set readers = spark_cdc._readers_of(node, ['cdc_current', 'cdc_history']) -%}
    {%- set keys = [] -%}
    {%- for reader in readers -%}
        {%- set key = reader.config.unique_key -%}
        {%- do keys.append([key] if key is string else key | list) -%}
    {%- endfor -%}
    {%- set histories = readers | selectattr('config.materialized', 'equalto', 'cdc_history') | map(attribute='name') | list -%}
    {%- if not readers -%}
        {{- return({'needed_for': 'no cdc_current is made from them.'}) -}}
    {%- elif histories -%}
        {{- return({'needed_for': histories | sort | join(', ') ~ ' build versions from them.'}) -}}
    {%- elif keys | map('string') | unique | list | length > 1 -%}
        {{- return({'needed_for': readers | map(attribute='name') | sort | join(', ') ~ ' have different keys.'}) -}}
    {%- endif -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- set key = spark_cdc._key_with_source_table(keys[0], columns, readers[0].config) -%}
    {%- set names = spark_cdc._quoted(key) -%}
    {%- set query -%}
    with
    changes as (

        select
            *,
            _cdc_op = 'update' and coalesce({{ spark_cdc._key_changes(key) }}, false) as changes_key,
            row_number() over (
                partition by _cdc_topic, _cdc_partition
                order by {{ spark_cdc._read_positions('_cdc_read_positions') }} desc, _cdc_offset desc
            ) as place
        from {{ relation }}

    ),

    whole_rows as (

        select {{ names }}, max(_cdc_sequence) as last_sequence
        from changes
        where
            _cdc_error is null
            and (_cdc_op = 'delete' or (_cdc_op in ('insert', 'update', 'snapshot') and _cdc_missing_columns is null))
            and _cdc_committed_at < {{ before }}
        group by {{ names }}

    ),

    joined_keys as (

        select {{ names }}
        from ({{ spark_cdc._key_operations(relation, key, key) }})
        where _cdc_inherits_values or _cdc_inherited_by is not null
        group by {{ names }}

    )

    select changes.*
    from changes
    inner join whole_rows
        on {{ spark_cdc._same_key(key, 'changes', 'whole_rows') }} and changes._cdc_sequence < whole_rows.last_sequence
    left anti join joined_keys on {{ spark_cdc._same_key(key, 'changes', 'joined_keys') }}
    where
        changes._cdc_error is null
        and changes._cdc_op <> 'truncate'
        and not changes.changes_key
        and changes.place > 1
        and changes._cdc_committed_at < {{ before }}
    {%- endset -%}
    {{- return({'query': query, 'columns': {
        'stored._cdc_topic': '_cdc_topic', 'stored._cdc_partition': '_cdc_partition', 'stored._cdc_offset': '_cdc_offset',
        'stored._cdc_sequence': '_cdc_sequence',
    }}) -}}
{%- endmacro -%}
