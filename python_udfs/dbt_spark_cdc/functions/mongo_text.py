"""Text of MongoDB's shell -> Extended JSON, so that one reader reads both."""

from __future__ import annotations

import base64
import re
from binascii import unhexlify
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from json import dumps as _quoted

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SINGLE_QUOTED = r"'[^'\\]*(?:\\.[^'\\]*)*'"
_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
# Text that is already JSON. Each branch begins with other characters, and nothing after it can fail: no
# text is read twice.
_JSON = (
    rf"(?:[^A-Za-z_$/\"']+|{_STRING}|(?<=[0-9.])[eE](?=[+-]?[0-9])|true\b|false\b|null\b|NaN\b|Infinity\b)*"
)
# The calls of nearly every document; their arguments are checked when they are read.
_COMMON = (
    r'ObjectId\(("[0-9a-fA-F]{24}")\)|ISODate\(("[0-9-]{10}T[0-9:]{8}(?:\.[0-9]{3})?Z")\)|'
    r'NumberLong\(("-?[0-9]+")\)|NumberDecimal\(("[^"\\]*")\)|NumberLong\((-?[0-9]+)\)'
)
_STEP = re.compile(rf"({_JSON})(?:{_COMMON})?", re.DOTALL)
_COMMON_FORMS = (
    None,
    None,
    '{"$oid":%s}',
    '{"$date":%s}',
    '{"$numberLong":%s}',
    '{"$numberDecimal":%s}',
    '{"$numberLong":"%s"}',
)
_ANY_STRING = rf"(?:{_STRING}|{_SINGLE_QUOTED})"
_KEY = re.compile(r"([A-Za-z_$][A-Za-z0-9_$]*)\s*(?=:)")
_QUOTES = re.compile(_SINGLE_QUOTED, re.DOTALL)
_CALL = re.compile(
    rf"(?:new\s+)?([A-Za-z0-9]+(?:\.createFrom[A-Za-z0-9]+)?)\s*\(\s*((?:{_ANY_STRING}|{_NUMBER})"
    rf"(?:\s*,\s*(?:{_ANY_STRING}|{_NUMBER}))*)?\s*\)",
    re.DOTALL,
)
_ARGUMENT = re.compile(rf"{_ANY_STRING}|{_NUMBER}", re.DOTALL)
_WORD = re.compile(r"(undefined|MinKey|MaxKey)\b(?!\s*\()")
_TIMESTAMP = re.compile(
    r"(?:new\s+)?Timestamp\s*\(\s*\{\s*\"?t\"?\s*:\s*([0-9]+)\s*,\s*\"?i\"?\s*:\s*([0-9]+)\s*\}\s*\)"
)
_REFERENCE = re.compile(rf"(?:new\s+)?DBRef\s*\(\s*({_ANY_STRING})\s*,\s*", re.DOTALL)
_END_OF_REFERENCE = re.compile(rf"\s*(?:,\s*({_ANY_STRING})\s*)?\)", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
# As Java's driver writes one: a backslash before each slash, even after another backslash.
_REGEX_OF_JAVA = re.compile(r"/((?:[^/\n]|(?<=\\)/)+)(?<!\\)/([a-z]*)")
_END_OF_VALUE = re.compile(r"\s*[,}\]]")
_VALUE = re.compile(rf"{_STRING}|{_NUMBER}", re.DOTALL)
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,3})0*)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.ASCII,
)
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def extended_json(text: str) -> str:
    """Return shell text as Extended JSON; text that is already JSON does not change.

    Raises ValueError for an unknown construct: leaving it out would lose a value. The result need not be
    JSON: the next reader checks that.
    """
    parts, start = [], 0
    while True:
        found = _STEP.match(text, start)
        parts.append(found[1])
        if found.lastindex > 1:
            parts.append(_COMMON_FORMS[found.lastindex] % found[found.lastindex])
            start = found.end()
        elif found.end() == len(text):
            return "".join(parts)
        else:
            written, start = _construct(text, found.end())
            parts.append(written)


def _construct(text: str, at: int) -> tuple[str, int]:
    """Return one construct that is not JSON as Extended JSON, and the position of its end."""
    if found := _KEY.match(text, at):
        return f'"{found[1]}"', found.end()
    if found := _QUOTES.match(text, at):
        return _quoted(_text_of(found[0])), found.end()
    if found := _regex_literal(text, at):
        pattern = found[1].replace("\\/", "/")
        return _written("$regularExpression", {"pattern": pattern, "options": found[2]}), found.end()
    if found := _WORD.match(text, at):
        name = {"undefined": "$undefined", "MinKey": "$minKey", "MaxKey": "$maxKey"}[found[1]]
        return (_written(name, True) if name == "$undefined" else _written(name, 1)), found.end()
    if found := _TIMESTAMP.match(text, at):
        return _timestamp(found[1], found[2]), found.end()
    if found := _REFERENCE.match(text, at):
        return _reference(text, found)
    if found := _CALL.match(text, at):
        write = _CALLS.get(found[1])
        if write is not None:
            return write(*_ARGUMENT.findall(found[2] or "")), found.end()
    raise ValueError("a construct that the shell does not write")


