"""How each format writes the rows of the benchmark, and what somebody who knows the messages writes to read them."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = {
    "id": "bigint",
    "code": "string",
    "amount": "decimal(20,4)",
    "created_at": "timestamp_ntz",
    "note": "string",
    "state": "int",
    "score": "double",
    "kind": "string",
    "email": "string",
    "qty": "int",
}
# The columns that an update changes, and their old values.
CHANGED = {"amount": "'1.5000'", "state": "1"}
LOCAL = "date_format(timestamp_seconds(1700000000 + id), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
VALUES = {
    "id": "id",
    "code": "format_string('C%08d', id)",
    "amount": "cast(cast(id * 7.0131 + {version} as decimal(20,4)) as string)",
    "created_at": "{time}",
    "note": "concat('order ', id, ' café 数据 line \"quoted\" \\\\ ', repeat('x', cast(id % 40 as int)))",
    "state": "{version}",
    "score": "id % 1000 / 8",
    "kind": "element_at(array('new', 'paid', 'sent', 'void'), cast(id % 4 + 1 as int))",
    "email": "if(id % 3 = 0, null, concat('u', id, '@example.org'))",
    "qty": "if(id % 5 = 0, null, id % 500)",
}
NUMBERS = ("id", "state", "score", "qty")
TEXTS = "struct<" + ", ".join(f"{column}: string" for column in COLUMNS) + ">"


@dataclass(frozen=True)
class Envelope:
    """One line of the benchmark.

    message  a struct in SQL over `id`, `op` (0 insert, 1 update, 2 delete, 3 the second message of an update) and
             `texts`, the new row as texts
    by_hand  a query over `raw`: the columns, _cdc_op, _cdc_committed_at, _cdc_before and where the message stood
    halves   whether an update is two messages
    created_at  how the model declares this column
    """

    format: str
    message: str
    by_hand: str
    halves: bool = False
    created_at: str = "timestamp_ntz"


def row(version: int, as_text: bool, time: str = LOCAL) -> str:
    """A row as a struct: version 1 is the old one, 2 the new one."""
    values = {name: value.format(version=version, time=time) for name, value in VALUES.items()}
    if as_text:
        values |= {name: f"cast({values[name]} as string)" for name in NUMBERS}
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in values.items()) + ")"


def changed(as_text: bool) -> str:
    texts = {name: f"cast({value} as string)" if as_text else value for name, value in CHANGED.items()}
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in texts.items()) + ")"


def one_of(*texts: str) -> str:
    return "element_at(array(" + ", ".join(f"'{text}'" for text in texts) + "), op + 1)"


def parsed(schema: str, where: str) -> str:
    # explode of one element: Spark would otherwise parse the message once for each field that is read
    return (
        f"(select topic, partition, offset, m from (select topic, partition, offset, explode(array(from_json(value, '{schema}'))) "
        f"as m from raw) where {where})"
    )


def hand_written(
    images: str, op: str, committed: str, source: str, time: str = "try_cast({} as timestamp_ntz)"
) -> str:
    """What somebody who knows the messages writes: one try_cast a column."""

    def typed(image: str) -> list[str]:
        own = {"created_at": time.format(f"{image}.created_at")}
        return [own.get(name, f"try_cast({image}.{name} as {kind})") for name, kind in COLUMNS.items()]

    columns = ", ".join(f"{value} as {name}" for name, value in zip(COLUMNS, typed("image"), strict=True))
    before = ", ".join(f"'{name}', {value}" for name, value in zip(COLUMNS, typed("before"), strict=True))
    return f"""
        select {columns}, op as _cdc_op, committed_at as _cdc_committed_at,
            case when before is not null then named_struct({before}) end as _cdc_before,
            topic as _cdc_topic, partition as _cdc_partition, offset as _cdc_offset
        from (select topic, partition, offset, {op} as op, {committed} as committed_at, {images} from {source})
    """


def overlaid(old: str, data: str) -> str:
    fields = ", ".join(f"'{name}', coalesce({old}.{name}, {data}.{name})" for name in COLUMNS)
    return f"if({old} is null, null, named_struct({fields}))"


def op_of(field: str, insert: str, update: str, delete: str) -> str:
    return f"case {field} when '{insert}' then 'insert' when '{update}' then 'update' when '{delete}' then 'delete' end"


BEFORE, AFTER = f"if(op = 0, null, {row(1, False)})", f"if(op = 2, null, {row(2, False)})"
TYPES = "named_struct(" + ", ".join(f"'{name}', 'varchar(64)'" for name in COLUMNS) + ")"
CODES = "named_struct(" + ", ".join(f"'{name}', 12" for name in COLUMNS) + ")"
MICROSECONDS = "timestampadd(MICROSECOND, try_cast({} as bigint), timestamp_ntz'1970-01-01 00:00:00')"
MILLISECONDS = "timestampadd(MICROSECOND, try_cast({} as bigint) * 1000, timestamp_ntz'1970-01-01 00:00:00')"


def rows_of_canal(field: str, before: str, schema: str, where: str) -> str:
    """The rows of a message whose data and old rows are two lists."""
    lists = f"named_struct('data', m.data, 'old', coalesce({before}, array()), 'm', m) as m"
    return (
        f"(select topic, partition, offset, m.m as m, inline(arrays_zip(m.data, m.old)) from "
        f"(select topic, partition, offset, {lists} from {parsed(schema, where)}))"
    )


def dataworks(before: str, after: str, *ops: str) -> str:
    types = ", ".join(f"named_struct('name', '{name}', 'type', 'STRING')" for name in COLUMNS)
    return f"""named_struct(
        'schema', named_struct('dataColumn', array({types}), 'primaryKey', array('id'),
            'source', named_struct('dbType', 'MySQL', 'dbName', 'shop', 'tableName', 'orders')),
        'payload', named_struct(
            'before', if({before}, named_struct('dataColumn', {row(1, False, "1700000000000 + id")}), null),
            'after', if({after}, named_struct('dataColumn', {row(2, False, "1700000000000 + id")}), null),
            'sequenceId', cast(1620457642589000000 + id as string),
            'timestamp', named_struct('eventTime', 1620457896000 + id, 'systemTime', 1620457896977 + id),
            'op', {one_of(*ops)}, 'ddl', cast(null as string)),
        'version', '0.0.1')"""


DATAWORKS_SCHEMA = (
    f"payload struct<before: struct<dataColumn: {TEXTS}>, after: struct<dataColumn: {TEXTS}>, op: string, "
    "sequenceId: string, `timestamp`: struct<eventTime: bigint>>, "
    "`schema` struct<source: struct<dbName: string, tableName: string>>"
)
DATAWORKS_ROWS = parsed(DATAWORKS_SCHEMA, "m.`schema`.source.tableName = 'orders'")

ENVELOPES = {
    "canal": Envelope(
        "canal",
        f"""named_struct(
            'data', array({row(2, True)}), 'database', 'shop', 'es', 1700000000000 + id, 'id', id div 30,
            'isDdl', false, 'mysqlType', {TYPES}, 'old', if(op = 1, array({changed(True)}), null),
            'pkNames', array('id'), 'sql', '', 'sqlType', {CODES}, 'table', 'orders', 'ts', 1700000000100 + id,
            'type', {one_of("INSERT", "UPDATE", "DELETE")})""",
        hand_written(
            f"data as image, case m.type when 'DELETE' then data when 'UPDATE' then {overlaid('old', 'data')} end as before",
            op_of("m.type", "INSERT", "UPDATE", "DELETE"),
            "timestamp_millis(m.es)",
            rows_of_canal(
                "data",
                "m.old",
                f"database string, `table` string, type string, es bigint, data array<{TEXTS}>, old array<{TEXTS}>",
                "m.`table` = 'orders'",
            ),
        ),
    ),
    "debezium": Envelope(
        "debezium",
        f"""named_struct(
            'before', if(op = 0, null, {row(1, False, "1700000000000000 + id")}),
            'after', if(op = 2, null, {row(2, False, "1700000000000000 + id")}),
            'source', named_struct('version', '3.5.0.Final', 'connector', 'mysql', 'name', 's', 'ts_ms', 1700000000000 + id,
                'snapshot', 'false', 'db', 'shop', 'sequence', cast(null as string), 'table', 'orders', 'server_id', 1,
                'gtid', cast(null as string), 'file', 'binlog.000003', 'pos', id * 100, 'row', 0),
            'transaction', cast(null as string), 'op', {one_of("c", "u", "d")}, 'ts_ms', 1700000000100 + id)""",
        hand_written(
            "if(m.op = 'd', m.before, m.after) as image, m.before as before",
            op_of("m.op", "c", "u", "d"),
            "timestamp_millis(m.source.ts_ms)",
            parsed(
                f"op string, before {TEXTS}, after {TEXTS}, "
                "source struct<ts_ms: bigint, db: string, `table`: string, file: string, pos: bigint, `row`: bigint>",
                "m.source.`table` = 'orders'",
            ),
            MICROSECONDS,
        ),
        created_at="timestamp_ntz from microseconds",
    ),
    "dataworks": Envelope(
        "dataworks",
        dataworks("op <> 0", "op <> 2", "INSERT", "UPDATE_AFTER", "DELETE"),
        hand_written(
            "if(m.payload.op = 'DELETE', m.payload.before.dataColumn, m.payload.after.dataColumn) as image, "
            "m.payload.before.dataColumn as before",
            op_of("m.payload.op", "INSERT", "UPDATE_AFTER", "DELETE"),
            "timestamp_millis(m.payload.`timestamp`.eventTime)",
            DATAWORKS_ROWS,
            MILLISECONDS,
        ),
    ),
    "dataworks, two messages": Envelope(
        "dataworks",
        dataworks("op in (1, 2)", "op in (0, 3)", "INSERT", "UPDATE_BEFOR", "DELETE", "UPDATE_AFTER"),
        hand_written(
            "coalesce(after, before) as image, before",
            "case when before is null then 'insert' when after is null then 'delete' else 'update' end",
            "committed_at",
            "(select topic, partition, max(offset) as offset, first(m.payload.before.dataColumn, true) as before, "
            "first(m.payload.after.dataColumn, true) as after, "
            "max(timestamp_millis(m.payload.`timestamp`.eventTime)) as committed_at "
            f"from {DATAWORKS_ROWS} group by topic, partition, m.payload.sequenceId)",
            MILLISECONDS,
        ),
        halves=True,
    ),
    "oms": Envelope(
        "oms",
        f"""named_struct(
            'prevStruct', {BEFORE}, 'postStruct', {AFTER},
            'allMetaData', named_struct('checkpoint', '1700000000', 'record_primary_key', 'id', 'record_primary_value',
                cast(id as string), 'source_identity', 's', 'dbType', 'OB_MYSQL', 'storeDataSequence', 160000000000000000 + id,
                'table_name', 'orders', 'db', 'crm.shop', 'timestamp', cast(1700000000 + id as string), 'uniqueId', 'u'),
            'recordType', {one_of("INSERT", "UPDATE", "DELETE")})""",
        hand_written(
            "if(m.recordType = 'DELETE', m.prevStruct, m.postStruct) as image, m.prevStruct as before",
            op_of("m.recordType", "INSERT", "UPDATE", "DELETE"),
            "timestamp_seconds(cast(m.allMetaData.`timestamp` as bigint))",
            parsed(
                f"prevStruct {TEXTS}, postStruct {TEXTS}, recordType string, "
                "allMetaData struct<storeDataSequence: bigint, table_name: string, db: string, `timestamp`: string>",
                "m.allMetaData.table_name = 'orders'",
            ),
        ),
    ),
    "shareplex": Envelope(
        "shareplex",
        f"""named_struct(
            'data', if(op = 2, {row(1, False)}, {row(2, False)}), 'key', if(op = 1, {row(1, False)}, null),
            'meta', named_struct('time', '2023-11-14T22:13:20', 'op', {one_of("ins", "upd", "del")}, 'scn',
                cast(160000000000 + id as string), 'rowid', 'r', 'trans', 't', 'seq', 1, 'size', 1, 'table', 'shop.orders',
                'idx', '1/1', 'posttime', '2023-11-14T22:13:20'))""",
        hand_written(
            "m.data as image, if(m.meta.op = 'del', m.data, m.key) as before",
            op_of("m.meta.op", "ins", "upd", "del"),
            "cast(null as timestamp)",
            parsed(
                f"data {TEXTS}, key {TEXTS}, meta struct<op: string, scn: string, `table`: string>",
                "m.meta.`table` = 'shop.orders'",
            ),
        ),
    ),
    "cloudcanal": Envelope(
        "cloudcanal",
        f"""named_struct(
            'action', {one_of("INSERT", "UPDATE", "DELETE")}, 'before', if(op = 1, array({row(1, True)}), array()), 'bid', 0,
            'data', array({row(2, True)}), 'db', 'shop', 'dbValType', {TYPES}, 'isDdl', false, 'entryType', 'ROWDATA',
            'execTs', 1700000000000 + id, 'jdbcType', {CODES}, 'pks', array('id'), 'schema', 'shop',
            'sendTs', 1700000000100 + id, 'sql', '', 'table', 'orders')""",
        hand_written(
            "data as image, if(m.action = 'DELETE', data, old) as before",
            op_of("m.action", "INSERT", "UPDATE", "DELETE"),
            "timestamp_millis(m.execTs)",
            rows_of_canal(
                "data",
                "m.before",
                f"action string, db string, `table` string, execTs bigint, data array<{TEXTS}>, before array<{TEXTS}>",
                "m.`table` = 'orders'",
            ),
        ),
    ),
    "drs": Envelope(
        "drs",
        f"""named_struct(
            'mysqlType', {TYPES}, 'id', id, 'es', 1700000000000 + id, 'ts', 1700000000100 + id, 'database', 'shop',
            'table', 'orders', 'type', {one_of("INSERT", "UPDATE", "DELETE")}, 'isDdl', false, 'sql', '', 'sqlType', {CODES},
            'data', if(op = 2, null, array({row(2, True)})), 'old', if(op = 0, null, array({row(1, True)})),
            'pkNames', array('id'))""",
        hand_written(
            "coalesce(data, old) as image, old as before",
            op_of("m.type", "INSERT", "UPDATE", "DELETE"),
            "timestamp_millis(m.es)",
            rows_of_canal(
                "data",
                "m.old",
                f"id bigint, database string, `table` string, type string, es bigint, data array<{TEXTS}>, old array<{TEXTS}>",
                "m.`table` = 'orders'",
            ).replace("'data', m.data", "'data', coalesce(m.data, array())"),
        ),
    ),
    "kafka_river_canal": Envelope(
        "kafka_river_canal",
        "named_struct('binlog', concat(id * 100, '@mysql-bin.000070'), 'time', 1700000000000 + id, "
        "'canalTime', 1700000000100 + id, 'db', 'shop', 'table', 'orders', "
        f"'event', {one_of('i', 'u', 'd')}, 'columns', array("
        + ", ".join(
            f"named_struct('n', '{name}', 't', 'varchar(64)', 'v', texts.{name}, 'null', texts.{name} is null, 'updated', "
            f"if(op = 1, {str(name in CHANGED).lower()}, null), 'origin_val', "
            f"if(op = 1, cast({CHANGED.get(name, 'null')} as string), null))"
            for name in COLUMNS
        )
        + "), 'keys', array('id'))",
        hand_written(
            "map_from_entries(transform(m.columns, c -> struct(c.n, c.v))) as image, case m.event when 'i' then null else "
            "map_from_entries(transform(m.columns, c -> struct(c.n, if(c.updated, c.origin_val, c.v)))) end as before",
            op_of("m.event", "i", "u", "d"),
            "timestamp_millis(m.time)",
            parsed(
                "binlog string, time bigint, db string, `table` string, event string, "
                "columns array<struct<n: string, v: string, updated: boolean, origin_val: string>>",
                "m.`table` = 'orders'",
            ),
        ),
    ),
    "maxwell": Envelope(
        "maxwell",
        f"""named_struct(
            'database', 'shop', 'table', 'orders', 'type', {one_of("insert", "update", "delete")}, 'ts', 1700000000 + id,
            'xid', id, 'commit', true, 'data', {row(2, False)}, 'old', if(op = 1, {changed(False)}, null))""",
        hand_written(
            f"m.data as image, case m.type when 'delete' then m.data when 'update' then {overlaid('m.old', 'm.data')} end as before",
            op_of("m.type", "insert", "update", "delete"),
            "timestamp_seconds(m.ts)",
            parsed(
                f"database string, `table` string, type string, ts bigint, data {TEXTS}, old {TEXTS}",
                "m.`table` = 'orders'",
            ),
        ),
    ),
    "goldengate": Envelope(
        "goldengate",
        f"""named_struct(
            'table', 'shop.orders', 'op_type', {one_of("I", "U", "D")}, 'op_ts', '2023-11-14 22:13:20.000000',
            'current_ts', '2023-11-14T22:13:21.000000', 'pos', lpad(id, 20, '0'), 'before', {BEFORE}, 'after', {AFTER})""",
        hand_written(
            "if(m.op_type = 'D', m.before, m.after) as image, m.before as before",
            op_of("m.op_type", "I", "U", "D"),
            "cast(null as timestamp)",
            parsed(
                f"`table` string, op_type string, pos string, before {TEXTS}, after {TEXTS}",
                "m.`table` = 'shop.orders'",
            ),
        ),
    ),
    "dms": Envelope(
        "dms",
        f"""named_struct(
            'data', if(op = 2, {row(1, False)}, {row(2, False)}), 'before-image', if(op = 1, {row(1, False)}, null),
            'metadata', named_struct('timestamp', '2023-11-14T22:13:21.000000Z', 'record-type', 'data', 'operation',
                {one_of("insert", "update", "delete")}, 'schema-name', 'shop', 'table-name', 'orders',
                'transaction-id', id, 'commit-timestamp', '2023-11-14T22:13:20.000000Z'))""",
        hand_written(
            "m.data as image, if(m.metadata.operation = 'delete', m.data, m.`before-image`) as before",
            op_of("m.metadata.operation", "insert", "update", "delete"),
            "try_cast(m.metadata.`commit-timestamp` as timestamp)",
            parsed(
                f"data {TEXTS}, `before-image` {TEXTS}, metadata struct<operation: string, `table-name`: string, "
                "`commit-timestamp`: string>",
                "m.metadata.`table-name` = 'orders'",
            ),
        ),
    ),
}
