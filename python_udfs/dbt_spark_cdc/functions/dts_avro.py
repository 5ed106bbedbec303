"""cdc_dts_avro(value): one Avro record of Alibaba DTS as the text of a JSON object."""

from __future__ import annotations

import base64
import codecs
import functools
import io
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import resources
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# MySQL's names of character sets if Python's differ, Oracle's, and Java's. A text with another name is not
# read: guessing a character set would make up text.
_CHARSETS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "utf-8": "utf-8",
    "ascii": "ascii",
    "us-ascii": "ascii",
    "latin1": "latin1",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "gbk": "gbk",
    "gb2312": "gb2312",
    "gb18030": "gb18030",
    "big5": "big5",
    "sjis": "shift_jis",
    "cp932": "cp932",
    "ujis": "euc_jp",
    "euckr": "euc_kr",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "tis620": "tis-620",
    "macroman": "mac-roman",
    "macce": "mac-latin2",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "iso-8859-1": "iso8859-1",
    "windows-1252": "cp1252",
    "al32utf8": "utf-8",
    "zhs16gbk": "gbk",
    "we8iso8859p1": "iso8859-1",
    "we8mswin1252": "cp1252",
}
# MySQL's latin1 is the code page 1252, not ISO 8859-1, with the control characters in its five gaps (MySQL
# manual, "West European Character Sets").
_LATIN1 = "".join(
    bytes([b]).decode("cp1252" if b not in b"\x81\x8d\x8f\x90\x9d" else "latin-1") for b in range(256)
)
# Bytes that MySQL reads as other characters than Python, or not at all (its share/charsets and strings),
# and bytes that the versions of a standard, and Java after them, read in two ways. The list has Python's
# characters.
_READ_IN_TWO_WAYS = {
    "big5": "\u02cd\u2574\uffe3",
    "cp932": b"\x80\xa0\xfd\xfe\xff".decode("cp932"),
    "cp1256": b"\x8a\x8f\x98\x9a\x9f\xaa\xc0\xff".decode("cp1256"),
    "gb18030": "\u1e3f\ue7c7\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864"
    + "".join(map(chr, [*range(0xE78D, 0xE797), *range(0xFE10, 0xFE1A), *range(0x9FB4, 0x9FBC)])),
    "gbk": b"\xa8\x92".decode("gbk"),
    "greek": b"\xa1\xa2\xa4\xa5\xaa".decode("iso8859-7"),
    "hebrew": b"\xaf".decode("iso8859-8"),
    "koi8u": b"\x95".decode("koi8-u"),
    "sjis": b"\x81\x5f".decode("shift_jis"),
}
_BYTES = "binary"  # MySQL's name for no character set: BINARY and VARBINARY
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # only added to; the text says Z
# What the vendor's reader passes to java.time.ZoneId, besides names.
_OFFSET = re.compile(r"(?:GMT|UTC?)?([+-])([0-9]{1,2})(?:(?::|(?<=[0-9]{2}))([0-9]{2})(?::?00)?)?", re.ASCII)


def dts_avro(value: bytes | None) -> str | None:
    r"""Read one record of Alibaba DTS and return it as JSON text; other bytes come back as base64 text.

    Shape: the fields of the record under their own names, with `beforeImages` and `afterImages` as objects,
    column name -> text. A column that the record marks NONE is left out, NULL is null. A string instead of
    a row (the statement of a DDL record) or of the fields is in `beforeText`, `afterText` or `fieldsText`.
    If a row has not as many values as `fields`, its values belong to no name: it is null, and
    `imagesWithoutNames` is set. A row without values counts as missing, as for the vendor's reader.

    The texts: integers and decimals as the record has them; a double in its shortest exact form, also NaN
    and Infinity; characters decoded by their character set, as JSON of PostgreSQL is; other binaries and
    geometries base64; an instant `2024-02-29 12:34:56.000001Z`; a date, a local time or a span as databases
    print them, with the fraction that `millis` holds, in microseconds or, for some sources, nanoseconds. A
    value that is not certain (bytes that are not of their character set, a time that no calendar has, a
    fraction of an unknown unit) becomes U+FFFD and its parts, which no declared type reads.

    Errors: none. None gives None. `value` may end after `afterImages` or hold `bornTimestamp` as well: both
    versions of the schema are in use.

    Source: Alibaba DTS, Record.avsc and the subscribe SDK. Needs fastavro.

    >>> dts_avro(b"\x00no record")
    'AG5vIHJlY29yZA=='
    """
    if value is None:
        return None
    read, schema = _reader()
    stream = io.BytesIO(value)
    try:
        record = read(stream, schema)
        if stream.tell() < len(value):
            read(stream, "long")  # bornTimestamp
            if stream.tell() < len(value):
                return base64.b64encode(value).decode("ascii")
    except Exception:  # any error that a reader raises for bytes that are not a record
        return base64.b64encode(value).decode("ascii")
    return _document(record)


