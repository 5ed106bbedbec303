"""cdc_detect(value): which format and dialect a message is written in, told from its structure alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions._arrow import texts

if TYPE_CHECKING:
    import pyarrow as pa


class Detected(NamedTuple):
    """A format and dialect, with 1.0 for proof, less for a fair guess, and 0.0 beside None for neither."""

    format: str | None
    dialect: str | None
    confidence: float


class Rule(NamedTuple):
    """A fingerprint. Everything in it can be asked with json_object_keys and get_json_object as well.

    A key is one of the message itself or, written `key.inner`, one of the object under that key; a key that
    holds null is there. A field of `values` and `endings` may lie deeper.
    """

    format: str
    dialect: str
    confidence: float
    required: frozenset[str]
    # The only other keys that the message itself may have; None allows any.
    optional: frozenset[str] | None = None
    # At least one of these keys is there.
    one_of: frozenset[str] = frozenset()
    # Texts that a field must be one of.
    values: Mapping[str, frozenset[str]] = {}
    # A text that a field must end with.
    endings: Mapping[str, str] = {}


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

# Connectors whose envelope is Debezium's own. TiCDC, CloudCanal and others write other names here.
DEBEZIUM_CONNECTORS = _words("mysql mariadb postgresql mongodb sqlserver oracle db2 informix vitess spanner")
DEBEZIUM_SOURCE = _words("source.version source.connector source.name")
DEBEZIUM_ROW = _words("before after source op")
DEBEZIUM_OPS = _words("c u d r t")
DEBEZIUM_TRANSACTION = _words("status id event_count data_collections")
DEBEZIUM_SCHEMA_CHANGE = _words("source databaseName ddl tableChanges")
DEBEZIUM_WRAPPER = _words("schema payload")

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
# What the producer adds when its configuration asks for it.
MAXWELL_OPTIONAL = _words(
    "old xid xoffset commit position gtid server_id thread_id schema_id primary_key primary_key_columns "
    "query push_timestamp"
)

OMS_KEYS = _words("prevStruct postStruct allMetaData recordType")
OMS_TYPES = _words("INSERT UPDATE DELETE ROW DDL HEARTBEAT")
OMS_DATAWORKS_KEYS = _words("version schema schema.source schema.column payload payload.op payload.timestamp")
OMS_DATAWORKS_OPS = CANAL_TYPES - {"MHEARTBEAT"} | _words("TRANSACTION_BEGIN TRANSACTION_END")

SHAREPLEX_META = _words("data meta meta.time meta.op meta.table meta.rowid meta.trans meta.seq")
SHAREPLEX_OPS = _words("ins upd del")
# Alibaba DTS lists these names as well, two of them with a blank.
DTS_OPS = SHAREPLEX_OPS | _words("INSERT UPDATE DELETE TRUNCATE") | {"DROP COLUMN"}

# The first rule that fits gives the answer. No rule fits a message of a format that is not listed: vendors
# that reuse these field names differ in a key or value asked for here, and where they do not, there is no
# rule (see the tests of other vendors' messages).
RULES: tuple[Rule, ...] = (
    # `gtid` came with Canal 1.1.7 (alibaba/canal pull request 4521). Without it the keys are those of Huawei
    # DRS and CloudCanal too, which mean other things by the same fields, so older Canal cannot be known.
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
    # Its rows cannot be known; in its DDL a key more tells.
    Rule(
        "canal", "cloudcanal", 1.0, CANAL_KEYS | {"tableChanges"}, _NO_OTHER_KEY, values={"type": CANAL_TYPES}
    ),
    # Only OceanBase's page leaves `id` out; a writer that is not listed may do so too.
    Rule("canal", "oms", 0.5, CANAL_KEYS - {"id"}, _NO_OTHER_KEY, values={"type": CANAL_TYPES}),
    # Flink CDC pipelines write these keys; Flink's own canal-json writer only two, which many could write.
    Rule(
        "canal",
        "flink",
        1.0,
        _words("data old type database table pkNames"),
        _NO_OTHER_KEY,
        values={"type": _words("INSERT UPDATE DELETE")},
    ),
    Rule(
        "canal",
        "flink",
        0.5,
        _words("data type"),
        _NO_OTHER_KEY,
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
    # A heartbeat, and the rows of Flink's debezium-json writer: nothing in them names who wrote them.
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
    # CloudCanal wraps rows so too, under other connector names and without `transaction`.
    Rule(
        "debezium",
        "schema",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", DEBEZIUM_ROW | {"transaction"}),
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
    # A flattened row is any object at all; only the schema part and a field that the flattening adds tell.
    Rule(
        "debezium",
        "flat",
        1.0,
        DEBEZIUM_WRAPPER,
        _NO_OTHER_KEY,
        one_of=_words("payload.__deleted payload.__op"),
        endings={"schema.name": ".Value"},
    ),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", CLOUDCANAL_ROW),
        _NO_OTHER_KEY,
        values={"payload.op": _words("i c u d"), "payload.source.connector": CLOUDCANAL_CONNECTORS},
    ),
    Rule(
        "debezium",
        "cloudcanal",
        1.0,
        DEBEZIUM_WRAPPER | _inside("payload", CLOUDCANAL_SCHEMA_CHANGE),
        _NO_OTHER_KEY,
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
    # Only rows tell the two apart.
    Rule(
        "oms",
        "extended",
        1.0,
        OMS_KEYS,
        _NO_OTHER_KEY,
        one_of=_words("prevStruct.__light_type postStruct.__light_type"),
        values={"recordType": OMS_TYPES},
    ),
    Rule("oms", "default", 1.0, OMS_KEYS, _NO_OTHER_KEY, values={"recordType": OMS_TYPES}),
    # SharePlex itself and DTS name the user; OMS does not, and SharePlex may be told not to. With fewer
    # fields what an update holds cannot be known.
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
    # The rows of Flink's maxwell-json writer: nothing in them names who wrote them.
    Rule(
        "maxwell",
        "maxwell",
        0.5,
        _words("data type"),
        _NO_OTHER_KEY,
        values={"type": _words("insert delete")},
    ),
)

_UNKNOWN = Detected(None, None, 0.0)


def detect(value: str | None) -> Detected:
    """Tell the format and dialect of one message, or that it cannot be told.

    Shape: `value` is the message's text, a JSON object. The answer holds the format (canal, debezium,
    dataworks, oms, shareplex, cloudcanal, maxwell), its dialect, and the confidence: 1.0 when the keys and
    values of exactly one format are there, 0.5 when the message fits a format but holds nothing that only
    this format has, and 0.0 with format None when it cannot be known. One message is a weak witness: let a
    topic's messages agree before acting on it.

    Errors: NULL, text that is not a JSON object, and other vendors' messages give format None, never an
    exception.

    Sources: real messages of Canal 1.1.7, Debezium 3.5, Maxwell 1.22.6 and Flink 2.3; PingCAP TiCDC,
    Canal-JSON protocol; Alibaba DataWorks, appendix on message formats; CloudCanal, MQ message formats;
    Huawei DataArts, heartbeat data formats; OceanBase OMS, data formats;
    Alibaba DTS, data formats in a message queue.

    >>> detect('{"data": [{"id": 4}], "type": "INSERT"}')
    Detected(format='canal', dialect='flink', confidence=0.5)
    """
    message = _object(value)
    if message is None:
        return _UNKNOWN
    for rule in RULES:
        if _fits(rule, message):
            return Detected(rule.format, rule.dialect, rule.confidence)
    return _UNKNOWN


def _object(value: str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        # Numbers stay text: none is asked for, and Python refuses to convert integers of thousands of digits.
        message = json.loads(value, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _fits(rule: Rule, message: dict[str, Any]) -> bool:
    return (
        all(_has(message, path) for path in rule.required)
        and _has_no_other_key(rule, message)
        and (not rule.one_of or any(_has(message, path) for path in rule.one_of))
        and all(_text(message, path) in allowed for path, allowed in rule.values.items())
        and all((_text(message, path) or "").endswith(end) for path, end in rule.endings.items())
    )


def _has_no_other_key(rule: Rule, message: dict[str, Any]) -> bool:
    if rule.optional is None:
        return True
    # A key may itself hold a dot; it is then not the path of the same spelling.
    own_keys = {path for path in rule.required if "." not in path}
    return message.keys() <= own_keys | rule.optional


def _has(message: dict[str, Any], path: str) -> bool:
    *outer, key = path.split(".")
    found = _at(message, outer)
    return isinstance(found, dict) and key in found


def _text(message: dict[str, Any], path: str) -> str | None:
    found = _at(message, path.split("."))
    return found if isinstance(found, str) else None


def _at(message: dict[str, Any], keys: list[str]) -> Any:
    found: Any = message
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def detect_arrow(value: pa.Array) -> pa.Array:
    """Apply `detect` to an Arrow column."""
    import pyarrow as pa

    rows = [detect(text)._asdict() for text in texts(value)]
    fields = [("format", pa.string()), ("dialect", pa.string()), ("confidence", pa.float64())]
    return pa.array(rows, type=pa.struct(fields))
