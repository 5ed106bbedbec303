{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select * except (place)
from (
    select *, row_number() over (partition by id order by offset desc) as place
    from {{ ref('plain_log') }}
    {%- if is_incremental() %}
    where offset > (select max(offset) from {{ this }})
    {%- endif %}
)
where place = 1