@functools.cache
def _reader() -> tuple[Callable, Any]:
    # Imported here and not above: a project that reads other formats needs no fastavro.
    from fastavro import parse_schema, schemaless_reader

    text = resources.files(__package__).joinpath("dts_record.avsc").read_text(encoding="utf-8")
    return schemaless_reader, parse_schema(json.loads(text))


def _document(record: dict[str, Any]) -> str:
    fields, names, kind = record["fields"], None, _kind(record)
    parts = [_header(record)]
    if isinstance(fields, list):
        names = [quoted(field["name"]) for field in fields]
        types = [
            f'{{"name": {name}, "dataTypeNumber": {field["dataTypeNumber"]}}}'
            for name, field in zip(names, fields, strict=True)
        ]
        parts.append(f', "fields": [{", ".join(types)}]')
    elif fields is not None:
        parts.append(f', "fields": null, "fieldsText": {quoted(fields)}')
    for side in ("before", "after"):
        image = record[side + "Images"]
        if image is None or image == []:
            continue
        if not isinstance(image, list):
            parts.append(f', "{side}Text": {quoted(image)}')
        elif names is not None and len(names) == len(image):
            if kind == _POSTGRESQL:
                image = _with_json(fields, image)
            elif kind in (_MYSQL, _OTHER_MYSQL):
                image = _without_parts(fields, image)
            parts.append(f', "{side}Images": {{{", ".join(_members(names, image, kind))}}}')
        else:
            parts.append(', "imagesWithoutNames": true')
    parts.append("}")
    return "".join(parts)


def _header(record: dict[str, Any]) -> str:
    """Return the fields before `fields`, without the closing brace. An encoder would be slower."""
    name, source, times = record["objectName"], record["source"], record["processTimestamps"]
    tags = ", ".join([f"{quoted(tag)}: {quoted(text)}" for tag, text in record["tags"].items()])
    return (
        f'{{"version": {record["version"]}, "id": {record["id"]}, '
        f'"sourceTimestamp": {record["sourceTimestamp"]}, '
        f'"sourcePosition": {quoted(record["sourcePosition"])}, '
        f'"safeSourcePosition": {quoted(record["safeSourcePosition"])}, '
        f'"sourceTxid": {quoted(record["sourceTxid"])}, "source": {{"sourceType": "{source["sourceType"]}", '
        f'"version": {quoted(source["version"])}}}, "operation": "{record["operation"]}", '
        f'"objectName": {"null" if name is None else quoted(name)}, '
        f'"processTimestamps": {"null" if times is None else times}, "tags": {{{tags}}}'
    )


# The facts that decide how a value is read. For all sources but two, one of the vendor's readers reads the
# fraction of a local time as microseconds (DefaultValueDeserializer), the later one as nanoseconds
# (LazyRecordDeserializer).
_MYSQL, _POSTGRESQL, _OTHER, _OTHER_MYSQL = range(4)
_POSTGRESQL_JSON = (114, 3802)  # json and jsonb


def _kind(record: dict[str, Any]) -> int:
    source = record["source"]["sourceType"]
    # The same holds for a source whose log is read from the disk; its positions have this mark.
    if "<->" not in record["sourcePosition"]:
        if source == "MySQL":
            return _MYSQL
        if source == "PostgreSQL":
            return _POSTGRESQL
    return _OTHER_MYSQL if source in ("MySQL", "DRDS") else _OTHER


def _with_json(fields: list[dict[str, Any]], image: list[Any]) -> list[Any]:
    """Read JSON, which arrives as bytes, as characters, as the vendor's reader does."""
    return [
        {"charset": "utf-8", "value": value["value"]}
        if field["dataTypeNumber"] in _POSTGRESQL_JSON
        and value.__class__ is dict
        and value.get("value").__class__ is bytes
        and "charset" not in value
        else value
        for field, value in zip(fields, image, strict=True)
    ]


# By MySQL's type numbers of DATE, TIME and YEAR: a part of a DateTime that such a type has, and the parts
# that it does not have.
_PARTS = {
    10: ("year", ("hour", "minute", "second", "millis")),
    11: ("hour", ("year", "month", "day")),
    13: ("year", ("month", "day", "hour", "minute", "second", "millis")),
}


def _without_parts(fields: list[dict[str, Any]], image: list[Any]) -> list[Any]:
    """Drop zero parts that the column's type does not have, as the vendor's reader does."""
    image = list(image)
    for place, field in enumerate(fields):
        if field["dataTypeNumber"] not in _PARTS:
            continue
        value, (own, others) = image[place], _PARTS[field["dataTypeNumber"]]
        is_clock = value.__class__ is dict and value.get(own) is not None
        if is_clock and not any(value[part] for part in others):
            image[place] = {**value, **dict.fromkeys(others)}
    return image


_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def _members(names: list[str], image: list[Any], kind: int) -> list[str]:
    members = []
    for name, value in zip(names, image, strict=True):
        if value is None or value == "NULL":
            members.append(name + ": null")
        elif value != "NONE":
            inner = value.get("value")
            text = inner if inner.__class__ is str else _text(value, inner, kind)
            members.append(f"{name}: {quoted(text)}")
    return members


