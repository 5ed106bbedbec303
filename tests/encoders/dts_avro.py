"""A log of changes -> records of Alibaba DTS, written with fastavro and the vendor's Record.avsc.

Written from the vendor's schema and from what its subscribe SDK reads, not from our macros. `write` takes a
record as Avro's JSON encoding has it: a value of a union is `{"Integer": {...}}`, bytes are a text of one
character a byte, and a null is null.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from importlib import resources
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Table

NAMESPACE = "com.alibaba.dts.formats.avro."
BYTES = ("Character", "BinaryGeometry", "BinaryObject")
OPERATIONS = {
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "snapshot": "INIT",
    "ddl": "DDL",
    "truncate": "DDL",
    "begin": "BEGIN",
    "commit": "COMMIT",
    "heartbeat": "HEARTBEAT",
}
# MySQL's numbers of the types of columns, as the vendor's reader lists them.
NUMBERS = {
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 8,
    "uint64": 8,
    "decimal": 246,
    "long_decimal": 246,
    "double": 5,
    "boolean": 1,
    "text": 253,
    "binary": 252,
    "date": 10,
    "datetime": 12,
    "instant": 7,
    "time": 11,
    "json": 245,
}
EMPTY = dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "millis"))


@functools.cache
def _schema() -> Any:
    from fastavro import parse_schema

    text = resources.files("dbt_spark_cdc.functions").joinpath("dts_record.avsc").read_text(encoding="utf-8")
    return parse_schema(json.loads(text))


def write(record: dict[str, Any]) -> bytes:
    """Return the bytes of a record; what it leaves out has the schema's default."""
    from fastavro import schemaless_writer

    stream = io.BytesIO()
    images = {side: _image(record.get(side)) for side in ("beforeImages", "afterImages")}
    schemaless_writer(stream, _schema(), {**record, **images})
    return stream.getvalue()


def _image(image: Any) -> Any:
    return [_branch(value) for value in image] if isinstance(image, list) else image


def _branch(value: dict[str, Any] | None) -> Any:
    if value is None:
        return None
    [(name, inner)] = value.items()
    if name == "EmptyObject":
        return inner
    if name in BYTES:
        inner = {**inner, "value": inner["value"].encode("latin-1")}
    return (NAMESPACE + name, inner)


def encode(log: list[Change], table: Table) -> list[Message]:
    return [Message(write(_record(change, table))) for change in log]


def _record(change: Change, table: Table) -> dict[str, Any]:
    has_table = change.kind not in ("begin", "commit", "heartbeat")
    is_row = change.before is not None or change.after is not None
    names = [table.database, table.name]
    text = f"truncate table {table.name}" if change.kind == "truncate" else change.ddl
    return {
        "version": 4,
        "id": change.sequence,
        "sourceTimestamp": int(change.committed_at.timestamp()) if change.committed_at else 0,
        "sourcePosition": f"{change.sequence}@7",
        "sourceTxid": "",
        "source": {"sourceType": "MySQL", "version": "8.0.32"},
        "operation": OPERATIONS[change.kind],
        "objectName": ".".join(name.replace(".", "\\u002E") for name in names) if has_table else None,
        "tags": {"pk_uk_info": json.dumps({"PRIMARY": list(table.key)})} if is_row else {},
        "fields": [{"name": name, "dataTypeNumber": NUMBERS[kind]} for name, kind in table.columns.items()]
        if is_row
        else None,
        "beforeImages": _values(change.before, table),
        "afterImages": _values(change.after, table) if is_row else text,
    }


def _values(row: dict[str, Any] | None, table: Table) -> list[Any] | None:
    if row is None:
        return None
    return [None if row[name] is None else WRITERS[kind](row[name]) for name, kind in table.columns.items()]


def _integer(value: int) -> dict[str, Any]:
    return {"Integer": {"precision": 8, "value": str(int(value))}}


def _decimal(value: Any) -> dict[str, Any]:
    _, digits, exponent = value.as_tuple()
    return {"Decimal": {"value": f"{value:f}", "precision": len(digits), "scale": max(-exponent, 0)}}


def _text(value: str) -> dict[str, Any]:
    return {"Character": {"charset": "utf8mb4", "value": value.encode().decode("latin-1")}}


def _date(value: date) -> dict[str, Any]:
    return {"DateTime": {**EMPTY, "year": value.year, "month": value.month, "day": value.day}}


def _datetime(value: datetime) -> dict[str, Any]:
    parts = {name: getattr(value, name) for name in ("year", "month", "day", "hour", "minute", "second")}
    return {"DateTime": {**parts, "millis": value.microsecond}}  # the name is wrong: microseconds


def _instant(value: datetime) -> dict[str, Any]:
    seconds = (value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)
    return {"Timestamp": {"timestamp": seconds, "millis": value.microsecond}}


def _time(value: str) -> dict[str, Any]:
    sign = -1 if value.startswith("-") else 1
    clock, _, fraction = value.lstrip("-").partition(".")
    hour, minute, second = (sign * int(part) for part in clock.split(":"))
    microseconds = sign * int(fraction.ljust(6, "0")) if fraction else None
    return {"DateTime": {**EMPTY, "hour": hour, "minute": minute, "second": second, "millis": microseconds}}


WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint64", "boolean"), _integer),
    "decimal": _decimal,
    "long_decimal": _decimal,
    "double": lambda value: {"Float": {"value": value, "precision": 53, "scale": 0}},
    "text": _text,
    "binary": lambda value: {"BinaryObject": {"type": "blob", "value": value.decode("latin-1")}},
    "date": _date,
    "datetime": _datetime,
    "instant": _instant,
    "time": _time,
    "json": lambda value: {"TextObject": {"type": "json", "value": value}},
}

ENCODERS = [
    Encoder(
        format="dts_avro",
        dialect=None,
        columns=DECLARATIONS,
        encode=encode,
    )
]
