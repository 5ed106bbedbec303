{#-
    The positions that earlier runs of this model have read in the partitions of `source`, as a mapping:

    query          rows of topic, partition, offset (the highest) and fingerprint (of all offsets at that time)
    rows           the same as a list, or none if they are too many
    commit         the commit of the model's table for which they are valid
    reads          a hash of `source` and `reads`, which the table is built from
    source_commit  the latest commit of an Iceberg source, before the run looks at it
    has_all        whether the last run saw this very commit, so that nothing is new

    Each row of the table has the positions of its own partition (`column`), but to find them a run has to look at all rows. So
    a `cdc_append` also notes them in a property. The property is valid only for the commit that it names and for a model that
    reads the same.
-#}
{%- macro _positions_read_before(source, topic, column, reads) -%}
    {%- set most_rows = 1000 -%}
    {%- set relation = load_cached_relation(this) -%}
    {%- set query = spark_cdc._read_positions_in_rows(relation, topic, column) -%}
    {%- set file_format = spark_cdc._file_format(relation) -%}
    {%- if config.get('materialized') != 'cdc_append' or file_format == 'other' -%}
        {{- return({'query': query, 'rows': none}) -}}
    {%- endif -%}
    {%- set reads = local_md5(tojson([source | string] + reads)) -%}
    {%- set state = spark_cdc._state_of_table(relation, file_format) -%}
    {%- set noted = (state.properties.get('spark_cdc.read_positions') or '').split(' ') -%}
    {%- set is_noted = state.is_known and noted[0] == reads -%}
    {%- set source_commit = spark_cdc._latest_commit(source) -%}
    {%- if is_noted -%}
        {%- set rows = noted[1:] -%}
    {%- else -%}
        {%- set rows = [] -%}
        {%- set noted_in_rows = spark_cdc._step('finding what earlier runs have read') ~ 'select ' ~ spark_cdc._read_position_text()
            ~ ' from (' ~ query ~ ') limit ' ~ (most_rows + 1) -%}
        {%- for row in run_query(noted_in_rows).rows -%}
            {%- do rows.append(row[0]) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set is_listed = rows | length <= most_rows -%}
    {{- return({
        'query': spark_cdc._read_positions_values(rows) if is_listed else query,
        'rows': rows if is_listed else none,
        'commit': state.commit,
        'reads': reads,
        'source_commit': source_commit,
        'has_all': is_noted and source_commit != 'none' and source_commit == state.properties.get('spark_cdc.read_at_commit'),
    }) -}}
{%- endmacro -%}

{#-
    Iceberg's latest commit from a table's properties, or 'none'. Files at a path, as in parquet.`/topic`, have no properties.
    For a branch of a table, as in topic.branch_audit, Iceberg returns the properties of the table.
-#}
{%- macro _latest_commit(source) -%}
    {%- if not modules.re.fullmatch('(?:\\w+[.])*(?!branch_|tag_|snapshot_id_|at_timestamp_)\\w+', source | string | lower) -%}
        {{- return('none') -}}
    {%- endif -%}
    {{- return(spark_cdc._table_properties(source).get('current-snapshot-id', 'none')) -}}
{%- endmacro -%}

{#- Query: the positions in the rows of the model's table. -#}
{%- macro _read_positions_in_rows(relation, topic, column) -%}
    select topic, partition, last_read.*
    from (
        select topic, read_position.partition, max(struct(read_position.offset, read_position.fingerprint)) as last_read
        from (select distinct {{ topic }} as topic, {{ column }} as read_positions_text from {{ relation }})
        lateral view explode({{ spark_cdc._read_positions('read_positions_text') }}) exploded as read_position
        group by topic, read_position.partition
    )
{%- endmacro -%}

{#-
    One row as a text without a blank. The topic's name is in hexadecimal digits: Spark hides a property that contains the word
    token or secret, as a name may.
-#}
{%- macro _read_position_text() -%}
    {{- return("concat_ws(':', coalesce(hex(topic), 'null'), partition, offset, fingerprint)") -}}
{%- endmacro -%}

{%- macro _read_positions_values(rows) -%}
    {%- if not rows -%}
    select cast(null as string) as topic, 0 as partition, 0L as offset, 0L as fingerprint where false
    {%- else -%}
    select * from values
        {%- for row in rows %}
        {%- set topic, partition, offset, fingerprint = row.split(':') %}
        ({{ 'null' if topic == 'null' else "cast(X'" ~ topic ~ "' as string)" }}, {{ partition }}, {{ offset }}L, {{ fingerprint }}L)
        {{- ',' if not loop.last }}
        {%- endfor %}
        as read_before(topic, partition, offset, fingerprint)
    {%- endif -%}
{%- endmacro -%}

{#-
    The read positions after a run has read `partitions`: `text` for the property, and the `commit` of the table and
    `source_commit` of the source for which they hold. None if they are too many to be listed.
-#}
{%- macro _positions_after(before, partitions) -%}
    {%- if before.rows is none -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set rows = {} -%}
    {%- for row in before.rows -%}
        {%- do rows.update({row.rsplit(':', 2)[0]: row}) -%}
    {%- endfor -%}
    {%- for row in partitions if row.partition is not none -%}
        {%- set topic = row.topic.encode('utf-8').hex().upper() if row.topic is not none else 'null' -%}
        {%- set place = topic ~ ':' ~ row.partition | int -%}
        {%- do rows.update({place: place ~ ':' ~ row.up_to_offset | int ~ ':' ~ row.fingerprint | int}) -%}
    {%- endfor -%}
    {{- return({
        'text': ([before.reads] + rows.values() | list) | join(' '),
        'commit': before.commit,
        'source_commit': before.source_commit,
    }) -}}
{%- endmacro -%}

{#- After an append. If another run wrote as well, the next run has to look at the rows. -#}
{%- macro _note_read_positions(target_relation, positions, file_format) -%}
    {%- if positions is none -%}{{- return(none) -}}{%- endif -%}
    {%- set own = spark_cdc._new_commits(target_relation, file_format, positions.commit) -%}
    {%- if own is none or own | length > 1 -%}{{- return(none) -}}{%- endif -%}
    {%- call statement('note_read_positions') -%}
        alter table {{ target_relation }} set tblproperties (
            'spark_cdc.read_positions' = '{{ positions.text }}',
            'spark_cdc.read_at_commit' = '{{ positions.source_commit }}',
            'spark_cdc.read_commit' = '{{ own[0].id if own else positions.commit }}'
        )
    {%- endcall -%}
{%- endmacro -%}
