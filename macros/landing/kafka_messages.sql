{#-
    The messages of Kafka topics that a `cdc_landing` model does not have yet.

    options  the options of Spark's Kafka source, as texts:
             kafka.bootstrap.servers, kafka.security.protocol, kafka.sasl.*, kafka.ssl.*, ...  settings of Kafka's consumer
             subscribe            topics, separated by commas; or
             subscribePattern     a regular expression (Java) that a topic's whole name fits
             startingOffsets      where a partition begins that has not landed yet: 'earliest', the default, or JSON as Spark
                                  has it: '{"shop": {"0": 1200, "1": -2}}', where -2 is the earliest
             maxOffsetsPerTrigger the most offsets of one run, shared among partitions by what each has to read
             minPartitions, maxRecordsPerPartition, kafkaConsumer.pollTimeoutMs  as Spark has them

    A password is a reference that Kafka's client resolves: '${env:KAFKA_PASSWORD}', '${file:/run/secrets/kafka.properties:password}'.

    One row is a message: topic, partition, offset, timestamp, key and value as binary, headers, landed_at (when the run began).
-#}
{%- macro kafka_messages(options=none) -%}
    {%- do spark_cdc._require_arguments('kafka_messages', varargs, kwargs, ['options']) -%}
    {%- do spark_cdc._require_landing_model('kafka_messages') -%}
    {%- do spark_cdc._require_kafka_options(options) -%}
    {%- do spark_cdc._note_landing({'kafka': options}) -%}
    {{- return(adapter.dispatch('kafka_messages', 'spark_cdc')(options)) -}}
{%- endmacro -%}

{%- macro default__kafka_messages(options) -%}
    {%- do spark_cdc._only_spark('kafka_messages') -%}
{%- endmacro -%}

{%- macro spark__kafka_messages(options) -%}
select
    topic,
    partition,
    offset,
    timestamp,
    key,
    value,
    headers,
    {{ spark_cdc._loaded_at() }} as landed_at
-- cdc_landing makes this view of the offsets that a run reads
from {{ spark_cdc._landing_view('kafka') }}
{%- endmacro -%}

{#- All threads of a session share temporary views: the name includes the model and the run. -#}
{%- macro _landing_view(source) -%}
    {{- return('_cdc_landing_' ~ source ~ '_' ~ local_md5((model.unique_id if model else '') ~ invocation_id)) -}}
{%- endmacro -%}

{#-
    What the model lands, noted in its `meta` for its materialization. It is no `spark_cdc` of `_note_kind`: its table is a raw
    table as any other.
-#}
{%- macro _note_landing(source) -%}
    {%- do config(meta={'spark_cdc.landing': source}) -%}
{%- endmacro -%}

{%- macro _require_landing_model(macro) -%}
    {%- if execute and config.get('materialized') != 'cdc_landing' -%}
        {%- do exceptions.raise_compiler_error(
            'spark_cdc.' ~ macro ~ ': the model must be materialized as cdc_landing; got ' ~ spark_cdc._show(config.get('materialized'))
            ~ '. Write {{ config(materialized=\'cdc_landing\') }} above it.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Options that are Spark's own; the plugin asks Kafka's client for its names. -#}
{%- macro _kafka_source_options() -%}
    {{- return([
        'subscribe', 'subscribePattern', 'startingOffsets', 'maxOffsetsPerTrigger', 'minPartitions', 'maxRecordsPerPartition',
        'kafkaConsumer.pollTimeoutMs', 'groupIdPrefix',
    ]) -}}
{%- endmacro -%}

{%- macro _require_kafka_options(options) -%}
    {%- if options is not mapping or options.values() | reject('string') | list -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping of texts', 'something else',
            'Write options={\'kafka.bootstrap.servers\': \'kafka:9092\', \'subscribe\': \'shop\'}; numbers are texts, too.'
        ) -%}
    {%- endif -%}
    {%- set ours = ['endingOffsets', 'includeHeaders', 'failOnDataLoss', 'kafka.isolation.level', 'kafka.group.id'] -%}
    {%- for name in options if name in ours -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'made of options that the model may set', spark_cdc._show(name),
            'Remove it: cdc_landing sets it itself, so that each committed message lands once.'
        ) -%}
    {%- endfor -%}
    {%- for name in options if name[:6] != 'kafka.' and name not in spark_cdc._kafka_source_options() -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'made of settings of Kafka\'s consumer, which begin with kafka., and of '
            ~ spark_cdc._kafka_source_options() | join(', '), spark_cdc._show(name), 'Correct the spelling.'
        ) -%}
    {%- endfor -%}
    {%- for name in ['kafka.bootstrap.servers'] if not options.get(name, '') | trim -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping with ' ~ name, 'a mapping without it',
            'Write \'kafka.bootstrap.servers\': \'kafka:9092\', or env_var(...) in place of the address.'
        ) -%}
    {%- endfor -%}
    {%- if ('subscribe' in options) == ('subscribePattern' in options) -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping with either subscribe or subscribePattern',
            'both' if 'subscribe' in options else 'neither', 'Write \'subscribe\': \'shop\'; several topics have commas between them.'
        ) -%}
    {%- endif -%}
    {%- for name in options.get('subscribe', 'x').split(',') if not modules.re.fullmatch('[a-zA-Z0-9._-]{1,249}', name | trim) -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping whose subscribe has names of topics', spark_cdc._show(options.subscribe),
            'A regular expression is subscribePattern.'
        ) -%}
    {%- endfor -%}
    {%- do spark_cdc._starting_offsets(options) -%}
    {%- set number = options.get('maxOffsetsPerTrigger', '1') -%}
    {%- if not modules.re.fullmatch('[1-9][0-9]{0,17}', number) -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping whose maxOffsetsPerTrigger is a whole number above 0', spark_cdc._show(number),
            'Leave it out to land all that there is.'
        ) -%}
    {%- endif -%}
    {%- do spark_cdc._refuse_written_secrets(options) -%}
{%- endmacro -%}

