{#-
    The position of a change in the log of its database, by connector.
    Facts: debezium.io/documentation, the connectors' "source" fields; docs/formats/debezium.md.

    The order is log positions as numbers. At the same position 0 means snapshot and 1 means change.

    A position may repeat: with binlog_transaction_compression all rows of a transaction have the `pos` of the event around
    them, and `row` begins at 0 in each statement. So `row` is no part of the order: rows of one key are in one partition, in
    their order. The parts that other connectors add after the commit count up in a transaction, or are equal and leave the
    order to the offset.
-#}
{%- macro _debezium_sequence(source, op) -%}
    {%- set is_change = "case when " ~ op ~ " = 'r' then 0 else 1 end" -%}
    {%- set mysql = ["regexp_extract(" ~ source ~ ".file, '([0-9]+)$', 1)", source ~ '.pos', is_change] -%}
    {%- set lsns = "from_json(" ~ source ~ ".sequence, 'array<string>')" -%}
    {%- set postgresql = [
        'coalesce(get(' ~ lsns ~ ', 0), ' ~ source ~ '.lsn)', is_change, 'coalesce(get(' ~ lsns ~ ', 1), ' ~ source ~ '.lsn)',
    ] -%}
    {%- set oracle = ['coalesce(' ~ source ~ '.commit_scn, ' ~ source ~ '.scn)', is_change, source ~ '.scn'] -%}
    {%- set lsn_words -%}
        concat(
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ ".commit_lsn, '0')") }},
            array(cast({{ is_change }} as decimal(20,0))),
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ '.change_lsn, ' ~ source ~ ".commit_lsn, '0')") }},
            array(coalesce(try_cast({{ source }}.event_serial_no as decimal(20,0)), 0))
        )
    {%- endset -%}
    {%- set informix = [source ~ '.commit_lsn', is_change, source ~ '.change_lsn'] -%}
    {{- return(spark_cdc._debezium_by_connector(source, {
        'binlog': spark_cdc._decimals(mysql),
        'lsn_pair': spark_cdc._decimals(postgresql),
        'scn': spark_cdc._decimals(oracle),
        'lsn_words': lsn_words,
        'lsn_numbers': spark_cdc._decimals(informix),
        'commit_ts': spark_cdc._decimals([source ~ '.commit_ts']),
        'offset': 'cast(array() as array<decimal(20,0)>)',
    })) -}}
{%- endmacro -%}