def _text(value: dict[str, Any], inner: Any, kind: int) -> str:
    if inner is None:
        return _instant(value, kind) if "timestamp" in value else _local(value, kind)
    if isinstance(inner, bytes):
        return _characters(value["charset"], inner) if "charset" in value else _base64(inner)
    if isinstance(inner, float):
        return _double(inner)
    return _zoned(inner, value["timezone"], kind)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _characters(charset: str, data: bytes) -> str:
    name = charset.lower()
    if name == _BYTES:
        return _base64(data)
    try:
        if name == "latin1":
            return codecs.charmap_decode(data, "strict", _LATIN1)[0]
        text = data.decode(_CHARSETS[name])
        if name not in _READ_IN_TWO_WAYS or not any(c in text for c in _READ_IN_TWO_WAYS[name]):
            return text
    except (KeyError, UnicodeDecodeError):
        pass
    return _uncertain(charset, _base64(data))


def _double(number: float) -> str:
    text = repr(number)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _uncertain(*parts: Any) -> str:
    """Return a text that no declared type reads, and that still shows what the record holds."""
    return "\ufffd" + " ".join(map(str, parts))


def _instant(value: dict[str, Any], kind: int) -> str:
    seconds, microseconds = value["timestamp"], value["millis"]
    fraction = _fraction(microseconds, _MYSQL)  # for all sources and all readers of the vendor
    if kind in (_MYSQL, _OTHER_MYSQL) and seconds == 0:
        # MySQL's instants begin one second later: this is its zero date.
        if microseconds == 0:
            return "0000-00-00 00:00:00"
    elif fraction is not None:
        try:
            return f"{_EPOCH + timedelta(seconds=seconds)}{fraction}Z"
        except OverflowError:
            pass
    return _uncertain(seconds, microseconds)


def _fraction(number: int | None, kind: int) -> str | None:
    """Return the point and the digits after it, if any; None beyond a second or for an unknown unit."""
    if not number:
        return ""
    if kind in (_MYSQL, _POSTGRESQL):
        return f".{number:06d}".rstrip("0") if 0 < number <= 999999 else None
    # These are nanoseconds, because so many microseconds exceed a second.
    return f".{number:09d}".rstrip("0") if 999999 < number <= 999999999 else None


def _zoned(value: dict[str, Any], zone: str, kind: int) -> str:
    """Return a local time with its offset; a zone's name does not show the offset and is kept."""
    local = _local(value, kind)
    if offset := _OFFSET.fullmatch(zone):
        sign, hours, minutes = offset.groups()
        return f"{local}{sign}{hours:0>2}:{minutes or '00'}"
    return local + "Z" if zone in ("Z", "UT", "UTC", "GMT") else f"{local} {zone}"


def _local(value: dict[str, Any], kind: int) -> str:
    year, month, day, hour, minute, second, millis = (
        value["year"],
        value["month"],
        value["day"],
        value["hour"],
        value["minute"],
        value["second"],
        value["millis"],
    )
    if year is None:
        if month is None and day is None:
            return _span(value, kind)
    elif 0 <= year <= 9999:
        if month is None:
            if day is None and hour is None and minute is None and second is None and not millis:
                return f"{year:04d}"
        elif day is not None and 0 <= month <= 12 and 0 <= day <= 31:  # MySQL has 0000-00-00 and 2024-00-00
            if hour is None:
                if minute is None and second is None and not millis:
                    return f"{year:04d}-{month:02d}-{day:02d}"
            elif (
                minute is not None
                and second is not None
                and 0 <= hour <= 23
                and 0 <= minute <= 59
                and 0 <= second <= 59
                and (fraction := _fraction(millis, kind)) is not None
            ):
                return f"{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}{fraction}"
    return _uncertain(_json(value))


def _span(value: dict[str, Any], kind: int) -> str:
    """Read a TIME, signed and beyond 24 hours. If it is negative, all parts are, or the hours alone."""
    hour, minute, second = value["hour"], value["minute"], value["second"]
    if hour is None or minute is None or second is None:
        return _uncertain(_json(value))
    rest = (minute, second, value["millis"] or 0)
    negative = hour < 0 or min(rest) < 0
    if negative and not (max(hour, *rest) <= 0 or (hour < 0 and min(rest) >= 0)):
        return _uncertain(_json(value))
    hour, (minute, second, millis) = abs(hour), map(abs, rest)
    fraction = _fraction(millis, kind)
    if minute > 59 or second > 59 or fraction is None:
        return _uncertain(_json(value))
    return f"{'-' if negative else ''}{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def dts_avro_arrow(value: pa.Array) -> pa.Array:
    """Apply `dts_avro` to an Arrow column."""
    import pyarrow as pa

    return pa.array(map(dts_avro, value.to_pylist()), type=pa.string())
