{#- The raw table, with the messages as Kafka gave them: its columns, and the check that it is one. -#}

{#- Kafka's own names, as Spark's Kafka source and most sinks write them. `headers` is read only if the user names it. -#}
{%- macro _raw_columns(raw_columns) -%}
    {%- set names = {
        'topic': 'topic', 'partition': 'partition', 'offset': 'offset', 'timestamp': 'timestamp', 'key': 'key',
        'value': 'value', 'headers': none,
    } -%}
    {%- do names.update(raw_columns or {}) -%}
    {#- Numbers stored as texts would compare as texts. For numbers Spark removes the cast, and a lake still skips files. -#}
    {%- do names.update({
        'partition': 'try_cast(' ~ names.partition ~ ' as int)', 'offset': 'try_cast(' ~ names.offset ~ ' as bigint)',
    }) -%}
    {{- return(names) -}}
{%- endmacro -%}

{%- macro _require_raw_table(macro, relation, raw_columns) -%}
    {%- set names = ['topic', 'partition', 'offset', 'timestamp', 'key', 'value'] | reject('in', raw_columns or {}) | list -%}
    {%- do spark_cdc._refuse_read_messages(macro, relation) -%}
    {%- do spark_cdc._require_columns_in(
        macro, 'relation', relation, names, 'a table with the columns ' ~ names | join(', '),
        'Name those of another name: raw_columns={\'value\': \'payload\'}.'
    ) -%}
    {%- if spark_cdc._is_run() and not spark_cdc._is_incremental_run() -%}
        {%- do spark_cdc._require_raw_columns_in(macro, relation, raw_columns) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The envelopes of messages that were already read would be read again, and each would lack fields of the format. -#}
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
    {%- if spark_cdc._is_run() and not spark_cdc._is_incremental_run() -%}
        {%- set found = spark_cdc._column_names(relation) | map('lower') | list -%}
        {%- if not ['kind', 'key_columns', 'column_types', 'transaction_id'] | reject('in', found) | list -%}
            {%- do spark_cdc._raise(
                macro, 'relation', 'a raw table', spark_cdc._show(name) ~ ', which has the columns that spark_cdc.messages makes', next_step
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    Whether the relation has the columns that `raw_columns` names. Spark itself checks an expression: for such a small query its
    error is a few lines long and lists the possible columns.
-#}
{%- macro _require_raw_columns_in(macro, relation, raw_columns) -%}
    {%- if raw_columns -%}
        {%- set found = spark_cdc._column_names(relation) -%}
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
    {#- The timestamp distinguishes a message from another one with its offset, of a recreated topic. -#}
    {%- set timestamp = (raw_columns or {}).get('timestamp', '') -%}
    {%- if modules.re.search('(?i)\\b(?:(?:current|local)_?timestamp|current_date|curdate|now *\\()|_metadata', timestamp) -%}
        {%- do spark_cdc._raise(
            macro, 'raw_columns', 'a mapping in which `timestamp` is the same whenever a message is read', spark_cdc._show(timestamp),
            'Name the column that has Kafka\'s, or write \'timestamp\': \'cast(null as timestamp)\' where there is none.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _require_topics(macro, topics) -%}
    {%- set listed = [topics] if topics is string else topics -%}
    {%- if topics is not none and (not spark_cdc._is_list(listed) or not listed
        or listed | select('string') | map('trim') | select | list | length != listed | length) -%}
        {%- do spark_cdc._raise(
            macro, 'topics', 'a topic or a list of topics', spark_cdc._show(topics),
            'Write topics=[\'orders\', \'shop[.].*\'], or leave it out to read the whole raw table.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#-
    Condition on the raw table; none for all of it. A text with other characters than those of a topic's name is a regular
    expression that a whole name fits. A message without a topic belongs to no model with `topics`.
-#}
{%- macro _topics_condition(raw_columns, topics) -%}
    {%- if not topics -%}{{- return(none) -}}{%- endif -%}
    {%- set topic = spark_cdc._raw_columns(raw_columns).topic -%}
    {%- set names, conditions = [], [] -%}
    {%- for name in ([topics] if topics is string else topics) -%}
        {%- if modules.re.fullmatch('[a-zA-Z0-9._-]+', name) -%}
            {%- do names.append(name) -%}
        {%- else -%}
            {%- do conditions.append(topic ~ ' rlike ' ~ spark_cdc._literal('^(?:' ~ name ~ ')\\z')) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if names -%}
        {%- do conditions.append(topic ~ ' in (' ~ spark_cdc._literals(names) ~ ')') -%}
    {%- endif -%}
    {{- return(conditions | join(' or ')) -}}
{%- endmacro -%}
