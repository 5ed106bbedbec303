{#- What a model of ours says of itself, checked. -#}

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
    {%- do spark_cdc._require_one_of(
        materialization, 'origins_share_keys', config.get('origins_share_keys', false), [true, false]
    ) -%}
    {{- return({'key': key, 'file_format': file_format, 'on_schema_change': on_schema_change}) -}}
{%- endmacro -%}

{#- The table to be written: its form, its key, and the source's own columns, which it has from a changes model. -#}
{%- macro _table(form, key, all_changes) -%}
    {%- set found = adapter.get_columns_in_relation(all_changes) -%}
    {%- set missing = spark_cdc.change_columns() | reject('in', found | map(attribute='name') | list) | list -%}
    {%- if missing -%}
        {%- do spark_cdc._raise(
            form.materialization, 'sql', 'a select of all columns of a model made by spark_cdc.changes',
            'a select without ' ~ missing | join(', '), 'Write select * from {{ ref(\'...\') }}, with where or not.'
        ) -%}
    {%- endif -%}
    {%- set columns = found | map(attribute='name') | reject('in', spark_cdc.change_columns()) | list -%}
    {%- if '_cdc_origin' in columns and '_cdc_origin' not in key and not config.get('origins_share_keys', false) -%}
        {%- set key = ['_cdc_origin'] + key -%}
    {%- endif -%}
    {%- for name in key -%}
        {%- do spark_cdc._require_one_of(form.materialization, 'unique_key', name, columns) -%}
    {%- endfor -%}
    {%- set variants = found | selectattr('dtype', 'equalto', 'variant') | map(attribute='name') | list -%}
    {%- set options = spark_cdc._options(form.materialization, key, columns) -%}
    {{- return(dict(form, key=key, columns=columns, variants=variants, options=options)) -}}
{%- endmacro -%}

{#- What a history is told beside its key. -#}
{%- macro _options(materialization, key, columns) -%}
    {%- if materialization == 'cdc_history' -%}
        {{- return(spark_cdc._history_options(
            materialization, key, columns, config.get('track_columns'), config.get('keep_unchanged', false),
            config.get('hard_deletes', 'new_record')
        )) -}}
    {%- endif -%}
    {%- for name in ['track_columns', 'keep_unchanged', 'hard_deletes'] if config.get(name) is not none -%}
        {%- do spark_cdc._raise(
            materialization, name, 'left out', spark_cdc._show(config.get(name)),
            'It is for cdc_history: a current table has no versions.'
        ) -%}
    {%- endfor -%}
    {{- return({}) -}}
{%- endmacro -%}

{#-
    The table with the columns that a later run writes, after contract and on_schema_change had their say, which compare it with
    what a first run would make. Before the rows are: they read the table, and so cannot name a column that it is about to get.
-#}
{%- macro _with_columns_to_write(table, settings, has_news, all_changes, existing_relation) -%}
    {%- set stored = adapter.get_columns_in_relation(existing_relation) | map(attribute='name') | list -%}
    {%- set may_change = settings.on_schema_change != 'ignore' or config.get('contract').enforced -%}
    {%- if may_change and (has_news or table.columns | reject('in', stored) | list) -%}
        {%- set temporaries = [] -%}
        {%- set first_form = spark_cdc._temporary_view(temporaries, 'form', table.rows_of(
            '(' ~ spark_cdc._effects(all_changes, table.key, table.columns) ~ ')', all_changes, table.key, table.columns,
            false, table.variants, table.options
        )) -%}
        {%- if config.get('contract').enforced -%}
            {%- do get_assert_columns_equivalent('select * from ' ~ first_form) -%}
        {%- endif -%}
        {%- do process_schema_changes(settings.on_schema_change, first_form, existing_relation) -%}
        {%- do spark_cdc._drop_temporaries(temporaries) -%}
        {%- set stored = adapter.get_columns_in_relation(existing_relation) | map(attribute='name') | list -%}
    {%- endif -%}
    {{- return(dict(table, columns=table.columns | select('in', stored) | list)) -}}
{%- endmacro -%}

{%- macro _refuse_view(materialization, existing_relation) -%}
    {%- if existing_relation is not none and existing_relation.is_view -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ materialization ~ ': ' ~ existing_relation ~ ' is a view, and a table of that name is to be built. '
            ~ 'Drop the view, or give this model another alias.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
