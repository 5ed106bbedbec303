{#- What Spark itself must have. Runs check it: otherwise the user would see a plan, or a page of Java. -#}

{%- macro _require_spark(macro) -%}
    {%- if spark_cdc._is_run() -%}
        {%- set version = spark_cdc._spark_version() -%}
        {%- if version.split('.')[0] | int < 4 -%}
            {%- do exceptions.raise_compiler_error(
                'spark_cdc.' ~ macro ~ ': Spark must be 4.0 or newer; got Spark ' ~ version ~ '. Run this model on a newer Spark: '
                ~ 'an older one cannot parse the SQL of this package, or reads times wrong.'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- From one value, because Spark answers such a query while it plans it, without a job. -#}
{%- macro _spark_version() -%}
    {{- return((spark_cdc._asked_once('select version() from values (1)').rows[0][0] | string).split(' ')[0]) -}}
{%- endmacro -%}

{%- macro _has_function(name) -%}
    {{- return(execute and run_query("show functions like '" ~ name ~ "'").rows | length > 0) -}}
{%- endmacro -%}

{#-
    Of a model from its schema alone, as a view too has it: `describe query` would analyze all SQL of a view. It is asked once a
    command, because all models that read it ask. A source may be a folder of files, which only a query can read.
-#}
{%- macro _column_names(relation) -%}
    {%- set name = spark_cdc._name_of_relation(relation) | string -%}
    {%- if not graph.nodes.values() | selectattr('relation_name', 'equalto', name) | list -%}
        {{- return(run_query('describe query select * from ' ~ relation).columns[0].values() | list) -}}
    {%- endif -%}
    {%- set names, columns = [], namespace(have_ended=false) -%}
    {%- for row in spark_cdc._asked_once('describe ' ~ relation).rows -%}
        {%- set columns.have_ended = columns.have_ended or not row[0] or row[0][:2] == '# ' -%}
        {%- if not columns.have_ended -%}
            {%- do names.append(row[0]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(names) -}}
{%- endmacro -%}

{%- macro _has_rows(query, step='') -%}
    {{- return(run_query(step ~ 'select 1 from ' ~ query ~ ' limit 1').rows | length > 0) -}}
{%- endmacro -%}
