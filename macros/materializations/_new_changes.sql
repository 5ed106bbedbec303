{#-
    What a target has read of its changes stands in its table properties, set after its rows are written: the latest batch, how
    many changes there were up to it, and the commit of which this holds (see `_commits.sql`).

    A mapping: `batch`, `count` and `truncates`, how many of the changes are such, for the properties; `deleted_keys_gone`, the
    sequence up to which deleted keys have left the table (see `_deleted_keys.sql`), or none; `last_sequence`, behind which the
    table has nothing (see `_last_sequence`), or none; `commit`, from which the rows are computed; `condition`, which is true of
    the changes that are new: those of later batches. It is all of them where the table has other rows than its properties say,
    or the count no longer holds: a run that began earlier has ended later, or changes were built anew or deleted. It is none
    where nothing is new.
-#}
{%- macro _changes_to_apply(all_changes, existing_relation, file_format, is_first) -%}
    {%- set state = spark_cdc._state_of_table(existing_relation, file_format) -%}
    {%- set properties = state.properties -%}
    {%- set before = spark_cdc._read_before(properties) if state.is_known and not is_first -%}
    {#- a lake answers this from its metadata -#}
    {%- set found = run_query(
        'select unix_micros(max(_cdc_batch)), count(*), count(_cdc_batch) from ' ~ all_changes
    ).rows[0] -%}
    {%- set batch, count = (found[0] or 0) | int, found[1] | int -%}
    {%- set condition, truncates = none, (before.truncates if before else 0) -%}
    {%- if flags.EMPTY -%}
        {#- dbt run --empty reads no row of any model -#}
    {%- elif not before or (batch, count, found[2] | int) != (before.batch, before.count, count) -%}
        {%- set condition = '(_cdc_batch is null or _cdc_batch > timestamp_micros(' ~ before.batch ~ '))' if before else 'true' -%}
        {%- set later = spark_cdc._count_changes(all_changes, condition) -%}
        {%- if before and count != before.count + later.count -%}
            {%- set condition = 'true' -%}
            {%- set later = spark_cdc._count_changes(all_changes, condition) -%}
        {%- endif -%}
        {%- set truncates = later.truncates + (0 if condition == 'true' else truncates) -%}
    {%- endif -%}
    {{- return({
        'batch': batch, 'count': count, 'truncates': truncates, 'commit': state.commit, 'condition': condition,
        'deleted_keys_gone': properties.get('spark_cdc.deleted_keys_gone'),
        'last_sequence': before.last_sequence if before and condition != 'true' else none,
    }) -}}
{%- endmacro -%}

{%- macro _count_changes(all_changes, condition) -%}
    {%- set found = run_query(
        "select count(*), count_if(_cdc_op = 'truncate') from " ~ all_changes ~ ' where ' ~ condition
    ).rows[0] -%}
    {{- return({'count': found[0] | int, 'truncates': found[1] | int}) -}}
{%- endmacro -%}

{#-
    Of the new changes: `count`; `are_whole`, whether each says all of its row, or that there is none; `are_last`, whether all
    come behind whatever the table has, or ever had; `last_sequence` of both. An effect's sequence may lack a change's last part.
-#}
{%- macro _news(new_changes, read) -%}
    {%- set stored = [] -%}
    {%- for sequence in [read.last_sequence, read.deleted_keys_gone] if sequence -%}
        {%- do stored.append(spark_cdc._sequence_literal(sequence)) -%}
    {%- endfor -%}
    {%- set last = 'greatest(max(_cdc_sequence), ' ~ (stored + ['null']) | join(', ') ~ ')' -%}
    {%- set found = run_query(
        'select count(*), count_if(_cdc_absent is not null), '
        ~ ('min(' ~ spark_cdc._place_of_message() ~ ') > greatest(' ~ (stored + ['null']) | join(', ') ~ ')'
            if read.last_sequence else 'false')
        ~ ', array_join(' ~ last ~ ", ',') from " ~ new_changes
    ).rows[0] -%}
    {{- return({
        'count': found[0] | int, 'are_whole': found[1] == 0, 'are_last': found[2] or false,
        'last_sequence': found[3] if read.last_sequence else none,
    }) -}}
{%- endmacro -%}

{#-
    The highest sequence that a table's rows have, as its property says it, so that a run whose changes all come behind it need
    not look at the rows. Looked for in the table where it is not known, and only where it is of use.
-#}
{%- macro _last_sequence(form, news, target_relation) -%}
    {%- if not form.newest_is_row or news.last_sequence -%}
        {{- return(news.last_sequence or none) -}}
    {%- endif -%}
    {{- return(
        run_query('select array_join(max(' ~ form.last_sequence ~ "), ',') from " ~ target_relation).rows[0][0] or ''
    ) -}}
{%- endmacro -%}

{%- macro _read_before(properties) -%}
    {{- return({
        'batch': properties['spark_cdc.read_batch'] | int, 'count': properties['spark_cdc.read_count'] | int,
        'truncates': properties['spark_cdc.read_truncates'] | int, 'last_sequence': properties.get('spark_cdc.last_sequence'),
    }) -}}
{%- endmacro -%}

{%- macro _table_properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{- return(properties) -}}
{%- endmacro -%}

{%- macro _set_read(target_relation, read, commit) -%}
    alter table {{ target_relation }} set tblproperties (
        'spark_cdc.read_batch' = '{{ read.batch }}',
        'spark_cdc.read_count' = '{{ read.count }}',
        'spark_cdc.read_truncates' = '{{ read.truncates }}',
        {%- if read.last_sequence is not none %}
        'spark_cdc.last_sequence' = '{{ read.last_sequence }}',
        {%- endif %}
        'spark_cdc.read_commit' = '{{ commit }}'
    )
{%- endmacro -%}