def _regex_literal(text: str, at: int) -> re.Match[str] | None:
    """`/a\\\\/` ends here as the shell writes it; as Java's driver does, the pattern goes on with a slash."""
    of_shell = _REGEX.match(text, at)
    if of_shell is None or not of_shell[1].endswith("\\"):
        return of_shell
    readings = [
        found
        for found in (of_shell, _REGEX_OF_JAVA.match(text, at))
        if found and _END_OF_VALUE.match(text, found.end())
    ]
    if len(readings) != 1:
        raise ValueError("a regular expression that may end in two places")
    return readings[0]


def _reference(text: str, found: re.Match[str]) -> tuple[str, int]:
    if value := _VALUE.match(text, found.end()):
        written, end = value[0], value.end()
    else:
        written, end = _construct(text, found.end())
    closed = _END_OF_REFERENCE.match(text, end)
    if closed is None:
        raise ValueError("a reference that does not end")
    database = f',"$db":{_quoted(_text_of(closed[1]))}' if closed[1] else ""
    return f'{{"$ref":{_quoted(_text_of(found[1]))},"$id":{written}{database}}}', closed.end()


def _written(name: str, value: object) -> str:
    return f'{{"{name}":{_quoted(value)}}}'


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)


def _text_of(literal: str) -> str:
    """Return the characters of a string literal in either kind of quotes."""
    inside = literal[1:-1]
    if "\\" not in inside:
        return inside
    text = _ESCAPE.sub(
        lambda found: (
            chr(int(found[1] or found[2], 16)) if found[3] is None else _ESCAPES.get(found[3], found[3])
        ),
        inside,
    )
    return text.encode("utf-16", "surrogatepass").decode("utf-16")  # two escapes may be one character


def _one(argument: str) -> str:
    return _text_of(argument) if argument[0] in "\"'" else argument


def _object_id(argument: str) -> str:
    return _written("$oid", _one(argument))


def _number(name: str) -> Callable[[str], str]:
    return lambda argument: _written(name, _one(argument))


def _date(argument: str) -> str:
    """Read a Date, which has milliseconds; a text without a zone is one instant only if it is just a date."""
    if argument[0] not in "\"'":
        if not _INTEGER.fullmatch(argument):
            raise ValueError("a date of no whole milliseconds")
        return _milliseconds(int(argument))
    return _iso_date(argument, "date")


def _iso_date(argument: str, kind: str = "ISODate") -> str:
    found = _DATE.fullmatch(_text_of(argument)) if argument[0] in "\"'" else None
    if found is None:
        raise ValueError("no date")
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    if kind == "date" and hour is not None and zone is None:
        raise ValueError("a local time of an unknown zone")
    offset = timedelta() if zone in (None, "Z") else zone_offset(zone)
    instant = datetime(
        *map(int, (year, month, day, hour or 0, minute or 0, second or 0)), tzinfo=timezone.utc
    )
    milliseconds = (instant - _EPOCH - offset) // timedelta(milliseconds=1)
    return _milliseconds(milliseconds + int((fraction or "").ljust(3, "0")))


def zone_offset(zone: str) -> timedelta:
    """Return the offset of `+08:00` or `+0800`; ValueError if no zone has it."""
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if minutes > 59 or (hours, minutes) > (18, 0):
        raise ValueError("an offset that no zone has")
    return (-1 if zone[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes)


def _milliseconds(number: int) -> str:
    return f'{{"$date":{{"$numberLong":"{number}"}}}}'


def _timestamp(seconds: str, increment: str) -> str:
    return f'{{"$timestamp":{{"t":{int(_one(seconds))},"i":{int(_one(increment))}}}}}'


def _binary(subtype: str, data: str) -> str:
    return f'{{"$binary":{{"base64":{_quoted(_one(data))},"subType":"{int(_one(subtype)):02x}"}}}}'


def _hex_data(subtype: str, data: str) -> str:
    return _binary(subtype, _quoted(base64.b64encode(unhexlify(_one(data))).decode("ascii")))


def _binary_of_mongosh(data: str, subtype: str = "0") -> str:
    return _binary(subtype, data)


def _regex(pattern: str, options: str = '""') -> str:
    return _written("$regularExpression", {"pattern": _one(pattern), "options": _one(options)})


_CALLS: dict[str, Callable[..., str]] = {
    "ObjectId": _object_id,
    "ISODate": _iso_date,
    "Date": _date,
    "NumberLong": _number("$numberLong"),
    "Long": _number("$numberLong"),
    "NumberInt": _number("$numberInt"),
    "Int32": _number("$numberInt"),
    "Double": _number("$numberDouble"),
    "NumberDecimal": _number("$numberDecimal"),
    "Decimal128": _number("$numberDecimal"),
    "Timestamp": _timestamp,
    "BinData": _binary,
    "Binary.createFromBase64": _binary_of_mongosh,
    "HexData": _hex_data,
    "UUID": lambda argument: _written("$uuid", _one(argument)),
    "MD5": lambda argument: _hex_data("5", argument),
    "RegExp": _regex,
    "BSONRegExp": _regex,
    "Code": lambda argument: _written("$code", _one(argument)),
    "Symbol": lambda argument: _written("$symbol", _one(argument)),
    "BSONSymbol": lambda argument: _written("$symbol", _one(argument)),
    "MinKey": lambda: _written("$minKey", 1),
    "MaxKey": lambda: _written("$maxKey", 1),
}
