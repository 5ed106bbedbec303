{#-
    The properties of a current or history table say which changes it has read, and are valid for one commit (decision 0008). An
    operation that writes the table, or deletes changes that it has read, updates them; otherwise the next run would read all
    changes again. If they were not valid before, they are not updated: the next run then corrects the table.
-#}
{%- macro _reading_of(relation, file_format) -%}
    {%- set state = spark_cdc._state_of_table(relation, file_format) -%}
    {{- return({
        'read': spark_cdc._read_before(state.properties) if state.is_known,
        'commit': state.commit,
    }) -}}
{%- endmacro -%}

{%- macro _keep_reading(operation, relation, settings, reading) -%}
    {%- set commit = spark_cdc._own_commit(relation, settings, operation, reading.commit) -%}
    {%- if reading.read -%}
        {%- call statement('set_read') -%}
            {{ spark_cdc._set_read(relation, reading.read, commit) }}
        {%- endcall -%}
    {%- endif -%}
{%- endmacro -%}

{#- Models over a changes model, with the changes that they have read; models whose properties are not valid are left out. -#}
{%- macro _readings_over(node) -%}
    {%- set readings = [] -%}
    {%- for reader in spark_cdc._readers_of(node, ['cdc_current', 'cdc_history']) -%}
        {%- set relation = spark_cdc._table_of(reader) -%}
        {%- if relation is not none -%}
            {%- set reading = spark_cdc._reading_of(relation, spark_cdc._file_format(relation)) -%}
            {%- if reading.read and spark_cdc._count_read(reader, reading) == reading.read.count -%}
                {%- do readings.append(dict(reading, node=reader, relation=relation)) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(readings) -}}
{%- endmacro -%}

{%- macro _count_read(node, reading) -%}
    {{- return(run_query(
        'select count_if(_cdc_loaded_at <= timestamp_micros(' ~ reading.read.loaded_at ~ ')) from (' ~ render(node.raw_code) ~ ')'
    ).rows[0][0] | int) -}}
{%- endmacro -%}

{%- macro _count_again(readings) -%}
    {%- for reading in readings -%}
        {%- set read = dict(reading.read, count=spark_cdc._count_read(reading.node, reading)) -%}
        {%- call statement('set_read') -%}
            {{ spark_cdc._set_read(reading.relation, read, reading.commit) }}
        {%- endcall -%}
    {%- endfor -%}
{%- endmacro -%}
