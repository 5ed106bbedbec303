"""`spark-cdc decode`: its input, its output, and its error sentences."""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt_spark_cdc import __version__
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.decode import Decoder, Options, Source, UsageError
from dbt_spark_cdc.decode.sights import WRAPPINGS, sight
from dbt_spark_cdc.functions.detect import detect_bytes
from dbt_spark_cdc.functions.dts_avro import _reader
from dbt_spark_cdc.inputs import read_messages
from dbt_spark_cdc.local_spark import local_spark
from dbt_spark_cdc.macros import MacroLibrary
from encoders.dts_avro import write as write_record
from shared_data import CAPTURES

CAPTURED = [
    file
    for file in sorted(CAPTURES.glob("*/*.jsonl"))
    if file.parent.name.startswith(("canal", "debezium-")) and not file.stem.endswith(("truth", "before"))
]

CANAL = {
    "database": "shop",
    "table": "orders",
    "type": "INSERT",
    "isDdl": False,
    "pkNames": ["id"],
    "es": 1700000000123,
    "old": None,
}


def canal(*rows: str, **fields: Any) -> str:
    """A message whose rows are given as JSON text, so that their numbers stay as written."""
    head = json.dumps({**CANAL, **fields})
    return f'{head[:-1]}, "data": [{", ".join(rows)}]}}'


def captured(value: str | None, **fields: Any) -> str:
    return json.dumps({"topic": "t", "partition": 0, "offset": 0, **fields, "value": value})


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["decode", *map(str, arguments)], input=stdin)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


def write(folder: Path, name: str, *messages: str) -> Path:
    file = folder / name
    file.write_text("\n".join([*messages, ""]), encoding="utf-8")
    return file


# ---- reading files: no Spark


def test_a_bare_line_is_the_value_byte_for_byte() -> None:
    first, second = read_messages("t", b'{"a": 1.50} \r\n\n')
    assert (first.line, first.topic, first.partition, first.offset) == (0, "t", 0, 0)
    assert first.value == b'{"a": 1.50} \r'
    assert second.value == b""


def test_lines_end_at_line_feeds_only() -> None:
    assert len(read_messages("t", '{"a":"\u2028\u0085\x0b"}\n{}'.encode())) == 2
    assert read_messages("t", b"") == []


def test_null_is_a_tombstone() -> None:
    assert [m.value for m in read_messages("t", b"null\n")] == [None]


def test_a_capture_keeps_its_own_place() -> None:
    line = captured(
        "{}", topic="orders", partition=3, offset=2**60, key="k", headers=[["h", "v"], ["n", None]]
    )
    (message,) = read_messages("file", line.encode())
    assert (message.topic, message.partition, message.offset, message.key) == ("orders", 3, 2**60, b"k")
    assert message.headers == [{"key": "h", "value": b"v"}, {"key": "n", "value": None}]


@pytest.mark.parametrize(
    "line", ['{"value": 1, "topic": "t"}', '{"value": "x"}', '{"value": "x", "offset": "1"}']
)
def test_what_looks_like_a_capture_and_is_none(line: str) -> None:
    assert read_messages("t", line.encode())[0].value == line.encode()


