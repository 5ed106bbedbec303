{#-
    A table's properties are valid for the commit that they name, and for no other. Rows and properties are two commits: between
    them a run may fail or another run may write. So a run names its own commit only if that is the only one since the commit
    that it computed its rows from. If the table has a later commit than the named one, nothing is known, and all changes are
    read again.
-#}

{#- A table's properties, its latest commit, and whether the properties are valid for it. -#}
{%- macro _state_of_table(relation, file_format, properties=none) -%}
    {%- set properties = spark_cdc._table_properties(relation) if relation and properties is none else properties or {} -%}
    {#- Iceberg has the latest commit in the properties: mostly it is the named one, and nothing more has to be read. -#}
    {%- set named, latest = properties.get('spark_cdc.read_commit'), properties.get('current-snapshot-id', 'none') -%}
    {%- set is_known = named == latest -%}
    {%- if relation and not is_known -%}
        {%- set commits = spark_cdc._commits(relation, file_format, in_table=true) -%}
        {%- set latest = commits[0].id if commits else 'none' -%}
        {%- set newer = spark_cdc._commits_since(commits, named) if named is not none else none -%}
        {%- set is_known = newer is not none and spark_cdc._that_change_rows(relation, file_format, newer) == [] -%}
    {%- endif -%}
    {{- return({'properties': properties, 'commit': latest, 'is_known': is_known}) -}}
{%- endmacro -%}

{#- After rows were written: the commits since the one that they were computed from; none if that one is not known (any more). -#}
{%- macro _new_commits(relation, file_format, computed_from) -%}
    {%- set newer = spark_cdc._commits_since(spark_cdc._commits(relation, file_format), computed_from) -%}
    {%- if newer is none or newer | length < 2 -%}
        {{- return(newer) -}}
    {%- endif -%}
    {{- return(spark_cdc._that_change_rows(relation, file_format, newer)) -}}
{%- endmacro -%}

{#- The `commits` after `commit`; none if `commit` is not known (any more). -#}
{%- macro _commits_since(commits, commit) -%}
    {%- set newer = [] -%}
    {%- for found in commits -%}
        {%- if found.id == commit -%}
            {{- return(newer) -}}
        {%- endif -%}
        {%- do newer.append(found) -%}
    {%- endfor -%}
    {{- return(newer if commit == 'none' else none) -}}
{%- endmacro -%}

{#- The commits that change rows. Those that only move rows are left out. -#}
{%- macro _that_change_rows(relation, file_format, commits) -%}
    {%- set moves_rows = [
        'SET TBLPROPERTIES', 'UNSET TBLPROPERTIES', 'ADD COLUMNS', 'CHANGE COLUMN', 'CHANGE COLUMNS', 'ADD CONSTRAINT',
        'UPGRADE PROTOCOL', 'OPTIMIZE', 'REORG', 'VACUUM START', 'VACUUM END', 'COMPUTE STATS',
    ] -%}
    {%- if file_format == 'iceberg' and commits -%}
        {%- set ids = commits | map(attribute='id') | join(', ') -%}
        {%- set query -%}
            select concat('s', snapshot_id) from {{ relation }}.snapshots
            where snapshot_id in ({{ ids }}) and operation = 'replace'
        {%- endset -%}
        {%- set replaced = run_query(query).columns[0].values() | list -%}
        {%- set kept = [] -%}
        {%- for commit in commits if 's' ~ commit.id not in replaced -%}
            {%- do kept.append(commit) -%}
        {%- endfor -%}
        {{- return(kept) -}}
    {%- endif -%}
    {{- return(commits | rejectattr('operation', 'in', moves_rows) | list) -}}
{%- endmacro -%}

{#-
    A table's commits, the latest first. After a rollback of Iceberg its history still has the commits that it took back: with
    `in_table` they are left out, and so are those of the table that `create or replace` has replaced.
-#}
{%- macro _commits(relation, file_format, in_table=false) -%}
    {%- set commits = [] -%}
    {%- if file_format == 'iceberg' -%}
        {#- a letter before the number, so that dbt keeps it as a text -#}
        {%- set query -%}
            select concat('s', snapshot_id)
            from {{ relation }}.history
            {{ 'where is_current_ancestor' if in_table }}
            order by made_current_at desc
            limit 50
        {%- endset -%}
        {%- for row in run_query(query).rows -%}
            {%- do commits.append({'id': row[0][1:]}) -%}
        {%- endfor -%}
    {%- else -%}
        {%- for row in run_query('describe history ' ~ spark_cdc._name_for_delta(relation) ~ ' limit 50').rows -%}
            {%- do commits.append({'id': row['version'] | int | string, 'operation': row['operation']}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(commits) -}}
{%- endmacro -%}

{#- What a run says that is not alone. `what_now`: what came of it and what to do. -#}
{%- macro _another_run_wrote(materialization, relation, what_now) -%}
    {{- return(
        'spark_cdc.' ~ materialization ~ ': another run wrote ' ~ relation ~ ' at the same time as this one' ~ what_now
        ~ ' Let one run of a model end before the next one starts.'
    ) -}}
{%- endmacro -%}

{#-
    After rows were written: their commit. If two runs write one table at once, this stops one of them, and the next run
    corrects the table.
-#}
{%- macro _own_commit(target_relation, settings, materialization, computed_from) -%}
    {%- set commits = spark_cdc._new_commits(target_relation, settings.file_format, computed_from) -%}
    {%- if commits is none or commits | length > 1 -%}
        {%- do exceptions.raise_compiler_error(
            spark_cdc._another_run_wrote(
                materialization, target_relation,
                ', and its rows may be wrong now. Run `dbt retry`, which makes them right from all changes.'
            )
        ) -%}
    {%- endif -%}
    {{- return(commits[0].id if commits else computed_from) -}}
{%- endmacro -%}
