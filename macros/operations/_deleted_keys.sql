{#-
    Removes deleted keys from a current table, and notes in its property spark_cdc.deleted_keys_gone up to which sequence. If a
    missing key then gets a change from before that sequence, it is rebuilt from all its changes, which include the delete.

    The property is set before the rows are deleted: if the command fails in between, a run only searches once more.
-#}
{%- macro _prune_deleted_keys(node, before, dry_run) -%}
    {%- set relation = spark_cdc._table_of(node) -%}
    {%- set condition = '_cdc_is_deleted and _cdc_committed_at < ' ~ before -%}
    {%- set found = run_query(
        "select count(*), array_join(max(_cdc_sequence), ',') from " ~ relation ~ ' where ' ~ condition
    ).rows[0] -%}
    {%- set number = found[0] | int -%}
    {%- do print('spark_cdc.prune: ' ~ relation ~ ': ' ~ number ~ ' deleted keys' ~ (' would go' if dry_run else ' go')) -%}
    {%- if number and not dry_run -%}
        {%- set gone = spark_cdc._table_properties(relation).get('spark_cdc.deleted_keys_gone') -%}
        {%- set last = run_query(
            'select array_join(greatest(' ~ spark_cdc._sequence_literal(found[1]) ~ ', ' ~ spark_cdc._sequence_literal(gone)
            ~ "), ',')"
        ).rows[0][0] if gone else found[1] -%}
        {%- do spark_cdc._alter(relation, "set tblproperties ('spark_cdc.deleted_keys_gone' = '" ~ last ~ "')") -%}
        {%- set settings = spark_cdc._apply_config('cdc_current', node.config) -%}
        {%- set reading = spark_cdc._reading_of(relation, settings.file_format) -%}
        {%- call statement('prune') -%}
            delete from {{ relation }} where {{ condition }}
        {%- endcall -%}
        {%- do spark_cdc._keep_reading('prune', relation, settings, reading) -%}
    {%- endif -%}
{%- endmacro -%}
