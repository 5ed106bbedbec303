{#-
    The columns of each source table as the messages name them: one row for each version.

    messages  list of models made by `messages`, or of views over them

    version      1, 2, ... of a topic and source table
    valid_from   commit time of the first message with these columns, or its timestamp if it has none; never before that of an
                 earlier version
    partition, offset  that message
    known_from   `rows`: messages with rows name their columns and types. `ddl`: no message of the topic with rows of the table does,
                 but DDL messages do
    columns      map of name to the vendor's type; null if the columns are not certain
    difference   from the version before, in words: "added note varchar(20); amount decimal(10,2) -> decimal(12,2)"
    statement    the DDL statement that made the version; null if it is known from rows

    Versions follow the source's order within a partition; the commit times order the versions of several partitions of a format
    that has no sequence. MongoDB's formats are left out: a document's types are its own.

    From DDL: a table's columns are known from its CREATE TABLE on, until a statement that is not certain. Without the function
    cdc_ddl, see `ddl_log`, no statement is.
-#}
{%- macro source_schemas(messages=none) -%}
    {%- do spark_cdc._require_arguments('source_schemas', varargs, kwargs, ['messages']) -%}
    {%- do spark_cdc._require_relations('source_schemas', {'messages': messages}) -%}
    {{- return(adapter.dispatch('source_schemas', 'spark_cdc')(messages)) -}}
{%- endmacro -%}

{%- macro default__source_schemas(messages) -%}
    {%- do spark_cdc._only_spark('source_schemas') -%}
{%- endmacro -%}

{%- macro spark__source_schemas(messages) -%}
    {%- set table = ['topic'] + spark_cdc._names_of_a_table() -%}
    {%- set of_partition = (['partition', 'kind'] + table) | join(', ') -%}
with {{ spark_cdc._typed_messages_cte(messages) }},

-- few rows, without a sort of all messages
type_sets as (

    select {{ of_partition }}, types, min(offset) as first_offset, max(offset) as last_offset
    from typed_messages
    group by {{ of_partition }}, types

),

type_sets_in_order as (

    select
        *,
        first_offset <= max(last_offset) over (
            partition by {{ of_partition }} order by first_offset rows between unbounded preceding and 1 preceding
        ) as is_mixed
    from type_sets

),

-- where types came back, or messages came again, each message has to be looked at
type_sets_of_partitions as (

    select *, max(is_mixed) over (partition by {{ of_partition }}) as has_mixed
    from type_sets_in_order

),

messages_of_mixed as (

    select
        typed_messages.*,
        lag(types) over (partition by {{ of_partition }} order by sequence, offset) as types_before
    from typed_messages
    left semi join type_sets_of_partitions
        on type_sets_of_partitions.has_mixed
        and {{ spark_cdc._same('typed_messages', 'type_sets_of_partitions', ['partition', 'kind'] + table) }}

),

first_offsets as (

    select {{ of_partition }}, first_offset as offset
    from type_sets_of_partitions
    where not coalesce(has_mixed, false)

    union all

    select {{ of_partition }}, offset
    from messages_of_mixed
    where not types <=> types_before

),

first_messages as (

    select
        {{ of_partition }},
        offset,
        min_by(struct(sequence, committed_at, timestamp, types, column_types), loaded_at) as message
    from typed_messages
    left semi join first_offsets on {{ spark_cdc._same('typed_messages', 'first_offsets', ['offset', 'partition', 'kind'] + table) }}
    group by {{ of_partition }}, offset

),

first_messages_with_times as (

    select *, {{ spark_cdc._time_in_order('message.', of_partition) | indent(8) }} as valid_from
    from first_messages

),

first_messages_in_order as (

    select
        *,
        lag(message.types) over (
            partition by kind, {{ table | join(', ') }} order by message.sequence, valid_from, partition, offset
        ) as types_before
    from first_messages_with_times

),

versions_of_rows as (

    select
        {{ table | join(', ') }},
        kind as known_from,
        case kind when 'rows' then 1 else 2 end as choice,
        partition,
        offset,
        message.sequence as sequence,
        valid_from,
        message.column_types as columns,
        cast(null as string) as difference,
        cast(null as string) as statement
    from first_messages_in_order
    where not message.types <=> types_before

),

{{ spark_cdc._statements_read_ctes(messages) }},

{{ spark_cdc._versions_of_statements_ctes() }},

versions as (

    select *
    from (
        select *, min(choice) over (partition by {{ table | join(', ') }}) as first_choice
        from (select * from versions_of_rows union all select * from versions_of_statements)
    )
    where choice = first_choice

),

versions_in_order as (

    select
        *,
        -- no named window: Spark does not find it where the model is a view
        row_number() over (
            partition by {{ table | join(', ') }} order by sequence, valid_from, partition, offset
        ) as version,
        lag(columns) over (
            partition by {{ table | join(', ') }} order by sequence, valid_from, partition, offset
        ) as columns_before
    from versions

)

select
    {{ table | join(',\n    ') }},
    version,
    valid_from,
    partition,
    offset,
    known_from,
    columns,
    coalesce(difference, {{ spark_cdc._difference_in_words('columns_before', 'columns') | indent(4) }}) as difference,
    statement
from versions_in_order
{%- endmacro -%}

{#- The CTE `typed_messages`: the messages that name columns with their types. -#}
{%- macro _typed_messages_cte(messages) -%}
typed_messages as (

    {%- for relation in messages %}
    {%- set others = [] %}
    {%- for format in spark_cdc.formats() if spark_cdc._format(format).header.types_of_values %}
    {%- do others.append(format) %}
    {%- endfor %}
    select
        topic,
        partition,
        offset,
        timestamp,
        committed_at,
        sequence,
        database_name,
        schema_name,
        table_name,
        kind,
        column_types,
        xxhash64(array_sort(map_entries(column_types))) as types,
        loaded_at
    from {{ relation }}
    where error is null and kind in ('rows', 'ddl') and size(column_types) > 0 and format not in ({{ spark_cdc._literals(others) }})
    {{ 'union all' if not loop.last }}
    {%- endfor %}

)
{%- endmacro -%}

{#- The CTE `versions_of_statements`: the columns of each table after each of its statements. -#}
{%- macro _versions_of_statements_ctes() -%}
    {%- set columns_type = 'array<struct<name: string, type: string>>' -%}
    {%- set unknown = 'cast(null as ' ~ columns_type ~ ')' -%}
    {%- set none_left = 'cast(array() as ' ~ columns_type ~ ')' -%}
-- of a statement that names one table, the message's names are the table's
statements_of_tables as (

    select
        topic,
        partition,
        offset,
        sequence,
        {{ spark_cdc._time_in_order('', 'topic, partition') | indent(8) }} as valid_from,
        case when is_of_message or sql_dialect <> 'mysql' or named.qualifier is null then database_name
            else named.qualifier end as database_name,
        case when is_of_message or sql_dialect <=> 'mysql' or named.qualifier is null then schema_name
            else named.qualifier end as schema_name,
        case when is_of_message then table_name else named.name end as table_name,
        statement,
        struct(
            case when named.new_name is not null and size(columns) = 0 then 'rename' else action end as action,
            coalesce(is_conditional, true) as is_conditional,
            columns,
            named.new_name as new_name
        ) as event
    from statements_read
    lateral view explode(case when size(tables) > 0 then tables else array(null) end) exploded as named
    lateral view explode(array(table_name <> '' and coalesce(size(tables), 0) <= 1)) exploded_names as is_of_message
    where action in ('create', 'alter', 'drop', 'rename', 'unknown')

),

renamed_tables as (

    select
        topic,
        partition,
        offset,
        sequence,
        valid_from,
        database_name,
        schema_name,
        substring_index(event.new_name, '.', -1) as table_name,
        statement,
        struct('renamed to' as action, true as is_conditional, event.columns as columns, table_name as new_name) as event
    from statements_of_tables
    where event.action = 'rename' and event.new_name is not null

),

events_of_tables as (

    select
        topic,
        database_name,
        schema_name,
        table_name,
        array_sort(collect_list(struct(sequence, valid_from, partition, offset, statement, event))) as events
    from (select * from statements_of_tables union all select * from renamed_tables)
    where table_name <> ''
    group by topic, database_name, schema_name, table_name

),

states_of_tables as (

    select
        *,
        aggregate(
            events,
            cast(array() as array<{{ columns_type }}>),
            (states, e) -> concat(states, array(
                case
                    when e.event.action = 'create' and not e.event.is_conditional
                        then transform(e.event.columns, c -> struct(c.name as name, c.type as type))
                    when e.event.action in ('drop', 'rename') then {{ none_left }}
                    when e.event.action = 'alter' and not e.event.is_conditional
                        then aggregate(
                            e.event.columns,
                            get(states, size(states) - 1),
                            (columns, c) -> {{ spark_cdc._columns_after('columns', 'c') | indent(28) }}
                        )
                end
            ))
        ) as states
    from events_of_tables

),

versions_of_statements as (

    select
        topic,
        database_name,
        schema_name,
        table_name,
        'ddl' as known_from,
        3 as choice,
        events[place].partition as partition,
        events[place].offset as offset,
        events[place].sequence as sequence,
        events[place].valid_from as valid_from,
        case when size(array_distinct(transform(state, c -> c.name))) = size(state)
            then map_from_entries(state) end as columns,
        {{ spark_cdc._event_in_words('events[place].event') | indent(8) }} as difference,
        events[place].statement as statement
    from states_of_tables
    lateral view posexplode(states) exploded as place, state
    -- a statement about an index makes no version
    where not (events[place].event.action = 'alter' and coalesce(size(events[place].event.columns), -1) = 0)

)
{%- endmacro -%}

{#- The columns of a table after one change; NULL if the change does not fit them. -#}
{%- macro _columns_after(columns, change) -%}
    {%- set is_it = 'x -> lower(x.name) = lower(coalesce(' ~ change ~ '.old_name, ' ~ change ~ '.name))' -%}
case
    when {{ change }}.change = 'add' then case
        when not exists({{ columns }}, {{ is_it }})
            then concat({{ columns }}, array(struct({{ change }}.name as name, {{ change }}.type as type)))
    end
    when not exists({{ columns }}, {{ is_it }}) then null
    when {{ change }}.change = 'drop' then filter({{ columns }}, x -> not lower(x.name) = lower({{ change }}.name))
    else transform({{ columns }}, x -> case
        when lower(x.name) = lower(coalesce({{ change }}.old_name, {{ change }}.name))
            then struct({{ change }}.name as name, coalesce({{ change }}.type, x.type) as type)
        else x
    end)
end
{%- endmacro -%}

{#- What a statement does to a table, in words. -#}
{%- macro _event_in_words(event) -%}
concat(
    case
        when {{ event }}.action = 'unknown' then 'not known: the statement is not certain'
        when {{ event }}.action = 'renamed to' then concat('renamed from ', {{ event }}.new_name)
        when {{ event }}.action = 'rename' then concat('renamed to ', {{ event }}.new_name)
        when {{ event }}.action = 'drop' then 'dropped the table'
        when {{ event }}.columns is null then 'not known: the statement does not list the columns'
        when {{ event }}.action = 'create' then 'created the table'
        else array_join(transform({{ event }}.columns, c -> concat(
            case c.change when 'add' then 'added ' when 'drop' then 'dropped ' when 'rename' then 'renamed ' else 'changed ' end,
            case when c.old_name is not null then concat(c.old_name, ' to ') else '' end,
            c.name,
            case when c.type is not null then concat(' ', c.type) else '' end
        )), '; ')
    end,
    case when {{ event }}.action in ('create', 'alter') and {{ event }}.is_conditional and {{ event }}.columns is not null
        then ', or nothing: the statement has IF EXISTS or IF NOT EXISTS' else '' end
)
{%- endmacro -%}

{#- The difference of two maps of name to type, in words; NULL if one of them is not known. -#}
{%- macro _difference_in_words(before, after) -%}
array_join(concat(
    transform(
        filter(array_sort(map_entries({{ after }})), c -> not map_contains_key({{ before }}, c.key)),
        c -> concat('added ', c.key, ' ', coalesce(c.value, 'of an unknown type'))
    ),
    transform(
        filter(array_sort(map_entries({{ before }})), c -> not map_contains_key({{ after }}, c.key)),
        c -> concat('dropped ', c.key)
    ),
    transform(
        filter(array_sort(map_entries({{ after }})), c -> map_contains_key({{ before }}, c.key) and not {{ before }}[c.key] <=> c.value),
        c -> concat(c.key, ' ', coalesce({{ before }}[c.key], 'of an unknown type'), ' -> ', coalesce(c.value, 'of an unknown type'))
    )
), '; ')
{%- endmacro -%}

{#- Commit times and timestamps may go back; in the order of a partition they stay. -#}
{%- macro _time_in_order(prefix, partition) -%}
max(coalesce({{ prefix }}committed_at, {{ prefix }}timestamp)) over (
    partition by {{ partition }} order by {{ prefix }}sequence, offset rows between unbounded preceding and current row
)
{%- endmacro -%}
