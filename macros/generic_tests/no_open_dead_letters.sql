{#-
    For a model made by `dead_letters`. A row returned is an open dead letter of a code that has more of them than are allowed.
    Closed and acknowledged ones do not count. An acknowledgement that matches no dead letter any more is a warning: it would
    silently cover the next one.

    max_open          how many dead letters of each code may be open
    max_open_by_code  a mapping of codes to other numbers: {'unpaired_update': 10}

    For one table, set config: {where: "table_name = 'orders'"}.
-#}
{%- test no_open_dead_letters(model, max_open=0, max_open_by_code={}) -%}
    {%- do spark_cdc._require_number('no_open_dead_letters', 'max_open', max_open) -%}
    {%- if max_open_by_code is not mapping -%}
        {%- do spark_cdc._raise(
            'no_open_dead_letters', 'max_open_by_code', 'a mapping of error codes to whole numbers', spark_cdc._show(max_open_by_code),
            'Write {unpaired_update: 10}, or leave it out.'
        ) -%}
    {%- endif -%}
    {%- for count in max_open_by_code.values() -%}
        {%- do spark_cdc._require_number('no_open_dead_letters', 'max_open_by_code', count) -%}
    {%- endfor -%}
    {%- do spark_cdc._require_model(
        'no_open_dead_letters', 'a model made by spark_cdc.dead_letters,',
        ['topic', 'partition', 'offset', 'code', 'detail', 'model', 'table_name', 'state'], model
    ) -%}
    {%- set query = adapter.dispatch('test_no_open_dead_letters', 'spark_cdc')(model, max_open, max_open_by_code) -%}
    {{- return(spark_cdc._with_reasons('no_open_dead_letters', query, ['topic', 'partition', 'offset'])) -}}
{%- endtest -%}

{%- macro default__test_no_open_dead_letters(model, max_open, max_open_by_code) -%}
    {%- do spark_cdc._only_spark('no_open_dead_letters') -%}
{%- endmacro -%}

{%- macro spark__test_no_open_dead_letters(model, max_open, max_open_by_code) -%}
    {%- do spark_cdc._warn_of_acknowledged() -%}
    {%- set cases = [] -%}
    {%- for code, count in max_open_by_code.items() -%}
        {%- do cases.append('when code = ' ~ spark_cdc._literal(code) ~ ' then ' ~ count) -%}
    {%- endfor -%}
select topic, partition, offset, model, table_name, concat_ws(': ', code, detail) as reason
from (
    select *, count(*) over (partition by code) as open_of_code
    from {{ model }}
    where state = 'open'
)
where open_of_code > {{ 'case ' ~ cases | join(' ') ~ ' else ' ~ max_open ~ ' end' if cases else max_open }}
{%- endmacro -%}

{#- The acknowledgements of the model under test that match none of its dead letters. -#}
{%- macro _warn_of_acknowledged() -%}
    {%- set tested = graph.nodes.get(model.attached_node) if execute and model.attached_node else none -%}
    {%- set acknowledged = tested.config.meta.get('spark_cdc.acknowledged', []) if tested and tested.config.meta else [] -%}
    {%- if acknowledged and flags.WHICH in ['test', 'build', 'retry'] -%}
        {%- set counts = [] -%}
        {%- for entry in acknowledged -%}
            {%- do counts.append('count_if(' ~ spark_cdc._is_acknowledged(entry) ~ ')') -%}
        {%- endfor -%}
        {%- set found = run_query('select ' ~ counts | join(', ') ~ ' from ' ~ tested.relation_name).rows[0] -%}
        {%- for entry in acknowledged -%}
            {%- if not found[loop.index0] -%}
                {%- do exceptions.warn(
                    'spark_cdc.no_open_dead_letters: ' ~ tested.name ~ ' acknowledges ' ~ tojson(entry)
                    ~ ', and no dead letter is like that. Remove it from `acknowledged`: it would cover the next one unseen.'
                ) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
