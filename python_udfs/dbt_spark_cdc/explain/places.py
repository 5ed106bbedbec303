"""Where in a message an error is: the byte that its detail names, or the one value at the path in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.decoder import scanstring
from typing import Any, NamedTuple

from dbt_spark_cdc.message_text import printable

_BYTE = re.compile(r"\bbyte (\d+)\b")
_PATH = re.compile(r"([^:]+): ")
_BLANKS = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(r"[^\s,\]}]+")
_BEFORE, _AFTER = 50, 40


class Place(NamedTuple):
    """Bytes of a message, counted from 0; `end` is the first byte after them."""

    start: int
    end: int


def place_of(value: bytes, detail: str | None) -> Place | None:
    """Return the place that the detail of a message's error names, or None if it names none.

    >>> place_of(b'{"op": "X"}', "op: not an operation of the format")
    Place(start=7, end=10)
    """
    if detail is None:
        return None
    if (byte := _BYTE.search(detail)) is not None:
        start = int(byte[1])
        return Place(start, start + 1) if start <= len(value) else None
    if (path := _PATH.match(detail)) is None:
        return None
    names = [name for name in re.split(r"\.|\[\]", path[1]) if name]
    # Some writers put the message under this key; a field of another object is not the one that is meant.
    place, _ = _only(value, lambda at: at in (names, ["payload", *names]))
    return place


def place_of_column(value: bytes, name: str, text: str | None) -> Place | None:
    """Return the place of a column's value in a message, or None if it is not certain.

    Another field may have the column's name, so its value has to be the column's text, too.
    """
    place, found = _only(value, lambda at: at[-1] == name)
    if found.startswith('"'):
        return place if json.loads(found) == text else None
    return place if found == ("null" if text is None else text) else None


def _only(value: bytes, is_meant: Callable[[list[str]], bool]) -> tuple[Place | None, str]:
    """Return the place and the text of the one member of a JSON text that is meant, by the names to it."""
    try:
        text = value.decode("utf-8")
        json.loads(text)
        members = _walk(text, _skip(text, 0), [])[1]
    except (ValueError, RecursionError):
        return None, ""
    found = [(start, end) for names, start, end in members if is_meant(names)]
    if len(found) != 1:
        return None, ""
    start, end = found[0]
    first = len(text[:start].encode("utf-8"))
    return Place(first, first + len(text[start:end].encode("utf-8"))), text[start:end]


def _walk(text: str, at: int, names: list[str]) -> tuple[int, list[tuple[list[str], int, int]]]:
    """Return where the value that begins at `at` ends, and the members inside it; the text is JSON."""
    found: list[tuple[list[str], int, int]] = []
    if text[at] == '"':
        return scanstring(text, at + 1)[1], found
    if text[at] not in "{[":
        return _LITERAL.match(text, at).end(), found
    is_object = text[at] == "{"
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        below = names
        if is_object:
            name, at = scanstring(text, at + 1)
            below = [*names, name]
            at = _skip(text, _skip(text, at) + 1)
        end, inside = _walk(text, at, below)
        if is_object:
            found.append((below, at, end))
        found += inside
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1, found


def _skip(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()


def excerpt(value: bytes, place: Place) -> tuple[str, str, str]:
    """Return the texts in front of a place, in it and after it, as a terminal can show them."""
    start, end = place.start, min(place.end, place.start + _AFTER)
    before, found, after = value[max(start - _BEFORE, 0) : start], value[start:end], value[end : end + _AFTER]
    # An excerpt may begin or end inside a character.
    if start > _BEFORE:
        before = before.lstrip(bytes(range(0x80, 0xC0)))
    return _shown(before), _shown(found), _shown(after)


def _shown(part: bytes) -> str:
    return printable(part.decode("utf-8", "backslashreplace"))


def as_dict(value: bytes, place: Place) -> dict[str, Any]:
    """Return a place for machines."""
    before, found, after = excerpt(value, place)
    return {
        "byte": place.start,
        "bytes": place.end - place.start,
        "before": before,
        "at": found,
        "after": after,
    }
