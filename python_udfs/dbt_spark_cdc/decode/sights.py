"""What a message of no known format is, as far as its bytes prove it, and what to do about it.

Each rule asks for what only such messages have. What none of them knows is named by its keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dbt_spark_cdc.functions.detect import detect_object

# Beyond these a message is not looked through.
DEPTH = 6
KEYS_SHOWN = 8


class Sight(NamedTuple):
    """What is seen in a message, and what to do where there are such."""

    what: str
    advice: str


class _Stranger(NamedTuple):
    """Messages of another producer, known by the keys that all of them have; `outer.inner` lies deeper."""

    what: str
    keys: tuple[str, ...]
    advice: str


_TAKE_OUT = "land what is inside as the value"
_OTHER_CONVERTER = (
    "let the connector write JSON (value.converter=org.apache.kafka.connect.json.JsonConverter)"
)
_UNPACK = "let Kafka compress (compression.type), or unpack it"
_JSON_OUTPUT = "let the producer write JSON, or translate it before it is landed"
_NO_FORMAT = "no format of this package reads it; translate it before it is landed"
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
    # The row and bare envelopes: their deletes look like updates, or like nothing, to the dialect flat.
    _Stranger("of a changefeed of CockroachDB", ("__crdb__",), _ENRICHED),
    _Stranger("a row of TiCDC's simple protocol", ("version", "commitTs", "buildTs", "type"), _NO_FORMAT),
    _Stranger("an event of Striim", ("metadata.OperationName", "metadata.TableName"), _NO_FORMAT),
    _Stranger(
        "a notification of Amazon SNS", ("Type", "MessageId", "Message"), f"{_TAKE_OUT}, the member `Message`"
    ),
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
    (b"\xef\xbb\xbf", "text behind a byte order mark", "take the mark away before it is landed"),
    (b"\xff\xfe", "UTF-16 text", "let the producer write UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "let the producer write UTF-8"),
    (b"<?xml", "XML", _JSON_OUTPUT),
)
_AVRO_TYPES = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})


def sight(value: bytes) -> Sight:
    """Return what a message is that `look` knows no writer of.

    >>> sight(b'[{"id": 1}]').what
    'a JSON list'
    """
    if not value.strip():
        return Sight("empty", "look for a producer that writes empty values")
    for start, what, advice in _FIRST_BYTES:
        if value.startswith(start):
            return Sight(what, advice)
    if value[0] == 0 and len(value) > 5:
        number = int.from_bytes(value[1:5], "big")
        return Sight(
            f"Avro or Protobuf of a schema registry (schema id {number})",
            f"{_OTHER_CONVERTER}; JSON behind a schema id is read",
        )
    try:
        return _of_text(value.decode("utf-8"))
    except UnicodeDecodeError:
        return Sight("bytes that are no UTF-8 text", _JSON_OUTPUT)


def _of_text(text: str) -> Sight:
    text = text.strip(" \t\r\n")
    if re.match(r"Struct\{\w+=", text):
        return Sight("the text that Java prints of a Struct of Kafka Connect", _OTHER_CONVERTER)
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
        return Sight("several JSON objects in one value", "split it before it is landed")
    if rest:
        return Sight("text behind a JSON value", "land one JSON object a message")
    return _of_json(found)


def _of_json(found: Any) -> Sight:
    stranger = _stranger(found) if isinstance(found, dict) else None
    wrapped = next(_wrapped(found, "", DEPTH), None)
    if wrapped is not None:
        path, name = wrapped
        outer = f"{stranger.what}: " if stranger else ""
        return Sight(f"{outer}a message of the format {name} stands {path}", _TAKE_OUT)
    if stranger is not None:
        return stranger
    if isinstance(found, dict):
        return _of_keys(found)
    if isinstance(found, list):
        return Sight("a JSON list", "split it before it is landed")
    if isinstance(found, str) and found.lstrip().startswith("{"):
        return Sight("a JSON text that holds an object", _TAKE_OUT)
    return Sight("a JSON value that is no object", "look whether the topic holds change messages")


def _stranger(message: dict[str, Any]) -> Sight | None:
    if isinstance(message.get("change"), list) or (
        message.get("action") in ("I", "U", "D", "T", "B", "C", "M")
        and (message.keys() & {"columns", "identity", "xid", "lsn"} or len(message) == 1)
    ):
        return Sight("wal2json of PostgreSQL", _NO_FORMAT)
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


def _of_keys(message: dict[str, Any]) -> Sight:
    source = message.get("source")
    connector = source.get("connector") if isinstance(source, dict) else None
    if message.keys() & {"op", "ddl"} and isinstance(connector, str) and _NAME.fullmatch(connector):
        return Sight(
            f"a message like Debezium's, of the connector {connector}",
            "name the format debezium: its page lists the connectors that it reads",
        )
    if message.keys() in ({"schema", "payload"}, {"payload"}) and isinstance(message["payload"], dict):
        inner = _of_keys(message["payload"])
        return Sight(f"a `payload` of Kafka Connect around {inner.what}", inner.advice)
    if not message:
        return Sight("an empty JSON object", "look whether the topic holds change messages")
    names = [key[:40] for key in message][:KEYS_SHOWN]
    more = ", …" if len(message) > KEYS_SHOWN else ""
    return Sight(
        f"a JSON object with the keys {', '.join(names)}{more}",
        "name the format; a row alone is --format debezium --dialect flat, which reads a delete only from "
        "`__op` or `__deleted`",
    )


def _wrapped(found: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Where a message of a known format stands in another value, and which format that is."""
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
    elif isinstance(found, str) and found.lstrip().startswith(("{", "[", '"')):
        try:
            inner = json.loads(found, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return
        yield from _wrapped(inner, _path("in a JSON text", path), depth - 1)


def _path(step: str, path: str) -> str:
    return f"{step} {path}" if path else step


def _of_base64(text: str) -> Sight | None:
    # `{"` in base64.
    if re.fullmatch(r"eyJ[A-Za-z0-9+/_-]{8,}={0,2}", text):
        return Sight("base64 of a JSON object", "decode it before it is landed (unbase64)")
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
