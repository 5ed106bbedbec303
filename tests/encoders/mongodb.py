"""A log of changes -> Huawei DRS from MongoDB and Debezium from MongoDB.

Written from the two vendors' pages and from MongoDB's own of its shell and of Extended JSON, not from our
macros. The log's table is a sharded collection: its key columns are the shard key, which every name of a
document includes with the `_id`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# `long_decimal` has more digits than Decimal128; a nested document has no one text.
COLUMNS = without(DECLARATIONS, "long_decimal", "json")
INTEGERS = {"int8": 32, "int16": 32, "int32": 32, "int64": 64}


def _to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _to_34_digits(value: Decimal) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    return Decimal((sign, digits[-34:], exponent))


FITS: dict[str, Callable[[Any], Any]] = {
    "datetime": _to_milliseconds,
    "instant": _to_milliseconds,
    "decimal": _to_34_digits,
}


def _milliseconds(value: date | datetime) -> int:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001  # a date has no zone
    instant = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (instant - EPOCH) // timedelta(milliseconds=1)


# -- as the shell prints it


def _shell(kind: str, value: Any) -> str:
    if value is None:
        return "null"
    if kind in INTEGERS:
        return f"NumberInt({value})" if INTEGERS[kind] == 32 else f'NumberLong("{value}")'
    if kind in ("uint64", "decimal"):
        return f'NumberDecimal("{Decimal(value)}")'
    if kind == "double":
        return repr(value)
    if kind == "binary":
        return f'BinData(0,"{base64.b64encode(value).decode()}")'
    if kind in ("date", "datetime", "instant"):
        moment = EPOCH + timedelta(milliseconds=_milliseconds(value))
        return f'ISODate("{moment.replace(tzinfo=None).isoformat(timespec="milliseconds")}Z")'
    return json.dumps(value, ensure_ascii=False)


def _shell_document(row: Row, table: Table, names: list[str]) -> str:
    values = [f"{json.dumps(name)}: {_shell(table.columns[name], row[name])}" for name in names]
    return ", ".join(values)


def _drs(log: list[Change], table: Table) -> list[Message]:
    return [message for change in log for message in _drs_messages(change, table)]


def _drs_messages(change: Change, table: Table) -> list[Message]:
    key, others = list(table.key), [name for name in table.columns if name not in table.key]

    def document(row: Row, names: list[str]) -> str:
        identity = json.dumps([row[name] for name in table.key], ensure_ascii=False)
        return f'{{"_id": {json.dumps(identity, ensure_ascii=False)}, {_shell_document(row, table, names)}}}'

    def message(op: str, kind: str, value: str, where: str | None = None) -> Message:
        fields = {
            "id": 255 + change.sequence,
            "op": op,
            "dbType": "MongoDB",
            "db": table.database,
            "coll": table.name,
            "value": value,
            "where": where,
            "recordType": kind,
            "extra": kind,
            "es": _milliseconds(change.committed_at),
            "ts": _milliseconds(change.committed_at) + 137,
            "clusterTime": f"1684344064:{change.sequence}",
        }
        return Message(json.dumps(fields, ensure_ascii=False))

    if change.kind in ("insert", "snapshot"):
        return [message("INSERT", "insert", document(change.after, [*key, *others]))]
    if change.kind == "delete":
        return [message("DELETE", "doc", document(change.before, key))]
    if change.kind == "ddl":
        return [message("DDL", "ddl", change.ddl)]
    if change.kind != "update":
        return []  # the page has neither truncates nor heartbeats nor marks
    if any(change.before[name] != change.after[name] for name in key):
        return [
            message("DELETE", "doc", document(change.before, key)),
            message("INSERT", "insert", document(change.after, [*key, *others])),
        ]
    where = document(change.before, key)
    if change.sequence % 2:
        return [message("UPDATE", "replace", document(change.after, [*key, *others]), where)]
    return [
        message("UPDATE", "update", f'{{"$set": {{{_shell_document(change.after, table, others)}}}}}', where)
    ]


# -- as Extended JSON


def _extended(kind: str, value: Any) -> Any:
    if value is None or kind in ("double", "boolean", "text", "time"):
        return value
    if kind in INTEGERS:
        return value
    if kind in ("uint64", "decimal"):
        return {"$numberDecimal": str(Decimal(value))}
    if kind == "binary":
        return {"$binary": {"base64": base64.b64encode(value).decode(), "subType": "00"}}
    number = _milliseconds(value)
    if 0 <= number < 253402300800000:  # relaxed Extended JSON: a text for the years from 1970 to 9999
        text = (
            (EPOCH + timedelta(milliseconds=number)).replace(tzinfo=None).isoformat(timespec="milliseconds")
        )
        return {"$date": f"{text.removesuffix('.000')}Z"}
    return {"$date": {"$numberLong": str(number)}}


def _document(row: Row | None, table: Table) -> str | None:
    if row is None:
        return None
    identity = json.dumps([row[name] for name in table.key])
    fields = {name: _extended(kind, row[name]) for name, kind in table.columns.items()}
    return json.dumps({"_id": identity, **fields}, ensure_ascii=False)


def _debezium(log: list[Change], table: Table) -> list[Message]:
    return [message for change in log for message in _debezium_messages(change, table)]


def _debezium_messages(change: Change, table: Table) -> list[Message]:
    seconds = _milliseconds(change.committed_at) // 1000
    source = {
        "version": "3.5.0.Final",
        "connector": "mongodb",
        "name": "fulfillment",
        "ts_ms": seconds * 1000,
        "ts_us": seconds * 1000000,
        "snapshot": "true" if change.kind == "snapshot" else "false",
        "db": table.database,
        "collection": table.name,
        "ord": change.sequence,
    }

    def message(op: str, before: Row | None, after: Row | None) -> Message:
        value = {
            "before": _document(before, table),
            "after": _document(after, table),
            "updateDescription": None,
            "source": source,
            "op": op,
            "ts_ms": seconds * 1000 + 77,
            "transaction": None,
        }
        identity = json.dumps([(after or before)[name] for name in table.key])
        return Message(json.dumps(value, ensure_ascii=False), json.dumps({"id": json.dumps(identity)}))

    if change.kind == "heartbeat":
        return [Message(json.dumps({"ts_ms": seconds * 1000}))]
    if change.kind in ("begin", "commit"):
        mark = {"status": {"begin": "BEGIN", "commit": "END"}[change.kind], "id": "7", "event_count": None}
        return [Message(json.dumps({**mark, "data_collections": None, "ts_ms": seconds * 1000}))]
    if change.kind in ("insert", "snapshot"):
        return [message("c" if change.kind == "insert" else "r", None, change.after)]
    if change.kind == "delete":
        return [message("d", change.before, None)]
    if change.kind != "update":
        return []  # a collection that is dropped sends nothing
    if any(change.before[name] != change.after[name] for name in table.key):
        return [message("d", change.before, None), message("c", None, change.after)]
    return [message("u", change.before, change.after)]


ENCODERS = [
    Encoder(
        format="drs_mongodb",
        dialect=None,
        columns=COLUMNS,
        encode=_drs,
        fits=FITS,
        before="key",
        deletes="key",
        ops={"snapshot": "insert"},
        splits_key_changes=True,
    ),
    Encoder(
        format="debezium_mongodb",
        dialect=None,
        columns=COLUMNS,
        encode=_debezium,
        fits=FITS,
        splits_key_changes=True,
    ),
]
