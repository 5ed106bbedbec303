{#-
    Messages -> the same messages with their envelope read. One parse of each message.

    Returns the text of the CTEs `documents`, `message_faults`, `checked` and `envelopes`, and of those that they read.
    `messages` is the name of the CTE with the messages: it has Kafka's names and, with `finds_reused_offsets`, `is_reused`.
    `leaves_out` and `names_sequence`: see `_raw_envelopes`; `fmt`: see `_format`.

    Why maps of texts: they keep absent and null apart, show a key that occurs twice, and need no declared columns.
-#}
{%- macro _envelopes_of(messages, fmt, leaves_out=[], finds_reused_offsets=false, names_sequence=false) -%}
    {%- set header = fmt.header -%}
    {%- set document = header.document -%}
    {%- set schema = fmt.schema_without_types if 'column_types' in leaves_out else fmt.schema -%}
    {%- set not_read_to_its_end = 'numbers_quoted is null or key_names is null' -%}
    {%- set has_events = header.event or header.beside_event -%}
    {#- The strict reading is as deep as the event. In one step with it, it does not make Spark analyze the statement more often. -#}
    {%- set is_read_with_event = has_events and not header.event_calls_python -%}
    {%- set strict_reading -%}
        -- where a text that is wrong is no JSON
        case
            when {{ not_read_to_its_end }} or not_as_declared is not null
                then {{ spark_cdc._strict_reading('value') | indent(16) }}
        end as strict_reading
    {%- endset -%}
{% if document -%}
json_messages as (

    select {{ messages }}.* except (value), document as value
    from {{ messages }}
    -- explode, so that a filter on the value does not call the function again
    lateral view explode(array({{ document }})) exploded as document

),
{% set messages = 'json_messages' %}
{% else -%}
unwrapped_messages as (

    select
        {{ messages }}.* except (key, value),
        {{ spark_cdc._without_schema_id('key') | indent(8) }} as key,
        {{ spark_cdc._unwrapped_value('value') | trim | indent(8) }} as value
    from {{ messages }}

),
{% set messages = 'unwrapped_messages' %}
{% endif -%}
documents as (

    select
        topic,
        partition,
        offset,
        timestamp,
        key,
        value,
        headers,
        loaded_at,
        {%- if finds_reused_offsets %}
        is_reused,
        {%- endif %}
        parsed.document.numbers_quoted as numbers_quoted,
        parsed.document.not_as_declared as not_as_declared,
        parsed.document.message as message,
        {{ spark_cdc._names_of_whole_object('value', 'parsed.names_and_mark', fmt.rows.long_numbers) | trim | indent(8) }} as key_names
        {%- if header.nested %},
        parsed.nested_key_names as nested_key_names
        {%- endif %}
    from {{ messages }}
    -- explode, so that the parse is not repeated for each field that is read
    lateral view explode(array(named_struct(
        'document', {{ spark_cdc._parsed(fmt, schema) | trim | indent(8) }},
        'names_and_mark', {{ spark_cdc._names_and_mark('value', fmt.rows.long_numbers) | trim | indent(8) }}
        {%- if header.nested %},
        'nested_key_names', {{ header.nested }}
        {%- endif %}
    ))) exploded as parsed
    -- explode, so that the code which Spark generates for one run serves the next, too
    lateral view explode(array({{ spark_cdc._loaded_at() }})) run as loaded_at

),
{%- if has_events %}

events as (

    {% if header.event_calls_python -%}
    select *
    from documents
    lateral view explode(array({{ header.event | trim | indent(4) }})) exploded as event
    {%- else -%}
    select
        *
        {%- if header.event %},
        {{ header.event | trim | indent(8) }} as event
        {%- endif %}
        {%- for name, expression in (header.beside_event or {}).items() %},
        {{ expression | trim | indent(8) }} as {{ name }}
        {%- endfor %},
        {{ strict_reading | trim }}
    from documents
    {%- endif %}

),
{%- endif %}
{%- set read = 'events' if has_events else 'documents' %}
{%- if header.statement %}

{{ spark_cdc._statement_ctes(read, header.statement) }},
{%- set read = 'kinds_of_statements' %}
{%- endif %}

message_kinds as (

    select
        *,
        {{ header.kind | trim | indent(8) }} as message_kind
        {%- if not is_read_with_event %},
        {{ strict_reading | trim }}
        {%- endif %}
    from {{ read }}

),

message_faults as (

    select
        *,
        case
            {%- if finds_reused_offsets %}
            when is_reused then {{ spark_cdc._error('offset_reused', 'offset: an older message has it') }}
            {%- endif %}
            when value is null then {{ header.error_of_null or 'null' }}
            when {{ not_read_to_its_end }}
                then {{ spark_cdc._unreadable_reason('value') | trim | indent(16) }}
            when {{ spark_cdc._names_twice('key_names') }}
                then {{ spark_cdc._name_twice_error('key_names', 'the message') | indent(16) }}
            {%- if header.nested %}
            when {{ spark_cdc._names_twice('nested_key_names') }}
                then {{ spark_cdc._name_twice_error('nested_key_names', header.nested_in or 'an object of the message') | indent(16) }}
            {%- endif %}
            else coalesce(
                -- the reader goes on after damage inside a row, which is then missing
                {{ spark_cdc._damage() | indent(16) }},
                {%- if header.errors %}
                {{ spark_cdc._first_error(header.errors) | trim | indent(16) }},
                {%- endif %}
                case
                    when not_as_declared is not null
                        then {{ spark_cdc._error_of('unexpected_structure', spark_cdc._field_not_as_declared(schema)) | indent(24) }}
                    {%- if header.names_table %}
                    when coalesce({{ header.table_name | trim | indent(24) }}, '') = '' and message_kind in ('rows', 'truncate')
                        then {{ spark_cdc._error('unexpected_structure', 'table: missing') }}
                    {%- endif %}
                    when {{ spark_cdc._has_lone_surrogate('value') }}
                        then {{ spark_cdc._error_of('invalid_unicode', spark_cdc._at_byte(
                            spark_cdc._first_lone_surrogate('value'), 'an escape names an unpaired surrogate'
                        )) }}
                end
            )
        end as fault
    from message_kinds

),

checked as (

    select * except (fault)
    from message_faults
    -- explode, so that a filter on what follows does not repeat all this
    lateral view explode(array(
        {{ spark_cdc._as_error('fault') | indent(8) }}
    )) exploded as error

),

envelopes as (

    select
        topic,
        partition,
        offset,
        timestamp,
        key,
        value,
        headers,
        loaded_at,
        numbers_quoted,
        message,
        {%- if header.event %}
        event,
        {%- endif %}
        {%- for name in header.beside_event or {} %}
        {{ name }},
        {%- endfor %}
        error,
        '{{ fmt.name }}' as format,
        case
            when error is not null then 'unreadable'
            when value is null then {{ header.kind_of_null or "'tombstone'" }}
            else message_kind
        end as kind,
        {%- if names_sequence %}
        case when error is null then {{ header.sequence_names or 'cast(array() as array<string>)' }} end as sequence_names,
        {%- endif %}
        {%- for name, type in spark_cdc._header_columns().items() %}
        {%- if header[name] and name not in leaves_out %}
        case when error is null then {{ header[name] | trim | indent(12) }} end as {{ name }}{{ ',' if not loop.last }}
        {%- else %}
        cast(null as {{ type }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endif %}
        {%- endfor %}
    from checked

)
{%- endmacro -%}

{#- What a format reads from a message besides its kind. One list: models, tests and `spark-cdc decode` read it. -#}
{%- macro _header_columns() -%}
    {{- return({
        'database_name': 'string',
        'schema_name': 'string',
        'table_name': 'string',
        'op': 'string',
        'sequence': 'array<decimal(20,0)>',
        'committed_at': 'timestamp',
        'transaction_id': 'string',
        'key_columns': 'array<string>',
        'column_types': 'map<string,string>',
        'ddl': 'string',
    }) -}}
{%- endmacro -%}
