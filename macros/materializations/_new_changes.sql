{#-
    A target notes in its table properties what it has read. They are set after its rows are written: the latest loaded_at, the
    number of rows up to it, and the commit for which this is valid (see `progress/commits.sql`). The rows are those of the stored
    log: the changes, or the messages if the changes are a view over them (see `_log_of_changes`).

    Returns a mapping. `loaded_at`, `count`, `truncates` (how many of the changes are truncates), `last_truncate` (the sequence of
    the last one) and `partial` (how many lack columns) are for the properties. `has_truncates` is whether a truncate may come
    after a change that this run reads.
    `deleted_keys_gone` is the sequence up to which deleted keys have left the table (see `_deleted_keys.sql`), or none.
    `commit` is the one from which the rows are computed. `condition` selects the new changes, those of later batches. It
    selects all changes if the table has other rows than its properties say, or if the count has changed: a run that began
    earlier ended later, or changes were rebuilt or deleted. It is none if nothing is new. `pending` is the result of
    `_pending_changes`, or of `_changes_of_first_build`. `is_only_read` is true if the new messages have no change of this table.
-#}
{%- macro _changes_to_apply(table, all_changes, existing_relation, properties, file_format, is_build) -%}
    {%- set state = spark_cdc._state_of_table(existing_relation, file_format, properties) -%}
    {%- set before = spark_cdc._read_before(state.properties) if state.is_known and not is_build else none -%}
    {%- set deleted_keys_gone = state.properties.get('spark_cdc.deleted_keys_gone') -%}
    {%- set log = spark_cdc._log_of_changes(all_changes) -%}
    {%- set found = spark_cdc._rows_in_log(log, before, file_format) -%}
    {%- set nothing = {
        'loaded_at': found.loaded_at, 'count': found.count, 'truncates': before.truncates if before else 0,
        'last_truncate': before.last_truncate if before else '', 'has_truncates': false,
        'partial': before.partial if before else 0, 'commit': state.commit,
        'condition': none, 'deleted_keys_gone': deleted_keys_gone, 'pending': none, 'is_only_read': false,
    } -%}
    {%- if flags.EMPTY or found.is_as_before -%}
        {#- dbt run --empty reads no row of any model -#}
        {{- return(nothing) -}}
    {%- endif -%}
    {%- set later = spark_cdc._later_changes(table, all_changes, log, before, found, deleted_keys_gone) if before else none -%}
    {%- if later and later.pending.count == 0 -%}
        {{- return(dict(nothing, is_only_read=log.changes is not none)) -}}
    {%- endif -%}
    {%- set applied = before if later else {'truncates': 0, 'partial': 0} -%}
    {%- set pending = later.pending if later
        else spark_cdc._changes_of_first_build(all_changes, table.key) if is_build
        else spark_cdc._pending_changes(all_changes, 'true', last_truncate='') -%}
    {%- set truncates = pending.truncates + applied.truncates -%}
    {{- return(dict(
        nothing,
        loaded_at=found.loaded_at if log.changes else [found.loaded_at, pending.last_loaded_at or 0] | max,
        truncates=truncates,
        last_truncate=pending.last_truncate,
        has_truncates=pending.truncates > 0 or truncates > 0 and not pending.are_after_truncates,
        partial=pending.partial + applied.partial,
        condition=later.condition if later else 'true',
        pending=pending
    )) -}}
{%- endmacro -%}

{#-
    The changes of later runs than those that the table notes (`before`): `condition` selects them, and `pending` is what they are
    (see `_pending_changes`). None if the log has gained or lost other rows than these: then all changes count.
-#}
{%- macro _later_changes(table, all_changes, log, before, found, deleted_keys_gone) -%}
    {%- set gained = found.count - before.count -%}
    {%- set later = '_cdc_loaded_at is null or _cdc_loaded_at > timestamp_micros(' ~ before.loaded_at ~ ')' -%}
    {%- set condition = spark_cdc._of_this_run(later, '_cdc_loaded_at') -%}
    {%- set new_messages = spark_cdc._new_messages(log, before.loaded_at) if log.changes else none -%}
    {%- if new_messages and new_messages.count != gained -%}
        {{- return(none) -}}
    {%- elif new_messages and new_messages.of_changes == 0 and spark_cdc._is_one_call(log.changes, 'changes') -%}
        {{- return({'condition': condition, 'pending': {'count': 0}}) -}}
    {%- endif -%}
    {%- set pending = spark_cdc._pending_changes(
        all_changes, condition, before.last_sequence, deleted_keys_gone, table, gained, before.last_truncate
    ) -%}
    {{- return({'condition': condition, 'pending': pending} if new_messages or pending.count == gained else none) -}}
{%- endmacro -%}

{#-
    The stored table that says what is new, with its column of the run that wrote a row. It is the messages model if the changes
    are a view right above it (`changes`): the view itself would have to read all messages to count its rows. A model of the
    user's own in between may be older than the messages, and with `--defer` the view may read others, so then the changes are
    asked.
-#}
{%- macro _log_of_changes(all_changes) -%}
    {%- set of_changes = {'relation': all_changes, 'loaded_at': '_cdc_loaded_at', 'changes': none} -%}
    {%- set changes = spark_cdc._nodes_below(model, 'changes') -%}
    {%- if flags.EMPTY or flags.DEFER or changes | length != 1 or changes[0].unique_id not in model.depends_on.nodes -%}
        {{- return(of_changes) -}}
    {%- endif -%}
    {%- set messages = spark_cdc._messages_of_view(changes[0]) -%}
    {%- if messages | length != 1 or messages[0].config.materialized not in spark_cdc._logs()
        or messages[0].unique_id not in changes[0].depends_on.nodes -%}
        {{- return(of_changes) -}}
    {%- endif -%}
    {{- return({'relation': messages[0].relation_name, 'loaded_at': 'loaded_at', 'changes': changes[0]}) -}}
{%- endmacro -%}

{#-
    Answered from the log's metadata alone; by Delta only if the query asks for nothing else than the number of rows. What another
    table of this command has found in the messages decides that nothing is new, and nothing else: another run may have written
    since, and what it wrote is for the next run.
-#}
{%- macro _rows_in_log(log, before, file_format) -%}
    {%- set known, name = spark_cdc._known_in_command(), 'rows in ' ~ log.relation -%}
    {%- if before and log.changes and known.get(name) == (before.loaded_at, before.count) -%}
        {{- return({'count': before.count, 'loaded_at': before.loaded_at, 'is_as_before': true}) -}}
    {%- endif -%}
    {%- set found = spark_cdc._count_in_log(log, before, file_format) -%}
    {%- do known.update({name: (found.loaded_at, found.count) if found.have_loaded_at else none}) -%}
    {%- set is_as_before = before and found.have_loaded_at and (found.loaded_at, found.count) == (before.loaded_at, before.count) -%}
    {{- return(dict(found, is_as_before=is_as_before)) -}}
{%- endmacro -%}

{#- `count` of the rows, the latest `loaded_at` of them, and whether they all `have_loaded_at`. -#}
{%- macro _count_in_log(log, before, file_format) -%}
    {%- if before and file_format == 'delta' -%}
        {%- set count = run_query('select count(*) from ' ~ log.relation).rows[0][0] | int -%}
        {%- if not log.changes -%}
            {{- return({'count': count, 'loaded_at': before.loaded_at, 'have_loaded_at': false}) -}}
        {%- endif -%}
        {%- set last = run_query('select unix_micros(max(' ~ log.loaded_at ~ ')) from ' ~ log.relation).rows[0][0] | int -%}
        {{- return({'count': count, 'loaded_at': last, 'have_loaded_at': true}) -}}
    {%- endif -%}
    {%- set found = run_query(
        'select unix_micros(max(' ~ log.loaded_at ~ ')), count(*), count(' ~ log.loaded_at ~ ') from ' ~ log.relation
    ).rows[0] -%}
    {{- return({
        'count': found[1] | int, 'loaded_at': (found[0] or 0) | int, 'have_loaded_at': found[1] | int == found[2] | int,
    }) -}}
{%- endmacro -%}

{#- `count` of the messages that later runs wrote, and how many of them are `of_changes`: of the tables that these read. -#}
{%- macro _new_messages(log, loaded_at) -%}
    {%- set found = run_query(
        spark_cdc._step('counting new messages')
        ~ 'select count(*), count_if(' ~ spark_cdc._messages_with_changes(spark_cdc._condition_of(log.changes)) ~ ')'
        ~ ' from ' ~ log.relation ~ ' where ' ~ log.loaded_at ~ ' > timestamp_micros(' ~ loaded_at ~ ')'
    ).rows[0] -%}
    {{- return({'count': found[0] | int, 'of_changes': found[1] | int}) -}}
{%- endmacro -%}

{#-
    Of the changes that `condition` selects: `count`, `truncates`, `last_loaded_at`, `loaded_at` (if all have the same), and
    `good`, the number of changes without an error. Of the good ones: `partial`, how many lack columns; `are_whole`, whether each
    has its whole row or says that there is none; `are_last`, whether all come after everything that the table has or ever had
    (`last_sequence`, `deleted_keys_gone`); `last_sequence` of both, and `stored_up_to` of the table. A key operation's sequence
    may lack a change's last part. `last_truncate` is the sequence of the last truncate, of these changes and of those before
    them (none where that is not known), and `are_after_truncates` whether all changes come after those before them.

    With `last_sequence`, which needs `table`, also: `operations`, how many of the good ones are operations on a key, and whether
    some `inherit_values`: they change their key and lack columns. Of these keys: `key_list`, as `_key_list` returns it, or
    `key_count`, their approximate number, if `expected_count` is more than are listed.
-#}
{%- macro _pending_changes(
    all_changes, condition, last_sequence=none, deleted_keys_gone=none, table=none, expected_count=0, last_truncate=none
) -%}
    {%- set lists_keys = expected_count <= spark_cdc._most_listed_keys() -%}
    {%- set stored = [] -%}
    {%- for sequence in [last_sequence, deleted_keys_gone] if sequence -%}
        {%- do stored.append(spark_cdc._sequence_literal(sequence)) -%}
    {%- endfor -%}
    {%- set last = 'greatest(' ~ (stored + ['null']) | join(', ') ~ ')' -%}
    {%- set good = 'filter (where _cdc_error is null)' -%}
    {%- set query -%}
        {{ spark_cdc._step('counting row changes') }}
        select
            count(*),
            count_if(_cdc_op = 'truncate'),
            unix_micros(max(_cdc_loaded_at)),
            count(*) {{ good }},
            count(_cdc_loaded_at) = count(*) and min(_cdc_loaded_at) = max(_cdc_loaded_at),
            count_if(_cdc_missing_columns is not null) {{ good }},
            {{ spark_cdc._last_truncate(last_truncate) }},
            {{ 'min(' ~ spark_cdc._place_of_retraction() ~ ') ' ~ good ~ ' > ' ~ spark_cdc._sequence_literal(last_truncate)
                if last_truncate else 'false' }}
            {%- if last_sequence %},
            min({{ spark_cdc._place_of_retraction() }}) {{ good }} > {{ last }},
            array_join(greatest(max(_cdc_sequence) {{ good }}, {{ last }}), ','),
            {%- set name = spark_cdc._listed_key(table) %}
            {%- set values = [spark_cdc._quote(name), spark_cdc._key_before(name)] %}
            count_if({{ spark_cdc._is_key_operation(table.key) }}) {{ good }},
            count_if({{ spark_cdc._inherits_values(table.key) }}) {{ good }},
            {{ spark_cdc._key_list(values, good) if lists_keys else 'approx_count_distinct(' ~ values[0] ~ ') ' ~ good }}
            {%- endif %}
        from {{ all_changes }}
        where {{ condition }}
    {%- endset -%}
    {%- set found = run_query(query).rows[0] -%}
    {{- return({
        'count': found[0] | int,
        'truncates': found[1] | int,
        'last_loaded_at': (found[2] or 0) | int,
        'good': found[3] | int,
        'loaded_at': found[2] | int if found[4] else none,
        'partial': found[5] | int,
        'are_whole': found[5] == 0,
        'last_truncate': found[6] if last_truncate is not none else none,
        'are_after_truncates': found[7] or false,
        'are_last': (last_sequence and found[8]) or false,
        'last_sequence': found[9] if last_sequence else none,
        'stored_up_to': last_sequence,
        'operations': found[10] if last_sequence else none,
        'inherit_values': found[11] > 0 if last_sequence else true,
        'key_list': found[12] if last_sequence and lists_keys else none,
        'key_count': found[12] if last_sequence and not lists_keys else 0,
    }) -}}
{%- endmacro -%}

{#-
    What `_pending_changes` finds, of all changes and as far as a first build asks: `count`, `good`, `truncates`, `last_truncate`,
    `partial`, `are_whole`, and `inherits_values`, whether an update changes its key and lacks columns.
-#}
{%- macro _changes_of_first_build(all_changes, key) -%}
    {%- set query -%}
        {{ spark_cdc._step('counting row changes') }}
        select
            count(*),
            count_if(_cdc_op = 'truncate'),
            count_if(_cdc_missing_columns is not null) filter (where _cdc_error is null),
            count_if({{ spark_cdc._inherits_values(key) }} and ({{ spark_cdc._has_key(key) }})) filter (where _cdc_error is null),
            {{ spark_cdc._last_truncate('') }},
            count(*) filter (where _cdc_error is null)
        from {{ all_changes }}
    {%- endset -%}
    {%- set found = run_query(query).rows[0] -%}
    {{- return({
        'count': found[0] | int, 'truncates': found[1] | int, 'partial': found[2] | int, 'are_whole': found[2] == 0,
        'inherits_values': found[3] > 0, 'last_truncate': found[4], 'are_after_truncates': false, 'good': found[5] | int,
    }) -}}
{%- endmacro -%}

{#- Aggregate of changes: the sequence of the last truncate, of these or `before` them; empty if there is none. -#}
{%- macro _last_truncate(before) -%}
    {%- set last = "max(_cdc_sequence) filter (where _cdc_op = 'truncate' and _cdc_error is null)" -%}
    {%- set last = 'greatest(' ~ last ~ ', ' ~ spark_cdc._sequence_literal(before) ~ ')' if before else last -%}
    {{- return("coalesce(array_join(" ~ last ~ ", ','), '')") -}}
{%- endmacro -%}

{#-
    The new changes without an error, kept for this run if they are read often. The changes of one batch would be the same each
    time, for a batch is one commit; but a view of them takes Spark a second to plan wherever it is read. A scratch table has the
    columns that the target has, so that it can have its format.
-#}
{%- macro _new_changes(table, temporaries, read, all_changes, target_relation, file_format, is_read_often=true) -%}
    {%- for kept in temporaries if kept.identifier.endswith('__cdc_new_' ~ local_md5(invocation_id)) -%}
        {{- return(kept) -}}
    {%- endfor -%}
    {%- set of_loaded_at = spark_cdc._of_this_run('_cdc_loaded_at = timestamp_micros(' ~ read.pending.loaded_at ~ ')', '_cdc_loaded_at') -%}
    {%- set changes, is_new = (all_changes, of_loaded_at) if read.pending.loaded_at
        else (spark_cdc._counted_changes(read, all_changes), read.condition) -%}
    {%- set query = ' from ' ~ changes ~ ' where _cdc_error is null and ' ~ is_new -%}
    {%- if read.pending.loaded_at and not is_read_often -%}
        {{- return('(select *' ~ query ~ ')') -}}
    {%- elif all_changes.is_table -%}
        {{- return(spark_cdc._cached_view(temporaries, 'new', 'select *' ~ query)) -}}
    {%- endif -%}
    {%- set columns = table.columns + spark_cdc.change_columns() + (['_cdc_patches'] if table.patched else []) -%}
    {{- return(spark_cdc._scratch_table(
        temporaries, target_relation, 'new', file_format, 'select ' ~ spark_cdc._quoted(columns | unique | list) ~ query
    )) -}}
{%- endmacro -%}

{#-
    The changes up to the last run that this run has counted. What another run appended since is for the next run: the table notes
    how far the counted changes come, and no row may come after that.
-#}
{%- macro _counted_changes(read, all_changes) -%}
    {%- if not read.pending.last_loaded_at -%}
        {{- return(all_changes) -}}
    {%- endif -%}
    {%- set is_counted = '_cdc_loaded_at is null or _cdc_loaded_at <= timestamp_micros(' ~ read.pending.last_loaded_at ~ ')' -%}
    {{- return('(select * from ' ~ all_changes ~ ' where ' ~ spark_cdc._of_this_run(is_counted, '_cdc_loaded_at') ~ ')') -}}
{%- endmacro -%}

{#-
    The highest sequence of a table's rows, from its property, so that a run whose changes all come after it need not look at
    the rows. If the property is missing, the table is read, and only if the result is of use.
-#}
{%- macro _last_sequence(table, pending, target_relation) -%}
    {%- set is_of_use = table.options.get('hard_deletes', 'new_record') == 'new_record' -%}
    {%- if not is_of_use or (pending or {}).last_sequence -%}
        {{- return((pending or {}).last_sequence or none) -}}
    {%- endif -%}
    {{- return(run_query(
        spark_cdc._step('finding the newest change of the table')
        ~ 'select array_join(max(' ~ table.last_sequence ~ "), ',') from " ~ target_relation ~ ' as stored where ' ~ table.last_row
    ).rows[0][0] or '') -}}
{%- endmacro -%}
