{#-
    What a target has read of its changes stands in its table properties, set after its rows are written: the latest batch, how
    many changes there were up to it, and the commit of which this holds (see `_commits.sql`).

    A mapping: `batch` and `count`, for the properties; `has_truncates`, whether any change is one; `deleted_keys_gone`, the
    sequence up to which deleted keys have left the table (see `_deleted_keys.sql`), or none; `commit`, from which the rows are
    computed; `condition`, which is true of the changes that are new: those of later batches. It is all of them where the table
    has other rows than its properties say, or the count no longer holds: a run that began earlier has ended later, or changes
    were built anew or deleted. It is none where nothing is new.
-#}
{%- macro _changes_to_apply(all_changes, existing_relation, file_format, is_first) -%}
    {%- set properties = spark_cdc._table_properties(existing_relation) if existing_relation else {} -%}
    {#- Iceberg says in the properties which commit is the latest: mostly it is the one that is named. -#}
    {%- set named, latest = properties.get('spark_cdc.read_commit'), properties.get('current-snapshot-id', 'none') -%}
    {%- set is_known = named == latest -%}
    {%- if existing_relation and not is_known -%}
        {%- set commits = spark_cdc._commits(existing_relation, file_format) -%}
        {%- set latest = commits[0].id if commits else 'none' -%}
        {%- set is_known = named is not none and spark_cdc._commits_since(commits, named) == [] -%}
    {%- endif -%}
    {%- set before = spark_cdc._read_before(properties) if is_known and not is_first -%}
    {%- set found = run_query(
        'select unix_micros(max(_cdc_batch)), count(*), count_if(_cdc_batch <= timestamp_micros(' ~ (before.batch if before else 0)
        ~ ")), count_if(_cdc_op = 'truncate') from " ~ all_changes
    ).rows[0] -%}
    {%- set batch, count = (found[0] or 0) | int, found[1] | int -%}
    {%- set condition = none -%}
    {%- if flags.EMPTY -%}
        {#- dbt run --empty reads no row of any model -#}
    {%- elif not before or found[2] | int != before.count -%}
        {%- set condition = 'true' -%}
    {%- elif count > before.count -%}
        {%- set condition = '(_cdc_batch is null or _cdc_batch > timestamp_micros(' ~ before.batch ~ '))' -%}
    {%- endif -%}
    {{- return({
        'batch': batch, 'count': count, 'has_truncates': found[3] > 0, 'commit': latest, 'condition': condition,
        'deleted_keys_gone': properties.get('spark_cdc.deleted_keys_gone'),
    }) -}}
{%- endmacro -%}

{%- macro _read_before(properties) -%}
    {{- return({
        'batch': properties['spark_cdc.read_batch'] | int, 'count': properties['spark_cdc.read_count'] | int,
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
        'spark_cdc.read_commit' = '{{ commit }}'
    )
{%- endmacro -%}