# ---- refusals: no Spark


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "cannal"], ["--format", "auto, canal", "cannal"]),
        (["--format", "canal", "--dialect", "flat"], ["--dialect", "canal", "flat"]),
        (["--columns", "id"], ["--columns", "name:type", "`id`"]),
        (["--columns", "id:bigint,id:int"], ["--columns", "once", "id"]),
        (["--columns", "id:bigit"], ["--columns", "bigint", "id: bigit"]),
        (["--columns", "id:bigint", "--key", "no"], ["--key", "id", "no"]),
        (["--key", "id,"], ["--key", "id,"]),
        (["--fromat", "canal"], ["--fromat"]),
        (["--columns", "id:int(11)"], ["--columns", "parentheses", "id: int(11)"]),
        (
            ["--var", "debezium_other=x"],
            ["--var", "one of spark_cdc__debezium_other_connectors, ", "`debezium_other=x`"],
        ),
        (
            ["--var", "spark_cdc__allow_history_loss=x"],
            ["--var", "one of", "`spark_cdc__allow_history_loss=x`"],
        ),
        (["--var", "spark_cdc__debezium_invalid_pattern"], ["--var", "name=value"]),
        (["--var", "spark_cdc__debezium_other_connectors="], ["--var", "a list of texts"]),
        (
            ["--var", "spark_cdc__debezium_other_connectors=yugabytedb"],
            ["--var", "got `yugabytedb`", "Remove it"],
        ),
        (
            ["--var", "spark_cdc__debezium_invalid_pattern=a"] * 2,
            ["--var", "once", "spark_cdc__debezium_invalid_pattern"],
        ),
        ([], ["--format", "not tell", "auto"]),
    ],
)
def test_an_error_of_use_is_one_sentence(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    result = run(write(tmp_path, "x.jsonl", '{"what": 1}'), *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def test_files_that_are_refused_alike_share_a_sentence(tmp_path: Path) -> None:
    names = [str(write(tmp_path, name, '{"what": 1}')) for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    result = run(*names)
    assert (result.exit_code, result.stderr.count("\n"), result.stderr.count("kafka_river_canal")) == (
        2,
        1,
        1,
    )
    assert f"{names[0]}, {names[1]} and {names[2]}" in result.stderr


def told(library: MacroLibrary, *values: bytes, dialect: str | None = None) -> tuple[str, str | None]:
    """The format and dialect that `auto` tells of a file of these values."""
    data = "\n".join(json.dumps({"value_base64": b64encode(value).decode()}) for value in values)
    [file] = Decoder(library, Options(dialect=dialect)).files([Source("x", data.encode())])
    return file.format, file.dialect


DTS_AVRO = Path(__file__).resolve().parents[1] / "golden" / "dts_avro"


def dts_avro(case: str) -> list[bytes]:
    messages = read_messages("x", (DTS_AVRO / case / "messages.jsonl").read_bytes())
    return [message.value for message in messages if message.value is not None]


@pytest.mark.parametrize(
    "case", ["insert", "update", "delete", "ddl", "heartbeat", "born_timestamp", "snapshot"]
)
def test_a_record_of_dts_is_told_because_all_its_bytes_are_read(library: MacroLibrary, case: str) -> None:
    assert told(library, *dts_avro(case)) == ("dts_avro", "dts_avro")


DTS_RECORD = {
    "version": 4,
    "id": 1,
    "sourceTimestamp": 1,
    "sourcePosition": "1@7",
    "source": {"sourceType": "MySQL", "version": "8.0.32"},
    "operation": "INSERT",
    "objectName": "shop.orders",
    "fields": [{"name": "id", "dataTypeNumber": 8}],
    "afterImages": [{"Integer": {"precision": 8, "value": "1"}}],
}


@pytest.mark.parametrize(
    "values",
    [
        # These are a record, too: of MySQL, an INSERT, of nothing.
        [bytes(15)],
        [bytes(16)],
        [write_record(DTS_RECORD | {"fields": None, "afterImages": None})],
        [write_record(DTS_RECORD | {"fields": DTS_RECORD["fields"] * 2})],
        [write_record(DTS_RECORD)[:-1]],
        [write_record(DTS_RECORD) + b"\x00\x00"],
        [b"\x00\x00\x00\x00\x01" + write_record(DTS_RECORD)],
        [write_record(DTS_RECORD | {"operation": "HEARTBEAT", "sourcePosition": ""})],
        # A mark fits, and does not tell for what is beside it.
        [write_record(DTS_RECORD | {"operation": "HEARTBEAT", "fields": None, "afterImages": None}), b"\xff"],
    ],
)
def test_what_is_no_row_of_dts_for_certain_is_not_taken_for_one(
    library: MacroLibrary, values: list[bytes]
) -> None:
    assert told(library, write_record(DTS_RECORD), b"\xff") == ("dts_avro", "dts_avro")
    with pytest.raises(UsageError, match="do not tell their format"):
        told(library, *values)


def test_records_of_dts_need_fastavro_to_be_told(
    library: MacroLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = write_record(DTS_RECORD)
    _reader.cache_clear()
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(UsageError, match=r"pip install 'dbt-spark-cdc\[dts\]'"):
        told(library, record)
    assert told(library, b"\xff", of_any_writer(1, {"id": "1"}, gtid="").encode()) == ("canal", "canal")


EVENT = {
    "before": None,
    "after": {"id": 1},
    "source": {
        "version": "3.6.1.Final",
        "connector": "mysql",
        "name": "srv",
        "db": "shop",
        "table": "orders",
        "file": "mysql-bin.000009",
        "pos": 400,
    },
    "op": "c",
    "ts_ms": 1785500000500,
}
EVENT_TEXT = json.dumps(EVENT)
AVRO_PRINTED = {**EVENT, "op": {"string": "c"}, "after": {"Value": {"id": 1, "n": {"int": 7}}}}
CLOUD_EVENT = {"id": "1", "source": "/srv", "specversion": "1.0", "type": "io.debezium.mysql.datachangeevent"}
QLIK = {"magic": "atMSG", "type": "DT", "headers": None, "message": {"data": {"id": 1}, "beforeData": None}}
MONGODB_EVENT = {"_id": {"_data": "82"}, "operationType": "insert", "ns": {"db": "shop"}, "clusterTime": {}}


def open_protocol(*events: bytes) -> bytes:
    """A value as TiCDC's Open Protocol writes it: each event after its length."""
    return b"".join(len(event).to_bytes(8, "big") + event for event in events)


def canal_packet(body: bytes) -> bytes:
    """A packet of type MESSAGES, as Canal writes it with flatMessage=false."""
    length, size = b"", len(body)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return b"\x18\x07\x2a" + length + bytes([size]) + body


def pubsub(text: str) -> bytes:
    message = {
        "data": b64encode(text.encode()).decode(),
        "messageId": "1",
        "publishTime": "2026-08-01T00:00:00Z",
    }
    return json.dumps({"message": message, "subscription": "projects/p/subscriptions/s"}).encode()


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"", "empty"),
        (b" \t", "empty"),
        (b"\0\0\0\0*\0\x02\x02\x0cscooter\0", "schema registry, Avro or Protobuf; schema id 42"),
        (
            b"\0\x01\0\0\xc8\0\n\x04\x08\x01\x12\0",
            "schema registry, Avro or Protobuf; schema id 16777416",
        ),
        (b"Obj\x01\x04", "an Avro file"),
        (b"\xc3\x01" + bytes(8), "Avro in single-object encoding"),
        (b"\x03\0" + bytes(16) + b"{}", "a message of the AWS Glue schema registry"),
        (b"\x1f\x8b\x08\0", "compressed by gzip"),
        (b"\xef\xbb\xbf{}", "a byte order mark in front"),
        ("\ufeff{}".encode("utf-16-le"), "UTF-16 text"),
        (b"<?xml version='1.0'?>", "XML"),
        (b'{"name":"\xb3\xc9"}', "bytes that are no UTF-8 text"),
        (b"order 7 changed", "no JSON at all"),
        (b"Struct{after=Struct{id=1},op=c}", "the text that Java prints of a Struct of Kafka Connect"),
        (b64encode(EVENT_TEXT.encode()), "base64 of a JSON object"),
        (EVENT_TEXT[:-9].encode(), "JSON that breaks off or breaks a rule"),
        (b"{'id':1}", "JSON that breaks off or breaks a rule"),
        (f"{EVENT_TEXT}{EVENT_TEXT}".encode(), "another object follows the message"),
        (f"{EVENT_TEXT} ;".encode(), "text follows the message"),
        (json.dumps(EVENT_TEXT).encode(), "a message of the format debezium stands in a JSON text"),
        (json.dumps([EVENT]).encode(), "a message of the format debezium stands in a list"),
        (
            json.dumps([{"key": {"id": 1}, "value": EVENT}]).encode(),
            "a message of the format debezium stands under the key `value` in a list",
        ),
        (
            json.dumps({"records": [{"value": EVENT_TEXT}]}).encode(),
            "a message of the format debezium stands in a JSON text under the key `value` in a list under the key "
            "`records`",
        ),
        (json.dumps("{}").encode(), "a JSON text that holds an object"),
        (b"[{}]", "a list"),
        (b'"order 7"', "a JSON text"),
        (b"7", "a JSON value that is no object"),
        (json.dumps(CLOUD_EVENT | {"data": {"id": 1}}).encode(), "a CloudEvent"),
        (
            json.dumps(CLOUD_EVENT | {"data": EVENT}).encode(),
            "a CloudEvent: a message of the format debezium stands under the key `data`",
        ),
        (b'{"change":[{"kind":"insert","schema":"public"}]}', "wal2json of PostgreSQL"),
        (b'{"action":"I","schema":"public","table":"t","columns":[]}', "wal2json of PostgreSQL"),
        (b'{"action":"B"}', "wal2json of PostgreSQL"),
        (json.dumps(QLIK).encode(), "an event of Qlik Replicate"),
        (b'{"data":{},"headers":{"operation":"INSERT","changeSequence":"1"}}', "an event of Qlik Replicate"),
        (json.dumps(AVRO_PRINTED).encode(), "Avro printed as JSON, each value in an object of its type"),
        (json.dumps(MONGODB_EVENT).encode(), "an event of MongoDB's own connector"),
        (b'{"eventName":"INSERT","dynamodb":{"Keys":{}}}', "a record of DynamoDB Streams"),
        (b'{"after":{"id":1},"updated":"1785500000000000001.0000000000"}', "of a changefeed of CockroachDB"),
        (
            b'{"__crdb__":{"updated":"1785500000000000001.0000000000"},"id":1}',
            "of a changefeed of CockroachDB",
        ),
        (
            b'{"version":1,"type":"INSERT","table":"t","commitTs":1,"buildTs":1}',
            "a message of TiCDC's simple protocol",
        ),
        (
            b'{"version":1,"type":"WATERMARK","commitTs":4,"buildTs":1}',
            "a message of TiCDC's simple protocol",
        ),
        (
            b'{"database":"d","table":"t","type":"insert","ts":1,"encrypted":{"iv":"a==","bytes":"b=="}}',
            "a message that Maxwell has encrypted",
        ),
        (open_protocol(b'{"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}'), "TiCDC's Open Protocol"),
        (open_protocol(b'{"d":{"id":{"t":3,"v":1}}}', b'{"u":{}}'), "TiCDC's Open Protocol"),
        (open_protocol(b""), "TiCDC's Open Protocol"),
        (open_protocol(b"{}")[:-1], "schema registry, Avro or Protobuf; schema id 0"),
        (canal_packet(b"\x08\x05\x12\x02ab"), "Canal's protobuf (flatMessage=false)"),
        (b"\x10\x01" + canal_packet(b"\x12\x02ab" * 100), "Canal's protobuf (flatMessage=false)"),
        (canal_packet(b"\x12\x02ab") + b"x", "no JSON at all"),
        (
            b'{"scn":5,"tm":1,"c_scn":6,"c_idx":1,"xid":"0x1","db":"FREE","payload":[{"op":"c","schema":{}}]}',
            "a message of OpenLogReplicator",
        ),
        (b'{"c_scn":6,"c_idx":0,"payload":[{"op":"begin"}]}', "a message of OpenLogReplicator"),
        (b'{"scn":6,"payload":[{"op":"sold"}]}', "a JSON object with the keys scn, payload"),
        (
            pubsub(EVENT_TEXT),
            "a message of Google Pub/Sub: a message of the format debezium stands in base64 under",
        ),
        (pubsub("{'no':1}"), "a message of Google Pub/Sub"),
        (
            b'{"id":"4d47","aggregatetype":"order","aggregateid":"1","type":"OrderCreated","payload":"{}"}',
            "a row of an outbox table",
        ),
        (b'{"eventType":"OrderCreated","payload":"{}"}', "an event of Debezium's outbox event router"),
        (
            b'{"payload":"{\\"id\\":1}"}',
            "a `payload` of Kafka Connect around a JSON text that holds an object",
        ),
        (
            json.dumps({"payload": EVENT_TEXT}).encode(),
            "a message of the format debezium stands in a JSON text under the key `payload`",
        ),
        (
            json.dumps(EVENT | {"source": EVENT["source"] | {"connector": "acme"}}).encode(),
            "a message like Debezium's, of the connector acme",
        ),
        (
            b'{"schema":{},"payload":{"id":1}}',
            "a `payload` of Kafka Connect around a JSON object with the keys id",
        ),
        (b"{}", "an empty JSON object"),
        (b'{"id":1,"name":"Ann"}', "a JSON object with the keys id, name"),
    ],
)
def test_what_tells_no_format_is_named(value: bytes, what: str) -> None:
    found = sight(value)
    assert found.what.startswith(what)
    assert found.advice
    assert "Ann" not in found.what


@pytest.mark.parametrize(
    ("value", "is_row"),
    [
        (b'{"id":1,"name":"Ann"}', True),
        (b'{"id":1,"data":"text","old":null}', True),
        (b'{"before":null,"after":{"id":1}}', False),
        (b'{"database":"d","table":"t","kind":"delete","data":{"id":13}}', False),
        (b'{"payload":{"op":"READ","after":{"id":2}}}', False),
        (b'{"table":"t","rows":[{"id":2}]}', False),
    ],
)
def test_only_a_row_alone_may_be_flat(value: bytes, is_row: bool) -> None:
    assert ("--dialect flat" in sight(value).advice) == is_row


def test_what_tells_no_format_is_counted(library: MacroLibrary) -> None:
    with pytest.raises(UsageError) as error:
        told(library, b"[{}]", b"[[]]", b"", *(f'{{"{letter}":1}}'.encode() for letter in "abcdef"))
    assert (
        "; 2 of 9: a list (split it before it is landed); 1 of 9: empty (look for a producer that writes empty values); "
        in str(error.value)
    )
    assert "; 3 others" in str(error.value)


def test_an_error_and_auto_name_what_stands_around_a_message_alike(library: MacroLibrary) -> None:
    assert library.call("_wrappings") == WRAPPINGS
    given = library.call("_unreadable_reason", "value")
    for what in WRAPPINGS.values():
        assert what in given


@pytest.mark.parametrize(
    "value",
    [
        b"\0\0\0\xc8\x01" + EVENT_TEXT.encode(),
        json.dumps({"schema": {"type": "string", "optional": False}, "payload": EVENT_TEXT}).encode(),
    ],
)
def test_what_is_wrapped_and_read_all_the_same_is_told(value: bytes) -> None:
    assert tuple(detect_bytes(value)) == ("debezium", "envelope", 1.0)


DATAWORKS_OF_OMS = {
    "version": "2.0",
    "schema": {"source": {}, "column": []},
    "payload": {"op": "INSERT", "timestamp": {}},
}


@pytest.mark.parametrize(
    ("dialect", "message", "expected"),
    [
        ("oms", DATAWORKS_OF_OMS, ("dataworks", "oms")),
        ("tencent", "alike", ("canal", "tencent")),
        ("mysql", "alike", ("drs", "mysql")),
        ("oms", "alike", ("canal", "oms")),
        ("postgresql", "alike", ("drs", "postgresql")),
    ],
)
def test_a_dialect_leaves_the_formats_that_have_it(
    library: MacroLibrary, dialect: str, message: Any, expected: tuple[str, str]
) -> None:
    text = of_any_writer(1, {"id": "1"}) if message == "alike" else json.dumps(message)
    assert told(library, text.encode(), dialect=dialect) == expected


def test_other_formats_do_not_count_beside_a_dialect(library: MacroLibrary) -> None:
    heartbeat, row = b'{"ts_ms": 1}', of_any_writer(1, {"id": "1"}, gtid="").encode()
    assert told(library, heartbeat, heartbeat, row) == ("debezium", "envelope")
    assert told(library, heartbeat, heartbeat, row, dialect="dts") == ("canal", "dts")


@pytest.mark.parametrize(
    ("dialect", "fields", "sentence"),
    [
        (
            "flat",
            {"gtid": ""},
            "must be one of canal, ticdc, tencent, dts, flink, seatunnel, oms, cloudcanal, dataarts for {}, because "
            "the messages are of the format canal; got `flat`.",
        ),
        (
            "flat",
            {},
            "must be one of canal, ticdc, tencent, dts, flink, seatunnel, oms, cloudcanal, dataarts, mysql, "
            "postgresql, oracle, sqlserver for {}, because the messages are of the format canal or drs; got `flat`.",
        ),
    ],
)
def test_a_dialect_that_the_format_has_not_is_said(
    tmp_path: Path, dialect: str, fields: dict[str, Any], sentence: str
) -> None:
    file = write(tmp_path, "x.jsonl", of_any_writer(1, {"id": "1"}, **fields))
    result = run(file, "--dialect", dialect)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f" decode: option --dialect {sentence.format(file)}\n")