{#-
    A value that is written in a model, or comes from env_var() there, is in dbt's manifest and in the statements that dbt logs.
    So the error does not show it.
-#}
{%- macro _refuse_written_secrets(options) -%}
    {%- for name, value in options.items() -%}
        {%- set is_secret = modules.re.search('(?i)password|secret|keystore[.]key$|[.]key[.]pem|basic[.]auth|access[.]key', name) -%}
        {%- set is_reference = modules.re.fullmatch('[$][{](env|file|dir):[^{}]+[}]', value) -%}
        {%- set written = modules.re.sub('[$][{](env|file|dir):[^{}]+[}]', '', value) -%}
        {%- set has_secret = modules.re.search('(?i)(password|secret|token|api.?key)[^=;]{0,20}=\\s*["\']?[^"\'\\s;]', written) -%}
        {%- if (is_secret and not is_reference) or has_secret -%}
            {%- do exceptions.raise_compiler_error(
                'spark_cdc.kafka_messages: argument `options` must have a reference in place of the secret in `' ~ name
                ~ '`; got one that is written out. Write ${env:NAME} in its place, without env_var: Kafka\'s client reads the '
                ~ 'environment variable itself, and dbt never sees the value.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Topic -> partition, as a text -> offset; an empty mapping for the earliest. -#}
{%- macro _starting_offsets(options) -%}
    {%- set text = options.get('startingOffsets', 'earliest') -%}
    {%- if text == 'earliest' -%}
        {{- return({}) -}}
    {%- endif -%}
    {%- set offsets = fromjson(text, none) -%}
    {%- set wrong = [] -%}
    {%- for topic, partitions in (offsets.items() if offsets is mapping else []) -%}
        {%- if partitions is not mapping or partitions.values() | reject('integer') | list
            or partitions.values() | select('lt', 0) | reject('equalto', -2) | list -%}
            {%- do wrong.append(topic) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if offsets is not mapping or wrong -%}
        {%- do spark_cdc._raise(
            'kafka_messages', 'options', 'a mapping whose startingOffsets is earliest or JSON such as {"shop": {"0": 1200}}',
            spark_cdc._show(text),
            'A run that began at the latest offset would never land what comes before its first message.' if text == 'latest'
                else 'Offsets are whole numbers; -2 is the earliest.'
        ) -%}
    {%- endif -%}
    {{- return(offsets) -}}
{%- endmacro -%}
