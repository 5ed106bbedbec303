{#-
    A row returned is a key with changes in more than one partition, or in another partition than a truncate. If only the offset
    orders the messages of a format, nobody knows which of them came first. The key that a row had before an update counts, too.
-#}
{%- test one_partition_per_key(model, key=none) -%}
    {%- do spark_cdc._require_key('one_partition_per_key', key) -%}
    {%- do spark_cdc._require_model(
        'one_partition_per_key', 'a model made by spark_cdc.changes,', key + ['_cdc_op', '_cdc_before', '_cdc_error'], model
    ) -%}
    {%- set query = adapter.dispatch('test_one_partition_per_key', 'spark_cdc')(model, key) -%}
    {{- return(spark_cdc._with_reasons('one_partition_per_key', query)) -}}
{%- endtest -%}

{%- macro default__test_one_partition_per_key(model, key) -%}
    {%- do spark_cdc._only_spark('one_partition_per_key') -%}
{%- endmacro -%}

{%- macro spark__test_one_partition_per_key(model, key) -%}
with changes as (

    select * from {{ model }}
    where _cdc_error is null

),

keys_in_partitions as (

    select {{ spark_cdc._quoted(key) }}, _cdc_topic, _cdc_partition
    from changes
    where _cdc_op <> 'truncate'

    union all

    select {{ spark_cdc._quoted(key, '_cdc_before.') }}, _cdc_topic, _cdc_partition
    from changes
    where _cdc_op = 'update'
        {%- for name in key %}
        and _cdc_before.{{ spark_cdc._quote(name) }} is not null
        {%- endfor %}

),

partitions_of_key as (

    select
        {{ spark_cdc._quoted(key) }},
        collect_set(struct(_cdc_topic as topic, _cdc_partition as partition)) as partitions
    from keys_in_partitions
    group by {{ spark_cdc._quoted(key) }}

),

partitions_of_truncates as (

    select collect_set(struct(_cdc_topic as topic, _cdc_partition as partition)) as truncate_partitions
    from changes
    where _cdc_op = 'truncate'

),

keys_in_several_partitions as (

    select
        {{ spark_cdc._quoted(key) }},
        case
            when size(partitions) > 1 then concat('the key has changes in ', size(partitions), ' partitions')
            else 'a truncate stands in another partition'
        end as reason
    from partitions_of_key
    cross join partitions_of_truncates
    where size(array_union(partitions, truncate_partitions)) > 1

)

select * from keys_in_several_partitions
{%- endmacro -%}
