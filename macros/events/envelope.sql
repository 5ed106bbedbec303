{#-
    Raw messages -> the same messages with their envelope read. One parse of each message; every macro that reads
    messages stands on this one.

    Gives the text of the CTEs `raw_messages`, with some `reading` those up to `new_messages`, then `documents`, `checked` and
    `envelopes`; the caller adds its own `select`.
    A format gives four macros, found by dispatch, so that a project may add a format of its own:

    `<format>_schema(dialect, with_types)`
                                 the envelope's fields as a from_json struct; row images as map<string, string>. Without
                                 `with_types` the columns' types may be left out, if the format can do without
    `<format>_header(dialect)`   a mapping, see below
    `<format>_rows(dialect)`     a mapping, see `_row_changes`
    `<format>_value(text, column, time_zone, dialect)`
                                 SQL of a value as the format writes one of the declared type: mostly `value` with an
                                 encoding of the format's own

    The header's SQL expressions over `message`: kind and what `_header_columns` lists, and

    errors        see `_first_error`
    event         what all others may read by that name
    beside_event  a mapping of further names to expressions over the same, which all others may read, too; not of an event that
                  calls Python
    nested        the keys of an object below the message, which may not stand twice
    nested_in     the name of that object
    kind_of_null  the kind of a Kafka null, where it is not always a tombstone
    error_of_null the error of one, an expression as `_error` makes it, or NULL
    document      where a message is no JSON, an expression over the raw `value`, mostly a Python function, that gives it as JSON
                  text. That text is `value` from then on, also in a messages model

    And what is true, or left out:

    event_calls_python  the event is then evaluated once, below all filters
    splits_updates      an update may be two messages
    names_table         a row or a truncate without a table is an error

    `type_codes` names the vendor whose types `cdc_type` knows the columns by, where that is not the format's own name.

    `leaves_out` names columns of `_header_columns` that the caller does not read. `finds_taken_offsets` makes a message an error
    where another one stands at its place.

    Why maps of texts: they keep absent and null apart, show a key that stands twice, and need no declared columns.
-#}
{%- macro _envelope(
    relation, format, dialect, raw_columns, reading=none, leaves_out=[], finds_taken_offsets=false
) -%}
    {%- set raw = spark_cdc._raw_columns(raw_columns) -%}
    {%- set header = spark_cdc._header_of(format, dialect) -%}
    {%- set document = header.get('document') -%}
    {%- set schema = spark_cdc._format_macro(format, 'schema')(dialect, 'column_types' not in leaves_out) -%}
    {%- set is_joined = reading and not spark_cdc._condition_says_all(reading) -%}
    {%- set messages = 'new_messages' if is_joined else 'raw_messages' -%}
    {%- set finds_taken_offsets = finds_taken_offsets and spark_cdc._may_be_taken(reading) -%}
    {%- set condition = spark_cdc._read_condition(reading.partitions, raw, reading.read_again) if reading -%}
raw_messages as (

    select
        {{ raw.topic }} as topic,
        {{ raw.partition }} as partition,
        {{ raw.offset }} as offset,
        {{ raw.timestamp }} as timestamp,
        cast({{ raw.key }} as string) as key,
        {{ raw.value if document else 'cast(' ~ raw.value ~ ' as string)' }} as value,
        {{ raw.headers or "cast(null as array<struct<key: string, value: binary>>)" }} as headers
    from {{ relation }}
    {%- if condition %}
    where {{ condition }}
    {%- endif %}

),

{% if is_joined -%}
{{ spark_cdc._new_messages_ctes(reading) }}

{% endif -%}
{% if finds_taken_offsets -%}
{{ spark_cdc._taken_offsets_ctes(messages, reading) }}
{% set messages = 'placed_messages' %}
{% endif -%}
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
        {{ spark_cdc._without_schema_id('key') }} as key,
        {{ spark_cdc._unwrapped_value('value') }} as value
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
        batch,
        {%- if finds_taken_offsets %}
        is_taken,
        {%- endif %}
        parsed.document.numbers_quoted as numbers_quoted,
        parsed.document.not_as_declared as not_as_declared,
        coalesce(size(parsed.document.message), -1) as number_of_messages,
        get(parsed.document.message, 0) as message,
        parsed.key_names as key_names
        {%- if header.get('nested') %},
        parsed.nested_key_names as nested_key_names
        {%- endif %}
    from {{ messages }}
    -- explode, so that the parse is not repeated for each field that is read
    lateral view explode(array(named_struct(
        'document', {{ spark_cdc._parsed(format, dialect, 'column_types' not in leaves_out) | trim | indent(8) }},
        'key_names', json_object_keys({{ spark_cdc._without_long_numbers('value', format, dialect) }})
        {%- if header.get('nested') %},
        'nested_key_names', {{ header.nested }}
        {%- endif %}
    ))) exploded as parsed
    -- explode, so that the code which Spark generates for one run serves the next, too
    lateral view explode(array({{ spark_cdc._batch_started_at() }})) run as batch

),
{%- if header.get('event') %}

