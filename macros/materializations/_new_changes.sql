{#-
    Changes behind the highest offset that the target holds, per topic and partition. A target keeps what it has read in its
    own rows, and a row that is read again changes nothing. Of an update in two messages it is the later one that counts: they
    may come in either order.
-#}
{%- macro _new_changes(all_changes, target_relation) -%}
    select changes.*
    from {{ all_changes }} as changes
    left join (
        select _cdc_topic, _cdc_partition, max(_cdc_offset) as _cdc_offset
        from {{ target_relation }}
        group by _cdc_topic, _cdc_partition
    ) as applied
        on changes._cdc_topic = applied._cdc_topic and changes._cdc_partition = applied._cdc_partition
    where
        changes._cdc_error is null
        and (applied._cdc_offset is null or array_max(changes._cdc_offsets) > applied._cdc_offset)
{%- endmacro -%}
