{#-
    dbt run-operation spark_cdc.maintain --args '{dry_run: false}'

    Merges small files into large ones and deletes into the files, and removes old snapshots and files of no snapshot. It works
    on the tables of this package's models, with the procedures of their format. No row changes.

    models       names of models; all of this package's if left out
    retain_days  snapshots and files younger than this stay, for readers and time travel: 7 or more
    dry_run      true, the default, prints the statements

    Do not use it while a run writes the same tables: you may have to repeat it.
-#}
{%- macro maintain(models=none, retain_days=7, dry_run=true) -%}
    {%- do spark_cdc._require_arguments('maintain', varargs, kwargs, ['models', 'retain_days', 'dry_run']) -%}
    {%- set nodes = spark_cdc._models_named('maintain', models, [
        'cdc_landing', 'messages', 'changes', 'run_ledger', 'run_summary', 'cdc_current', 'cdc_history',
    ]) -%}
    {%- do spark_cdc._require_days('maintain', 'retain_days', retain_days, 7, 'Readers and running commands need the files.') -%}
    {%- do spark_cdc._require_one_of('maintain', 'dry_run', dry_run, [true, false]) -%}
    {{- return(adapter.dispatch('maintain', 'spark_cdc')(nodes, retain_days, dry_run)) -}}
{%- endmacro -%}

{%- macro default__maintain(nodes, retain_days, dry_run) -%}
    {%- do spark_cdc._only_spark('maintain') -%}
{%- endmacro -%}

{%- macro spark__maintain(nodes, retain_days, dry_run) -%}
    {%- set catalog = run_query('select current_catalog()').rows[0][0] -%}
    {%- for node in nodes -%}
        {%- set relation = spark_cdc._table_of(node) -%}
        {%- if relation is not none -%}
            {%- for sql in spark_cdc._maintenance(relation, catalog, retain_days, spark_cdc._kind_of(node)) -%}
                {%- do print(sql) -%}
                {%- if not dry_run -%}
                    {%- do run_query(sql) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if dry_run -%}
        {%- do print('spark_cdc.maintain: nothing was done. Run it again with dry_run: false.') -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    The statements for one table; none for other formats than these. A few snapshots stay whatever their age: a table needs the
    one of its last run to know which changes it has read (decision 0008).

    Messages are merged table by table, so that a changes model which reads all of them opens the parts of files with its table.
-#}
{%- macro _maintenance(relation, catalog, retain_days, kind) -%}
    {%- set file_format = spark_cdc._file_format(relation) -%}
    {%- if file_format == 'delta' -%}
        {%- set name = spark_cdc._name_for_delta(relation) -%}
        {{- return(['optimize ' ~ name, 'vacuum ' ~ name ~ ' retain ' ~ retain_days * 24 ~ ' hours']) -}}
    {%- elif file_format == 'iceberg' -%}
        {%- set call = 'call ' ~ spark_cdc._quote(catalog) ~ '.system.' -%}
        {%- set table = '(table => ' ~ spark_cdc._literal(relation.schema ~ '.' ~ relation.identifier) -%}
        {%- set older_than = ', older_than => ' ~ spark_cdc._days_ago(retain_days) -%}
        {%- set order = ", strategy => 'sort', sort_order => 'database_name, schema_name, table_name, loaded_at'" -%}
        {{- return([
            call ~ 'rewrite_data_files' ~ table ~ (order if kind == 'messages' else '') ~ ')',
            call ~ 'rewrite_position_delete_files' ~ table ~ ')',
            call ~ 'expire_snapshots' ~ table ~ older_than ~ ', retain_last => 10)',
            call ~ 'remove_orphan_files' ~ table ~ older_than ~ ')',
        ]) -}}
    {%- endif -%}
    {{- return([]) -}}
{%- endmacro -%}
