{#-
    Row changes -> the rows that a current-state table gets from them: one row per key that they touch, the declared columns,
    then `_effect_columns()` and `_cdc_obsolete` (never true here; see `history_rows`). A deleted key stays as a row with `_cdc_is_deleted`, so that a late change finds it.

    changes      a relation or a query in parentheses: the changes that are new
    all_changes  the same without a lower bound; truncates are taken from it, because they act on whatever comes late
    stored       the table as it is, or none
-#}
{%- macro current_rows(changes, key, columns, all_changes=none, stored=none) -%}
    {{- return(adapter.dispatch('current_rows', 'spark_cdc')(changes, key, columns, all_changes or changes, stored)) -}}
{%- endmacro -%}

{%- macro default__current_rows(changes, key, columns, all_changes, stored) -%}
    {%- do spark_cdc._only_spark('current_rows') -%}
{%- endmacro -%}

{%- macro spark__current_rows(changes, key, columns, all_changes, stored) -%}
    {%- set others = columns | reject('in', key) | list -%}
with {{ spark_cdc._effect_ctes(changes, all_changes, key, columns, stored) }},

{#- A column that a message does not carry has the value that the messages of this batch before it left. #}
last_effects as (

    select *
    from (
        select
            {{ spark_cdc._quoted(key) }}
            {%- for name in others %},
            last_value({{ spark_cdc._known(name) }}) ignore nulls over so_far as {{ spark_cdc._quote(name) }}
            {%- endfor %}
            {%- for name in spark_cdc._effect_columns() %},
            {{ name }}
            {%- endfor %},
            lead(_cdc_sequence) over in_order is null as _cdc_is_last
        from effects
        window
            in_order as (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence, _cdc_is_deleted desc),
            so_far as (
                partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence, _cdc_is_deleted desc
                rows between unbounded preceding and current row
            )
    )
    where _cdc_is_last

),

filled as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        {{ spark_cdc._quote(name) }}.value as {{ spark_cdc._quote(name) }}
        {%- endfor %}
        {%- for name in spark_cdc._effect_columns() if name != '_cdc_absent' %},
        {{ name }}
        {%- endfor %},
        {{ spark_cdc._still_absent('_cdc_absent', others, 'last_effects') }} as _cdc_absent
    from last_effects

),

candidates as (

    select {{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }} from filled
    {%- if stored %}

    union all

    select {{ spark_cdc._quoted(columns + spark_cdc._effect_columns(), 'stored.') }}
    from {{ stored }} as stored
    inner join (
        select max(_cdc_sequence) as _cdc_sequence from {{ changes }} where _cdc_op = 'truncate' and _cdc_error is null
    ) as new_truncate
        on stored._cdc_sequence < new_truncate._cdc_sequence
    where not stored._cdc_is_deleted
    {%- endif %}

),

truncated as (

    select
        candidates.*,
        filter(truncates.truncates, event -> event._cdc_sequence > candidates._cdc_sequence)[0] as _cdc_truncate
    from candidates
    cross join truncates

),

current_rows as (

    select
        {{ spark_cdc._quoted(key) }}
        {%- for name in others %},
        case when _cdc_truncate is null then {{ spark_cdc._quote(name) }} end as {{ spark_cdc._quote(name) }}
        {%- endfor %},
        case when _cdc_truncate is null or _cdc_is_deleted then _cdc_op else 'truncate' end as _cdc_op,
        _cdc_is_deleted or _cdc_truncate is not null as _cdc_is_deleted
        {%- for name in spark_cdc._effect_columns() if name not in ['_cdc_op', '_cdc_is_deleted', '_cdc_absent'] %},
        case when _cdc_truncate is null or _cdc_is_deleted then {{ name }} else _cdc_truncate.{{ name }} end as {{ name }}
        {%- endfor %},
        case when _cdc_truncate is null then _cdc_absent end as _cdc_absent
    from truncated

)

select * except (_cdc_rank), false as _cdc_obsolete
from (
    select
        {{ spark_cdc._quoted(columns + spark_cdc._effect_columns()) }},
        row_number() over (partition by {{ spark_cdc._quoted(key) }} order by _cdc_sequence desc) as _cdc_rank
    from current_rows
)
where _cdc_rank = 1
{%- endmacro -%}
