{#- The keys that the user gave to `restate`, as queries of the key's columns. -#}

{%- macro _keys_listed(table, keys, all_changes, relation) -%}
    {%- if not spark_cdc._is_list(keys) or not keys -%}
        {%- do spark_cdc._raise(
            'restate', 'keys', 'a list of keys', spark_cdc._show(keys),
            'Write keys: [7, 8], or keys: [{order_id: 7, line: 1}] where the key has several columns.'
        ) -%}
    {%- endif -%}
    {%- set rows = [] -%}
    {%- for entry in keys -%}
        {%- set row = entry if entry is mapping else {table.key[0]: entry} -%}
        {%- if row.keys() | sort != table.key | sort or row.values() | select('none') | list -%}
            {%- do spark_cdc._raise(
                'restate', 'keys', 'a list of keys with the columns ' ~ table.key | join(', '), spark_cdc._show(entry),
                'Name each column of the key once, with a value.'
            ) -%}
        {%- endif -%}
        {%- set values = [] -%}
        {%- for name in table.key -%}
            {%- do values.append(spark_cdc._literal(row[name])) -%}
        {%- endfor -%}
        {%- do rows.append('(' ~ values | join(', ') ~ ')') -%}
    {%- endfor -%}
    {%- set given -%}
    select
        {%- for name in table.key %}
        try_cast({{ spark_cdc._quote(name) }} as {{ table.types[name] }}) as {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from values {{ rows | join(', ') }} as given({{ spark_cdc._quoted(table.key) }})
    {%- endset -%}
    {%- for name in table.key if spark_cdc._has_rows('(' ~ given ~ ') where ' ~ spark_cdc._quote(name) ~ ' is null') -%}
        {%- do spark_cdc._raise(
            'restate', 'keys', 'a list of keys whose `' ~ name ~ '` is a ' ~ table.types[name], spark_cdc._show(keys),
            'Write the value as the table shows it.'
        ) -%}
    {%- endfor -%}
    {%- set unknown = run_query(
        'select * from (' ~ given ~ ') as given left anti join (' ~ spark_cdc._key_operations(all_changes, table.key, table.key)
        ~ ') as every on ' ~ spark_cdc._same_key(table.key, 'given', 'every') ~ ' left anti join ' ~ relation ~ ' as stored on '
        ~ spark_cdc._same_key(table.key, 'given', 'stored')
    ).rows -%}
    {%- if unknown -%}
        {%- do spark_cdc._raise(
            'restate', 'keys', 'a list of keys that the table or its changes have',
            '`' ~ unknown[0].values() | join(', ') ~ '`', 'Correct it, or leave it out.'
        ) -%}
    {%- endif -%}
    {{- return(given) -}}
{%- endmacro -%}

{#- Keys with a change or a stored row from that offset on; a truncate touches all keys. -#}
{%- macro _keys_since(table, since, all_changes, relation) -%}
    {%- if since is not mapping or since.keys() | sort != ['offset', 'partition', 'topic']
        or since.offset is not integer or since.partition is not integer or since.topic is not string -%}
        {%- do spark_cdc._raise(
            'restate', 'since', 'a mapping of topic, partition and offset', spark_cdc._show(since),
            'Write since: {topic: shop, partition: 0, offset: 1200}.'
        ) -%}
    {%- endif -%}
    {%- set partition = '_cdc_topic = ' ~ spark_cdc._literal(since.topic) ~ ' and _cdc_partition = ' ~ since.partition -%}
    {%- if not spark_cdc._has_rows(all_changes ~ ' where ' ~ partition) -%}
        {%- do spark_cdc._raise(
            'restate', 'since', 'a topic and a partition that the changes are from', spark_cdc._show(since),
            'Correct it: the changes model has them in _cdc_topic and _cdc_partition.'
        ) -%}
    {%- endif -%}
    {%- set place = partition ~ ' and _cdc_offset >= ' ~ since.offset -%}
    {%- set everything = spark_cdc._has_rows(all_changes ~ " where _cdc_op = 'truncate' and " ~ place) -%}
    {%- set place = 'true' if everything else place -%}
    select {{ spark_cdc._quoted(table.key) }}
    from ({{ spark_cdc._key_operations(all_changes, table.key, table.key) }})
    where {{ place }}

    union all

    select {{ spark_cdc._quoted(table.key) }} from {{ relation }} where {{ place }}
{%- endmacro -%}

{#- Each key once. If values passed between a key and others, all such keys are added. -#}
{%- macro _with_joined_keys(table, chosen, all_changes) -%}
    {%- set late_arriving -%}
    select {{ spark_cdc._quoted(table.key) }}, true as _cdc_is_late_arriving, false as _cdc_inherits_values, null as _cdc_inherited_by
    from ({{ chosen }})
    {%- endset -%}
    {%- set rebuilt_keys = spark_cdc._keys_to_rebuild(table, '(' ~ late_arriving ~ ')', all_changes) -%}
    select {{ spark_cdc._quoted(table.key) }}
    from ({{ rebuilt_keys or chosen }})
    group by {{ spark_cdc._quoted(table.key) }}
{%- endmacro -%}
