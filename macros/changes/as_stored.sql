{#-
    The model's query with the columns of the stored table. An append matches a struct's fields by position, so `_cdc_before`
    gets the table's order. A column that is no longer declared counts as missing from all messages. The same holds for a field
    that a run added before it failed.
-#}
{%- macro _as_stored(query, stored) -%}
    {%- if stored.before is none or (
        not stored.undeclared and stored.before | list == stored.columns | map(attribute='name') | list
    ) -%}
        {{- return(query) -}}
    {%- endif -%}
select
    {%- for column in stored.columns %}
    {{ column.quoted }},
    {%- endfor %}
    {%- for name, type in stored.undeclared.items() %}
    cast(null as {{ type }}) as {{ spark_cdc._quote(name) }},
    {%- endfor %}
    {%- for name in spark_cdc._contract_columns(stored) if name not in ['_cdc_before', '_cdc_missing_columns'] %}
    {{ name }},
    {%- endfor %}
    case when _cdc_before is not null then named_struct(
        {%- for name, type in stored.before.items() %}
        {{ spark_cdc._literal(name) }}, {# -#}
        {{ '_cdc_before.' ~ spark_cdc._quote(name) if name in stored.columns | map(attribute='name') else 'cast(null as ' ~ type ~ ')' }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    ) end as _cdc_before,
    {%- if stored.undeclared %}
    {{ spark_cdc._absent_with(stored.undeclared) }} as _cdc_missing_columns
    {%- else %}
    _cdc_missing_columns
    {%- endif %}
from (
    {{ query }}
)
{%- endmacro -%}

{#- `_cdc_missing_columns` of a change whose message does not have these columns either. -#}
{%- macro _absent_with(names) -%}
    case
        when _cdc_op in ('insert', 'update', 'snapshot') then array_union(
            coalesce(_cdc_missing_columns, cast(array() as array<string>)), array({{ spark_cdc._literals(names) }})
        )
        else _cdc_missing_columns
    end
{%- endmacro -%}
