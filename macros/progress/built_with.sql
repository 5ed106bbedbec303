{#-
    The arguments that a table was built with, stored as its property `spark_cdc.built_with`. Rows that were read with one
    `table`, `format` or `key` do not become rows of another one, so a run with another one is rejected. A table of an earlier
    version has no such property and is not rejected: its next append or merge notes the arguments.
-#}

{#-
    Of a messages or changes model: its arguments, as `_note_kind` has them. Of a current or history table: its own options and,
    if it selects from one changes model, the arguments of that model, because the table may not be rebuilt with it and the
    model may be a view. If there are several changes models, each rejects other arguments itself. Name -> text; none for a run
    ledger.
-#}
{%- macro _built_with(node) -%}
    {%- set kind = spark_cdc._kind_of(node) -%}
    {%- if kind not in ['cdc_current', 'cdc_history'] -%}
        {{- return(node.config.meta.get('spark_cdc.arguments', {})) -}}
    {%- endif -%}
    {%- set built_with = {} -%}
    {%- for name, default in spark_cdc._own_options().items() -%}
        {%- set value = node.config.get(name) or default -%}
        {%- do built_with.update({name: value | sort | join(', ') if spark_cdc._is_list(value) else value | string}) -%}
    {%- endfor -%}
    {%- set changes = spark_cdc._nodes_below(node, 'changes') -%}
    {%- if changes | length == 1 -%}
        {%- do built_with.update(changes[0].config.meta.get('spark_cdc.arguments', {})) -%}
    {%- endif -%}
    {{- return(built_with) -}}
{%- endmacro -%}

{#- The options of a current or history table that its stored rows depend on, with their defaults. -#}
{%- macro _own_options() -%}
    {{- return({
        'unique_key': [], 'track_columns': [], 'keep_unchanged': false, 'hard_deletes': 'new_record', 'source_tables_share_keys': false,
    }) -}}
{%- endmacro -%}

{#- The property's text, in hexadecimal digits: Spark hides a property that contains the word token or secret, as a name may. -#}
{%- macro _built_with_text(built_with) -%}
    {%- set texts = [] -%}
    {%- for name, value in built_with.items() -%}
        {%- do texts.append(name.encode('utf-8').hex() ~ '=' ~ value.encode('utf-8').hex()) -%}
    {%- endfor -%}
    {{- return(texts | join(' ')) -}}
{%- endmacro -%}

{%- macro _built_with_of(properties) -%}
    {%- set built_with, any_bytes = {}, ''.encode('utf-8') -%}
    {%- for text in (properties.get('spark_cdc.built_with') or '').split(' ') if text -%}
        {%- set name, value = text.split('=') -%}
        {%- do built_with.update({any_bytes.fromhex(name).decode('utf-8'): any_bytes.fromhex(value).decode('utf-8')}) -%}
    {%- endfor -%}
    {{- return(built_with) -}}
{%- endmacro -%}

{#-
    The arguments that differ from those that a table was built with. A name that one side lacks does not count: a column that
    was declared later was not read before.
-#}
{%- macro _built_otherwise(properties) -%}
    {%- set built_with, found = spark_cdc._built_with(model), {} -%}
    {%- for name, value in spark_cdc._built_with_of(properties).items() if built_with.get(name, value) != value -%}
        {%- do found.update({name: value}) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}

{#- Whether a table was built from the messages of another source table, or read with another format, dialect or raw column. -#}
{%- macro _is_of_other_messages(properties) -%}
    {%- set found = [] -%}
    {%- for name in spark_cdc._built_otherwise(properties)
        if name in ['table', 'database', 'schema', 'format', 'dialect'] or name.startswith('raw_columns.') -%}
        {%- do found.append(name) -%}
    {%- endfor -%}
    {{- return(found | length > 0) -}}
{%- endmacro -%}

{#- A table without rows has no wrong rows. `only` lists the names that are checked. -#}
{%- macro _refuse_other_arguments(macro, relation, properties, only=none) -%}
    {%- set built_with = spark_cdc._built_with(model) -%}
    {%- for name, value in spark_cdc._built_otherwise(properties).items()
        if (only is none or name in only) and spark_cdc._has_rows(relation) -%}
        {%- set argument, part = (name ~ '.').split('.', 1) -%}
        {%- set part = ' for `' ~ part[:-1] ~ '`' if part else '' -%}
        {%- set is_of_changes = spark_cdc._kind_of(model) in ['cdc_current', 'cdc_history'] and name not in spark_cdc._own_options() -%}
        {%- set built = spark_cdc._nodes_below(model, 'changes')[0].name if is_of_changes else model.name -%}
        {%- do spark_cdc._raise(
            macro, argument, 'what the rows of ' ~ relation ~ ' were made with, ' ~ spark_cdc._show(value or none) ~ part,
            spark_cdc._show(built_with[name] or none) ~ part,
            'Stored rows do not change with it. Write what was there, or rebuild the table and all that is downstream: '
            ~ 'dbt run --full-refresh --select ' ~ built ~ '+'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- After an append or a merge. On Delta a property is a commit of its own: it is written only if it differs. -#}
{%- macro _note_built_with(relation) -%}
    {%- set text = spark_cdc._built_with_text(spark_cdc._built_with(model)) -%}
    {%- if text and text != spark_cdc._table_properties(relation).get('spark_cdc.built_with') -%}
        {%- call statement('note_built_with') -%}
            alter table {{ relation }} set tblproperties ('spark_cdc.built_with' = '{{ text }}')
        {%- endcall -%}
    {%- endif -%}
{%- endmacro -%}

{#- Before the run reads or alters anything. dbt's own `incremental` does not note the arguments of its rows. -#}
{%- macro _refuse_append_of_other_arguments(macro) -%}
    {%- if spark_cdc._is_run() and config.get('materialized') == 'cdc_append' and spark_cdc._is_incremental_run() -%}
        {%- set relation = load_cached_relation(this) -%}
        {%- do spark_cdc._refuse_other_arguments(macro, relation, spark_cdc._table_properties(relation)) -%}
    {%- endif -%}
{%- endmacro -%}
