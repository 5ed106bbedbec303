"""The three functions, as Python and as SQL: same answers, and no input stops a batch."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import types
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt_spark_cdc import register, registry, workers
from dbt_spark_cdc.functions import detect as detect_module
from dbt_spark_cdc.functions.decode_binary import decode_binary
from dbt_spark_cdc.functions.detect import RULES, alike, detect
from dbt_spark_cdc.functions.dts_avro import dts_avro
from dbt_spark_cdc.functions.type_name import type_name
from dbt_spark_cdc.inputs import read_messages
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.registry import UnsupportedSparkError
from hypothesis import given
from hypothesis import strategies as st

ALL_BYTES = bytes(range(256))

ENCODERS = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64_url": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": lambda data: data.hex(),
    "latin1": lambda data: data.decode("latin-1"),
    "java_bytes": lambda data: str([byte - 256 if byte > 127 else byte for byte in data]),
}

NOT_OF_THE_ENCODING = [
    ("base64", "YQ"),  # padding is missing
    ("base64", "YQ=="[:3]),
    ("base64", "YR=="),  # bits that no encoder writes
    ("base64", "YQ== "),
    ("base64", "Y\nQ=="),
    ("base64", "-_-_"),
    ("base64", "YQ==YQ=="),
    ("base64", "===="),
    ("base64", "汉字汉字"),
    ("base64_url", "+/+/"),
    ("base64_url", "YQ"),
    ("hex", "0"),
    ("hex", "0x00"),
    ("hex", "\\x00"),
    ("hex", "00 00"),
    ("hex", "gg"),
    ("hex", "٠٠"),  # digits, but not hexadecimal ones
    ("latin1", "Ā"),
    ("latin1", "\ufffd"),
    ("java_bytes", ""),
    ("java_bytes", "["),
    ("java_bytes", "[ ]"),
    ("java_bytes", "[1,2]"),
    ("java_bytes", "[1, 2"),
    ("java_bytes", "[1, 2, ]"),
    ("java_bytes", "[256]"),
    ("java_bytes", "[-129]"),
    ("java_bytes", "[01]"),
    ("java_bytes", "[-0]"),
    ("java_bytes", "[+1]"),
    ("java_bytes", "[1.0]"),
    ("java_bytes", "[١]"),
    ("java_bytes", "[[1]]"),
    ("utf8", "a"),
    ("BASE64", "YQ=="),
    ("", "a"),
]


@pytest.mark.parametrize("encoding", ENCODERS)
def test_every_byte_value_comes_back(encoding: str) -> None:
    assert decode_binary(ENCODERS[encoding](ALL_BYTES), encoding) == ALL_BYTES


@pytest.mark.parametrize("encoding", ENCODERS)
@given(data=st.binary(max_size=300))
def test_any_bytes_come_back(encoding: str, data: bytes) -> None:
    assert decode_binary(ENCODERS[encoding](data), encoding) == data


@given(data=st.binary(max_size=300))
def test_a_java_byte_list_may_hold_bytes_without_sign(data: bytes) -> None:
    assert decode_binary(str(list(data)), "java_bytes") == data


@given(data=st.binary(max_size=300))
def test_hexadecimal_digits_may_be_of_either_case(data: bytes) -> None:
    assert decode_binary(data.hex().upper(), "hex") == data


@pytest.mark.parametrize("encoding", ["base64", "base64_url", "hex", "latin1"])
def test_empty_text_is_empty_bytes(encoding: str) -> None:
    assert decode_binary("", encoding) == b""


@pytest.mark.parametrize(("encoding", "text"), NOT_OF_THE_ENCODING)
def test_text_that_is_not_of_the_encoding_gives_null(encoding: str, text: str) -> None:
    assert decode_binary(text, encoding) is None


@pytest.mark.parametrize(("text", "encoding"), [(None, "hex"), ("00", None), (None, None)])
def test_null_gives_null(text: str | None, encoding: str | None) -> None:
    assert decode_binary(text, encoding) is None


@given(text=st.text(), encoding=st.sampled_from([*ENCODERS, "other"]))
def test_no_text_raises(text: str, encoding: str) -> None:
    decoded = decode_binary(text, encoding)
    assert decoded is None or isinstance(decoded, bytes)


CANAL = {
    "data": [{"id": "1"}],
    "database": "shop",
    "es": 1609344671000,
    "gtid": "",
    "id": 7,
    "isDdl": False,
    "mysqlType": {"id": "bigint(20)"},
    "old": None,
    "pkNames": ["id"],
    "sql": "",
    "sqlType": {"id": -5},
    "table": "orders",
    "ts": 1609344671026,
    "type": "INSERT",
}
CANAL_BEFORE_GTID = {key: value for key, value in CANAL.items() if key != "gtid"}
SOURCE = {"version": "3.5.0.Final", "connector": "mysql", "name": "shop", "db": "shop", "table": "orders"}
ENVELOPE = {
    "before": None,
    "after": {"id": 1},
    "source": SOURCE,
    "transaction": None,
    "op": "c",
    "ts_ms": 1669796261933,
    "ts_us": 1669796261933000,
    "ts_ns": 1669796261933000000,
}
TRANSACTION = {"status": "END", "id": "x:1", "event_count": 2, "data_collections": [], "ts_ms": 1}
SCHEMA_CHANGE = {
    "source": SOURCE,
    "ts_ms": 1,
    "databaseName": "shop",
    "schemaName": None,
    "ddl": "alter table orders add b int",
    "tableChanges": [],
}
MESSAGE = {
    "op": "m",
    "ts_ms": 1,
    "source": SOURCE,
    "transaction": None,
    "message": {"prefix": "p", "content": ""},
}
DATAWORKS = {
    "schema": {
        "dataColumn": [{"name": "id", "type": "LONG"}],
        "primaryKey": ["id"],
        "source": {"dbType": "MySQL", "dbName": "shop", "tableName": "orders"},
    },
    "payload": {
        "before": None,
        "after": {"dataColumn": {"id": 1}},
        "sequenceId": "1620457642589000000",
        "timestamp": {"eventTime": 1620457896000},
        "op": "INSERT",
        "ddl": None,
    },
    "version": "0.0.1",
}
CLOUDCANAL = {
    "action": "INSERT",
    "before": [],
    "bid": 0,
    "data": [{}],
    "db": "d",
    "dbValType": {},
    "isDdl": False,
    "entryType": "ROWDATA",
    "pks": [],
    "schema": "d",
    "table": "t",
}
COCKROACHDB = {
    "op": "c",
    "after": {"id": 1},
    "source": {
        "origin": "cockroachdb",
        "database_name": "shop",
        "schema_name": "public",
        "table_name": "orders",
        "ts_hlc": "1785500000000000001.0000000000",
    },
    "ts_ns": 1785500000000000901,
}
CLOUDCANAL_SOURCE = {"db": "d", "table": "t", "connector": "MySQL", "file": "f", "pos": 1}
CLOUDCANAL_ROW = {"op": "u", "ts_ms": 1, "after": {}, "before": {}, "source": CLOUDCANAL_SOURCE}
CLOUDCANAL_DDL = {
    "databaseName": "d",
    "ddl": "alter table t",
    "ts_ms": 1,
    "source": {"connector": "MySQL"},
    "tableChanges": {"type": "ALTER"},
}
MAXWELL = {"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 1, "data": {"id": 1}}
DATAARTS = {key: value for key, value in CANAL.items() if key not in ("gtid", "sql")} | {
    "serverId": "1753240249",
    "dbType": "mysql",
    "dataSourceName": "mysql_binlog_source",
}

OMS = {
    "prevStruct": None,
    "postStruct": {"id": 1},
    "allMetaData": {"db": "t.d", "table_name": "x"},
    "recordType": "INSERT",
}
OMS_DATAWORKS = {
    "version": "2.0",
    "schema": {"source": {"dbType": "ob_mysql"}, "column": [], "pk": ["id"]},
    "payload": {"before": None, "after": {"data": {}}, "op": "INSERT", "timestamp": {}, "ddl": None},
    "extend": {},
}
SHAREPLEX_META = {
    "time": "2020-11-25T00:01:02",
    "op": "ins",
    "scn": "1",
    "rowid": "d.t-1",
    "trans": "t",
    "seq": 1,
    "size": 10,
    "table": "d.t",
    "idx": "1/10",
    "posttime": "2020-12-07T13:22:00",
}

DRS = {key: value for key, value in CANAL_BEFORE_GTID.items() if key != "mysqlType"} | {
    "columnType": {"id": "bigint"},
    "dbType": "GaussDB Primary/Standby",
    "schema": "s",
    "opType": "INSERT",
}
KAFKA_RIVER_CANAL = {
    "binlog": "6816@mysql-bin.000070",
    "time": 1,
    "canalTime": 1,
    "db": "d",
    "table": "t",
    "event": "i",
    "columns": [],
    "keys": ["id"],
}
GOLDENGATE = {
    "table": "D.T",
    "op_type": "I",
    "op_ts": "x",
    "current_ts": "x",
    "pos": "1",
    "before": {},
    "after": {"id": 1},
}
GOLDENGATE_ROW = {key: value for key, value in GOLDENGATE.items() if key not in ("before", "after")} | {
    "ID": 1
}
DMS = {
    "data": {"id": 1},
    "metadata": {"operation": "insert", "record-type": "data", "schema-name": "s", "table-name": "t"},
}


MONGODB = {
    "after": '{"_id": 1}',
    "updateDescription": None,
    "source": {"version": "3.5.0.Final", "connector": "mongodb", "name": "shop", "collection": "orders"},
    "op": "u",
    "ts_ms": 1,
}
DRS_MONGODB = {
    "id": 256,
    "op": "INSERT",
    "dbType": "MongoDB",
    "db": "d",
    "coll": "c",
    "value": "{}",
    "where": None,
    "recordType": "insert",
    "extra": "insert",
    "es": 1,
    "ts": 1,
    "clusterTime": "1684344064:1",
}


def wrapped(payload: dict, name: str) -> dict:
    return {"schema": {"type": "struct", "fields": [], "optional": False, "name": name}, "payload": payload}


KNOWN = {
    "a row of Canal": (CANAL, ("canal", "canal", 1.0)),
    "a statement of Canal": (
        CANAL
        | {"type": "QUERY", "isDdl": True, "table": "", "data": None, "sqlType": None, "mysqlType": None},
        ("canal", "canal", 1.0),
    ),
    "a row of TiCDC": (CANAL_BEFORE_GTID | {"_tidb": {"commitTs": 1}}, ("canal", "ticdc", 1.0)),
    "a watermark of TiCDC": (
        CANAL_BEFORE_GTID | {"_tidb": {"watermarkTs": 1}, "type": "TIDB_WATERMARK", "data": None},
        ("canal", "ticdc", 1.0),
    ),
    "a row of a Flink CDC pipeline": (
        {"old": None, "data": [{}], "type": "INSERT", "database": "d", "table": "t", "pkNames": ["id"]},
        ("canal", "flink", 1.0),
    ),
    "a deleted row of a Flink CDC pipeline before 3.3": (
        {
            "old": [{}],
            "data": None,
            "type": "DELETE",
            "database": None,
            "table": "t",
            "pkNames": ["id"],
            "ts": 0,
        },
        ("canal", "flink", 1.0),
    ),
    "a row of the Canal writer of Flink": ({"data": [{}], "type": "DELETE"}, ("canal", "flink", 0.5)),
    "a row of the Canal writer of SeaTunnel": (
        {"data": [{}], "type": "INSERT", "database": "d", "table": "t", "ts": None},
        ("canal", "flink", 0.5),
    ),
    "a row of the Canal writer of SeaTunnel 2.3.5": (
        {"data": {"id": 1}, "type": "UPDATE"},
        ("canal", "seatunnel", 0.5),
    ),
    "a row of Debezium": (ENVELOPE, ("debezium", "envelope", 1.0)),
    "a row of TiCDC, Debezium": (
        {"payload": ENVELOPE | {"source": SOURCE | {"connector": "TiCDC"}}},
        ("debezium", "envelope", 1.0),
    ),
    "a schema change of TiCDC, Debezium": (
        {"payload": SCHEMA_CHANGE | {"source": SOURCE | {"connector": "TiCDC"}}},
        ("debezium", "envelope", 1.0),
    ),
    "a row of Cassandra's connector": (
        {"op": "i", "after": {}, "source": {"connector": "cassandra"}},
        ("debezium", "envelope", 1.0),
    ),
    "a row of YugabyteDB": (
        {"payload": ENVELOPE | {"source": SOURCE | {"connector": "yugabytedb"}}},
        ("debezium", "envelope", 1.0),
    ),
    "a row of CockroachDB": (COCKROACHDB, ("debezium", "cockroachdb", 1.0)),
    "a row of CockroachDB with its schema": (
        {"payload": COCKROACHDB, "schema": {"name": "cockroachdb.envelope"}},
        ("debezium", "cockroachdb", 1.0),
    ),
    "a resolved timestamp of CockroachDB": (
        {"resolved": "1785500001000000000.0000000000"},
        ("debezium", "cockroachdb", 0.5),
    ),
    "a snapshot row of Debezium": (ENVELOPE | {"op": "r"}, ("debezium", "envelope", 1.0)),
    "a truncate of Debezium": (ENVELOPE | {"op": "t", "after": None}, ("debezium", "envelope", 1.0)),
    "a logical message of Debezium": (MESSAGE, ("debezium", "envelope", 1.0)),
    "a transaction of Debezium": (TRANSACTION, ("debezium", "envelope", 1.0)),
    "a schema change of Debezium": (SCHEMA_CHANGE, ("debezium", "envelope", 1.0)),
    "a heartbeat of Debezium": ({"ts_ms": 1795248299589}, ("debezium", "envelope", 0.5)),
    "a row of the Debezium writer of Flink": ({"after": {"id": 4}, "op": "c"}, ("debezium", "envelope", 0.5)),
    "a wrapped row of Debezium": (wrapped(ENVELOPE, "shop.orders.Envelope"), ("debezium", "schema", 1.0)),
    "a wrapped row with a null schema": ({"schema": None, "payload": ENVELOPE}, ("debezium", "schema", 1.0)),
    "a wrapped logical message of Debezium": (
        wrapped(MESSAGE, "io.debezium.connector.postgresql.MessageValue"),
        ("debezium", "schema", 1.0),
    ),
    "a wrapped transaction of Debezium": (
        wrapped(TRANSACTION, "io.debezium.connector.common.TransactionMetadataValue"),
        ("debezium", "schema", 1.0),
    ),
    "a wrapped schema change of Debezium": (
        wrapped(SCHEMA_CHANGE, "io.debezium.connector.mysql.SchemaChangeValue"),
        ("debezium", "schema", 1.0),
    ),
    "a wrapped heartbeat of Debezium": (
        wrapped({"ts_ms": 1}, "io.debezium.connector.common.Heartbeat"),
        ("debezium", "schema", 1.0),
    ),
    "a wrapped flattened row that names its operation": (
        wrapped({"id": 1, "__op": "c"}, "shop.orders.Value"),
        ("debezium", "flat", 1.0),
    ),
    "a flattened row that names its operation and its table": (
        {"id": 1, "__op": "d", "__table": "orders", "__deleted": "true"},
        ("debezium", "flat", 1.0),
    ),
    "a row of DataWorks": (DATAWORKS, ("dataworks", "dataworks", 1.0)),
    "a heartbeat of DataWorks": (
        {
            "schema": {"dataColumn": None, "primaryKey": None, "source": None},
            "payload": DATAWORKS["payload"] | {"op": "MHEARTBEAT", "after": None, "sequenceId": None},
            "version": "0.0.1",
        },
        ("dataworks", "dataworks", 1.0),
    ),
    "a message of DataWorks with an op that is not listed": (
        DATAWORKS | {"payload": DATAWORKS["payload"] | {"op": "XBEGIN"}},
        ("dataworks", "dataworks", 0.5),
    ),
    "a row of OceanBase OMS, DataWorks 2.0": (OMS_DATAWORKS, ("dataworks", "oms", 1.0)),
    "a heartbeat of OceanBase OMS, DataWorks 2.0": (
        {"version": "2.0", "payload": {"timestamp": {"eventTime": 1}, "op": "HEARTBEAT"}},
        ("dataworks", "oms", 1.0),
    ),
    "a row of OceanBase OMS, Default": (OMS, ("oms", "default", 1.0)),
    "a heartbeat of OceanBase OMS": (
        OMS | {"postStruct": None, "recordType": "HEARTBEAT"},
        ("oms", None, 1.0),
    ),
    "a row of OceanBase OMS, DefaultExtendColumnType": (
        OMS | {"postStruct": {"id": 1, "__light_type": {"id": {"schemaType": "INT"}}}},
        ("oms", "extended", 1.0),
    ),
    "a deleted row of OceanBase OMS, DefaultExtendColumnType": (
        OMS | {"prevStruct": {"__light_type": {}}, "postStruct": None, "recordType": "DELETE"},
        ("oms", "extended", 1.0),
    ),
    "a row of OceanBase OMS, SharePlex": (
        {"data": {"id": 1}, "meta": SHAREPLEX_META, "key": {}},
        ("shareplex", "oms", 0.5),
    ),
    "a row of Alibaba DTS, SharePlex": (
        {"data": {"id": "1"}, "meta": SHAREPLEX_META | {"userid": 84}},
        ("shareplex", "shareplex", 1.0),
    ),
    "a row of CloudCanal": (CLOUDCANAL, ("cloudcanal", "cloudcanal", 1.0)),
    "a statement of CloudCanal, older": (
        {key: value for key, value in CLOUDCANAL.items() if key != "isDdl"} | {"ddl": True, "sql": "alter"},
        ("cloudcanal", "cloudcanal", 1.0),
    ),
    "a row of CloudCanal, Debezium": (wrapped(CLOUDCANAL_ROW, "x"), ("debezium", "cloudcanal", 1.0)),
    "an insert of CloudCanal, Debezium, bare": (
        CLOUDCANAL_ROW | {"op": "i"},
        ("debezium", "cloudcanal", 1.0),
    ),
    "a statement of CloudCanal, Debezium": (wrapped(CLOUDCANAL_DDL, "x"), ("debezium", "cloudcanal", 1.0)),
    "a statement of CloudCanal, Debezium, bare": (CLOUDCANAL_DDL, ("debezium", "cloudcanal", 1.0)),
    "a row of Debezium under payload alone": ({"payload": ENVELOPE}, ("debezium", "envelope", 1.0)),
    "a row of CloudCanal, Debezium, under payload alone": (
        {"payload": CLOUDCANAL_ROW},
        ("debezium", "cloudcanal", 1.0),
    ),
    "a statement of CloudCanal, Debezium, under payload alone": (
        {"payload": CLOUDCANAL_DDL},
        ("debezium", "cloudcanal", 1.0),
    ),
    "a statement of CloudCanal, Canal": (
        CANAL_BEFORE_GTID | {"type": "ALTER", "tableChanges": {"type": "ALTER"}},
        ("canal", "cloudcanal", 1.0),
    ),
    "a row of Aliyun DTS, Canal": (CANAL | {"serverId": "1"}, ("canal", "dts", 1.0)),
    "a heartbeat of Huawei DataArts, Canal": (DATAARTS | {"isHeartbeat": True}, ("canal", "dataarts", 1.0)),
    "a row of OceanBase OMS, Canal": (
        {key: value for key, value in CANAL_BEFORE_GTID.items() if key != "id"},
        ("canal", "oms", 0.5),
    ),
    "a row of the full load of OceanBase OMS, Canal": (
        {key: value for key, value in CANAL_BEFORE_GTID.items() if key != "id"} | {"type": "ROW"},
        ("canal", "oms", 0.5),
    ),
    "a row of Maxwell": (MAXWELL, ("maxwell", "maxwell", 1.0)),
    "a statement of Maxwell": (
        {
            "type": "table-drop",
            "database": "d",
            "table": "t",
            "ts": 1,
            "sql": "drop table t",
            "position": "f:1",
        },
        ("maxwell", "maxwell", 1.0),
    ),
    "a row of the Maxwell writer of Flink": (
        {"data": {"id": 4}, "type": "insert"},
        ("maxwell", "maxwell", 0.5),
    ),
    "a full-load table of Huawei DRS from MySQL": (
        CANAL_BEFORE_GTID | {"type": "INIT_DDL", "isDdl": True, "data": None},
        ("drs", "mysql", 1.0),
    ),
    "a row of Huawei DRS from GaussDB": (DRS, ("drs", "postgresql", 1.0)),
    "a row of Huawei DRS from Oracle": (DRS | {"dbType": "Oracle"}, ("drs", "oracle", 1.0)),
    "a statement of Huawei DRS from SQL Server": (
        DRS | {"dbType": "Microsoft SQL Server", "type": "DDL", "isDdl": True, "data": None},
        ("drs", "sqlserver", 1.0),
    ),
    "a row of KafkaRiverCanal": (KAFKA_RIVER_CANAL, ("kafka_river_canal", "kafka_river_canal", 1.0)),
    "a row of OGG": (GOLDENGATE, ("goldengate", "operation", 1.0)),
    "a row of OGG by its row formatter": (GOLDENGATE_ROW, ("goldengate", "row", 1.0)),
    "a row of the OGG writer of Flink": (
        {"before": None, "after": {"id": 4}, "op_type": "I"},
        ("goldengate", "operation", 0.5),
    ),
    "a row of AWS DMS": (DMS, ("dms", "dms", 1.0)),
    "a control record of AWS DMS": (
        {"metadata": {"operation": "create-table", "record-type": "control"}},
        ("dms", "dms", 1.0),
    ),
    "a document of Debezium from MongoDB": (MONGODB, ("debezium_mongodb", "debezium_mongodb", 1.0)),
    "a wrapped document of Debezium from MongoDB": (
        {"schema": None, "payload": MONGODB | {"op": "d", "after": None}},
        ("debezium_mongodb", "debezium_mongodb", 1.0),
    ),
    "a document of Huawei DRS from MongoDB": (DRS_MONGODB, ("drs_mongodb", "drs_mongodb", 1.0)),
}

UNKNOWN: dict[str, Any] = {
    "a row of Huawei DRS from MySQL": CANAL_BEFORE_GTID | {"type": "UPDATE", "old": [{"id": "1"}]},
    "a full-load row of Huawei DRS": CANAL_BEFORE_GTID | {"type": "INIT"},
    "a row of CloudCanal, Canal": CANAL_BEFORE_GTID | {"id": 0, "old": []},
    "a row of a connector that is not listed": ENVELOPE | {"source": SOURCE | {"connector": "singlestoredb"}},
    "a row of CockroachDB without its source": {"after": {"id": 1}, "op": "c", "ts_ns": 1},
    "a Debezium row with an unknown op": ENVELOPE | {"op": "i"},
    "a Debezium row whose op is no text": ENVELOPE | {"op": ["c"]},
    "a flattened row of Debezium": {"id": 1, "__op": "c", "__deleted": "false"},
    "a flattened document of MongoDB": {"_id": 1, "__op": "c", "__collection": "c", "__deleted": "false"},
    "a wrapped row that nothing marks as flattened": wrapped({"id": 1}, "shop.orders.Value"),
    "a business object with an op alone": {"op": "c"},
    "a key that is spelt like a path": KNOWN["a row of TiCDC"][0] | {"_tidb.commitTs": 1},
    "an empty object": {},
    "a row of OceanBase OMS with an op that is not listed": OMS | {"recordType": "REPLACE"},
    "a row of OceanBase OMS, DataWorks, of another version": OMS_DATAWORKS | {"version": "3.0"},
    "a row of SharePlex that says only what it must": {
        "meta": {"op": "ins", "table": "APP.T"},
        "data": {"ID": 1},
    },
    "a row of Huawei DRS whose source is not known": DRS | {"dbType": "GaussDB(for MySQL)"},
    "a truncate of OGG, by either formatter": {
        key: value for key, value in (GOLDENGATE | {"op_type": "T"}).items() if key not in ("before", "after")
    },
    "a row of OGG with other names of operations": GOLDENGATE | {"op_type": "INSERT"},
    "an event of AWS DMS that is not listed": DMS | {"metadata": DMS["metadata"] | {"operation": "restart"}},
}


NO_OBJECT = [
    None,
    "",
    " ",
    "null",
    "[]",
    '"text"',
    "1",
    "{",
    '{"ts_ms": NaN}',
    json.dumps(CANAL) + "x",
    "[" * 100_000,
    '{"a":' * 100_000,
    "\x00",
    "\ud800",
]


@pytest.mark.parametrize("case", KNOWN)
def test_it_is_known(case: str) -> None:
    message, expected = KNOWN[case]
    assert tuple(detect(json.dumps(message))) == expected


GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def test_no_golden_message_is_taken_for_another_format_or_dialect() -> None:
    """Some cannot be known. What is no row is written alike in `flat` or `extended` and without."""
    # Heartbeats and transaction marks of Debezium do not tell the connector.
    alike = {("debezium_mongodb", "heartbeat"), ("debezium_mongodb", "transaction_marks")}
    wrong = []
    for folder in sorted(case.parent for case in GOLDEN.glob("*/*/case.yml")):
        if folder.name.endswith(("damaged", "unknown_op", "control")):
            continue
        dialect = yaml.safe_load((folder / "case.yml").read_text(encoding="utf-8")).get("dialect")
        for message in read_messages(folder.name, (folder / "messages.jsonl").read_bytes()):
            told = detect(message.value.decode("utf-8", "replace") if message.value else None)
            expected = {None, folder.parent.name}
            if (folder.parent.name, folder.name) in alike:
                expected.add("debezium")
            # How the endpoint of DMS is set up shows in no message, nor by what the project orders Debezium's.
            shown = dialect if dialect not in ("nulls_left_out", "by_offset") else None
            if told.format not in expected or (shown and told.dialect and told.dialect != shown):
                wrong.append((folder.parent.name, folder.name, message.offset, *told))
    assert wrong == []


@pytest.mark.parametrize("case", UNKNOWN)
def test_it_cannot_be_known(case: str) -> None:
    assert tuple(detect(json.dumps(UNKNOWN[case]))) == (None, None, 0.0)


@pytest.mark.parametrize(
    ("case", "writers"),
    [
        (
            "a row of Huawei DRS from MySQL",
            {("canal", "canal"), ("canal", "tencent"), ("canal", "cloudcanal"), ("drs", "mysql")},
        ),
        ("a full-load row of Huawei DRS", {("canal", "tencent"), ("drs", "mysql")}),
        ("a truncate of OGG, by either formatter", {("goldengate", "operation"), ("goldengate", "row")}),
        ("an empty object", set()),
    ],
)
def test_what_several_write_alike_names_its_writers(case: str, writers: set[tuple[str, str]]) -> None:
    assert set(alike(json.dumps(UNKNOWN[case]))) == writers


def test_what_is_known_has_no_other_writers() -> None:
    assert [case for case, (message, _) in KNOWN.items() if alike(json.dumps(message))] == []


@pytest.mark.parametrize("value", NO_OBJECT, ids=range(len(NO_OBJECT)))
def test_what_is_no_json_object_cannot_be_known(value: str | None) -> None:
    assert tuple(detect(value)) == (None, None, 0.0)


def test_a_number_of_thousands_of_digits_does_not_hide_the_format() -> None:
    message = json.dumps(CANAL).replace("1609344671000", "9" * 10_000)
    assert detect(message).format == "canal"


@pytest.mark.parametrize("case", KNOWN)
def test_no_message_fits_the_rules_of_two_formats(case: str) -> None:
    message, _ = KNOWN[case]
    assert len({rule.format for rule in RULES if detect_module._fits(rule, message)}) == 1


def test_each_rule_is_needed_by_a_known_message() -> None:
    first = {
        next(number for number, rule in enumerate(RULES) if detect_module._fits(rule, message))
        for message, _ in KNOWN.values()
    }
    assert first == set(range(len(RULES)))


def test_required_keys_lie_at_most_one_level_deep_so_that_sql_can_ask_for_them() -> None:
    assert all(path.count(".") <= 1 for rule in RULES for path in rule.required | rule.one_of)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.dictionaries(
            st.sampled_from(["op", "type", "data", "schema", "payload", "source", "ts_ms"]), inner
        ),
    )
)
def test_no_json_raises(value: Any) -> None:
    assert detect(json.dumps(value)).confidence in (0.0, 0.5, 1.0)


TYPES = [
    ("canal", "-5", ("BIGINT", "bigint")),
    ("canal", "bigint(20)", ("BIGINT", "bigint")),
    ("canal", "BIGINT(20) UNSIGNED", ("BIGINT UNSIGNED", "decimal(20)")),
    ("canal", "int(8) unsigned zerofill", ("INT UNSIGNED ZEROFILL", "bigint")),
    ("canal", "decimal(38,10)", ("DECIMAL", "decimal(38,10)")),
    ("canal", "decimal(10)", ("DECIMAL", "decimal(10,0)")),
    ("canal", "decimal(65,30)", ("DECIMAL", "string")),
    ("canal", "decimal(x)", ("DECIMAL", "string")),
    ("canal", "DECIMAL(8, 0)", ("DECIMAL", "decimal(8,0)")),
    ("canal", "decimal( 10 , 4 ) unsigned", ("DECIMAL UNSIGNED", "decimal(10,4)")),
    ("canal", "NUMERIC(8,3)", ("NUMERIC", "decimal(8,3)")),
    ("canal", "FIXED(40,3)", ("DECIMAL", "string")),
    ("canal", "INTEGER", ("INTEGER", "int")),
    ("canal", "DOUBLE PRECISION(10,7) unsigned zerofill", ("DOUBLE UNSIGNED ZEROFILL", "double")),
    ("canal", "enum('a(b','c)')", ("ENUM", "int")),
    ("canal", "datetime(6)", ("DATETIME", "timestamp_ntz")),
    ("debezium", "io.debezium.time.MicroTimestamp", ("MicroTimestamp", "timestamp_ntz")),
    ("debezium", "int16", ("INT16", "smallint")),
    ("debezium", "org.apache.kafka.connect.data.Decimal(4)", ("Decimal", "decimal(38,4)")),
    ("debezium", "org.apache.kafka.connect.data.Decimal(39)", ("Decimal", "string")),
    ("debezium", "org.apache.kafka.connect.data.Decimal", ("Decimal", "string")),
    ("oms_oracle", "NUMBER(5,7)", ("NUMBER", "string")),
    ("dataworks", "BYTES", ("BYTES", "binary")),
    ("oms_mysql", "TIMESTAMP", ("TIMESTAMP", "timestamp")),
    ("oms_mysql", "varchar(20)", ("VARCHAR", "string")),
    ("oms_mysql", "decimal(10,2)", ("DECIMAL", "decimal(10,2)")),
    ("oms_oracle", "DATE", ("DATE", "timestamp_ntz")),
    ("oms_oracle", "NUMBER(38)", ("NUMBER", "decimal(38,0)")),
    ("oms_oracle", "NUMBER", ("NUMBER", "string")),
    ("oms_oracle", "TIMESTAMP(9) WITH TIME ZONE", ("TIMESTAMP WITH TIME ZONE", "timestamp")),
    ("cloudcanal", "-7", ("BIT", "decimal(20)")),
    ("maxwell", "set", ("SET", "string")),
    ("drs", "mysql 94", ("DATETIME", "timestamp_ntz")),
    ("drs", "gaussdb 16", ("TIMESTAMP", "timestamp_ntz")),
    ("drs", "16", None),
    ("drs", "timestamp without time zone", ("TIMESTAMP", "timestamp_ntz")),
    ("kafka_river_canal", "decimal(10,4)", ("DECIMAL", "decimal(10,4)")),
    ("dms", "INT32", ("INT32", "int")),
    ("canal", "94", None),
    ("canal", "", None),
    ("canal", "bigint'; drop table x", None),
    ("dataworks", "bytes", None),
    ("oracle", "12", None),
    (None, "12", None),
    ("canal", None, None),
]


@pytest.mark.parametrize(("vendor", "code", "expected"), TYPES)
def test_a_type_code_has_a_name_and_a_spark_type(vendor: str, code: str, expected: tuple | None) -> None:
    assert type_name(vendor, code) == expected


INTEGERS = [
    0,
    1,
    -1,
    255,
    -256,
    2**31,
    -(2**31),
    2**63 - 1,
    -(2**63),
    2**64,
    10**28 + 7,
    10**38 - 1,
    1 - 10**38,
]
TOO_LONG = [10**38, -(10**38), 2**127 - 1, -(2**127)]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sql_reads_integers_of_38_digits_and_no_longer_ones(
    spark: Any, ansi: str, library: MacroLibrary
) -> None:
    def base64_of(number: int) -> str:
        data = number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)
        return base64.b64encode(data).decode()

    expression = library.call("_big_endian_integer", "text")
    rows = spark.createDataFrame([(base64_of(number),) for number in INTEGERS + TOO_LONG], "text string")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        found = [row[0] for row in rows.selectExpr(expression).collect()]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert found == [Decimal(number) for number in INTEGERS] + [None] * len(TOO_LONG)


def test_sql_decodes_binary_as_python_does(spark: Any) -> None:
    cases = [(encoder(ALL_BYTES), encoding) for encoding, encoder in ENCODERS.items()]
    cases += [(text, encoding) for encoding, text in NOT_OF_THE_ENCODING] + [(None, "hex"), ("00", None)]
    rows = (
        spark.createDataFrame(cases, "text string, encoding string")
        .selectExpr("text", "encoding", "cdc_decode_binary(text, encoding) as decoded")
        .collect()
    )
    assert len(rows) == len(cases)
    for text, encoding, decoded in rows:
        assert (None if decoded is None else bytes(decoded)) == decode_binary(text, encoding)


def test_sql_detects_as_python_does(spark: Any) -> None:
    values = [json.dumps(message) for message, _ in KNOWN.values()]
    values += [json.dumps(message) for message in UNKNOWN.values()]
    values += [value for value in NO_OBJECT if value != "\ud800"]
    frame = spark.createDataFrame([(value,) for value in values], "value string")
    for value, detected in frame.selectExpr("value", "cdc_detect(value)").collect():
        assert tuple(detected) == tuple(detect(value))


def test_sql_looks_types_up_as_python_does(spark: Any) -> None:
    frame = spark.createDataFrame([case[:2] for case in TYPES], "vendor string, code string")
    for vendor, code, found in frame.selectExpr("vendor", "code", "cdc_type(vendor, code)").collect():
        assert found == type_name(vendor, code)


def test_bytes_that_are_no_utf_8_do_not_stop_the_batch(spark: Any) -> None:
    row = spark.sql(
        """
        select
            collect_list(cdc_detect(value).confidence) as confidences,
            count(cdc_decode_binary(value, 'latin1')) as decoded,
            count(cdc_type('canal', value)) as types
        from values (cast(X'FF' as string)), ('{"ts_ms": 1}') as messages(value)
        """
    ).first()
    assert sorted(row.confidences) == [0.0, 0.5]
    assert row.decoded == 1
    assert row.types == 0


def test_no_rows_give_no_rows(spark: Any) -> None:
    frame = spark.createDataFrame([], "value string")
    functions = ["cdc_detect(value)", "cdc_decode_binary(value, 'hex')", "cdc_type(value, value)"]
    assert frame.selectExpr(*functions).collect() == []


def test_the_sql_functions_return_the_documented_types(spark: Any) -> None:
    schema = spark.sql("select cdc_decode_binary('', 'hex'), cdc_type('canal', '12'), cdc_detect('')").schema
    assert [field.dataType.simpleString() for field in schema] == [
        "binary",
        "struct<name:string,spark_type:string>",
        "struct<format:string,dialect:string,confidence:double>",
    ]


def test_registering_again_changes_nothing(spark: Any) -> None:
    names = ["cdc_decode_binary", "cdc_type", "cdc_ddl", "cdc_detect", "cdc_dts_avro", "cdc_mongo_fields"]
    names += ["cdc_mongo_update", "cdc_mongo_update_description", "cdc_mongo_patched"]
    assert register(spark) == register(spark) == names
    assert bytes(spark.sql("select cdc_decode_binary('6a', 'hex')").first()[0]) == b"j"


# Each function, of values and of nulls.
CALLS = [
    "cdc_decode_binary(text, 'hex')",
    "cdc_decode_binary(cast(null as string), 'hex')",
    "cdc_type('canal', 'decimal(20,4)')",
    "cdc_type('canal', text)",
    "cdc_ddl('alter table s.t add (a int not null), rename to u', 'mysql')",
    "cdc_ddl(text, null)",
    "cdc_ddl(cast(null as string), 'mysql')",
    "cdc_detect(document)",
    "cdc_dts_avro(cast(text as binary))",
    "cdc_mongo_fields(document)",
    "cdc_mongo_fields('{}')",
    'cdc_mongo_update(\'{"_id": 1}\', \'{"$set": {"a.b": 1}, "$unset": {"c": true}}\')',
    "cdc_mongo_update_description('{\"_id\": 1}', '{}', array('b.c'), array(named_struct('field', 'd', 'size', 2)))",
    "cdc_mongo_update_description('{\"_id\": 1}', null, null, null)",
    'cdc_mongo_patched(\'{"a":1}\', array(array(\'[{"op":"set","path":"doc.b","value":2}]\'), array(\'x\')))',
    "cdc_mongo_patched(null, array())",
]


def test_row_by_row_as_on_spark_4_0_the_functions_answer_the_same(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark 4.0 has no Arrow functions."""
    monkeypatch.setattr(registry, "FIRST_WITH_ARROW_FUNCTIONS", (999, 0))
    by_row = spark.newSession()
    register(by_row)
    query = f"""
        select {", ".join(CALLS)}
        from values ('6a', '{{"ts_ms": 1, "note": null}}'), ('x', null), (null, '{{') as given(text, document)
    """
    assert by_row.sql(query).schema == spark.sql(query).schema
    rows = by_row.sql(query).collect()
    assert rows == spark.sql(query).collect()
    assert bytes(rows[0][0]) == b"j" and len(rows) == 3


