"""What a message of no known format is, as far as its bytes prove it, and what to do about it.

Each rule asks for fields that only such messages have. If no rule matches, the answer names the message's
keys.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, NamedTuple

from dbt_spark_cdc.functions.detect import detect_object

# Larger messages are not searched.
DEPTH = 6
KEYS_SHOWN = 8


class Sight(NamedTuple):
    """What a message is, and what to do about such messages."""

    what: str
    advice: str


class _Stranger(NamedTuple):
    """Messages of another producer, known by the keys that all have; `outer.inner` is a nested key."""

    what: str
    keys: tuple[str, ...]
    advice: str


# What surrounds a message that is read without it; macros/parse/unreadable.sql uses the same words in a
# detail.
WRAPPINGS = {
    "list": "a list",
    "text_of_object": "a JSON text that holds an object",
    "text": "a JSON text",
    "scalar": "a JSON value that is no object",
    "struct": "the text that Java prints of a Struct of Kafka Connect",
    "base64": "base64 of a JSON object",
    "byte_order_mark": "a byte order mark in front",
    "schema_registry": "schema registry, Avro or Protobuf; schema id ",
    "another_object": "another object follows the message",
    "trailing_text": "text follows the message",
}
_TAKE_OUT = "land what is inside as the value"
_DECODE = f"{_TAKE_OUT}, decoded (unbase64)"
_SPLIT = "split it before it is landed"
_OTHER_CONVERTER = (
    "let the connector write JSON (value.converter=org.apache.kafka.connect.json.JsonConverter)"
)
_UNPACK = "let Kafka compress (compression.type), or unpack it"
_JSON_OUTPUT = "let the producer write JSON, or translate it before it is landed"
_NO_FORMAT = "no format of this package reads it; translate it before it is landed"
_CANAL_JSON = (
    "set protocol=canal-json and enable-tidb-extension=true, and read it with --format canal --dialect ticdc"
)
_FLAT_MESSAGE = "set canal.mq.flatMessage=true, and read it with --format canal"
_OLR = (
    "let Debezium's Oracle connector read it (database.connection.adapter=olr), and read what it writes "
    "with --format debezium"
)
_NO_CHANGE = "an event of an application is no change of a row; capture the tables that it is about"
_ENRICHED = "set envelope=enriched, and read it with --format debezium --dialect cockroachdb"

_STRANGERS = (
    _Stranger(
        "a CloudEvent", ("specversion", "type", "source", "id"), f"{_TAKE_OUT}, mostly the member `data`"
    ),
    _Stranger("an event of Qlik Replicate", ("magic", "type", "message"), _NO_FORMAT),
    _Stranger("an event of Qlik Replicate", ("headers.operation", "headers.changeSequence"), _NO_FORMAT),
    _Stranger("an event of Qlik Replicate", ("message.headers.changeSequence",), _NO_FORMAT),
    _Stranger("an event of MongoDB's own connector", ("operationType", "ns", "clusterTime"), _NO_FORMAT),
    _Stranger("a record of DynamoDB Streams", ("eventName", "dynamodb"), _NO_FORMAT),
    # The row and bare envelopes: to the dialect flat their deletes look like updates, or like nothing.
    _Stranger("of a changefeed of CockroachDB", ("__crdb__",), _ENRICHED),
    # docs.pingcap.com, "TiCDC Simple Protocol": rows, DDL, BOOTSTRAP and WATERMARK have these.
    _Stranger(
        "a message of TiCDC's simple protocol", ("version", "commitTs", "buildTs", "type"), _CANAL_JSON
    ),
    # github.com/zendesk/maxwell, "Encryption": the row, or the whole message.
    _Stranger(
        "a message that Maxwell has encrypted", ("encrypted.iv", "encrypted.bytes"), "set encrypt=none"
    ),
    _Stranger("an event of Striim", ("metadata.OperationName", "metadata.TableName"), _NO_FORMAT),
    _Stranger(
        "a notification of Amazon SNS", ("Type", "MessageId", "Message"), f"{_TAKE_OUT}, the member `Message`"
    ),
    # cloud.google.com, PubsubMessage, and the fields that a push subscription puts around it.
    _Stranger("a message of Google Pub/Sub", ("message.data", "message.messageId"), _DECODE),
    _Stranger("a message of Google Pub/Sub", ("data", "messageId", "publishTime"), _DECODE),
    # debezium.io, "Outbox Event Router": the table's columns, and those that fields.additional.placement
    # adds.
    _Stranger("a row of an outbox table", ("aggregatetype", "aggregateid", "payload"), _NO_CHANGE),
    _Stranger("an event of Debezium's outbox event router", ("eventType", "payload"), _NO_CHANGE),
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
# CockroachDB's clock.
_HLC = re.compile(r"[0-9]{19}\.[0-9]{10}")
_FIRST_BYTES = (
    (b"Obj\x01", "an Avro file", _JSON_OUTPUT),
    (b"\xc3\x01", "Avro in single-object encoding", _JSON_OUTPUT),
    (b"\x03\x00", "a message of the AWS Glue schema registry", _JSON_OUTPUT),
    (b"\x03\x05", "a compressed message of the AWS Glue schema registry", _JSON_OUTPUT),
    (b"\x1f\x8b", "compressed by gzip", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACK),
    (b"\xef\xbb\xbf", WRAPPINGS["byte_order_mark"], "take the mark away before it is landed"),
    (b"\xff\xfe", "UTF-16 text", "let the producer write UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "let the producer write UTF-8"),
    (b"<?xml", "XML", _JSON_OUTPUT),
)
# Where other tools put a row: a message with one is no row alone, whose deletes would be read as updates.
_ROWS_OF_OTHERS = ("before", "after", "data", "old", "old_data", "new", "new_data", "row", "rows", "record")
_OLR_OPS = ("begin", "commit", "c", "u", "d", "ddl", "chkpt")
_AVRO_TYPES = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})


def sight(value: bytes) -> Sight:
    """Return what a message is if `look` knows no writer of it.

    >>> sight(b'[{"id": 1}]').what
    'a list'
    """
    if not value.strip():
        return Sight("empty", "look for a producer that writes empty values")
    for start, what, advice in _FIRST_BYTES:
        if value.startswith(start):
            return Sight(what, advice)
    if _is_open_protocol(value):
        return Sight("TiCDC's Open Protocol", _CANAL_JSON)
    if _is_canal_packet(value):
        return Sight("Canal's protobuf (flatMessage=false)", _FLAT_MESSAGE)
    if value[0] == 0 and len(value) > 5:
        number = int.from_bytes(value[1:5], "big")
        return Sight(
            f"{WRAPPINGS['schema_registry']}{number}", f"{_OTHER_CONVERTER}; JSON after a schema id is read"
        )
    try:
        return _of_text(value.decode("utf-8"))
    except UnicodeDecodeError:
        return Sight("bytes that are no UTF-8 text", _JSON_OUTPUT)


def _is_open_protocol(value: bytes) -> bool:
    """Whether the value is events, each after its length (docs.pingcap.com, "TiCDC Open Protocol")."""
    while value:
        length = int.from_bytes(value[:8], "big")
        event, rest = value[8 : 8 + length], value[8 + length :]
        if len(value) < 8 or len(event) < length or (event and not event.startswith(b"{")):
            return False
        value = rest
    return True


# github.com/alibaba/canal, CanalProtocol.proto: magic number, version, type MESSAGES, compression; the body.
_CANAL_PACKET = re.compile(rb"(?:\x08\x11)?(?:\x10\x01)?\x18\x07(?:\x20[\x00-\x04])?\x2a", re.DOTALL)


def _is_canal_packet(value: bytes) -> bool:
    """Whether the value is one packet of Canal, by the length of its body."""
    start = _CANAL_PACKET.match(value)
    if start is None:
        return False
    length = re.compile(rb"[\x80-\xff]{0,4}[\x00-\x7f]", re.DOTALL).match(value, start.end())
    if length is None:
        return False
    size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(length[0]))
    return length.end() + size == len(value)


def _of_text(text: str) -> Sight:
    text = text.strip(" \t\r\n")
    if re.match(r"Struct\{\w+=", text):
        return Sight(WRAPPINGS["struct"], _OTHER_CONVERTER)
    try:
        found, end = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode(text)
    except (ValueError, RecursionError):
        if text.startswith(("{", "[")):
            return Sight(
                "JSON that breaks off or breaks a rule", "name the format: each line then says where it stops"
            )
        return _of_base64(text) or Sight("no JSON at all", "look whether the topic holds change messages")
    rest = text[end:].lstrip(" \t\r\n")
    if rest.startswith("{") and isinstance(found, dict):
        return Sight(WRAPPINGS["another_object"], _SPLIT)
    if rest:
        return Sight(WRAPPINGS["trailing_text"], "land one JSON object a message")
    return _of_json(found, text.startswith('"'))


def _of_json(found: Any, is_text: bool) -> Sight:
    stranger = _stranger(found) if isinstance(found, dict) else None
    wrapped = next(_wrapped(found, "", DEPTH), None)
    if wrapped is not None:
        path, name = wrapped
        outer = f"{stranger.what}: " if stranger else ""
        advice = _DECODE if "in base64" in path else _TAKE_OUT
        return Sight(f"{outer}a message of the format {name} stands {path}", advice)
    if stranger is not None:
        return stranger
    if isinstance(found, dict):
        return _of_keys(found)
    if isinstance(found, list):
        return Sight(WRAPPINGS["list"], _SPLIT)
    if is_text and _holds_object(found):
        return Sight(
            WRAPPINGS["text_of_object"], f"{_TAKE_OUT}; of Debezium's outbox event router, {_NO_CHANGE}"
        )
    return Sight(WRAPPINGS["text" if is_text else "scalar"], "look whether the topic holds change messages")


def _stranger(message: dict[str, Any]) -> Sight | None:
    if isinstance(message.get("change"), list) or (
        message.get("action") in ("I", "U", "D", "T", "B", "C", "M")
        and (message.keys() & {"columns", "identity", "xid", "lsn"} or len(message) == 1)
    ):
        return Sight("wal2json of PostgreSQL", _NO_FORMAT)
    if _is_of_openlogreplicator(message):
        return Sight("a message of OpenLogReplicator", _OLR)
    if any(_HLC.fullmatch(str(message.get(key))) for key in ("updated", "resolved", "mvcc_timestamp")):
        return Sight("of a changefeed of CockroachDB", _ENRICHED)
    for stranger in _STRANGERS:
        if all(_has(message, key.split(".")) for key in stranger.keys):
            return Sight(stranger.what, stranger.advice)
    if _has_avro_unions(message, DEPTH):
        return Sight(
            'Avro printed as JSON, each value in an object of its type (`{"int": 7}`)', _OTHER_CONVERTER
        )
    return None


def _is_of_openlogreplicator(message: dict[str, Any]) -> bool:
    """github.com/bersler/OpenLogReplicator, "Output format": a list of operations, under an SCN."""
    payload = message.get("payload")
    return (
        bool(message.keys() & {"scn", "scns", "c_scn"})
        and isinstance(payload, list)
        and bool(payload)
        and all(isinstance(entry, dict) and entry.get("op") in _OLR_OPS for entry in payload)
    )


def _holds_object(found: Any) -> bool:
    return isinstance(found, str) and found.lstrip().startswith("{")


def _of_keys(message: dict[str, Any]) -> Sight:
    source = message.get("source")
    connector = source.get("connector") if isinstance(source, dict) else None
    if message.keys() & {"op", "ddl"} and isinstance(connector, str) and _NAME.fullmatch(connector):
        return Sight(
            f"a message like Debezium's, of the connector {connector}",
            "name the format debezium: its page lists the connectors that it reads",
        )
    is_wrapper = message.keys() in ({"schema", "payload"}, {"payload"})
    if is_wrapper and _holds_object(message["payload"]):
        return Sight(
            f"a `payload` of Kafka Connect around {WRAPPINGS['text_of_object']}",
            f"{_TAKE_OUT}; of Debezium's outbox event router, {_NO_CHANGE}",
        )
    if is_wrapper and isinstance(message["payload"], dict):
        inner = _of_keys(message["payload"])
        return Sight(f"a `payload` of Kafka Connect around {inner.what}", inner.advice)
    if not message:
        return Sight("an empty JSON object", "look whether the topic holds change messages")
    names = [key[:40] for key in message][:KEYS_SHOWN]
    more = ", …" if len(message) > KEYS_SHOWN else ""
    what = f"a JSON object with the keys {', '.join(names)}{more}"
    if any(isinstance(message.get(key), (dict, list)) for key in _ROWS_OF_OTHERS):
        return Sight(what, "name the format; if no page of a format describes it, none reads it")
    return Sight(
        what,
        "name the format; a row alone is --format debezium --dialect flat, where `__op`, `__deleted` or a "
        "null value is a delete",
    )


def _wrapped(found: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Find a message of a known format inside another value, and name that format."""
    if depth == 0:
        return
    if path and isinstance(found, dict):
        told = detect_object(found)
        if told.format is not None and told.confidence == 1:
            yield path, told.format
            return
    if isinstance(found, dict):
        for key, inner in found.items():
            yield from _wrapped(inner, _path(f"under the key `{key[:40]}`", path), depth - 1)
    elif isinstance(found, list) and found:
        yield from _wrapped(found[0], _path("in a list", path), depth - 1)
    elif isinstance(found, str):
        is_base64 = _BASE64.fullmatch(found)
        if not is_base64 and not found.lstrip().startswith(("{", "[", '"')):
            return
        try:
            text = b64decode(found) if is_base64 else found
            inner = json.loads(text, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return
        yield from _wrapped(inner, _path("in base64" if is_base64 else "in a JSON text", path), depth - 1)


def _path(step: str, path: str) -> str:
    return f"{step} {path}" if path else step


# `{"` in base64.
_BASE64 = re.compile(r"eyJ[A-Za-z0-9+/_-]{8,}={0,2}")


def _of_base64(text: str) -> Sight | None:
    if _BASE64.fullmatch(text):
        return Sight(WRAPPINGS["base64"], "decode it before it is landed (unbase64)")
    return None


def _has_avro_unions(found: Any, depth: int) -> bool:
    if depth == 0 or not isinstance(found, dict):
        return False
    [*keys] = found
    is_union = len(keys) == 1 and keys[0] in _AVRO_TYPES and not isinstance(found[keys[0]], (dict, list))
    return is_union or any(_has_avro_unions(inner, depth - 1) for inner in found.values())


def _has(message: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(message, dict) or key not in message:
            return False
        message = message[key]
    return True