def test_most_messages_count_also_where_several_write_them(library: MacroLibrary) -> None:
    alike, other = of_any_writer(1, {"id": "1"}).encode(), debezium(id=1).encode()
    assert told(library, other, alike, alike) == ("canal", "canal")
    assert told(library, alike, other) == ("debezium", "envelope")


def test_a_mark_beside_what_is_not_known_tells_no_format(library: MacroLibrary) -> None:
    for dialect in (None, "oms"):
        with pytest.raises(UsageError, match="do not tell their format"):
            told(library, b'{"ts_ms": 1}', b'{"what": 1}', dialect=dialect)


def test_only_formats_that_have_the_dialect_are_named(tmp_path: Path) -> None:
    result = run(write(tmp_path, "x.jsonl", '{"what": 1}'), "--dialect", "oms")
    assert "--format must be one of canal, dataworks, shareplex for " in result.stderr


def test_a_file_without_messages_has_no_format(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    for options, shown in (((), "-"), (("--format", "oms"), "oms")):
        result = run(tmp_path / "empty.jsonl", "--out", tmp_path / "out", *options)
        assert (result.exit_code, result.stderr.splitlines()[1].split()[1]) == (0, shown)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (["HEARTBEAT", "DDL", "HEARTBEAT", "extended"], ("oms", "extended")),
        (["default", "default", "extended"], ("oms", "extended")),
        (["HEARTBEAT", "default"], ("oms", "default")),
        (["HEARTBEAT"], ("oms", None)),
    ],
)
def test_what_all_dialects_write_does_not_tell_the_dialect(
    library: MacroLibrary, messages: list[str], expected: tuple[str, str | None]
) -> None:
    row = {"id": 1}
    rows = {"default": row, "extended": {**row, "__light_type": {"id": {"schemaType": "INT"}}}}
    data = "\n".join(
        json.dumps(
            {
                "prevStruct": None,
                "postStruct": rows.get(kind),
                "allMetaData": {"db": "t.d", "table_name": "x"},
                "recordType": "INSERT" if kind in rows else kind,
            }
        )
        for kind in messages
    )
    [file] = Decoder(library, Options()).files([Source("x", data.encode())])
    assert (file.format, file.dialect) == expected


