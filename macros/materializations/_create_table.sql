{#- The same as dbt-spark's own `create_table_as`, which replaces a table in place only if the model itself names a format. -#}
{%- macro _create_table(target_relation, rows, file_format) -%}
    create or replace table {{ target_relation }}
    using {{ file_format }}
    {{ options_clause() }}
    {{ spark_cdc._properties_clause(file_format) }}
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
    as
    {{ rows }}
{%- endmacro -%}

{#-
    A batch changes few rows in many files, so rows are marked instead of files rewritten. The model's own `tblproperties`
    override these.

    Parsing messages, or typing their rows, costs far more than reading their bytes, and a task reads whole row groups: with
    Iceberg's own sizes one task works through 128 MB of compressed text while all others wait. See decision 0019.
-#}
{%- macro _properties_clause(file_format) -%}
    {%- set properties = {
        'iceberg': {'write.merge.mode': 'merge-on-read'},
        'delta': {'delta.enableDeletionVectors': 'true'},
    }[file_format] -%}
    {%- if file_format == 'iceberg' and config.get('materialized') in ['cdc_append', 'cdc_landing'] -%}
        {%- do properties.update({
            'write.parquet.row-group-size-bytes': '2097152',
            'read.split.target-size': '2097152',
            'read.split.open-file-cost': '65536',
        }) -%}
    {%- endif -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    {%- set built_with = spark_cdc._built_with_text(spark_cdc._built_with(model)) -%}
    {%- if built_with -%}
        {%- do properties.update({'spark_cdc.built_with': built_with}) -%}
    {%- endif -%}
    tblproperties (
        {%- for name, value in properties.items() -%}
        '{{ name }}' = '{{ value }}'{{ ', ' if not loop.last }}
        {%- endfor -%}
    )
{%- endmacro -%}
