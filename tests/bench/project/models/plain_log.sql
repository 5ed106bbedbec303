{{ config(materialized='incremental', incremental_strategy='append') }}
select
    cast(row.id as bigint) as id,
    row.customer,
    cast(row.amount as decimal(20,4)) as amount,
    row.note,
    cast(row.size as int) as size,
    cast(row.placed_at as timestamp_ntz) as placed_at,
    message.type = 'DELETE' as is_deleted,
    offset
from (
    select
        offset,
        from_json(value, 'type string, data array<struct<id: string, customer: string, amount: string, note: string, size: string, placed_at: string>>')
            as message
    from {{ source('raw', 'orders') }}
    {%- if is_incremental() %}
    where offset > (select coalesce(max(offset), -1) from {{ this }})
    {%- endif %}
)
lateral view explode(message.data) exploded as row