events as (

    {% if header.get('event_calls_python') -%}
    select *
    from documents
    lateral view explode(array({{ header.event | trim | indent(4) }})) exploded as event
    {%- else -%}
    select
        *,
        {%- for name, expression in header.get('beside_event', {}).items() %}
        {{ expression | trim | indent(8) }} as {{ name }},
        {%- endfor %}
        {{ header.event | trim | indent(8) }} as event
    from documents
    {%- endif %}

),
{%- endif %}

checked as (

    select * except (found)
    from (
        select
            *,
            case
                {%- if finds_taken_offsets %}
                when is_taken then {{ spark_cdc._error('offset_taken', 'offset: an older message has it') }}
                {%- endif %}
                when value is null then {{ header.get('error_of_null') or 'null' }}
                when numbers_quoted is null or number_of_messages <> 1 or message is not null and key_names is null then {# -#}
                    {{ spark_cdc._unreadable_reason('value') | trim | indent(12) }}
                when message is null then {{ spark_cdc._error('not_an_object', 'the message is null') }}
                when {{ spark_cdc._names_twice('key_names') }} then {# -#}
                    {{ spark_cdc._name_twice_error('key_names', 'the message') }}
                {%- if header.get('nested') %}
                when {{ spark_cdc._names_twice('nested_key_names') }} then {# -#}
                    {{ spark_cdc._name_twice_error('nested_key_names', header.get('nested_in') or 'an object of the message') }}
                {%- endif %}
                else coalesce(
                    -- the reader goes on behind damage inside a row, which is then missing
                    case when not_as_declared is not null then {{ spark_cdc._damage('value') | indent(20) }} end,
                    {%- if header.get('errors') %}
                    {{ spark_cdc._first_error(header.errors) | trim | indent(20) }},
                    {%- endif %}
                    case
                        when not_as_declared is not null then {# -#}
                            {{ spark_cdc._error_of('other_structure', spark_cdc._field_not_as_declared(schema)) | indent(28) }}
                        {%- if header.get('names_table') %}
                        -- the kind is only worked out where there is no table
                        when coalesce({{ header.table_name | trim | indent(24) }}, '') = ''
                            and {{ header.kind | trim | indent(28) }} in ('rows', 'truncate') then {# -#}
                            {{ spark_cdc._error('other_structure', 'table: missing') }}
                        {%- endif %}
                        when {{ spark_cdc._has_lone_surrogate('value') }} then {# -#}
                            {{ spark_cdc._error_of('lone_surrogate', spark_cdc._at_byte(
                                spark_cdc._first_lone_surrogate('value'), 'an escape names half of a character'
                            )) }}
                    end
                )
            end as found
        from {{ 'events' if header.get('event') else 'documents' }}
    )
    -- explode, so that a filter on what follows does not repeat all this
    lateral view explode(array(cast(found as struct<code: string, detail: string>))) exploded as error

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
        batch,
        numbers_quoted,
        message,
        {%- if header.get('event') %}
        event,
        {%- endif %}
        {%- for name in header.get('beside_event', {}) %}
        {{ name }},
        {%- endfor %}
        error,
        '{{ format }}' as format,
        case
            when error is not null then 'unreadable'
            when value is null then {{ header.get('kind_of_null') or "'tombstone'" }}
            else {{ header.kind | trim | indent(12) }}
        end as kind,
        {%- for name, type in spark_cdc._header_columns().items() %}
        {%- set is_told = header.get(name) and name not in leaves_out %}
        {%- set value = header[name] | trim | indent(12) if is_told else 'cast(null as ' ~ type ~ ')' %}
        case when error is null then {{ value }} end as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from checked

)
{%- endmacro -%}

{#-
    The first error of a message, NULL where it has none. `errors` maps codes to rules, in the order in which they are asked; the
    rules of a code map what is wrong to the condition on which it is: {'no_rows': {'data: no rows': 'size(message.data) = 0'}}.
    `fault` is no code: it is an expression that gives the error itself, as `_error` makes it, or NULL.

    What is wrong begins with the path of the field and names rules and fields, never a value of the message.
-#}
{%- macro _first_error(errors) -%}
    {%- set found = [] -%}
    {%- for code, rules in errors.items() -%}
        {%- if code == 'fault' -%}
            {%- do found.append(rules) -%}
        {%- else -%}
            {#- A format of a project's own may give one condition alone. -#}
            {%- set rules = {none: rules} if rules is string else rules -%}
            {%- set cases = [] -%}
            {%- for detail, condition in rules.items() -%}
                {%- do cases.append('    when ' ~ condition | trim | indent(8) ~ ' then ' ~ spark_cdc._error(code, detail)) -%}
            {%- endfor -%}
            {%- do found.append('case\n' ~ cases | join('\n') ~ '\nend') -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(found | join(',\n')) -}}
{%- endmacro -%}

{#- What a format tells of a message beside its kind. One list: models, tests and `spark-cdc decode` read it. -#}
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

{#- Kafka's own names, as Spark's Kafka source and most sinks give them. `headers` is read only where it is named. -#}
{%- macro _raw_columns(raw_columns) -%}
    {%- set names = {
        'topic': 'topic', 'partition': 'partition', 'offset': 'offset', 'timestamp': 'timestamp', 'key': 'key',
        'value': 'value', 'headers': none,
    } -%}
    {%- do names.update(raw_columns or {}) -%}
    {#- Numbers that stand as texts compare as texts. Of numbers Spark leaves the cast out, and a lake still skips files. -#}
    {%- do names.update({
        'partition': 'try_cast(' ~ names.partition ~ ' as int)', 'offset': 'try_cast(' ~ names.offset ~ ' as bigint)',
    }) -%}
    {{- return(names) -}}
{%- endmacro -%}

{#- Columns of a messages model that a changes model reads. -#}
{%- macro _message_columns() -%}
    {{- return(
        ['topic', 'partition', 'offset', 'timestamp', 'key', 'value', 'headers', 'kind']
        + spark_cdc._header_columns() | list + ['error', 'rows', 'batch']
    ) -}}
{%- endmacro -%}

{%- macro _require_raw_table(macro, relation, raw_columns) -%}
    {%- set names = ['topic', 'partition', 'offset', 'timestamp', 'key', 'value'] | reject('in', raw_columns or {}) | list -%}
    {%- do spark_cdc._refuse_read_messages(macro, relation) -%}
    {%- do spark_cdc._require_columns_in(
        macro, 'relation', relation, names, 'a table with the columns ' ~ names | join(', '),
        'Name those of another name: raw_columns={\'value\': \'payload\'}.'
    ) -%}
    {%- if spark_cdc._is_run() and not spark_cdc._goes_on() -%}
        {%- do spark_cdc._require_raw_columns_in(macro, relation, raw_columns) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Its envelopes would be read once more, as messages of which each lacks what the format asks for. -#}
{%- macro _refuse_read_messages(macro, relation) -%}
    {%- set next_step = 'Write messages=ref(\'...\') for a model made by spark_cdc.messages.' if macro == 'changes'
        else 'Name the table that holds the messages as Kafka has them.' -%}
    {%- set name = spark_cdc._name_of_relation(relation) | string -%}
    {%- for node in (graph.nodes.values() if execute else []) if node.relation_name == name and spark_cdc._kind_of(node) -%}
        {%- set kind = spark_cdc._kind_of(node) -%}
        {%- do spark_cdc._raise(
            macro, 'relation', 'a raw table',
            spark_cdc._show(node.name) ~ ', ' ~ ('a ' if kind[:4] == 'cdc_' else 'made by spark_cdc.') ~ kind, next_step
        ) -%}
    {%- endfor -%}
    {%- if spark_cdc._is_run() and not spark_cdc._goes_on() -%}
        {%- set found = run_query('describe query select * from ' ~ relation).columns[0].values() | map('lower') | list -%}
        {%- if not ['kind', 'key_columns', 'column_types', 'transaction_id'] | reject('in', found) | list -%}
            {%- do spark_cdc._raise(
                macro, 'relation', 'a raw table', spark_cdc._show(name) ~ ', which has the columns that spark_cdc.messages makes', next_step
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    Whether the relation has the columns that `raw_columns` names. Of an expression Spark says it itself, of a query this small in a few
    lines, and with the columns that it may be.
-#}
{%- macro _require_raw_columns_in(macro, relation, raw_columns) -%}
    {%- if raw_columns -%}
        {%- set found = run_query('describe query select * from ' ~ relation).columns[0].values() -%}
    {%- endif -%}
    {%- for name, expression in (raw_columns or {}).items() -%}
        {%- if (expression | trim).strip('`') | lower in found | map('lower') -%}
        {%- elif modules.re.fullmatch('`[^`]+`|(?!null$)[^\\W\\d]\\w*', expression | trim | lower) -%}
            {%- do spark_cdc._raise(
                macro, 'raw_columns', 'a mapping to columns of ' ~ spark_cdc._show(spark_cdc._name_of_relation(relation))
                ~ ', which has ' ~ found | join(', '), spark_cdc._show(expression) ~ ' for `' ~ name ~ '`', 'Correct the name.'
            ) -%}
        {%- else -%}
            {%- do run_query('describe query select ' ~ expression ~ ' as `' ~ name ~ '` from ' ~ relation) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _require_raw_columns(macro, raw_columns) -%}
    {%- if raw_columns is not none
        and (raw_columns is not mapping or raw_columns.values() | reject('string') | list) -%}
        {%- do spark_cdc._raise(
            macro, 'raw_columns', 'a mapping of Kafka\'s names to the raw table\'s', spark_cdc._show(raw_columns),
            'Write raw_columns={\'value\': \'payload\'}, or leave it out where the raw table has Kafka\'s own names.'
        ) -%}
    {%- endif -%}
    {%- for name in raw_columns or {} -%}
        {%- do spark_cdc._require_one_of(macro, 'raw_columns', name, spark_cdc._raw_columns(none).keys() | list) -%}
    {%- endfor -%}
    {#- By it a message is told from another one at its offset, of a topic that was made anew. -#}
    {%- set timestamp = (raw_columns or {}).get('timestamp', '') -%}
    {%- if modules.re.search('(?i)\\b(?:(?:current|local)_?timestamp|current_date|curdate|now *\\()|_metadata', timestamp) -%}
        {%- do spark_cdc._raise(
            macro, 'raw_columns', 'a mapping in which `timestamp` is the same whenever a message is read', spark_cdc._show(timestamp),
            'Name the column that has Kafka\'s, or write \'timestamp\': \'cast(null as timestamp)\' where there is none.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_format(macro, format, dialect) -%}
    {%- do spark_cdc._require_text(
        macro, 'format', format, 'Formats of this package: ' ~ spark_cdc.formats().keys() | join(', ') ~ '.'
    ) -%}
    {%- set formats = spark_cdc.formats() -%}
    {%- do spark_cdc._require_one_of(macro, 'format', format, formats.keys() | list) -%}
    {%- if dialect is not none -%}
        {%- do spark_cdc._require_one_of(macro, 'dialect', dialect, formats[format]) -%}
    {%- endif -%}
{%- endmacro -%}
