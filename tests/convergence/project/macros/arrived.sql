{#-
    The changes that have come so far, as a changes model has them; all of them where `whole`. Each log is a source table, or
    all are one source table (`one_table`), with the log's number in the key and the truncates of log `truncates_of`.
-#}
{%- macro arrived(whole=false, one_table=false) -%}
{%- set columns = ['id', 'amount', 'name', 'note'] + spark_cdc.change_columns() -%}
{%- set until = "timestamp'9999-01-01 00:00:00'" if whole else '(select max(arrived_at) from logs.now)' -%}
{%- if one_table -%}
select log, {{ columns | join(', ') }}
from (
    select
        * except (_cdc_before),
        cast(substr(_cdc_source_table, 5) as bigint) as log,
        case when _cdc_before is not null then
            named_struct('log', cast(substr(_cdc_source_table, 5) as bigint), 'id', _cdc_before.id)
        end as _cdc_before
    from logs.changes
)
where _cdc_loaded_at <= {{ until }} and (_cdc_op <> 'truncate' or log = (select max(truncates_of) from logs.now))
{%- else -%}
select {{ (['_cdc_source_table'] + columns) | unique | join(', ') }}
from logs.changes
where _cdc_loaded_at <= {{ until }}
{%- endif -%}
{%- endmacro -%}
