{#- The changes that have come so far, in the form of a changes model; all of them with `batches='all'`. -#}
{%- macro arrived(batches='so far') -%}
select {{ (['_cdc_origin', 'id', 'amount', 'name', 'note'] + spark_cdc.change_columns()) | unique | join(', ') }}
from logs.changes
{%- if batches == 'so far' %}
where _cdc_batch <= (select max(arrived_at) from logs.now)
{%- endif %}
{%- endmacro -%}
