"""Where in a message an error is: the byte that its detail names, or the one value at the path in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring
from typing import Any, NamedTuple

_BYTE = re.compile(r"\bbyte (\d+)\b")
_PATH = re.compile(r"(?:before )?([^:]+): ")
_BLANKS = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(r"[^\s,\]}]+")
_BEFORE, _AFTER = 50, 40


class Place(NamedTuple):
    """Bytes of a message, counted from 0; `end` is the first byte after them."""

    start: int
    end: int


def place_of(value: bytes, detail: str | None) -> Place | None:
    """Return the place that the detail of an error names, or None if it names none or several fit.

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
    found = [place for at, place in _members(value) if at[-len(names) :] == names]
    return found[0] if len(found) == 1 else None


def _members(value: bytes) -> Iterator[tuple[list[str], Place]]:
    """Yield the value of each member of a JSON text, with the names that lead to it."""
    try:
        text = value.decode("utf-8")
        json.loads(text)
    except (ValueError, RecursionError):
        return
    for names, start, end in _walk(text, _skip(text, 0), [])[1]:
        first = len(text[:start].encode("utf-8"))
        yield names, Place(first, first + len(text[start:end].encode("utf-8")))


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
    text = part.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
