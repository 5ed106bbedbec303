{#-
    The query of a model that has nothing to append: the table's columns and no row. Only in a run: dbt compile, dbt show and an
    editor's preview show the query of a first build.
-#}
{%- macro _nothing_new() -%}
    {{- return('select * from ' ~ this ~ ' where false') -}}
{%- endmacro -%}

{#- Whether a model has this query and nothing else but its own comments. -#}
{%- macro _is_nothing_new(sql) -%}
    {{- return(modules.re.sub('(?m)^\\s*--.*$', '', sql) | trim == spark_cdc._nothing_new()) -}}
{%- endmacro -%}
