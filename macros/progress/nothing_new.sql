{#-
    The query of a model that has nothing to append: a table's own columns, and no row. Of a run only: dbt compile, dbt show and an
    editor's preview then have the query that reads all, as a first build does.
-#}
{%- macro _nothing_new() -%}
    {{- return('select * from ' ~ this ~ ' where false') -}}
{%- endmacro -%}

{#- Whether that is all that a model says, beside its own comments. -#}
{%- macro _is_nothing_new(sql) -%}
    {{- return(modules.re.sub('(?m)^\\s*--.*$', '', sql) | trim == spark_cdc._nothing_new()) -}}
{%- endmacro -%}
