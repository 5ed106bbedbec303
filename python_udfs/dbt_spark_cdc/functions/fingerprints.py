"""The fingerprints by which `cdc_detect` distinguishes formats: one or more rules for each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Rule(NamedTuple):
    """A fingerprint. Everything in it can also be checked with json_object_keys and get_json_object.

    A key is one of the message itself or, written `key.inner`, one of the object under that key; a key with
    a null counts. A field of `values` and `endings` may be nested deeper.
    """

    format: str
    # None if all dialects of the format write such a message.
    dialect: str | None
    confidence: float
    required: frozenset[str]
    # The only other keys that the message itself may have; None allows any.
    optional: frozenset[str] | None = None
    # The message has at least one of these keys.
    one_of: frozenset[str] = frozenset()
    # Texts that a field must be one of.
    values: Mapping[str, frozenset[str]] = {}
    # A text that a field must end with.
    endings: Mapping[str, str] = {}
    # Keys of the message itself that must hold an object.
    objects: frozenset[str] = frozenset()


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _inside(outer: str, keys: frozenset[str]) -> frozenset[str]:
    return frozenset(f"{outer}.{key}" for key in keys)


_NO_OTHER_KEY: frozenset[str] = frozenset()

# alibaba/canal CanalEntry.EventType.
CANAL_TYPES = _words(
    "INSERT UPDATE DELETE CREATE ALTER ERASE QUERY TRUNCATE RENAME CINDEX DINDEX GTID "
    "XACOMMIT XAROLLBACK MHEARTBEAT"
)
CANAL_KEYS = _words("data database es id isDdl mysqlType old pkNames sql sqlType table ts type")

# macros/formats/debezium/connectors.sql has the same list, and rejects messages with cells.
DEBEZIUM_CONNECTORS = _words("mysql mariadb postgresql sqlserver oracle db2 informix vitess spanner TiCDC")
DEBEZIUM_CONNECTORS_OF_CELLS = _words("cassandra scylla yugabytedb")
DEBEZIUM_SOURCE = _words("source.version source.connector source.name")
DEBEZIUM_ROW = _words("before after source op")
DEBEZIUM_OPS = _words("c u d r t")
DEBEZIUM_TRANSACTION = _words("status id event_count data_collections")
DEBEZIUM_SCHEMA_CHANGE = _words("source databaseName ddl tableChanges")
DEBEZIUM_WRAPPER = _words("schema payload")

COCKROACHDB_ROW = _words("after op source")
COCKROACHDB_SOURCE = _words("origin database_name table_name")
COCKROACHDB_OPS = _words("c u d")

MONGODB_ROW = _words("op source") | DEBEZIUM_SOURCE
MONGODB_OPS = _words("c u d r")
MONGODB_IMAGES = _words("before after updateDescription patch")
DRS_MONGODB = _words("op dbType db coll value where recordType clusterTime")

DATAWORKS_KEYS = _words("schema payload version schema.dataColumn schema.primaryKey schema.source payload.op")
DATAWORKS_OPS = CANAL_TYPES - {"UPDATE"} | _words(
    "UPDATE_BEFOR UPDATE_BEFORE UPDATE_AFTER TRANSACTION_BEGIN TRANSACTION_END"
)

# CloudCanal's Debezium envelope: the one connector name that its page shows.
CLOUDCANAL_CONNECTORS = _words("MySQL")
CLOUDCANAL_ROW = _words("op before after source ts_ms")
CLOUDCANAL_SCHEMA_CHANGE = _words("databaseName ddl source tableChanges ts_ms")

MAXWELL_TYPES = _words("insert update delete bootstrap-start bootstrap-insert bootstrap-complete")
MAXWELL_DDL = _words("table-create table-alter table-drop database-create database-alter database-drop")
# The fields that the producer adds if its configuration asks for them.
MAXWELL_OPTIONAL = _words(
    "old xid xoffset commit position gtid server_id thread_id schema_id primary_key primary_key_columns "
    "query push_timestamp"
)

OMS_KEYS = _words("prevStruct postStruct allMetaData recordType")
OMS_ROWS = _words("INSERT UPDATE DELETE ROW")
OMS_DATAWORKS_KEYS = _words("version schema schema.source schema.column payload payload.op payload.timestamp")
OMS_DATAWORKS_OPS = CANAL_TYPES - {"MHEARTBEAT"} | _words("TRANSACTION_BEGIN TRANSACTION_END")

SHAREPLEX_META = _words("data meta meta.time meta.op meta.table meta.rowid meta.trans meta.seq")
SHAREPLEX_OPS = _words("ins upd del")
# Alibaba DTS lists these names as well, two of them with a blank.
DTS_OPS = SHAREPLEX_OPS | _words("INSERT UPDATE DELETE TRUNCATE") | {"DROP COLUMN"}

# Huawei DRS, the sources other than MySQL. For MySQL the keys are those of older Canal.
DRS_KEYS = (CANAL_KEYS - {"mysqlType"}) | _words("columnType dbType schema opType")
DRS_TYPES = _words("INSERT UPDATE DELETE DDL")
# The vendor's page has "GaussDB Primary/Standby" in an example, and names the others where it explains
# `es`.
DRS_SOURCES = {
    "postgresql": frozenset({"PostgreSQL", "GaussDB Primary/Standby"}),
    "oracle": frozenset({"Oracle"}),
    "sqlserver": frozenset({"Microsoft SQL Server"}),
}

KAFKA_RIVER_CANAL_KEYS = _words("binlog time canalTime db table event columns keys")

DMS_METADATA = _words("metadata.record-type metadata.operation")
DMS_CONTROL = _words(
    "create-table rename-table drop-table change-columns add-column drop-column rename-column "
    "column-type-change"
)

# The first rule that fits gives the answer. No rule fits a message of a format that is not listed: vendors
# that reuse these field names differ in a key or value of the rule. If they do not differ, there is no rule
# (see the tests of other vendors' messages).
RULES: tuple[Rule, ...] = (
    # `gtid` came with Canal 1.1.7 (alibaba/canal pull request 4521). Without it the keys are those of
    # Huawei DRS and CloudCanal too, which give the same fields other meanings, so older Canal is never
    # certain.
    Rule("canal", "canal", 1.0, CANAL_KEYS | {"gtid"}, _NO_OTHER_KEY, values={"type": CANAL_TYPES}),
    Rule(
        "canal",
        "ticdc",
        1.0,
        CANAL_KEYS | {"_tidb", "_tidb.commitTs"},
        _NO_OTHER_KEY,
        values={"type": CANAL_TYPES},
    ),
    Rule(
        "canal",
        "ticdc",
        1.0,
        CANAL_KEYS | {"_tidb", "_tidb.watermarkTs"},
        _NO_OTHER_KEY,
        values={"type": _words("TIDB_WATERMARK")},
    ),
    Rule(
        "canal",
        "dataarts",
        1.0,
        CANAL_KEYS - {"sql"} | _words("serverId dbType dataSourceName"),
        _words("isHeartbeat sql gtid schema"),
        values={"type": CANAL_TYPES},
    ),
    Rule("canal", "dts", 1.0, CANAL_KEYS | {"serverId"}, _words("gtid"), values={"type": CANAL_TYPES}),
    # Its rows are never certain; its DDL has one more key.
    Rule(
        "canal", "cloudcanal", 1.0, CANAL_KEYS | {"tableChanges"}, _NO_OTHER_KEY, values={"type": CANAL_TYPES}
    ),
    # Only OceanBase's page leaves `id` out; an unlisted writer may do so too.
    Rule("canal", "oms", 0.5, CANAL_KEYS - {"id"}, _NO_OTHER_KEY, values={"type": CANAL_TYPES | {"ROW"}}),
    # Flink CDC pipelines write these keys, before 3.3 `ts` too.
    Rule(
        "canal",
        "flink",
        1.0,
        _words("data old type database table pkNames"),
        _words("ts"),
        values={"type": _words("INSERT UPDATE DELETE")},
    ),
    # SeaTunnel 2.3.5: the row instead of the list of rows.
    Rule(
        "canal",
        "seatunnel",
        0.5,
        _words("data type"),
        _NO_OTHER_KEY,
        values={"type": _words("INSERT UPDATE DELETE")},
        objects=_words("data"),
    ),
    # Flink's own canal-json writer has two keys, which many could write; newer SeaTunnel writes three more.
    Rule(
        "canal",
        "flink",
        0.5,
        _words("data type"),
        _words("database table ts"),
        values={"type": _words("INSERT DELETE")},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        DEBEZIUM_ROW | DEBEZIUM_SOURCE,
        values={"op": DEBEZIUM_OPS, "source.connector": DEBEZIUM_CONNECTORS},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        _words("op source message") | DEBEZIUM_SOURCE,
        values={"op": _words("m"), "source.connector": DEBEZIUM_CONNECTORS},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        DEBEZIUM_TRANSACTION,
        _words("ts_ms"),
        values={"status": _words("BEGIN END")},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        DEBEZIUM_SCHEMA_CHANGE | DEBEZIUM_SOURCE,
        values={"source.connector": DEBEZIUM_CONNECTORS},
    ),
    # A heartbeat, and the rows of Flink's debezium-json writer: nothing in them names their writer.
    Rule("debezium", "envelope", 0.5, _words("ts_ms"), _NO_OTHER_KEY),
    Rule(
        "debezium",
        "envelope",
        0.5,
        _words("op"),
        _words("before after"),
        one_of=_words("before after"),
        values={"op": _words("c d")},
    ),
    # CloudCanal wraps rows in the same way, under other connector names.
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", DEBEZIUM_ROW),
        _NO_OTHER_KEY,
        values={"payload.op": DEBEZIUM_OPS, "payload.source.connector": DEBEZIUM_CONNECTORS},
    ),
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", _words("op source message")),
        _NO_OTHER_KEY,
        values={"payload.op": _words("m"), "payload.source.connector": DEBEZIUM_CONNECTORS},
    ),
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", DEBEZIUM_TRANSACTION),
        _NO_OTHER_KEY,
        values={"payload.status": _words("BEGIN END")},
        endings={"schema.name": ".TransactionMetadataValue"},
    ),
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", DEBEZIUM_SCHEMA_CHANGE),
        _NO_OTHER_KEY,
        values={"payload.source.connector": DEBEZIUM_CONNECTORS},
        endings={"schema.name": ".SchemaChangeValue"},
    ),
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _words("payload.ts_ms"),
        _NO_OTHER_KEY,
        endings={"schema.name": ".connector.common.Heartbeat"},
    ),
    # Vendors' pages, and people who copy from them, leave the schema out and keep `payload`.
    Rule(
        "debezium",
        "envelope",
        1.0,
        _words("payload") | _inside("payload", DEBEZIUM_ROW),
        _NO_OTHER_KEY,
        values={"payload.op": DEBEZIUM_OPS, "payload.source.connector": DEBEZIUM_CONNECTORS},
    ),
    # TiCDC sends schema changes in this form.
    Rule(
        "debezium",
        "envelope",
        1.0,
        _words("payload") | _inside("payload", DEBEZIUM_SCHEMA_CHANGE),
        _NO_OTHER_KEY,
        values={"payload.source.connector": DEBEZIUM_CONNECTORS},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        _words("op source source.connector"),
        values={"source.connector": DEBEZIUM_CONNECTORS_OF_CELLS},
    ),
    Rule(
        "debezium",
        "envelope",
        1.0,
        _words("payload payload.op payload.source"),
        _words("schema"),
        values={"payload.source.connector": DEBEZIUM_CONNECTORS_OF_CELLS},
    ),
    Rule(
        "debezium",
        "cockroachdb",
        1.0,
        COCKROACHDB_ROW | _inside("source", COCKROACHDB_SOURCE),
        values={"op": COCKROACHDB_OPS, "source.origin": _words("cockroachdb")},
    ),
    Rule(
        "debezium",
        "cockroachdb",
        1.0,
        _words("payload") | _inside("payload", COCKROACHDB_ROW),
        _words("schema"),
        values={"payload.op": COCKROACHDB_OPS, "payload.source.origin": _words("cockroachdb")},
    ),
    # A resolved timestamp: CockroachDB's other envelopes write the same.
    Rule("debezium", "cockroachdb", 0.5, _words("resolved"), _NO_OTHER_KEY),
    # A flattened row may be any object; only the schema part and a field that the flattening adds identify
    # it.
    Rule(
        "debezium",
        "flat",
        1.0,
        DEBEZIUM_WRAPPER,
        _NO_OTHER_KEY,
        one_of=_words("payload.__deleted payload.__op"),
        endings={"schema.name": ".Value"},
    ),
    # MongoDB's flattening writes `__collection` instead of `__table`.
    Rule("debezium", "flat", 1.0, _words("__op __table"), values={"__op": _words("c u d r")}),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        _words("payload") | _inside("payload", CLOUDCANAL_ROW),
        _words("schema"),
        values={"payload.op": _words("i c u d"), "payload.source.connector": CLOUDCANAL_CONNECTORS},
    ),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        _words("payload") | _inside("payload", CLOUDCANAL_SCHEMA_CHANGE),
        _words("schema"),
        values={"payload.source.connector": CLOUDCANAL_CONNECTORS},
    ),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        CLOUDCANAL_ROW,
        _NO_OTHER_KEY,
        values={"op": _words("i c u d"), "source.connector": CLOUDCANAL_CONNECTORS},
    ),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        CLOUDCANAL_SCHEMA_CHANGE,
        _words("op"),
        values={"source.connector": CLOUDCANAL_CONNECTORS},
    ),
    Rule(
        "dataworks",
        "dataworks",
        1.0,
        DATAWORKS_KEYS | _words("payload.sequenceId payload.timestamp"),
        _NO_OTHER_KEY,
        values={"payload.op": DATAWORKS_OPS},
    ),
    # The vendor's list of op values ends in dots, and no other vendor has these keys under `schema`.
    Rule("dataworks", "dataworks", 0.5, DATAWORKS_KEYS),
    # An older page calls the flag of DDL `ddl`.
    Rule(
        "cloudcanal",
        "cloudcanal",
        1.0,
        _words("action before data db dbValType entryType pks schema table"),
        one_of=_words("isDdl ddl"),
    ),
    Rule(
        "maxwell",
        "maxwell",
        1.0,
        _words("database table type ts data"),
        MAXWELL_OPTIONAL,
        values={"type": MAXWELL_TYPES},
    ),
    Rule(
        "maxwell",
        "maxwell",
        1.0,
        _words("database type ts sql"),
        MAXWELL_OPTIONAL | _words("table def charset"),
        values={"type": MAXWELL_DDL},
    ),
    # The rows of Flink's maxwell-json writer: nothing in them names their writer.
    Rule(
        "maxwell",
        "maxwell",
        0.5,
        _words("data type"),
        _NO_OTHER_KEY,
        values={"type": _words("insert delete")},
    ),
    Rule(
        "dataworks",
        "oms",
        1.0,
        OMS_DATAWORKS_KEYS,
        _words("extend"),
        values={"version": _words("2.0"), "payload.op": OMS_DATAWORKS_OPS},
    ),
    Rule(
        "dataworks",
        "oms",
        1.0,
        _words("version payload payload.op payload.timestamp"),
        _NO_OTHER_KEY,
        values={"version": _words("2.0"), "payload.op": _words("HEARTBEAT")},
    ),
    # Only rows distinguish the two.
    Rule(
        "oms",
        "extended",
        1.0,
        OMS_KEYS,
        _NO_OTHER_KEY,
        one_of=_words("prevStruct.__light_type postStruct.__light_type"),
        values={"recordType": OMS_ROWS},
    ),
    Rule("oms", "default", 1.0, OMS_KEYS, _NO_OTHER_KEY, values={"recordType": OMS_ROWS}),
    Rule("oms", None, 1.0, OMS_KEYS, _NO_OTHER_KEY, values={"recordType": _words("DDL HEARTBEAT")}),
    # SharePlex itself and DTS name the user; OMS does not, and SharePlex can be set not to. With fewer
    # fields the content of an update is not certain.
    Rule(
        "shareplex",
        "shareplex",
        1.0,
        SHAREPLEX_META | _words("meta.userid"),
        _words("key"),
        values={"meta.op": DTS_OPS},
    ),
    Rule(
        "shareplex",
        "oms",
        0.5,
        SHAREPLEX_META | _words("meta.posttime meta.idx meta.size"),
        _words("key"),
        values={"meta.op": SHAREPLEX_OPS},
    ),
    # The only MySQL message that older Canal does not have.
    Rule("drs", "mysql", 1.0, CANAL_KEYS, _NO_OTHER_KEY, values={"type": _words("INIT_DDL")}),
    *(
        Rule("drs", dialect, 1.0, DRS_KEYS, _NO_OTHER_KEY, values={"type": DRS_TYPES, "dbType": sources})
        for dialect, sources in DRS_SOURCES.items()
    ),
    Rule(
        "kafka_river_canal",
        "kafka_river_canal",
        1.0,
        KAFKA_RIVER_CANAL_KEYS,
        _words("xid"),
        values={"event": _words("i u d")},
    ),
    Rule(
        "goldengate",
        "operation",
        1.0,
        _words("table op_type op_ts pos"),
        one_of=_words("before after"),
        values={"op_type": _words("I U D T")},
    ),
    # Both formatters write a truncate without rows in this form.
    Rule(
        "goldengate",
        "row",
        1.0,
        _words("table op_type op_ts current_ts pos"),
        values={"op_type": _words("I U D")},
    ),
    # The rows of Flink's ogg-json writer.
    Rule(
        "goldengate",
        "operation",
        0.5,
        _words("op_type"),
        _words("before after"),
        one_of=_words("before after"),
        values={"op_type": _words("I D")},
    ),
    Rule(
        "dms",
        "dms",
        1.0,
        DMS_METADATA | {"data"},
        values={
            "metadata.record-type": _words("data"),
            "metadata.operation": _words("load insert update delete"),
        },
    ),
    Rule(
        "dms",
        "dms",
        1.0,
        DMS_METADATA,
        values={"metadata.record-type": _words("control"), "metadata.operation": DMS_CONTROL},
    ),
    # A document of MongoDB is a text, and belongs to another format.
    Rule(
        "debezium_mongodb",
        "debezium_mongodb",
        1.0,
        MONGODB_ROW,
        one_of=MONGODB_IMAGES,
        values={"op": MONGODB_OPS, "source.connector": _words("mongodb")},
    ),
    Rule(
        "debezium_mongodb",
        "debezium_mongodb",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", _words("op source")),
        _NO_OTHER_KEY,
        one_of=_inside("payload", MONGODB_IMAGES),
        values={"payload.op": MONGODB_OPS, "payload.source.connector": _words("mongodb")},
    ),
    Rule(
        "drs_mongodb",
        "drs_mongodb",
        1.0,
        DRS_MONGODB,
        values={"op": _words("INSERT UPDATE DELETE DDL"), "dbType": _words("MongoDB Mongo")},
    ),
)

# A dialect that also reads the messages of the format's others: one message of it decides for a whole
# topic.
READS_ALL = frozenset({("oms", "extended")})


class Alike(NamedTuple):
    """Messages that several writers write alike, with different meanings."""

    writers: tuple[tuple[str, str], ...]
    required: frozenset[str]
    optional: frozenset[str] | None
    values: Mapping[str, frozenset[str]]


ALIKE: tuple[Alike, ...] = (
    Alike(
        (("canal", "canal"), ("canal", "tencent"), ("canal", "cloudcanal"), ("drs", "mysql")),
        CANAL_KEYS,
        _NO_OTHER_KEY,
        {"type": CANAL_TYPES},
    ),
    Alike((("canal", "tencent"), ("drs", "mysql")), CANAL_KEYS, _NO_OTHER_KEY, {"type": _words("INIT")}),
    Alike(
        (("goldengate", "operation"), ("goldengate", "row")),
        _words("table op_type op_ts pos"),
        None,
        {"op_type": _words("T")},
    ),
)
