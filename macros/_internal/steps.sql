{#-
    What a statement does, as the comment at its head. Where dbt itself runs Spark, the plugin says it in dbt's log each 20 s
    while the statement runs (see python_udfs/dbt_spark_cdc/progress.py). Elsewhere it is a comment, which Spark's own pages show.
    A number in it is exact, or it is left out: `count` may be none.
-#}
{%- macro _step(text, count=none, noun=none) -%}
    {%- set number = ' ' ~ '{:,}'.format(count) if count is not none else '' -%}
    {%- set noun = ' ' ~ (noun if count == 1 else noun ~ 's') if noun else '' -%}
    {{- return('/* spark_cdc: ' ~ text ~ number ~ noun ~ ' */ ') -}}
{%- endmacro -%}

{%- macro _step_of_comparison() -%}
    {{- return(spark_cdc._step('looking for messages that the source no longer has')) -}}
{%- endmacro -%}

{%- macro _step_of_outcome() -%}
    {{- return(spark_cdc._step('counting what was written')) -}}
{%- endmacro -%}
