{#- The checked configuration of a model. `config` is dbt's, or the model's own if an operation asks. -#}

{#-
    dbt accepts any key, so without this check an unknown one would have no effect and raise no error; and dbt has keys that
    only its own materializations read. The check covers the keys that a user wrote, in the model, in YAML or in
    dbt_project.yml: a later dbt may give every model another key.
-#}
{%- macro _refuse_unknown_keys(materialization, model) -%}
    {%- set ours = ['unique_key', 'file_format', 'on_schema_change', 'tblproperties'] + (
        ['source_tables_share_keys', 'track_columns', 'keep_unchanged', 'hard_deletes']
        if materialization not in ['cdc_append', 'cdc_landing'] else []
    ) -%}
    {#- A landing table has columns of its own, and keeps every message. -#}
    {%- set not_of_landing = ['unique_key', 'on_schema_change'] if materialization == 'cdc_landing' else [] -%}
    {%- set ours = ours | reject('in', not_of_landing) | list -%}
    {#- Keys of dbt's snapshots, which users may expect of a history. -#}
    {%- set meant_by = {
        'check_cols': 'track_columns', 'tracked_columns': 'track_columns',
        'invalidate_hard_deletes': "hard_deletes='invalidate'",
    } if materialization == 'cdc_history' else {} -%}
    {%- for name in spark_cdc._keys_without_effect() + not_of_landing if name in model.unrendered_config and name in model.config -%}
        {%- do spark_cdc._raise(
            materialization, name, 'left out', spark_cdc._show(model.config[name]),
            'A ' ~ materialization ~ ' model does not read it: ' ~ spark_cdc._what_a_run_writes(materialization)
            ~ ' Remove it; where dbt_project.yml sets it, set it there for the folders of other models only.'
        ) -%}
    {%- endfor -%}
    {%- for name in model.unrendered_config if name in model.config and name not in ours + spark_cdc._keys_of_dbt() -%}
        {%- set meant = namespace(name=meant_by.get(name)) -%}
        {%- for known in ours if not meant.name and spark_cdc._is_one_letter_off(name, known) -%}
            {%- set meant.name = known -%}
        {%- endfor -%}
        {%- do spark_cdc._raise(
            materialization, 'config', 'made of keys that exist', spark_cdc._show(name),
            'Did you mean ' ~ meant.name ~ '?' if meant.name
                else 'Besides dbt\'s own there are ' ~ ours | join(', ') ~ '. Put what other tools read into `meta`.'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _what_a_run_writes(materialization) -%}
    {{- return(
        'each run appends what it has not read yet.' if materialization in ['cdc_append', 'cdc_landing']
            else 'each run merges all columns of the rows that new changes touch.'
    ) -}}
{%- endmacro -%}

{#- Keys that dbt or dbt-spark reads in other kinds of models: incremental, microbatch, a materialized view, a seed, Python. -#}
{%- macro _keys_without_effect() -%}
    {{- return([
        'incremental_strategy', 'incremental_predicates', 'predicates', 'merge_update_columns', 'merge_exclude_columns',
        'batch_size', 'lookback', 'begin', 'concurrent_batches', 'on_configuration_change', 'column_types', 'packages',
    ]) -}}
{%- endmacro -%}

{#- Keys that dbt reads in the config of any model, and those with which dbt-spark creates our tables. -#}
{%- macro _keys_of_dbt() -%}
    {{- return([
        'enabled', 'alias', 'schema', 'database', 'tags', 'meta', 'group', 'static_analysis', 'materialized', 'persist_docs',
        'post_hook', 'pre_hook', 'post-hook', 'pre-hook', 'quoting', 'full_refresh', 'unique_key', 'on_schema_change', 'grants', 'docs',
        'contract', 'event_time', 'access', 'freshness',
        'location_root', 'options', 'partition_by', 'clustered_by', 'buckets',
    ]) -}}
{%- endmacro -%}

{#- Whether two names differ in at most one letter each. -#}
{%- macro _is_one_letter_off(one, other) -%}
    {%- set cut = {one: [one], other: [other]} -%}
    {%- for name, names in cut.items() -%}
        {%- for at in range(name | length) -%}
            {%- do names.append(name[:at] ~ name[at + 1:]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(cut[one] | select('in', cut[other]) | list | length > 0) -}}
{%- endmacro -%}

{%- macro _apply_config(materialization, config) -%}
    {%- set key = config.get('unique_key') -%}
    {%- set key = [key] if key is string else key -%}
    {%- do spark_cdc._require_names(
        materialization, 'unique_key', key, 'Set config(unique_key=[\'id\']) with the key that the changes model declares.'
    ) -%}
    {%- set file_format = spark_cdc._lake_of(materialization, config) -%}
    {%- set on_schema_change = spark_cdc._on_schema_change(materialization, config.get('on_schema_change')) -%}
    {%- do spark_cdc._require_one_of(
        materialization, 'source_tables_share_keys', config.get('source_tables_share_keys', false), [true, false]
    ) -%}
    {{- return({'key': key, 'file_format': file_format, 'on_schema_change': on_schema_change}) -}}
{%- endmacro -%}

{#-
    With another key a row would stay after its source moved it to another key, or a table would have a row for each value of a
    column that is not the key.
-#}
{%- macro _require_key_of_changes(materialization, unique_key) -%}
    {%- for id in model.depends_on.nodes if id in graph.nodes and spark_cdc._kind_of(graph.nodes[id]) == 'changes' -%}
        {%- set key = graph.nodes[id].config.meta['spark_cdc.key'] -%}
        {%- if key and key | sort != unique_key | reject('equalto', '_cdc_source_table') | sort -%}
            {%- do spark_cdc._raise(
                materialization, 'unique_key', 'the key of ' ~ spark_cdc._show(graph.nodes[id].name) ~ ', ' ~ key | join(', '),
                spark_cdc._show(unique_key | join(', ')), 'Write unique_key=' ~ key ~ ', or correct the key of the changes model.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _lake_of(materialization, config) -%}
    {%- set file_format = config.get('file_format', 'iceberg') -%}
    {%- do spark_cdc._require_one_of(materialization, 'file_format', file_format, ['iceberg', 'delta']) -%}
    {{- return(file_format) -}}
{%- endmacro -%}

{#- The table to write: its kind, its key, and the source's own columns, which its changes model declares. -#}
{%- macro _table(kind, key, all_changes, config) -%}
    {%- set found = adapter.get_columns_in_relation(all_changes) -%}
    {%- if not found -%}
        {%- do spark_cdc._raise(
            kind.materialization, 'sql', 'a select from a model that is built', all_changes ~ ', which is not there',
            'Build it first: dbt run --select +' ~ model.name ~ '.'
        ) -%}
    {%- endif -%}
    {%- set missing = spark_cdc.change_columns() | reject('in', found | map(attribute='name') | list) | list -%}
    {%- if missing -%}
        {%- do spark_cdc._raise(
            kind.materialization, 'sql', 'a select of all columns of a model made by spark_cdc.changes',
            'a select without ' ~ missing | join(', '), 'Write select * from {{ ref(\'...\') }}; a model over this one may leave rows out.'
        ) -%}
    {%- endif -%}
    {%- set has_patches = '_cdc_patches' in found | map(attribute='name') -%}
    {%- set columns = found | map(attribute='name') | reject('in', spark_cdc.change_columns() + ['_cdc_patches']) | list -%}
    {%- for name in columns if name | lower in kind.stored_columns -%}
        {%- do spark_cdc._raise(
            kind.materialization, 'sql', 'a select without the names that a history has itself', spark_cdc._show(name),
            'Leave it out of the columns of the changes model.'
        ) -%}
    {%- endfor -%}
    {%- set key = spark_cdc._key_with_source_table(key, columns, config) -%}
    {%- for name in key -%}
        {%- do spark_cdc._require_one_of(
            kind.materialization, 'unique_key', name, columns, 'Name columns of the changes model.'
        ) -%}
    {%- endfor -%}
    {%- set variants = found | selectattr('dtype', 'equalto', 'variant') | map(attribute='name') | list -%}
    {%- set types = {} -%}
    {%- for column in found if column.name in columns -%}
        {%- do types.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {%- set options = spark_cdc._options(kind.materialization, key, columns, config) -%}
    {%- set patched = found | selectattr('dtype', 'in', ['string', 'variant'] if has_patches else []) | map(attribute='name')
        | select('in', columns) | reject('in', key) | list -%}
    {{- return(dict(
        kind, key=key, columns=columns, types=types, variants=variants, options=options, patched=patched
    )) -}}
{%- endmacro -%}

{#-
    A condition, a limit or a join on single changes may remove the change that moved a row out, and the row would stay as it
    was. With --empty dbt itself puts a limit around each relation.
-#}
{%- macro _require_whole_select(materialization, sql) -%}
    {%- if not flags.EMPTY and not spark_cdc._is_whole_select(sql, model.extra_ctes | map(attribute='sql') | list) -%}
        {%- do spark_cdc._raise(
            materialization, 'sql', 'select * from {{ ref(\'...\') }} and nothing else', 'a select with more in it',
            'A condition on messages belongs below the changes model, into a view over what that reads. A condition on rows, a join, a '
            ~ 'group or a limit belongs above this table, into a model that selects from it.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- `ephemeral`: the CTEs that dbt puts in front for models that have no relation. -#}
{%- macro _is_whole_select(sql, ephemeral=[]) -%}
    {%- set text = namespace(sql=sql) -%}
    {%- for model_sql in ephemeral -%}
        {%- set text.sql = text.sql | replace(model_sql, '') -%}
    {%- endfor -%}
    {%- set name = '(`[^`]+`|\\w+)' -%}
    {%- set whole = '(?is)\\s*(with[\\s,]*)?select\\s+[*]\\s+from\\s+' ~ name ~ '([.]' ~ name ~ ')*\\s*' -%}
    {{- return(modules.re.fullmatch(whole, spark_cdc._without_comments(text.sql)) is not none) -}}
{%- endmacro -%}

{#- Rows of two source tables are two rows even if their keys are equal, unless the model says otherwise. -#}
{%- macro _key_with_source_table(key, columns, config) -%}
    {%- if '_cdc_source_table' in columns and '_cdc_source_table' not in key and not config.get('source_tables_share_keys', false) -%}
        {{- return(['_cdc_source_table'] + key) -}}
    {%- endif -%}
    {{- return(key) -}}
{%- endmacro -%}

{#- The options of a history besides its key. -#}
{%- macro _options(materialization, key, columns, config) -%}
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

{#- Rejects a relation that has the model's name and is not a table of this kind. -#}
{%- macro _refuse_other_kind(materialization, existing_relation, file_format, is_build) -%}
    {%- if existing_relation is none -%}{{- return(none) -}}{%- endif -%}
    {%- set stored_format = spark_cdc._file_format(existing_relation) -%}
    {%- if existing_relation.is_view -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ materialization ~ ': ' ~ existing_relation ~ ' is a view, and a table of that name is to be built. '
            ~ 'Drop the view, or give this model another alias.'
        ) -%}
    {%- elif not is_build and stored_format not in [file_format, 'other'] -%}
        {#- some catalogs do not show the format -#}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ materialization ~ ': ' ~ existing_relation ~ ' is stored as ' ~ stored_format
            ~ ', and this model has file_format=\'' ~ file_format ~ '\'. Set the format that it has, or rebuild it: '
            ~ 'dbt run --full-refresh --select ' ~ model.name ~ '+'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
