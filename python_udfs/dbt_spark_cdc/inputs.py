"""Files of messages: a value per line, or captured messages as objects with topic, offset and value."""

from __future__ import annotations

import base64
import codecs
import json
from typing import Any, NamedTuple

BIGINT = range(-(2**63), 2**63)


class Message(NamedTuple):
    """One line of a file. Texts are bytes, as Kafka has them."""

    line: int
    topic: str
    partition: int
    offset: int
    timestamp: int | None  # milliseconds since 1970
    key: bytes | None
    value: bytes | None
    headers: list[dict[str, Any]] | None
    # Whether the line says them, or they are the file's name and the line's number.
    names_topic: bool = False
    names_offset: bool = False


def read_messages(topic: str, data: bytes) -> list[Message]:
    """Return the messages of a file, one per line.

    A line is a captured message if it is an object with a member `value` (a text or null) and a member
    `topic` or `offset`, or with a member `value_base64`, the base64 text of a value that is not a text.
    Otherwise the line is itself the value, byte for byte, and its number is its offset in partition 0 of
    `topic`. A line `null` is a message without a value. Lines end at line feeds only, because values
    contain other separators.
    """
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if not lines[-1]:
        lines.pop()  # there is no line after the last line feed
    return [_captured(n, topic, line) or _bare(n, topic, line) for n, line in enumerate(lines)]


def _bare(number: int, topic: str, line: bytes) -> Message:
    value = None if line.strip() == b"null" else line
    return Message(number, topic, 0, number, None, None, value, None)


def _captured(number: int, topic: str, line: bytes) -> Message | None:
    if b'"value"' not in line and b'"value_base64"' not in line:
        return None
    try:
        captured = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(captured, dict):
        return None
    binary = _from_base64(captured.get("value_base64"))
    if binary is None:
        if not _is_text(captured.get("value", 0)):
            return None
        if not isinstance(captured.get("topic"), str) and not _is_bigint(captured.get("offset")):
            return None
    name, partition, offset = (captured.get(field) for field in ("topic", "partition", "offset"))
    timestamp, key = captured.get("timestamp"), captured.get("key")
    return Message(
        line=number,
        # A topic's name is ASCII in Kafka; any other text here must only not stop the reading.
        topic=name.encode("utf-8", "replace").decode() if isinstance(name, str) else topic,
        partition=partition if _is_bigint(partition) else 0,
        offset=offset if _is_bigint(offset) else number,
        timestamp=timestamp if _is_bigint(timestamp) and abs(timestamp) < 2**53 else None,
        key=_bytes(key),
        value=_bytes(captured["value"]) if binary is None else binary,
        headers=_headers(captured.get("headers")),
        names_topic=isinstance(name, str),
        names_offset=_is_bigint(offset),
    )


def _headers(headers: Any) -> list[dict[str, Any]] | None:
    if not isinstance(headers, list):
        return None
    return [
        {"key": header[0].encode("utf-8", "replace").decode(), "value": _bytes(header[1])}
        for header in headers
        if isinstance(header, list) and len(header) == 2 and isinstance(header[0], str)
    ]


def _bytes(text: Any) -> bytes | None:
    # An unpaired surrogate is not a character: these bytes are not UTF-8, and the macros report it.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None


def _from_base64(text: Any) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_bigint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in BIGINT