def test_what_is_sent_to_workers_answers_without_the_repository(tmp_path: Path) -> None:
    """From the zip alone: its modules, the schema of records and the type codes."""
    program = f"""
import sys
sys.path.insert(0, {str(workers.zipped())!r})
from dbt_spark_cdc.functions import dts_avro, type_name
assert ".zip" in type_name.__file__ and ".zip" in dts_avro.__file__
assert all(".zip" in str(file) for file in type_name.seed_files())
print(type_name.type_name("canal", "decimal(20,4)").spark_type, dts_avro.dts_avro(b"x"))
import dbt_spark_cdc.registry
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["decimal(20,4)", dts_avro(b"x")]


@pytest.mark.parametrize(
    ("master", "sent"),
    [
        ("local", 0),
        ("local[2]", 0),
        ("local[*]", 0),
        ("local-cluster[2,1,1024]", 1),
        ("spark://host:7077", 1),
        ("yarn", 1),
    ],
)
def test_the_package_goes_to_workers_on_other_machines(master: str, sent: int) -> None:
    files: list[str] = []
    context = types.SimpleNamespace(master=master, addPyFile=files.append)
    workers.ship(types.SimpleNamespace(sparkContext=context))  # type: ignore[arg-type]
    assert [Path(file).name for file in files] == ["dbt_spark_cdc.zip"] * sent


def test_the_package_is_sent_again_as_the_same_file() -> None:
    """Spark refuses another file of that name, and Spark Connect other bytes."""
    first = workers.zipped()
    assert workers.zipped() == first
    sent = first.read_bytes()
    workers.zipped.cache_clear()
    assert workers.zipped().read_bytes() == sent
    with zipfile.ZipFile(first) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_workers_that_run_the_functions_are_no_error(spark: Any) -> None:
    assert workers.why_not(spark, set(workers.PROBES)) is None
    assert set(workers.PROBES) == {function.name for function in registry.SQL_FUNCTIONS}


def test_workers_without_a_module_are_one_sentence(spark: Any) -> None:
    session = spark.newSession()

    def fails(text: str) -> str:
        raise ModuleNotFoundError("No module named 'pyarrow'")

    session.udf.register("cdc_mongo_fields", fails)
    assert workers.why_not(session, {"cdc_mongo_fields"}) == (
        "spark_cdc: Spark's workers cannot run cdc_mongo_fields: ModuleNotFoundError: No module named 'pyarrow'. Install on "
        "each worker, in the Python that it runs: pip install 'dbt-spark-cdc[worker,dts,mongodb,ddl]'. See "
        "docs/how-to/run-on-a-cluster.md."
    )


def test_a_session_of_an_old_spark_is_refused() -> None:
    session = types.SimpleNamespace(udf=None, version="3.5.8")
    with pytest.raises(UnsupportedSparkError, match=r"a session of Spark 4.0 or newer; got Spark 3.5.8"):
        register(session)  # type: ignore[arg-type]


def test_registering_in_what_is_no_session_says_what_is_wanted() -> None:
    with pytest.raises(TypeError, match="register: argument spark must be a SparkSession; got str"):
        register("local[2]")  # type: ignore[arg-type]


def test_importing_the_package_is_cheap_and_needs_no_dbt() -> None:
    program = (
        "import sys; sys.modules['dbt'] = None; import dbt_spark_cdc; "
        "import dbt_spark_cdc.registry; "
        "heavy = {'pyspark', 'pyarrow', 'pandas', 'fastavro', 'bson', 'pymongo'} & set(sys.modules); "
        "assert not heavy, heavy; assert dbt_spark_cdc.plugins == []"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
