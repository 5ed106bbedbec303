{#-
    The messages in files of JSON lines that a `cdc_landing` model does not have yet: each file once.

    path  a folder, a file or a pattern, on a disk or in an object store: 's3a://exports/shop/*.jsonl'

    A line is a captured message: {"topic": "shop", "partition": 0, "offset": 7, "timestamp": 1767225600000, "key": null,
    "value": "...", "headers": [["name", "text"]]}, with `value_base64` for a value that is no text. Topic, partition, offset and
    one of the values are required. Any other line is itself a value: its topic is the file's path, its offset the number of the
    line, from 0.

    Columns: those of `kafka_messages`, then file and file_modified_at.
-#}
{%- macro file_messages(path=none) -%}
    {%- do spark_cdc._require_arguments('file_messages', varargs, kwargs, ['path']) -%}
    {%- do spark_cdc._require_landing_model('file_messages') -%}
    {%- do spark_cdc._require_text(
        'file_messages', 'path', path, 'Write path=\'s3a://exports/shop/*.jsonl\', or a folder of this machine.'
    ) -%}
    {%- do spark_cdc._note_landing({'path': path}) -%}
    {{- return(adapter.dispatch('file_messages', 'spark_cdc')(path)) -}}
{%- endmacro -%}

{%- macro default__file_messages(path) -%}
    {%- do spark_cdc._only_spark('file_messages') -%}
{%- endmacro -%}

{%- macro spark__file_messages(path) -%}
{%- set of = {} -%}
{%- for name in ['topic', 'partition', 'offset', 'timestamp', 'key', 'value', 'value_base64', 'headers'] -%}
    {%- do of.update({name: 'schema_of_variant(try_variant_get(captured, \'$.' ~ name ~ '\', \'variant\'))'}) -%}
{%- endfor -%}
with lines as (

    select
        line,
        file,
        file_modified_at,
        row_number() over (partition by file order by place) - 1 as line_number,
        -- text that is not UTF-8, and a character that is none, would change on the way through JSON
        case
            when is_valid_utf8(line) and not ({{ spark_cdc._has_lone_surrogate('line') }}) then try_parse_json(line)
        end as captured
    -- cdc_landing makes this view of the files that a run reads
    from {{ spark_cdc._landing_view('files') }}

),

captured_messages as (

    select
        *,
        coalesce(
            {{ of.topic }} = 'STRING'
            and {{ of.partition }} = 'BIGINT'
            and {{ of.offset }} = 'BIGINT'
            and coalesce({{ of.timestamp }}, 'VOID') in ('BIGINT', 'VOID')
            and coalesce({{ of.key }}, 'VOID') in ('STRING', 'VOID')
            and coalesce({{ of.headers }}, 'VOID') in ('ARRAY<ARRAY<STRING>>', 'ARRAY<VOID>', 'VOID')
            and try_variant_get(captured, '$.partition', 'int') is not null
            and (
                ({{ of.value }} in ('STRING', 'VOID') and {{ of.value_base64 }} is null)
                or try_to_binary(try_variant_get(captured, '$.value_base64', 'string'), 'base64') is not null
            ),
            false
        ) as is_captured
    from lines

)

select
    if(is_captured, try_variant_get(captured, '$.topic', 'string'), file) as topic,
    if(is_captured, try_variant_get(captured, '$.partition', 'int'), 0) as partition,
    if(is_captured, try_variant_get(captured, '$.offset', 'bigint'), cast(line_number as bigint)) as offset,
    if(is_captured, timestamp_millis(try_variant_get(captured, '$.timestamp', 'bigint')), null) as timestamp,
    if(is_captured, cast(try_variant_get(captured, '$.key', 'string') as binary), null) as key,
    case
        when not is_captured then if(trim(line) = 'null', null, cast(line as binary))
        when {{ of.value_base64 }} is null then cast(try_variant_get(captured, '$.value', 'string') as binary)
        else try_to_binary(try_variant_get(captured, '$.value_base64', 'string'), 'base64')
    end as value,
    if(
        is_captured,
        transform(
            try_variant_get(captured, '$.headers', 'array<array<string>>'),
            header -> named_struct('key', get(header, 0), 'value', cast(get(header, 1) as binary))
        ),
        null
    ) as headers,
    {{ spark_cdc._loaded_at() }} as landed_at,
    file,
    file_modified_at
from captured_messages
{%- endmacro -%}

{#-
    What this run reads, as `_kafka_to_land` has it: the files that the table has no line of. A file that changed after it landed
    stops the run: nobody knows which of its lines are in the table.
-#}
{%- macro _files_to_land(path, relation, is_build) -%}
    {%- set found = 'select distinct _metadata.file_path as file, _metadata.file_modification_time as modified_at '
        ~ 'from binaryFile.' ~ spark_cdc._quote(path) -%}
    {%- set query -%}
        {{ spark_cdc._step('finding new files') }}
        select found.file, landed.file is not null
        from ({{ found }}) as found
        left join (
            {%- if is_build %}
            select '' as file, timestamp'1970-01-01 00:00:00' as modified_at where false
            {%- else %}
            select file, max(file_modified_at) as modified_at from {{ relation }} group by file
            {%- endif %}
        ) as landed on found.file = landed.file
        where landed.file is null or landed.modified_at <> found.modified_at
        order by found.file
    {%- endset -%}
    {%- set files, changed = [], [] -%}
    {%- for row in ([] if flags.EMPTY else run_query(query).rows) -%}
        {%- do (changed if row[1] else files).append(row[0]) -%}
    {%- endfor -%}
    {%- if changed -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_landing: a file changed after it landed: ' ~ changed[0]
            ~ (' and ' ~ (changed | length - 1) ~ ' more' if changed | length > 1 else '')
            ~ '. Write new lines to new files. To land a changed file once more, delete its rows first: delete from ' ~ relation
            ~ ' where file = ' ~ spark_cdc._literal(changed[0])
        ) -%}
    {%- endif -%}
    {%- set view -%}
create or replace temporary view {{ spark_cdc._landing_view('files') }} as
select
    value as line,
    _metadata.file_path as file,
    _metadata.file_modification_time as file_modified_at,
    monotonically_increasing_id() as place
from text.{{ spark_cdc._quote(path) }} with (lineSep = '\n')
where _metadata.file_path in ({{ spark_cdc._literals(files or ['']) }})
    {%- endset -%}
    {{- return({
        'source': 'files', 'view': view, 'parts': files, 'part': 'file', 'size': files | length, 'unit': 'file',
        'landed': {'topics': {}, 'next': {}}, 'restarted': [],
        'lost': [], 'found': found,
    }) -}}
{%- endmacro -%}
