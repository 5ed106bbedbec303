{#- As dbt-spark's own `create_table_as`, which replaces a table in place only where the model itself names a format. -#}
{%- macro _create_table(target_relation, rows, file_format) -%}
    create or replace table {{ target_relation }}
    {%- if config.get('contract').enforced -%}
        {%- do get_assert_columns_equivalent(rows) -%}
        {%- set rows = get_select_subquery(rows) -%}
    {%- endif %}
    using {{ file_format }}
    {{ options_clause() }}
    {{ tblproperties_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
    as
    {{ rows }}
{%- endmacro -%}