def test_a_missing_file_and_two_of_one_name_are_errors_of_use(tmp_path: Path) -> None:
    assert run(tmp_path / "no.jsonl").exit_code == 2
    (tmp_path / "a").mkdir()
    files = [
        write(tmp_path, "x.jsonl", canal('{"id": 1}')),
        write(tmp_path / "a", "x.jsonl", canal('{"id": 1}')),
    ]
    result = run(*files, "--format", "canal", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--out" in result.stderr
    assert run(files[0], "--format", "canal", "--out", tmp_path).exit_code == 2


def test_version_and_help() -> None:
    assert __version__ in CliRunner().invoke(main, ["--version"]).output
    text = " ".join(run("--help").output.split())
    for words in ("--columns", "`value` (a text or null) and `topic` or `offset`", "or has `value_base64`"):
        assert words in text


# ---- decoding


@pytest.mark.usefixtures("spark")
def test_images_are_the_texts_of_the_message(tmp_path: Path) -> None:
    row = '{"id": 1, "n": 1.50, "big": 123456789012345678901234567890, "t": "a\u2028b", "no": null, '
    row += '"o": {"a": [1.0]}}'
    file = write(tmp_path, "x.jsonl", canal(row, '{"id": 2}'), "null", "{", canal(type="ALTER"))
    result = run(file, "--format", "canal")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == len(result.stdout.splitlines()) == 5
    first, second, tombstone, broken, ddl = lines(result.stdout)
    assert first == {
        "lines": [0],
        "kind": "row",
        "database": "shop",
        "schema": None,
        "table": "orders",
        "op": "insert",
        "before": None,
        "after": {
            "id": "1",
            "n": "1.50",
            "big": "123456789012345678901234567890",
            "t": "a\u2028b",
            "no": None,
            "o": '{"a":[1.0]}',
        },
        "sequence": [0, 0],
        "committed_at": "2023-11-14T22:13:20.123Z",
        "error": None,
    }
    assert (second["lines"], second["after"], second["sequence"]) == ([0], {"id": "2"}, [0, 1])
    assert (tombstone["kind"], broken["kind"], ddl["kind"]) == ("tombstone", "error", "ddl")
    assert broken["error"] == {"code": "broken_json", "detail": "broken off at byte 1"}


@pytest.mark.usefixtures("spark")
def test_several_files_give_a_result_each(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a.jsonl", canal('{"id": 1}'), canal('{"id": 2}')),
        write(tmp_path, "b.jsonl", captured(canal('{"id": 3}'), offset=2**60)),
        write(tmp_path, "empty.jsonl"),
    ]
    files[2].write_bytes(b"")
    result = run(*files, "--format", "canal", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    decoded = [lines((tmp_path / "out" / file.name).read_text(encoding="utf-8")) for file in files]
    assert [[entry["after"]["id"] for entry in entries] for entries in decoded] == [["1", "2"], ["3"], []]
    assert decoded[1][0]["sequence"] == [2**60, 0]


@pytest.mark.usefixtures("spark")
def test_columns_are_typed_by_the_models_casts(tmp_path: Path) -> None:
    # Long enough for Spark to break its base64 into lines.
    binary = "\u00ff" * 100
    rows = [f'{{"id": 1, "n": 0.0000001, "b": "{binary}"}}', '{"id": 2, "n": 1.25}', '{"id": "x", "n": null}']
    file = write(tmp_path, "x.jsonl", canal(*rows))
    result = run(
        file, "--format", "canal", "--columns", "n:decimal(20,8),id:int,b:binary", "--columns", "z:string"
    )
    first, second, third = lines(result.stdout)
    assert first["after"] == {"n": "0.00000010", "id": "1", "b": b64encode(b"\xff" * 100).decode()}
    assert second["after"] == {"n": "1.25000000", "id": "2"}
    assert third["kind"] == "error"
    assert third["error"] == {"code": "invalid_value", "detail": "id: int"}
    assert third["after"] == {"n": None, "id": "x"}


@pytest.mark.usefixtures("spark")
def test_state_shows_the_rows_that_are_left(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "x.jsonl",
        canal('{"id": 10, "v": "a"}', '{"id": 9, "v": "b"}', '{"id": 8, "v": "c"}'),
        canal('{"id": 11, "v": "a"}', type="UPDATE", old=[{"id": "10"}]),
        canal('{"id": 8, "v": "c"}', type="DELETE"),
        canal('{"v": "lost"}', table="keyless", pkNames=None),
    )
    orders, keyless = lines(run(file, "--format", "canal", "--state").stdout)
    assert orders == {
        "database": "shop",
        "schema": None,
        "table": "orders",
        "key": ["id"],
        "rows": [{"id": "9", "v": "b"}, {"id": "11", "v": "a"}],
    }
    assert (keyless["key"], keyless["rows"]) == ([], [])
    assert "--key" in keyless["error"]


@pytest.mark.usefixtures("spark")
def test_a_row_keeps_under_its_new_key_what_the_message_leaves_out(tmp_path: Path) -> None:
    """As a binlog with MINIMAL row images has it."""
    file = write(
        tmp_path,
        "x.jsonl",
        canal('{"id": 10, "v": "a"}', '{"id": 9, "v": "b"}'),
        canal('{"id": 11}', type="UPDATE", old=[{"id": "10"}]),
    )
    [orders] = lines(run(file, "--format", "canal", "--state").stdout)
    assert ("error" in orders, orders["rows"]) == (False, [{"id": "9", "v": "b"}, {"id": "11", "v": "a"}])


@pytest.mark.usefixtures("spark")
def test_a_deleted_row_of_flink_cdc_is_gone_without_a_word_of_its_format(tmp_path: Path) -> None:
    """Before 3.3 it stands in `old`, and `data` is null."""
    row, name = {"id": 8, "name": "Ann"}, {"database": None, "table": "student", "pkNames": ["id"], "ts": 0}
    file = write(
        tmp_path,
        "x.jsonl",
        json.dumps({"old": None, "data": [row], "type": "INSERT", **name}),
        json.dumps({"old": None, "data": [{**row, "id": 9}], "type": "INSERT", **name}),
        json.dumps({"old": [row], "data": None, "type": "DELETE", **name}),
    )
    [student] = lines(run(file, "--state").stdout)
    assert (student["table"], student["rows"]) == ("student", [{"id": "9", "name": "Ann"}])


@pytest.mark.usefixtures("spark")
def test_columns_that_maxwell_leaves_out_are_null_in_the_state(tmp_path: Path) -> None:
    """With output_nulls=false: id 5 lost its note, the note of id 6 was NULL before, the update of 7 changes half its key.

    The update of 8 has only what changed, as binlog_row_image=MINIMAL logs it: its note is as it was.
    """
    head = {"database": "test", "table": "address", "ts": 1469115600}
    messages = [
        {"type": "insert", "data": {"id": 5, "sub": 1, "note": "a", "v": 3}},
        {"type": "update", "data": {"id": 5, "sub": 1, "v": 4}, "old": {"note": "a", "v": 3}},
        {"type": "insert", "data": {"id": 6, "sub": 1, "v": 1}},
        {"type": "update", "data": {"id": 6, "sub": 1, "note": "n", "v": 2}, "old": {"v": 1}},
        {"type": "insert", "data": {"id": 7, "sub": 1, "v": 1}},
        {"type": "update", "data": {"id": 7, "sub": 2, "v": 1}, "old": {"sub": 1}},
        {"type": "insert", "data": {"id": 8, "sub": 1, "note": "kept", "v": 1}},
        {"type": "update", "data": {"id": 8, "sub": 1, "v": 9}},
    ]
    file = write(tmp_path, "x.jsonl", *(json.dumps({**head, **message}) for message in messages))
    told = ("--format", "maxwell", "--dialect", "nulls_left_out", "--state", "--key", "id,sub")
    [address] = lines(run(file, *told).stdout)
    assert address["rows"] == [
        {"id": "5", "sub": "1", "note": None, "v": "4"},
        {"id": "6", "sub": "1", "note": "n", "v": "2"},
        {"id": "7", "sub": "2", "note": None, "v": "1"},
        {"id": "8", "sub": "1", "note": "kept", "v": "9"},
    ]
    assert "error" not in address


@pytest.mark.usefixtures("spark")
def test_state_without_rows_that_a_null_value_deletes(tmp_path: Path) -> None:
    """A flattened delete is a null value: its topic names database and table as the rows do."""
    row = {"id": 1, "v": "a", "__db": "shop", "__table": "orders", "__op": "c"}
    messages = [
        {"topic": "srv.shop.orders", "offset": 0, "key": '{"id":1}', "value": json.dumps(row)},
        {"topic": "srv.shop.orders", "offset": 1, "key": '{"id":1}', "value": None},
    ]
    file = write(tmp_path, "orders.jsonl", *map(json.dumps, messages))
    (orders,) = lines(run(file, "--format", "debezium", "--dialect", "flat", "--state", "--key", "id").stdout)
    assert (orders["database"], orders["table"], orders["rows"]) == ("shop", "orders", [])


def ticdc(commit_ts: int, **fields: object) -> str:
    source = {"version": "2.4.0.Final", "connector": "TiCDC", "name": "default", "ts_ms": 1785500000000}
    source |= {"db": "shop", "table": "orders", "file": "", "pos": 0, "row": 0, "commit_ts": commit_ts}
    row = fields.get("after")
    key = json.dumps({"payload": {"id": row["id"]} if isinstance(row, dict) else {"databaseName": "shop"}})
    return captured(json.dumps({"payload": {"source": source, **fields}}), topic="tidb", key=key)


def cockroachdb(nanoseconds: int, op: str, key: int, after: str = "null") -> str:
    source = {
        "origin": "cockroachdb",
        "database_name": "shop",
        "schema_name": "public",
        "table_name": "products",
    }
    source |= {"ts_hlc": f"{nanoseconds}.0000000000", "ts_ns": nanoseconds}
    value = (
        f'{{"after": {after}, "op": "{op}", "source": {json.dumps(source)}, "ts_ns": 1785500009000000000}}'
    )
    return captured(value, topic="products", key=json.dumps({"id": key}))


def in_order(*messages: str) -> list[str]:
    return [json.dumps({**json.loads(message), "offset": n}) for n, message in enumerate(messages)]


@pytest.mark.usefixtures("spark")
def test_state_of_those_who_write_as_debezium_does(tmp_path: Path) -> None:
    """What is sent again has its old time, and TiCDC sends a truncate to each partition, as a schema change."""
    first, truncate = (
        468000000000000000,
        {"databaseName": "shop", "ddl": "TRUNCATE TABLE `orders`", "tableChanges": []},
    )
    orders = in_order(
        ticdc(first + 1, op="c", before=None, after={"id": 1, "v": "a"}),
        ticdc(first + 7, op="c", before=None, after={"id": 3, "v": "c"}),
        ticdc(first + 9, op="u", before={"id": 3, "v": "c"}, after={"id": 3, "v": "d"}),
        ticdc(first + 5, op="m"),
        ticdc(first + 6, **truncate),
        ticdc(first + 2, op="c", before=None, after={"id": 2, "v": "b"}),
        ticdc(first + 7, op="c", before=None, after={"id": 3, "v": "c"}),
        ticdc(first + 6, **truncate),
    )
    now = 1785500000000000000
    products = in_order(
        cockroachdb(now + 1, "c", 7, '{"id": 7, "name": "Mouse", "price": 29.90}'),
        cockroachdb(now + 2, "u", 7, '{"id": 7, "name": "Mouse", "price": 19.90}'),
        cockroachdb(now + 3, "c", 8, '{"id": 8, "name": "Pad", "price": 5.0}'),
        cockroachdb(now + 4, "d", 8),
        captured('{"resolved": "1785500001000000000.0000000000"}', topic="products"),
        cockroachdb(now + 1, "c", 7, '{"id": 7, "name": "Mouse", "price": 29.90}'),
        cockroachdb(now + 3, "c", 8, '{"id": 8, "name": "Pad", "price": 5.0}'),
    )
    files = [write(tmp_path, "orders.jsonl", *orders), write(tmp_path, "products.jsonl", *products)]
    result = run(*files, "--state")
    assert result.exit_code == 0, result.output
    assert lines(result.stdout) == [
        {
            "database": "shop",
            "schema": None,
            "table": "orders",
            "key": ["id"],
            "rows": [{"id": "3", "v": "d"}],
        },
        {
            "database": "shop",
            "schema": "public",
            "table": "products",
            "key": ["id"],
            "rows": [{"id": "7", "name": "Mouse", "price": "19.90"}],
        },
    ]


FLAT_TOPICS = {
    # MySQL without added fields; with the database alone; PostgreSQL with all names, whose topic has the schema.
    "bare": ("srv.shop.orders", {}, ("shop", None)),
    "short": ("orders", {}, (None, None)),
    "database": ("srv.shop.orders", {"__db": "shop"}, ("shop", None)),
    "schema": ("srv.public.orders", {"__db": "shop", "__schema": "public"}, ("shop", "public")),
    "only_schema": ("srv.public.orders", {"__schema": "public"}, (None, "public")),
}


@pytest.mark.usefixtures("spark")
def test_state_of_null_values_is_of_the_table_that_their_topic_has(tmp_path: Path) -> None:
    """ExtractNewRecordState by default: a delete is a null value, and the rows name no database."""
    files = []
    for name, (topic, fields, _) in FLAT_TOPICS.items():
        messages = [
            {
                "topic": topic,
                "offset": 0,
                "key": '{"id":1}',
                "value": json.dumps({"id": 1, "v": "a", **fields}),
            },
            {
                "topic": topic,
                "offset": 1,
                "key": '{"id":2}',
                "value": json.dumps({"id": 2, "v": "b", **fields}),
            },
            {"topic": topic, "offset": 2, "key": '{"id":1}', "value": None},
        ]
        files.append(write(tmp_path, f"{name}.jsonl", *map(json.dumps, messages)))
    out = tmp_path / "out"
    run(*files, "--format", "debezium", "--dialect", "flat", "--state", "--key", "id", "--out", out)
    found = {name: lines((out / f"{name}.jsonl").read_text(encoding="utf-8")) for name in FLAT_TOPICS}
    assert {
        name: [(table["database"], table["schema"], table["rows"]) for table in tables]
        for name, tables in found.items()
    } == {name: [(*names, [{"id": "2", "v": "b"}])] for name, (_, _, names) in FLAT_TOPICS.items()}


@pytest.mark.usefixtures("spark")
def test_state_of_changes_that_share_a_position(tmp_path: Path) -> None:
    """A compressed transaction of MySQL: the offset orders its rows. A key that is left and taken again, over two partitions."""
    source = {
        "connector": "mysql",
        "db": "shop",
        "table": "orders",
        "file": "binlog.000009",
        "pos": 1450,
        "row": 0,
    }

    def message(number: int, op: str, before: Any, after: Any, partition: int, **fields: Any) -> str:
        value = {
            "op": op,
            "before": before,
            "after": after,
            "source": {**source, "row": fields.pop("row", 0)},
        }
        key = json.dumps({"id": (after or before)["id"]})
        offset = number + 1_000_000 * partition
        return json.dumps(
            {
                "topic": "t",
                "partition": partition,
                "offset": offset,
                "key": key,
                "value": json.dumps(value),
                **fields,
            }
        )

    file = write(
        tmp_path,
        "orders.jsonl",
        message(0, "c", None, {"id": 5, "v": "first"}, 0, row=1),
        message(1, "u", {"id": 5, "v": "first"}, {"id": 5, "v": "second"}, 0),
        message(2, "d", {"id": 5, "v": "second"}, None, 0),
        message(3, "c", None, {"id": 6, "v": "second"}, 1, headers=[["__debezium.oldkey", '{"id":5}']]),
        message(4, "c", None, {"id": 5, "v": "third"}, 0),
        message(5, "c", None, {"id": 7, "v": "gone"}, 0, row=3),
        message(6, "d", {"id": 7, "v": "gone"}, None, 0),
    )
    (orders,) = lines(run(file, "--format", "debezium", "--state", "--key", "id").stdout)
    assert orders["rows"] == [{"id": "5", "v": "third"}, {"id": "6", "v": "second"}]


@pytest.mark.usefixtures("spark")
def test_state_of_partitions_whose_offsets_are_the_same(tmp_path: Path) -> None:
    """Each partition counts its offsets from 0. The state keeps the messages of all partitions, and of both tables."""
    sent = [
        *(("orders", n % 3, n // 3, n, {"id": n, "v": "old"}) for n in range(6)),
        ("orders", 1, 2, 6, {"id": 4, "v": "new"}),
        ("lines", 0, 0, 7, {"id": 9, "v": "line"}),
    ]
    texts = [
        json.dumps(
            {
                "topic": table,
                "partition": partition,
                "offset": offset,
                "timestamp": 1_700_000_000_000 + time,
                "value": json.dumps(
                    {"database": "shop", "table": table, "type": "insert", "ts": 1_700_000_000, "data": row}
                ),
            }
        )
        for table, partition, offset, time, row in sent
    ]
    file = write(tmp_path, "shop.jsonl", *texts)
    orders, others = lines(run(file, "--format", "maxwell", "--state", "--key", "id").stdout)
    assert orders.get("error") is None
    assert {row["id"]: row["v"] for row in orders["rows"]} == {
        **dict.fromkeys("01235", "old"),
        "4": "new",
    }
    assert others["rows"] == [{"id": "9", "v": "line"}]


@pytest.mark.usefixtures("spark")
def test_state_keeps_what_no_connector_sent(tmp_path: Path) -> None:
    """MySQL's marker of values that an update did not touch, in a text and in a binary."""
    source = {"connector": "mysql", "db": "shop", "table": "orders", "file": "binlog.000009", "row": 0}
    marker = "__debezium_unavailable_value"
    rows = [
        ("c", {"id": 1, "title": "draft", "body": "long", "photo": "3q2+7w=="}),
        ("u", {"id": 1, "title": "final", "body": marker, "photo": b64encode(marker.encode()).decode()}),
    ]
    file = write(
        tmp_path,
        "orders.jsonl",
        *(
            json.dumps({"op": op, "before": None, "after": row, "source": {**source, "pos": number}})
            for number, (op, row) in enumerate(rows)
        ),
    )
    columns = ("--columns", "id:int,title:string,body:string,photo:binary")
    (orders,) = lines(run(file, "--format", "debezium", "--state", "--key", "id", *columns).stdout)
    assert orders["rows"] == [{"id": "1", "title": "final", "body": "long", "photo": "3q2+7w=="}]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("declared", [True, False])
def test_state_has_what_updates_changed_inside_a_value(tmp_path: Path, declared: bool) -> None:
    identity = '{"_id": ObjectId("64650cf67dc36a464e76e5aa")}'
    documents = {
        "insert": identity[:-1] + ', "place": {"row": NumberLong("9007199254740993"), "tags": ["a"]}}',
        "update": '{"$set": {"place.tags.2": "c", "place.deep.er": 1.5}}',
    }
    messages = [
        {
            "id": number, "op": kind.upper(), "dbType": "MongoDB", "db": "zoo", "coll": "cages", "value": value,
            "where": identity if kind == "update" else "", "recordType": kind, "extra": kind,
            "es": 1684315111439, "ts": 1684315111576, "clusterTime": f"1684344064:{number}",
        }
        for number, (kind, value) in enumerate(documents.items())
    ]  # fmt: skip
    file = write(tmp_path, "x.jsonl", *(json.dumps(message) for message in messages))
    columns = ("--columns", "_id:string,place:string") if declared else ()
    [cages] = lines(run(file, "--format", "drs_mongodb", "--key", "_id", *columns, "--state").stdout)
    assert ("error" in cages, cages["rows"][0].keys()) == (False, {"_id", "place"})
    assert [json.loads(row["place"]) for row in cages["rows"]] == [
        {"row": 9007199254740993, "tags": ["a", None, "c"], "deep": {"er": 1.5}}
    ]


def drs_mongodb(number: int, kind: str, key: int, value: str, table: str = "cages") -> str:
    identity = f'{{"_id": {key}}}'
    return json.dumps({
        "id": number, "op": kind.upper(), "dbType": "MongoDB", "db": "zoo", "coll": table, "value": value,
        "where": identity if kind == "update" else "", "recordType": kind, "extra": kind,
        "es": 1684315111439, "ts": 1684315111576, "clusterTime": f"1684344064:{number}",
    })  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_state_does_not_show_what_is_not_known_as_null(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "x.jsonl",
        drs_mongodb(1, "insert", 1, '{"_id": 1, "n": 5, "v": null}'),
        drs_mongodb(2, "update", 1, '{"$set": {"n.a": 1}}'),
        drs_mongodb(3, "update", 2, '{"$set": {"v": 7}}'),
        drs_mongodb(4, "insert", 3, '{"_id": 3, "n": {"a": 1}}'),
        drs_mongodb(5, "insert", 1, '{"_id": 1, "other": 1}', table="others"),
    )
    for columns in ((), ("--columns", "_id:int,n:variant,v:int")):
        cages, others = lines(run(file, "--format", "drs_mongodb", *columns, "--state").stdout)
        assert cages["rows"] == [
            {"_id": "1", "v": None},
            {"_id": "2", "v": "7"},
            {"_id": "3", "n": '{"a":1}', "v": None},
        ]
        assert cages["error"] == "Rows with values that no message tells: 2, in the columns n."
        assert (len(others["rows"]), "error" in others) == (1, False)


@pytest.mark.usefixtures("spark")
def test_a_patch_sets_no_number_that_a_variant_does_not_hold(tmp_path: Path) -> None:
    """As the same number in a whole value. Nothing that is patched on top of it is known."""

    def patched(key: int, *operations: str) -> list[str]:
        whole = drs_mongodb(10 * key, "insert", key, f'{{"_id": {key}, "n": {{"z": 1}}}}')
        updates = [
            drs_mongodb(10 * key + 1 + place, "update", key, operation)
            for place, operation in enumerate(operations)
        ]
        return [whole, *updates]

    zero = '{"$set": {"n.c": -0.0}}'
    file = write(
        tmp_path,
        "x.jsonl",
        *patched(1, zero),
        *patched(2, zero, '{"$set": {"n.c": 1}}'),
        *patched(3, zero, '{"$set": {"n": {"a": 1}}}', '{"$set": {"n.b": [0.0, -1, 1e22]}}'),
        *patched(4, '{"$set": {"n.c": {"d": [1.7976931348623157e308]}}}'),
        *patched(5, '{"$set": {"n.c": "-0.0"}}', '{"$unset": {"n.z": true}}'),
    )
    found = {}
    for type_ in ("variant", "string"):
        options = ("--format", "drs_mongodb", "--columns", f"_id:int,n:{type_}", "--state")
        [found[type_]] = lines(run(file, *options).stdout)
    assert [row.get("n", "unknown") for row in found["variant"]["rows"]] == [
        "unknown", "unknown", '{"a":1,"b":[0,-1,1.0E22]}', "unknown", '{"c":"-0.0"}',
    ]  # fmt: skip
    assert found["variant"]["error"] == "Rows with values that no message tells: 3, in the columns n."
    assert [row["n"] for row in found["string"]["rows"]] == [
        '{"z":1,"c":-0.0}',
        '{"z":1,"c":1}',
        '{"a":1,"b":[0.0,-1,1e+22]}',
        '{"z":1,"c":{"d":[1.7976931348623157e+308]}}',
        '{"c":"-0.0"}',
    ]


@pytest.mark.usefixtures("spark")
def test_state_does_not_choose_between_keys(tmp_path: Path) -> None:
    def message(table: str, row: str, *key: str) -> str:
        return canal(row, table=table, pkNames=list(key) or None)

    file = write(
        tmp_path,
        "x.jsonl",
        message("differ", '{"id": 1, "k2": "x"}', "id"),
        message("differ", '{"id": 2, "k2": "x"}', "id"),
        message("differ", '{"id": 3, "k2": "z"}', "k2"),
        message("part", '{"id": 1, "k2": "x"}', "id", "k2"),
        message("part", '{"id": 1, "k2": "y"}', "id"),
        message("order", '{"id": 1, "k2": "x"}', "id", "k2"),
        message("order", '{"id": 1, "k2": "x"}', "k2", "id"),
        message("left_out", '{"id": 1, "k2": "x"}', "id"),
        message("left_out", '{"id": 2, "k2": "x"}'),
    )
    tables = {table["table"]: table for table in lines(run(file, "--format", "canal", "--state").stdout)}
    assert {name: (sorted(table["key"]), len(table["rows"])) for name, table in tables.items()} == {
        "differ": ([], 0),
        "part": ([], 0),
        "order": (["id", "k2"], 1),
        "left_out": (["id"], 2),
    }
    assert {name: table["error"] for name, table in tables.items() if "error" in table} == {
        "differ": "Its messages name different key columns (id; k2); name them with --key.",
        "part": "Its messages name different key columns (id, k2; id); name them with --key.",
    }
    result = run(file, "--format", "canal", "--state", "--key", "differ=id", "--key", "part=id,k2")
    settled = {table["table"]: table for table in lines(result.stdout)}
    assert [len(settled[name]["rows"]) for name in ("differ", "part")] == [3, 2]
    assert not any("error" in table for table in settled.values())


@pytest.mark.usefixtures("spark")
def test_a_row_that_a_message_changes_twice(tmp_path: Path) -> None:
    """Once its key: it is one row. Rows of one message that change places are as many as before."""

    def row(number: int, **values: str) -> str:
        return json.dumps({"id": str(number), **values})

    def moved(*old: dict[str, str], table: str, data: list[str]) -> str:
        return canal(*data, type="UPDATE", old=list(old), table=table)

    a, b = row(1, v="a"), row(2, v="b")
    file = write(
        tmp_path,
        "x.jsonl",
        *(canal(a, table=table) for table in ("touched", "chain", "partial")),
        moved({"v": "a"}, {"id": "1"}, table="touched", data=[row(1, v="z"), row(2, v="z")]),
        moved({"id": "1"}, {"id": "2"}, table="chain", data=[row(2, v="a"), row(3, v="a")]),
        moved({"v": "a"}, {"id": "1"}, table="partial", data=[row(1, v="z"), row(2)]),
        *(canal(a, b, table=table) for table in ("swap", "equal", "passed_on")),
        moved({"id": "1"}, {"id": "2"}, table="swap", data=[row(2, v="a"), row(1, v="b")]),
        moved(
            {"id": "1"},
            {"id": "2"},
            {"id": "2"},
            table="passed_on",
            data=[row(2, v="a"), row(1, v="b"), row(3, v="a")],
        ),
        moved({"v": "b"}, table="equal", data=[row(2, v="a")]),
        moved({"id": "1"}, {"id": "2"}, table="equal", data=[row(2, v="a"), row(1, v="a")]),
    )
    tables = lines(run(file, "--format", "canal", "--state").stdout)
    assert {table["table"]: [(found["id"], found["v"]) for found in table["rows"]] for table in tables} == {
        "touched": [("2", "z")],
        "chain": [("3", "a")],
        "partial": [("2", "z")],
        "swap": [("1", "b"), ("2", "a")],
        "equal": [("1", "a"), ("2", "a")],
        "passed_on": [("1", "b"), ("3", "a")],
    }


def of_any_writer(number: int, row: dict[str, str | None], **fields: Any) -> str:
    """A message as Canal before 1.1.7, Tencent, CloudCanal and DRS write it."""
    types = {"sqlType": dict.fromkeys(row, 4), "mysqlType": dict.fromkeys(row, "int")}
    return json.dumps({**CANAL, "id": number, "sql": "", **types, "ts": 1, "data": [row], **fields})


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [(), ("--state",), ("--dialect", "tencent")])
def test_what_all_writers_of_such_messages_mean_is_shown(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = write(
        tmp_path,
        "x.jsonl",
        of_any_writer(1, {"id": "1", "v": None}),
        of_any_writer(2, {"id": "2", "v": "b"}, type="UPDATE", old=[{"id": "1", "v": None}]),
    )
    result = run(file, *options)
    assert result.exit_code == 0, result.output
    if "--state" in options:
        assert lines(result.stdout)[0]["rows"] == [{"id": "2", "v": "b"}]
    else:
        images = [(row["op"], row["before"], row["after"]) for row in lines(result.stdout)]
        assert images == [
            ("insert", None, {"id": "1", "v": None}),
            ("update", {"id": "1", "v": None}, {"id": "2", "v": "b"}),
        ]
    if "--dialect" in options:
        assert result.stderr == ""
        return
    assert result.stderr == (
        f"{file}: --format canal --dialect canal, --format canal --dialect tencent, --format canal --dialect "
        "cloudcanal and --format drs --dialect mysql write these messages alike and mean the same by them.\n"
    )


FLAT = '{"id": 1, "__op": "c", "__table": "orders", "__deleted": "false"}'


def debezium(**row: Any) -> str:
    source = {"version": "3.5", "connector": "mysql", "name": "s", "db": "shop", "table": "orders"}
    return json.dumps({"op": "c", "before": None, "after": row, "source": source, "ts_ms": 1})


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("state", [(), ("--state",)])
def test_messages_of_other_formats_in_a_file_are_said(tmp_path: Path, state: tuple[str, ...]) -> None:
    """What is broken, and what is no row, is of no other format."""
    rows = [of_any_writer(number, {"id": str(number)}, gtid="") for number in (1, 2, 3)]
    files = [
        write(tmp_path, "mixed.jsonl", rows[0], FLAT, "{", *rows[1:], FLAT, debezium(id=1), "null"),
        write(tmp_path, "alike.jsonl", of_any_writer(1, {"id": "1"}), of_any_writer(2, {"id": "2"}), FLAT),
        write(tmp_path, "dialects.jsonl", debezium(id=1), debezium(id=2), FLAT),
        write(tmp_path, "whole.jsonl", *rows, canal('{"id": 1}'), '{"ts": 1}', "null"),
    ]
    result = run(*files, *state)
    assert result.exit_code == 0
    mixed, alike, other, dialects = result.stderr.splitlines()
    assert mixed == (
        f"{files[0]}: read as --format canal --dialect canal, but some of its messages look otherwise: 2 like "
        "--format debezium --dialect flat (the first in line 1), 1 like --format debezium --dialect envelope (the "
        "first in line 6), lines counted from 0; give each format a file of its own."
    )
    assert alike.startswith(f"{files[1]}: --format canal --dialect canal, ")
    assert ": 1 like --format debezium --dialect flat (the first in line 2), " in other
    assert dialects.startswith(f"{files[2]}: read as --format debezium --dialect envelope, but ")
    assert ": 1 like --format debezium --dialect flat (the first in line 2), " in dialects


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [(), ("--state",), ("--columns", "id:bigint,idd:bigint,no:int")])
def test_a_key_that_no_message_meets_is_said(tmp_path: Path, options: tuple[str, ...]) -> None:
    files = [
        write(tmp_path, "a.jsonl", canal('{"id": 1, "name": "x"}'), canal('{"idd": 1}', table="lines")),
        write(tmp_path, "b.jsonl", canal('{"id": 1, "k": 1}', table="parts"), "{"),
    ]
    keys = ("idd", "nope=id", "shop.parts=id,no", "shop.lines=idd")
    result = run(*files, "--format", "canal", *options, *(f"--key={key}" for key in keys))
    assert result.exit_code == 0
    assert result.stdout.count("\n") >= 4
    assert result.stderr.splitlines() == [
        f"{files[0]}: no row of shop.orders has the key column idd of option --key; its columns are id, name.",
        f"{files[1]}: no row of shop.parts has the key column no of option --key; its columns are id, k.",
        "option --key: no message that was read is of a table nope; the tables are shop.orders, shop.lines, shop.parts.",
    ]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [(), ("--columns", "id:bigint,name:string")])
def test_a_row_without_a_value_of_its_key_is_an_error(tmp_path: Path, options: tuple[str, ...]) -> None:
    rows = [
        canal('{"id": 1, "name": "x"}'),
        canal('{"id": null, "name": "x"}'),
        canal('{"name": "x"}', type="DELETE"),
    ]
    result = run(write(tmp_path, "x.jsonl", *rows), "--format", "canal", "--key", "id", *options)
    errors = [line["error"] for line in lines(result.stdout)]
    assert errors == [None, {"code": "key_missing", "detail": "id"}, {"code": "key_missing", "detail": "id"}]


@pytest.mark.usefixtures("spark")
def test_a_column_left_out_as_null_is_shown_as_null(tmp_path: Path) -> None:
    """Where the writer leaves out what is null; where it does not, the column is left out here, too."""
    row = '{"data":{"id":1},"metadata":{"record-type":"data","operation":"update","schema-name":"s","table-name":"t"}}'
    told = (
        "--format",
        "dms",
        "--dialect",
        "nulls_left_out",
        "--columns",
        "id:bigint,b:string",
        "--key",
        "id",
    )
    [shown] = lines(run(write(tmp_path, "a.jsonl", row), *told).stdout)
    assert shown["after"] == {"id": "1", "b": None}
    columns = ("--columns", "id:bigint,b:string", "--key", "id")
    [shown] = lines(run(write(tmp_path, "b.jsonl", canal('{"id": 1}')), "--format", "canal", *columns).stdout)
    assert shown["after"] == {"id": "1"}


@pytest.mark.usefixtures("spark")
def test_who_cannot_have_written_a_message_is_no_writer_of_the_file(tmp_path: Path) -> None:
    """DRS puts a deleted row into `old`."""
    result = run(write(tmp_path, "x.jsonl", of_any_writer(1, {"id": "1"}, type="DELETE")))
    assert (result.exit_code, lines(result.stdout)[0]["before"]) == (0, {"id": "1"})
    assert "--format canal --dialect canal" in result.stderr
    assert "drs" not in result.stderr


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("numbers", "options"),
    [((1, 2), ("--columns", "id:bigint,b:binary")), ((2, 1), ())],
)
def test_writers_that_mean_different_things_are_named(
    tmp_path: Path, numbers: tuple[int, int], options: tuple[str, ...]
) -> None:
    """Of bytes, and of the order: DRS tells it by `id`."""
    rows = [of_any_writer(number, {"id": "1", "b": text}) for number, text in zip(numbers, "xy", strict=True)]
    result = run(write(tmp_path, "x.jsonl", *rows), *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    for word in ("--format canal --dialect canal", "--dialect cloudcanal", "--format drs --dialect mysql"):
        assert word in result.stderr


@pytest.mark.usefixtures("spark")
def test_a_file_that_does_not_tell_its_format_does_not_stop_the_others(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "unknown.jsonl", '{"what": 1}'),
        write(tmp_path, "flat.jsonl", '{"id": 1, "__op": "c", "__table": "orders", "__deleted": "false"}'),
    ]
    result = run(*files)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "unknown.jsonl" in result.stderr
    [row] = lines(result.stdout)
    assert (row["table"], row["op"], row["after"]) == ("orders", "insert", {"id": "1"})
    assert run(*files, "--out", tmp_path / "out").exit_code == 2
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["flat.jsonl"]


@pytest.mark.usefixtures("spark")
def test_a_row_that_only_the_reading_of_texts_can_read_is_an_error(tmp_path: Path) -> None:
    image = '{"id": "not a number", "f": 0.' + "0" * 1073 + "1}"
    file = write(tmp_path, "x.jsonl", canal(image))
    options = ("--format", "canal", "--columns", "id:bigint,f:double", "--key", "id")
    [row] = lines(run(file, *options).stdout)
    assert (row["kind"], row["error"]) == (
        "error",
        {"code": "over_json_limits", "detail": "more than 1,000 digits in a row"},
    )


@pytest.mark.usefixtures("spark")
def test_columns_that_differ_in_case_alone_are_two(tmp_path: Path) -> None:
    file = write(tmp_path, "x.jsonl", canal('{"Id": "a", "id": "b"}'))
    options = ("--format", "canal", "--columns", "Id:string,id:string")
    [row] = lines(run(file, *options).stdout)
    assert row["after"] == {"Id": "a", "id": "b"}
    [table] = lines(run(file, *options, "--state").stdout)
    assert table["rows"] == [{"Id": "a", "id": "b"}]


@pytest.mark.usefixtures("spark")
def test_bytes_that_are_not_of_their_character_set_are_an_error_without_columns_too(repository: Path) -> None:
    file = repository / "tests" / "golden" / "dts_avro" / "typed_values_that_do_not_fit" / "messages.jsonl"
    lost, unknown, whole, *_ = lines(run(file, "--format", "dts_avro").stdout)
    assert (lost["kind"], lost["error"]) == ("error", {"code": "invalid_value", "detail": "s: string"})
    assert (unknown["kind"], unknown["error"]) == (lost["kind"], lost["error"])
    assert (whole["kind"], whole["after"]["da"]) == ("row", "0000-00-00")


@pytest.mark.usefixtures("spark")
def test_state_says_what_could_not_be_read(tmp_path: Path) -> None:
    cut = canal('{"id": 1, "a": "new"}', type="UPDATE")[:-20]
    file = write(
        tmp_path,
        "x.jsonl",
        canal('{"id": 1, "a": "old"}'),
        cut,
        canal('{"id": 1}', type="UPSERT"),
        canal('{"id": 1}', type="UPSERT"),
        canal(type="DELETE"),
    )
    for columns in ((), ("--columns", "id:bigint,a:string", "--key", "id")):
        orders, unread = lines(run(file, "--format", "canal", "--state", *columns).stdout)
        assert (orders["rows"], orders.get("error")) == ([{"id": "1", "a": "old"}], None)
        assert (unread["table"], unread["rows"]) == (None, [])
        broken, *others = re.findall(r"Messages not read: [^.]+\.", unread["error"])
        assert broken == f"Messages not read: 1 with the error broken_json (broken off at byte {len(cut)})."
        assert [other.rstrip(".").split(" (")[0] for other in others] == [
            "Messages not read: 1 with the error missing_rows",
            "Messages not read: 2 with the error unknown_op",
        ]
    file.write_text("{\n")
    [unread] = lines(run(file, "--format", "canal", "--state").stdout)
    assert unread["error"] == "Messages not read: 1 with the error broken_json (broken off at byte 1)."
    file.write_text(
        "{\n{\n{}x\n" + "\n".join(f"{' ' * width}{{" for width in range(1, 12)) + "\n", encoding="utf-8"
    )
    [unread] = lines(run(file, "--format", "canal", "--state").stdout)
    assert unread["error"].startswith(
        "Messages not read: 13 with the error broken_json (2 broken off at byte 1; 1 broken off at byte "
    )
    assert unread["error"].endswith(
        "; 2 others). Messages not read: 1 with the error text_after_message (byte 2: text follows the message)."
    )


@pytest.mark.usefixtures("spark")
def test_state_takes_no_row_with_the_operation_column_of_another_tool(tmp_path: Path) -> None:
    """In a row that has Debezium's own mark the same name is a column of the table, also in one file."""
    rows = ('{"id":1,"Op":"x","__op":"c"}', '{"id":1,"Op":"D"}', '{"id":2,"hvr_op_val":0}')
    file = write(tmp_path, "x.jsonl", *rows)
    options = ("--format", "debezium", "--dialect", "flat", "--state", "--key", "id")
    [table] = lines(run(file, *options).stdout)
    assert table["rows"] == [{"id": "1", "Op": "x"}]
    assert table["error"].startswith(
        "Changes not applied: 2 with the error unexpected_structure (1 Op: an operation column "
    )
    [table] = lines(run(file, *options, "--columns", "id:bigint,Op:string").stdout)
    assert table["rows"] == [{"id": "1", "Op": "D"}]
    assert table["error"].startswith(
        "Changes not applied: 1 with the error unexpected_structure (hvr_op_val: "
    )


CONNECTOR_OF_THE_PROJECT = json.dumps(EVENT | {"source": EVENT["source"] | {"connector": "acme"}})


@pytest.mark.usefixtures("spark")
def test_variables_are_those_of_a_project(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "x.jsonl",
        CONNECTOR_OF_THE_PROJECT,
        json.dumps(EVENT | {"after": {"id": 1, "a": "n/a", "b": "gone"}}),
    )
    options = ["--format", "debezium"]
    refused, row = lines(run(file, *options).stdout)
    assert (refused["error"]["code"], row["after"]) == (
        "unsupported_connector",
        {"id": "1", "a": "n/a", "b": "gone"},
    )
    for connector in ("other", "acme"):
        options += ["--var", f"spark_cdc__debezium_other_connectors={connector}"]
    options += [
        "--var",
        "spark_cdc__debezium_unavailable_pattern=n/.",
        "--var",
        "spark_cdc__debezium_invalid_pattern=g.*",
    ]
    allowed, row = lines(run(file, *options).stdout)
    assert (allowed["kind"], allowed["after"]) == ("row", {"id": "1"})
    assert (row["after"], row["error"]) == (
        {"id": "1", "b": "gone"},
        {"code": "invalid_value", "detail": "b: string"},
    )


@pytest.mark.usefixtures("spark")
def test_state_names_the_columns_of_rows_that_it_leaves_out(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "x.jsonl",
        canal('{"id": 1, "n": "1", "at": "2024-01-01"}'),
        canal('{"id": 2, "n": "x", "at": "soon"}'),
        canal('{"id": 3, "n": "y", "at": "late"}'),
        canal('{"id": 4, "n": "z", "at": "2024-01-01"}'),
        canal('{"id": null, "n": "1", "at": "2024-01-01"}'),
    )
    options = ("--format", "canal", "--state", "--key", "id", "--columns", "id:bigint,n:int,at:date")
    [orders] = lines(run(file, *options).stdout)
    assert [row["id"] for row in orders["rows"]] == ["1"]
    assert orders["error"] == (
        "Changes not applied: 3 with the error invalid_value (2 n: int, at: date; 1 n: int). "
        "Changes not applied: 1 with the error key_missing (id)."
    )


@pytest.mark.usefixtures("spark")
def test_a_message_behind_a_schema_id_is_read_where_the_format_is_told_too(tmp_path: Path) -> None:
    values = [b"\0\0\0\0+" + EVENT_TEXT.encode(), b"\0\0\0\0*\0\x02\x02\x0cscooter\0"]
    encoded = (b64encode(value).decode() for value in values)
    file = write(tmp_path, "x.jsonl", *(json.dumps({"value_base64": text, "topic": "t"}) for text in encoded))
    first, second = lines(run(file).stdout)
    assert (first["kind"], first["after"]) == ("row", {"id": "1"})
    assert second["error"] == {
        "code": "not_json",
        "detail": "schema registry, Avro or Protobuf; schema id 42",
    }


@pytest.mark.usefixtures("spark")
def test_state_of_variants(tmp_path: Path) -> None:
    file = write(tmp_path, "x.jsonl", canal('{"id": "1", "a": "{\\"b\\": 1.50}"}', '{"id": "2", "a": null}'))
    options = ("--format", "canal", "--state", "--key", "id", "--columns", "id:string,a:variant")
    [table] = lines(run(file, *options).stdout)
    assert table["rows"] == [{"id": "1", "a": '{"b":1.5}'}, {"id": "2", "a": None}]


@pytest.mark.usefixtures("spark")
def test_state_leaves_out_a_column_whose_name_is_reserved(tmp_path: Path) -> None:
    file = write(tmp_path, "x.jsonl", canal('{"id": 1, "_cdc_op": "x"}'))
    [table] = lines(run(file, "--format", "canal", "--state").stdout)
    assert table["rows"] == [{"id": "1"}]
    assert "_cdc_op" in table["error"]


# ---- captures of real servers

# A statement that empties a partition: no message has the rows that are gone.
EMPTIES_PARTITION = {
    ("unknown_op", "it names TRUNCATE and does not plainly empty one table"),
    ("unknown_op", "a TRUNCATE, which has no place in the order of flat rows"),
}


@pytest.fixture(scope="session")
def captures(spark: Any, repository: Path) -> dict[str, list[dict[str, Any]]]:
    results = {}
    with local_spark(0) as session:
        for name, dialect, some in (
            ("canal", None, [f for f in CAPTURED if f.parent.name == "canal"]),
            ("debezium", None, [f for f in CAPTURED if f.parent.name != "canal" and f.stem != "flat"]),
            ("debezium", "flat", [f for f in CAPTURED if f.parent.name != "canal" and f.stem == "flat"]),
        ):
            decoder = Decoder(MacroLibrary(repository), Options(name, dialect))
            files = decoder.files([Source(file.stem, file.read_bytes()) for file in some])
            names = [f"{file.parent.name}/{file.stem}" for file in some]
            results.update(zip(names, decoder.changes(session, files), strict=True))
    return results


@pytest.mark.skipif(
    not CAPTURED, reason=f"no captures under {CAPTURES}; name its parent with SPARK_CDC_SHARED"
)
@pytest.mark.parametrize("name", [f"{file.parent.name}/{file.stem}" for file in CAPTURED])
def test_every_message_of_a_real_server_is_read(name: str, captures: dict[str, list[dict[str, Any]]]) -> None:
    assert captures[name]
    errors = [entry["error"] for entry in captures[name] if entry["kind"] == "error"]
    refused = {(error["code"], error["detail"].partition(": ")[2]) for error in errors}
    assert refused <= EMPTIES_PARTITION
