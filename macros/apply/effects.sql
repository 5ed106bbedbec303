{#-
    Row changes -> what they do to single keys. One row is one effect on one key: it holds the row that the key has from
    `_cdc_sequence` on, or says with `_cdc_is_deleted` that the key has none.

    An update that changes the key is two effects under one sequence: the old key is retracted, the new one upserted. The
    retraction's sequence lacks the last part (the position in the message) and so comes before the upserts of its message:
    two rows that swap their keys in one statement both arrive.

    A deleted key keeps its key columns only, so that the result does not depend on how much of the row a delete carries.
-#}
{%- macro _effects(changes, key, columns) -%}
    {%- set others = columns | reject('in', key) | list -%}
    select
        {%- for name in key %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        {%- for name in others %}
        case when _cdc_op <> 'delete' then {{ spark_cdc._quote(name) }} end as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        _cdc_op,
        _cdc_op = 'delete' as _cdc_is_deleted,
        _cdc_sequence,
        _cdc_committed_at,
        _cdc_transaction_id,
        case when _cdc_op <> 'delete' then _cdc_absent end as _cdc_absent,
        case when _cdc_op = 'update' and _cdc_absent is not null and {{ spark_cdc._key_changes(key) }} then
            named_struct({{ spark_cdc._key_fields(key, '_cdc_before.') }})
        end as _cdc_old_key,
        _cdc_topic,
        _cdc_partition,
        _cdc_offset
    from {{ changes }}
    where _cdc_error is null and _cdc_op <> 'truncate'

    union all

    select
        {%- for name in key %}
        _cdc_before.{{ spark_cdc._quote(name) }},
        {%- endfor %}
        {%- for name in others %}
        null as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        'delete' as _cdc_op,
        true as _cdc_is_deleted,
        slice(_cdc_sequence, 1, size(_cdc_sequence) - 1) as _cdc_sequence,
        _cdc_committed_at,
        _cdc_transaction_id,
        null as _cdc_absent,
        null as _cdc_old_key,
        _cdc_topic,
        _cdc_partition,
        _cdc_offset
    from {{ changes }}
    where _cdc_error is null and _cdc_op = 'update' and {{ spark_cdc._key_changes(key) }}
{%- endmacro -%}

{%- macro _key_changes(key) -%}
    {%- set known, same = [], [] -%}
    {%- for name in key -%}
        {%- do known.append('_cdc_before.' ~ spark_cdc._quote(name) ~ ' is not null') -%}
        {%- do same.append('_cdc_before.' ~ spark_cdc._quote(name) ~ ' = ' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(known | join(' and ') ~ ' and not (' ~ same | join(' and ') ~ ')') -}}
{%- endmacro -%}

{%- macro _key_fields(key, prefix) -%}
    {%- set fields = [] -%}
    {%- for name in key -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ prefix ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(fields | join(', ')) -}}
{%- endmacro -%}

{%- macro _same_key(key, left, right) -%}
    {%- set conditions = [] -%}
    {%- for name in key -%}
        {%- do conditions.append(left ~ '.' ~ spark_cdc._quote(name) ~ ' = ' ~ right ~ '.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(conditions | join(' and ')) -}}
{%- endmacro -%}

{%- macro _quoted(names, prefix='') -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {{- return(quoted | join(', ')) -}}
{%- endmacro -%}

{#- The columns of an effect beside the source's own, in order. -#}
{%- macro _effect_columns() -%}
    {{- return([
        '_cdc_op', '_cdc_is_deleted', '_cdc_sequence', '_cdc_committed_at', '_cdc_transaction_id', '_cdc_absent',
        '_cdc_topic', '_cdc_partition', '_cdc_offset',
    ]) -}}
{%- endmacro -%}

{#-
    The CTEs `effects` (of the new changes, columns that a message did not carry filled from what came before them in the
    batch) and `truncates` (of all changes, as one sorted list).
    `stored` is the target, from which a row whose key changed takes what its message does not carry; none on a first build.
-#}
{%- macro _effect_ctes(new_changes, all_changes, key, columns, stored) -%}
    {%- set others = columns | reject('in', key) | list -%}
effects_as_sent as (

    {{ spark_cdc._effects(new_changes, key, columns) | trim }}

),

{#- What a row had under its old key, for an update that changes the key and does not carry every column (TOAST). #}
old_rows as (

    select {{ spark_cdc._quoted(key) }}, _cdc_sequence, _cdc_is_deleted, _cdc_absent
        {%- if others %}, {{ spark_cdc._quoted(others) }}{% endif %}
    from effects_as_sent
    where not _cdc_is_deleted
    {%- if stored %}

    union all

    select {{ spark_cdc._quoted(key) }}, _cdc_sequence, _cdc_is_deleted, _cdc_absent
        {%- if others %}, {{ spark_cdc._quoted(others) }}{% endif %}
    from {{ stored }}
    where not _cdc_is_deleted
    {%- endif %}

),

carried_over as (

    select
        moved._cdc_topic,
        moved._cdc_partition,
        moved._cdc_offset,
        moved._cdc_sequence
        {%- for name in others %},
        max_by(named_struct('value', old_rows.{{ spark_cdc._quote(name) }}), old_rows._cdc_sequence)
            filter (where not coalesce(array_contains(old_rows._cdc_absent, {{ spark_cdc._literal(name) }}), false))
            as {{ spark_cdc._quote(name) }}
        {%- endfor %}
    from effects_as_sent as moved
    inner join old_rows
        on {% for name in key -%}
            moved._cdc_old_key.{{ spark_cdc._quote(name) }} = old_rows.{{ spark_cdc._quote(name) }} and {% endfor -%}
            old_rows._cdc_sequence < moved._cdc_sequence
    where moved._cdc_old_key is not null
    group by moved._cdc_topic, moved._cdc_partition, moved._cdc_offset, moved._cdc_sequence

),

effects as (

    select
        {{ spark_cdc._quoted(key, 'sent.') }}
        {%- for name in others %},
        case when array_contains(sent._cdc_absent, {{ spark_cdc._literal(name) }}) then carried.{{ spark_cdc._quote(name) }}.value
            else sent.{{ spark_cdc._quote(name) }} end as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in spark_cdc._effect_columns() if name != '_cdc_absent' %},
        sent.{{ name }}
        {%- endfor %},
        case when carried._cdc_sequence is null then sent._cdc_absent
            else {{ spark_cdc._still_absent('sent._cdc_absent', others, 'carried') }} end as _cdc_absent
    from effects_as_sent as sent
    left join carried_over as carried
        on sent._cdc_old_key is not null
        and sent._cdc_topic = carried._cdc_topic
        and sent._cdc_partition = carried._cdc_partition
        and sent._cdc_offset = carried._cdc_offset
        and sent._cdc_sequence = carried._cdc_sequence

),

truncates as (

    select array_sort(collect_list(named_struct(
        '_cdc_sequence', _cdc_sequence, '_cdc_committed_at', _cdc_committed_at, '_cdc_transaction_id', _cdc_transaction_id,
        '_cdc_topic', _cdc_topic, '_cdc_partition', _cdc_partition, '_cdc_offset', _cdc_offset
    ))) as truncates
    from {{ all_changes }}
    where _cdc_op = 'truncate' and _cdc_error is null

)
{%- endmacro -%}

{#- A column's value in a struct, or null where the message does not carry it. Of a deleted row each value is null. -#}
{%- macro _known(name) -%}
    {{- return(
        "case when not coalesce(array_contains(_cdc_absent, " ~ spark_cdc._literal(name) ~ "), false) then named_struct('value', "
        ~ spark_cdc._quote(name) ~ ") end"
    ) -}}
{%- endmacro -%}

{#- The names of `absent` without those that have a struct in `relation`; null where none is left. -#}
{%- macro _still_absent(absent, names, relation) -%}
    {%- if not names -%}
        {{- return(absent) -}}
    {%- endif -%}
    {%- set entries = [] -%}
    {%- for name in names -%}
        {%- do entries.append(
            spark_cdc._literal(name) ~ ', ' ~ relation ~ '.' ~ spark_cdc._quote(name) ~ ' is not null'
        ) -%}
    {%- endfor -%}
    {%- set left = 'filter(' ~ absent ~ ', name -> not coalesce(map(' ~ entries | join(', ') ~ ')[name], false))' -%}
    {{- return('case when size(' ~ left ~ ') > 0 then ' ~ left ~ ' end') -}}
{%- endmacro -%}
