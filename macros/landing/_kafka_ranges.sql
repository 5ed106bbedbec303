{#- Which offsets a run of `cdc_landing` reads: from those that its table has to the ends of the logs, which are asked for once. -#}

{#-
    What the table has, as a mapping:

    commit  the table's latest commit
    topics  topic -> id (Kafka's own, which a recreated topic does not keep) and since (the run from which its rows count)
    next    'topic:partition' -> the offset after the last one that was read

    A run notes it in the property `spark_cdc.landed`, together with its commit. If the table has another commit, as after a run
    that was killed, `next` is read from the rows: so nothing outside the table, and nothing but its rows, decides what lands.
-#}
{%- macro _landed(relation, file_format, is_kafka) -%}
    {%- set state = spark_cdc._state_of_table(relation, file_format) -%}
    {%- set topics, next, any_bytes = {}, {}, ''.encode('utf-8') -%}
    {%- for word in (state.properties.get('spark_cdc.landed') or '').split(' ') if word -%}
        {%- set kind, topic, one, other = word.split(':') -%}
        {%- set topic = any_bytes.fromhex(topic).decode('utf-8') -%}
        {%- if kind == 'topic' -%}
            {%- do topics.update({topic: {
                'id': any_bytes.fromhex(one).decode('utf-8'), 'since': any_bytes.fromhex(other).decode('utf-8')
            }}) -%}
        {%- elif state.is_known -%}
            {%- do next.update({topic ~ ':' ~ one: other | int}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if is_kafka and not next -%}
        {%- set conditions = ['true'] -%}
        {%- for topic, noted in topics.items() if noted.since -%}
            {%- do conditions.append(
                '(topic <> ' ~ spark_cdc._literal(topic) ~ " or landed_at >= timestamp'" ~ noted.since ~ "')"
            ) -%}
        {%- endfor -%}
        {%- set query -%}
            {{ spark_cdc._step('finding what has landed') }}
            select topic, partition, max(offset) + 1
            from {{ relation }}
            where {{ conditions | join(' and ') }}
            group by topic, partition
        {%- endset -%}
        {%- for row in run_query(query).rows -%}
            {%- do next.update({row[0] ~ ':' ~ row[1] | int: row[2] | int}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return({'commit': state.commit, 'topics': topics, 'next': next}) -}}
{%- endmacro -%}

{#- The property's text. Names are hexadecimal digits: Spark hides a property that contains the word token or secret. -#}
{%- macro _landed_text(landed) -%}
    {%- set words = [] -%}
    {%- for topic, noted in landed.topics.items() -%}
        {%- do words.append(
            ['topic', topic.encode('utf-8').hex(), noted.id.encode('utf-8').hex(), noted.since.encode('utf-8').hex()] | join(':')
        ) -%}
    {%- endfor -%}
    {#- More would be a long property; the rows have them too. -#}
    {%- for place, next in (landed.next.items() if landed.next | length <= 2000 else []) -%}
        {%- set topic, partition = place.rsplit(':', 1) -%}
        {%- do words.append(['next', topic.encode('utf-8').hex(), partition, next] | join(':')) -%}
    {%- endfor -%}
    {{- return(words | join(' ')) -}}
{%- endmacro -%}

{#- `commit` is none if what is noted is not valid for a commit: then the rows count. -#}
{%- macro _note_landed(relation, landed, commit) -%}
    {%- call statement('note_landed') -%}
        alter table {{ relation }} set tblproperties (
            'spark_cdc.landed' = '{{ spark_cdc._landed_text(landed) }}',
            'spark_cdc.read_commit' = '{{ commit or 'unknown' }}'
        )
    {%- endcall -%}
{%- endmacro -%}

{#-
    Rows of topic, topic_id, partition, earliest, latest: the plugin answers this statement, because Spark's SQL cannot. `latest`
    is the end of what is committed.
-#}
{%- macro _kafka_offsets(options) -%}
    {%- if not spark_cdc._has_function('cdc_detect') -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.cdc_landing: Kafka is read where dbt itself runs Spark (method: session) and the Python half of this package is '
            ~ 'installed (pip install dbt-spark-cdc). Elsewhere let a sink or a streaming job fill the raw table: see '
            ~ 'docs/how-to/land-a-topic.md.'
        ) -%}
    {%- endif -%}
    {%- set question = {'kafka': {}} -%}
    {%- for name, value in spark_cdc._all_kafka_options(options).items() if name[:6] == 'kafka.' -%}
        {%- do question.kafka.update({name[6:]: value}) -%}
    {%- endfor -%}
    {%- if 'subscribe' in options -%}
        {%- do question.update({'subscribe': options.subscribe.split(',') | map('trim') | unique | list}) -%}
    {%- else -%}
        {%- do question.update({'subscribePattern': options.subscribePattern}) -%}
    {%- endif -%}
    {%- set offsets = [] -%}
    {%- for row in run_query(
        spark_cdc._step('asking Kafka for its offsets') ~ 'select * from spark_cdc_kafka_offsets('
        ~ spark_cdc._kafka_literal(tojson(question)) ~ ')'
    ).rows -%}
        {%- do offsets.append({
            'topic': row[0], 'topic_id': row[1], 'partition': row[2] | int, 'earliest': row[3] | int, 'latest': row[4] | int
        }) -%}
    {%- endfor -%}
    {{- return(offsets) -}}
{%- endmacro -%}

{#- Spark's parser would replace ${env:...} by the secret itself; Kafka's client is to do it. -#}
{%- macro _kafka_literal(text) -%}
    {{- return(spark_cdc._literal(text) | replace('$', '\\u0024')) -}}
{%- endmacro -%}

{#-
    With what the model leaves out. Kafka's own time-outs let a run wait for minutes, and its wait for a full answer costs half a
    second a partition. Messages of aborted transactions never land.
-#}
{%- macro _all_kafka_options(options) -%}
    {%- set all = {
        'kafka.isolation.level': 'read_committed', 'kafka.fetch.max.wait.ms': '20', 'kafka.default.api.timeout.ms': '20000',
        'kafka.request.timeout.ms': '15000', 'kafkaConsumer.pollTimeoutMs': '30000',
    } -%}
    {%- if '${' in options.values() | join(' ') -%}
        {%- do all.update({'kafka.config.providers': 'env,file,dir'}) -%}
        {%- for name, class in {'env': 'EnvVar', 'file': 'File', 'dir': 'Directory'}.items() -%}
            {%- do all.update({
                'kafka.config.providers.' ~ name ~ '.class': 'org.apache.kafka.common.config.provider.' ~ class ~ 'ConfigProvider'
            }) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do all.update(options) -%}
    {{- return(all) -}}
{%- endmacro -%}

{#-
    What this run reads, as a mapping:

    ranges     topic, partition, from, to (not included): only those with something to read
    landed     what the table has when they are appended: see `_landed`
    restarted  topics that are landed from their beginning once more
    lost       sentences: offsets that were deleted before they landed
-#}
{%- macro _kafka_ranges(offsets, landed, options, limit) -%}
    {%- set starting = spark_cdc._starting_offsets(options) -%}
    {%- set restart = spark_cdc._var('spark_cdc__land_recreated_topics') -%}
    {%- set ranges, restarted, lost = [], [], [] -%}
    {%- set after = {'topics': dict(landed.topics), 'next': dict(landed.next)} -%}
    {%- for log in offsets -%}
        {%- set noted = landed.topics.get(log.topic) -%}
        {%- set held = landed.next.get(log.topic ~ ':' ~ log.partition) -%}
        {%- set is_other = noted is not none and noted.id != '' and log.topic_id not in ['', noted.id] -%}
        {%- if (is_other or (held is not none and held > log.latest)) and log.topic not in restarted -%}
            {%- if log.topic not in restart -%}
                {%- do spark_cdc._raise_recreated(log, held, is_other, noted is not none) -%}
            {%- endif -%}
            {%- do restarted.append(log.topic) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for topic in restarted -%}
        {%- for place in landed.next if place.rsplit(':', 1)[0] == topic -%}
            {%- do after.next.pop(place) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for log in offsets -%}
        {%- set place = log.topic ~ ':' ~ log.partition -%}
        {%- set held = after.next.get(place) -%}
        {#- Where a topic begins that was created again, `startingOffsets` does not say: its offsets are others. -#}
        {%- set was_restarted = log.topic in restarted or (landed.topics.get(log.topic) or {}).get('since') -%}
        {%- set asked = -2 if was_restarted else starting.get(log.topic, {}).get(log.partition | string, -2) -%}
        {%- set start = held if held is not none else (log.earliest if asked == -2 else asked) -%}
        {%- if start > log.latest -%}
            {%- do spark_cdc._raise(
                'kafka_messages', 'options', 'a mapping whose startingOffsets are not after the end of the log', start
                ~ ' for topic ' ~ log.topic ~ ', partition ' ~ log.partition ~ ', which ends at ' ~ log.latest, 'Write a lower one.'
            ) -%}
        {%- elif start < log.earliest -%}
            {%- do lost.append(
                'topic ' ~ log.topic ~ ', partition ' ~ log.partition ~ ': offsets from ' ~ start ~ ' to ' ~ (log.earliest - 1)
            ) -%}
        {%- endif -%}
        {%- set start = [start, log.earliest] | max -%}
        {%- if start < log.latest -%}
            {%- do ranges.append({'topic': log.topic, 'partition': log.partition, 'from': start, 'to': log.latest}) -%}
        {%- endif -%}
        {%- do after.next.update({place: start}) -%}
        {%- do after.topics.update({log.topic: {
            'id': log.topic_id,
            'since': run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f UTC') if log.topic in restarted
                else landed.topics.get(log.topic, {}).get('since', ''),
        }}) -%}
    {%- endfor -%}
    {%- set ranges = spark_cdc._limited(ranges, limit) -%}
    {%- for range in ranges -%}
        {%- do after.next.update({range.topic ~ ':' ~ range.partition: range.to}) -%}
    {%- endfor -%}
    {{- return({'ranges': ranges, 'landed': after, 'restarted': restarted, 'lost': lost}) -}}
{%- endmacro -%}

{#- With its old id a topic can only end earlier if a broker lost its last messages. -#}
{%- macro _raise_recreated(log, held, is_other, has_id) -%}
    {%- do exceptions.raise_compiler_error(
        'spark_cdc.cdc_landing: topic ' ~ log.topic ~ (
            ' lost messages that were landed: ' if has_id and not is_other else ' was deleted and created again: '
        ) ~ (
            'Kafka has another id for it than the one that model ' ~ model.name ~ ' has landed' if is_other
            else 'partition ' ~ log.partition ~ ' ends at offset ' ~ log.latest ~ ', and model ' ~ model.name
                ~ ' has landed it up to offset ' ~ (held - 1)
        ) ~ '. To land the topic as it is now from its beginning, after the messages of the old one: dbt run --select ' ~ model.name
        ~ ' --vars \'{spark_cdc__land_recreated_topics: [' ~ log.topic ~ ']}\'. Then see docs/how-to/a-recreated-topic.md.'
    ) -%}
{%- endmacro -%}

{#- At most so many offsets, shared as Spark's streams share them: by what each partition has to read, and at least one each. -#}
{%- macro _limited(ranges, limit) -%}
    {%- set total = namespace(offsets=0) -%}
    {%- for range in ranges -%}
        {%- set total.offsets = total.offsets + range.to - range.from -%}
    {%- endfor -%}
    {%- if limit is none or total.offsets <= limit | int -%}
        {{- return(ranges) -}}
    {%- endif -%}
    {%- set limited = [] -%}
    {%- for range in ranges -%}
        {%- set share = [(range.to - range.from) * (limit | int) // total.offsets, 1] | max -%}
        {%- do limited.append(dict(range, to=range.from + share)) -%}
    {%- endfor -%}
    {{- return(limited) -}}
{%- endmacro -%}

{#- What this run reads; `landed` is what the table has when it is appended. `_files_to_land` returns the same for files. -#}
{%- macro _kafka_to_land(options, landed, has_limit=true) -%}
    {%- set offsets = [] if flags.EMPTY else spark_cdc._kafka_offsets(options) -%}
    {%- set limit = options.get('maxOffsetsPerTrigger') if has_limit else none -%}
    {%- set read = spark_cdc._kafka_ranges(offsets, landed, options, limit) -%}
    {%- set total = namespace(offsets=0) -%}
    {%- for range in read.ranges -%}
        {%- set total.offsets = total.offsets + range.to - range.from -%}
    {%- endfor -%}
    {{- return(dict(
        read, source='kafka', view=spark_cdc._kafka_view(options, read.ranges), parts=read.ranges, part='partition',
        size=total.offsets, unit='offset'
    )) -}}
{%- endmacro -%}

{#- The statement that makes the view of these offsets. -#}
{%- macro _kafka_view(options, ranges) -%}
    {%- set assign, start, end = {}, {}, {} -%}
    {%- for range in ranges -%}
        {%- do assign.setdefault(range.topic, []).append(range.partition) -%}
        {%- do start.setdefault(range.topic, {}).update({range.partition | string: range.from}) -%}
        {%- do end.setdefault(range.topic, {}).update({range.partition | string: range.to}) -%}
    {%- endfor -%}
    {%- set all = {} -%}
    {%- for name, value in spark_cdc._all_kafka_options(options).items()
        if name not in ['subscribe', 'subscribePattern', 'startingOffsets', 'maxOffsetsPerTrigger'] -%}
        {%- do all.update({name: value}) -%}
    {%- endfor -%}
    {%- do all.update({
        'assign': tojson(assign), 'startingOffsets': tojson(start), 'endingOffsets': tojson(end), 'includeHeaders': 'true',
        'failOnDataLoss': 'true',
    }) -%}
create or replace temporary view {{ spark_cdc._landing_view('kafka') }} using kafka options (
    {%- for name, value in all.items() %}
    {{ spark_cdc._quote(name) }} {{ spark_cdc._kafka_literal(value) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}