{#- What the parts of `_debezium_sequence` are. An LSN of words has as many parts as words. -#}
{%- macro _debezium_sequence_names(source) -%}
    {%- set is_change = 'snapshot (0) or change (1)' -%}
    {%- set commit_lsn = 'coalesce(' ~ source ~ ".commit_lsn, '0')" -%}
    {%- set change_lsn = 'coalesce(' ~ source ~ '.change_lsn, ' ~ source ~ ".commit_lsn, '0')" -%}
    {%- set words = [] -%}
    {%- for name, lsn in {'source.commit_lsn': commit_lsn, 'source.change_lsn': change_lsn}.items() -%}
        {%- do words.append('transform(split(' ~ lsn ~ ", ':'), (word, place) -> concat('" ~ name ~ " (word ', place + 1, ')'))") -%}
    {%- endfor -%}
    {{- return(spark_cdc._debezium_by_connector(source, {
        'binlog': spark_cdc._sequence_names(['source.file (its number)', 'source.pos', is_change]),
        'lsn_pair': spark_cdc._sequence_names(['source.sequence[0] or source.lsn (of the commit before)', is_change,
            'source.sequence[1] or source.lsn']),
        'scn': spark_cdc._sequence_names(['source.commit_scn or source.scn', is_change, 'source.scn']),
        'lsn_words': 'concat(' ~ words[0] ~ ', ' ~ spark_cdc._sequence_names([is_change]) ~ ', ' ~ words[1] ~ ', '
            ~ spark_cdc._sequence_names(['source.event_serial_no']) ~ ')',
        'lsn_numbers': spark_cdc._sequence_names(['source.commit_lsn', is_change, 'source.change_lsn']),
        'commit_ts': spark_cdc._sequence_names(['source.commit_ts']),
        'offset': 'cast(array() as array<string>)',
    })) -}}
{%- endmacro -%}

{#- `orders` maps each kind of order to an expression. -#}
{%- macro _debezium_by_connector(source, orders) -%}
    {%- set branches = [] -%}
    {%- for order, expression in orders.items() if order != 'offset' -%}
        {%- set is_ordered = spark_cdc._debezium_is_ordered_by(source, order) -%}
        {%- do branches.append('when ' ~ is_ordered ~ '\n        then ' ~ expression | trim | indent(8)) -%}
    {%- endfor -%}
    {{- return('case\n    ' ~ branches | join('\n    ') ~ '\n    else ' ~ orders.offset ~ '\nend') -}}
{%- endmacro -%}

{#-
    If the message names no connector, as with Flink's writers, its fields decide. A connector that the project allows is
    ordered by the offset, even if it has such fields: nobody knows what they mean.
-#}
{%- macro _debezium_is_ordered_by(source, order) -%}
    {%- set field = {'binlog': 'file', 'lsn_pair': 'sequence', 'lsn_words': 'commit_lsn'}.get(order) -%}
    {%- set names = [] -%}
    {%- for connector, of_connector in spark_cdc._debezium_connectors().items() if of_connector == order -%}
        {%- do names.append(connector) -%}
    {%- endfor -%}
    {%- set by_name = source ~ '.connector in (' ~ spark_cdc._literals(names) ~ ')' -%}
    {{- return(
        '(' ~ by_name ~ ' or ' ~ source ~ '.connector is null and ' ~ source ~ '.' ~ field ~ ' is not null)' if field else by_name
    ) -}}
{%- endmacro -%}

{#-
    The error of a change without a position: a part of it is missing or not a number. A row of a snapshot may lack its
    position: it then comes before every change. A row of an incremental snapshot may not: it is read while changes arrive, and
    is newer than those before it. An empty `file` with `pos` 0, as Flink writes it, means that there is no position: the offset
    alone orders such changes. Debezium before 1.5 has no `sequence`: the LSN orders the changes of one row, because the second
    waits for the commit of the first.
-#}
{%- macro _debezium_no_place(source, op) -%}
    {%- set is_snapshot = '(' ~ op ~ " <=> 'r' and not " ~ source ~ ".snapshot <=> 'incremental')" -%}
    {%- set missing = ': missing in a row of an incremental snapshot; the dialect by_offset reads it' -%}
    {%- set number = "rlike r'^[0-9]{1,20}\\z'" -%}
    {%- set words = "rlike r'^[0-9A-Fa-f]{1,16}(?::[0-9A-Fa-f]{1,16})*+\\z'" -%}
    {#- SeaTunnel's, in the rows of its snapshot. It is less than any LSN, so it need not be left out of the order. -#}
    {%- set no_lsn = '-9223372036854775808' -%}
    {%- set lsns = 'if(' ~ is_snapshot ~ ', replace(' ~ source ~ '.sequence, ' ~ spark_cdc._literal('"' ~ no_lsn ~ '"') ~ ", 'null'), "
        ~ source ~ '.sequence)' -%}
    {%- set lsn = "(?:null|\"?[0-9]{1,20}\"?)" -%}
    {%- set rules = {
        'binlog': {
            'source.file' ~ missing: spark_cdc._debezium_incremental_without(source, op, source ~ '.file'),
            'source.file: missing': source ~ '.file is null and not ' ~ is_snapshot,
            'source.file: no number at its end': source ~ ".file <> '' and " ~ source ~ ".file not rlike r'(?<![0-9])[0-9]{1,20}\\z'",
            'source.pos: missing or less than 0': source ~ ".file <> '' and coalesce(" ~ source ~ '.pos, -1) < 0',
            'source.pos: not 0, although source.file is empty': source ~ ".file = '' and " ~ source ~ '.pos <> 0',
        },
        'lsn_pair': {
            'source.lsn' ~ missing: spark_cdc._debezium_incremental_without(
                source, op, 'coalesce(' ~ source ~ '.lsn, ' ~ source ~ '.sequence)'
            ),
            'source.sequence: not a list of two LSNs': lsns ~ " not rlike r'^\\[" ~ lsn ~ ', ?' ~ lsn ~ "\\]\\z'",
            'source.lsn: missing or not a whole number': 'coalesce(contains(' ~ source ~ ".sequence, 'null'), true) and not coalesce("
                ~ 'nullif(' ~ source ~ ".lsn, '" ~ no_lsn ~ "') " ~ number ~ ', ' ~ is_snapshot ~ ')',
        },
        'scn': {
            'source.scn' ~ missing: spark_cdc._debezium_incremental_without(source, op, source ~ '.scn'),
            'source.scn: missing or not a whole number': 'not coalesce(' ~ source ~ '.scn ' ~ number ~ ', ' ~ is_snapshot ~ ')',
            'source.commit_scn: not a whole number': 'not coalesce(nullif(' ~ source ~ ".commit_scn, '') " ~ number ~ ', '
                ~ source ~ '.commit_scn is null or ' ~ is_snapshot ~ ')',
        },
        'lsn_words': {
            'source.commit_lsn' ~ missing: spark_cdc._debezium_incremental_without(source, op, 'nullif(' ~ source ~ ".commit_lsn, 'NULL')"),
            'source.commit_lsn: missing or not an LSN': 'not coalesce(nullif(' ~ source ~ ".commit_lsn, 'NULL') " ~ words ~ ', '
                ~ is_snapshot ~ ')',
            'source.change_lsn: not an LSN': 'not coalesce(nullif(' ~ source ~ ".change_lsn, 'NULL') " ~ words ~ ', ' ~ source
                ~ '.change_lsn is null or ' ~ is_snapshot ~ ')',
            'source.event_serial_no: not a whole number': source ~ '.event_serial_no not ' ~ number,
        },
        'lsn_numbers': {
            'source.commit_lsn' ~ missing: spark_cdc._debezium_incremental_without(source, op, source ~ '.commit_lsn'),
            'source.commit_lsn: missing or not a whole number':
                'not coalesce(' ~ source ~ '.commit_lsn ' ~ number ~ ', false) and not ' ~ is_snapshot,
            'source.change_lsn: missing or not a whole number':
                'not coalesce(' ~ source ~ '.change_lsn ' ~ number ~ ', false) and not ' ~ is_snapshot,
        },
        'commit_ts': {
            'source.commit_ts: missing or not a whole number': 'not coalesce(' ~ source ~ '.commit_ts ' ~ number ~ ', false)',
        },
    } -%}
    {%- set faults = {'offset': 'null'} -%}
    {%- for order, of_order in rules.items() -%}
        {%- do faults.update({order: spark_cdc._first_error({'missing_position': of_order})}) -%}
    {%- endfor -%}
    {{- return(spark_cdc._debezium_by_connector(source, faults)) -}}
{%- endmacro -%}

{#- True if a row of an incremental snapshot has no position. -#}
{%- macro _debezium_incremental_without(source, op, position) -%}
    {{- return('(' ~ op ~ " = 'r' and " ~ source ~ ".snapshot = 'incremental' and coalesce(" ~ position ~ ", '') = '')") -}}
{%- endmacro -%}

{#- SQL Server and Db2 write an LSN as hexadecimal words: 00000027:00000758:0005. -#}
{%- macro _debezium_lsn(text) -%}
    {{- return(
        "transform(split(" ~ text ~ ", ':'), word -> cast(conv(word, 16, 10) as decimal(20,0)))"
    ) -}}
{%- endmacro -%}
