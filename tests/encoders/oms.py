"""One log of changes -> messages of OceanBase OMS, in four of its serialisations.

Written from the vendor's page on data formats alone: the formats Default, DefaultExtendColumnType, Dataworks
and SharePlex, and the type table of the MySQL tenant. A time that MySQL's TIMESTAMP cannot hold is written as
the Oracle tenant's TIMESTAMP WITH TIME ZONE.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
END_OF_TIMESTAMP = datetime(2038, 1, 19, 3, 14, 8, tzinfo=timezone.utc)
SHANGHAI = timezone(timedelta(hours=8))
# A second of the task's time and five digits that count.
FIRST_SEQUENCE = 160934467100000
# What `__light_type` and `column` call the types in the page's samples.
TYPES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "INT64",
    "uint64": "BIGINT",
    "decimal": "DECIMAL",
    "long_decimal": "DECIMAL",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "datetime": "DATETIME",
    "instant": "TIMESTAMP",
    "time": "TIME",
    "json": "VARCHAR",
}


class Number(str):
    """The literal of a JSON number: the page has numbers that no Python number holds."""

    __slots__ = ()


def dump(value: Any) -> str:
    """Write JSON as json.dumps does, and numbers with their own literals."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump(name)}:{dump(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def wall_clock(moment: datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if "." in text else text


def _instant(moment: datetime) -> str:
    if moment >= END_OF_TIMESTAMP:
        return f"{wall_clock(moment)} +00:00"
    if moment < EPOCH:
        return f"{wall_clock(moment.astimezone(SHANGHAI))} +08:00"
    seconds, fraction = divmod((moment - EPOCH) // timedelta(microseconds=1), 1_000_000)
    return f"{seconds}.{fraction:06d}".rstrip("0").rstrip(".")


def _double(value: float) -> Number:
    # The samples show all digits that the double has, up to 767 of them.
    return Number(f"{Decimal(value):E}" if value else repr(value))


VALUES: dict[str, Callable[[Any], Any]] = {
    "decimal": lambda value: Number(f"{value:f}"),
    "long_decimal": lambda value: Number(f"{value:f}"),
    "double": _double,
    "boolean": int,
    "binary": lambda value: base64.b64encode(value).decode(),
    "date": lambda value: value.isoformat(),
    "datetime": wall_clock,
    "instant": _instant,
}


def image(row: Row | None, table: Table) -> Row | None:
    if row is None:
        return None
    return {
        name: None if row[name] is None else VALUES.get(kind, lambda same: same)(row[name])
        for name, kind in table.columns.items()
    }


def _seconds(change: Change) -> int:
    return (change.committed_at - EPOCH) // timedelta(seconds=1)


def _default(changes: list[Change], table: Table, extended: bool) -> list[Message]:
    record_types = {
        "insert": "INSERT",
        "update": "UPDATE",
        "delete": "DELETE",
        "snapshot": "ROW",
        "ddl": "DDL",
        "truncate": "DDL",
        "heartbeat": "HEARTBEAT",
    }
    types = {name: {"schemaType": TYPES[kind]} for name, kind in table.columns.items()}
    messages = []
    for change in changes:
        if change.kind not in record_types:
            continue
        before, after = image(change.before, table), image(change.after, table)
        row = after or before
        if extended:
            for found in filter(None, (before, after)):
                found["__light_type"] = types
        if change.kind in ("ddl", "truncate"):
            after = {"ddl": change.ddl or f"TRUNCATE TABLE `{table.name}`"}
        meta = {
            "checkpoint": str(_seconds(change)),
            "record_primary_key": "\x01".join(table.key) if row else None,
            "record_primary_value": "\x01".join(str(row[name]) for name in table.key) if row else None,
            "source_identity": "subtopic",
            "dbType": "OB_MYSQL",
            "storeDataSequence": FIRST_SEQUENCE + change.sequence,
            "table_name": table.name,
            "db": f"tenant.{table.database}",
            "timestamp": str(_seconds(change)),
            "uniqueId": f"u{change.sequence}",
        }
        if change.kind == "snapshot":
            del meta["storeDataSequence"], meta["timestamp"]
        messages.append(
            Message(
                dump(
                    {
                        "prevStruct": before,
                        "postStruct": after,
                        "allMetaData": meta,
                        "recordType": record_types[change.kind],
                    }
                )
            )
        )
    return messages


def _dataworks(changes: list[Change], table: Table) -> list[Message]:
    ops = {
        "insert": "INSERT",
        "snapshot": "INSERT",
        "update": "UPDATE",
        "delete": "DELETE",
        "ddl": "ALTER",
        "truncate": "TRUNCATE",
        "begin": "TRANSACTION_BEGIN",
        "commit": "TRANSACTION_END",
    }
    messages = []
    for change in changes:
        times = {"eventTime": _seconds(change) * 1000}
        if change.kind == "heartbeat":
            payload = {"timestamp": times, "op": "HEARTBEAT"}
            messages.append(Message(dump({"version": "2.0", "payload": payload})))
            continue
        before, after = image(change.before, table), image(change.after, table)
        message = {
            "version": "2.0",
            "schema": {
                "source": {
                    "dbType": "ob_mysql",
                    "dbVersion": None,
                    "dbName": table.database,
                    "schema": None,
                    "table": table.name,
                },
                "column": [{"name": name, "type": TYPES[kind]} for name, kind in table.columns.items()],
                "pk": list(table.key),
            },
            "payload": {
                "before": before and {"data": before},
                "after": after and {"data": after},
                "op": ops[change.kind],
                "timestamp": {
                    **times,
                    "systemTime": times["eventTime"] + 795,
                    "checkpointTime": _seconds(change),
                },
                "ddl": change.ddl and {"text": change.ddl},
                "scn": "null" if change.kind == "snapshot" else str(FIRST_SEQUENCE + change.sequence),
            },
            "extend": {"load_fm": "test"},
        }
        messages.append(Message(dump(message)))
    return messages


def _shareplex(changes: list[Change], table: Table) -> list[Message]:
    ops = {"insert": "ins", "snapshot": "ins", "update": "upd", "delete": "del"}
    messages = []
    for change in changes:
        if change.kind not in ops:
            continue
        before, after = image(change.before, table), image(change.after, table)
        data = after or before
        key = "\x01".join(str(data[name]) for name in table.key)
        meta = {
            "posttime": "2026-03-29T01:00:09",
            "op": ops[change.kind],
            "size": 10,
            "time": wall_clock(change.committed_at).replace(" ", "T"),
            "idx": "1/10",
            "seq": 1,
            "table": f"{table.database}.{table.name}",
            "rowid": f"{table.database}.{table.name}-{key}",
            "trans": f"t{change.sequence}",
            "scn": str(FIRST_SEQUENCE + change.sequence),
        }
        if change.kind == "snapshot":
            del meta["scn"]
        message = {"data": data, "meta": meta}
        if change.kind == "update":
            message["data"] = {name: after[name] for name in after if after[name] != before[name]}
            message["key"] = before
        messages.append(Message(dump(message)))
    return messages


ENCODERS = [
    Encoder("oms", "default", DECLARATIONS, lambda changes, table: _default(changes, table, extended=False)),
    Encoder("oms", "extended", DECLARATIONS, lambda changes, table: _default(changes, table, extended=True)),
    # A row of the full load is an insert like any other.
    Encoder("dataworks", "oms", DECLARATIONS, _dataworks, ops={"snapshot": "insert"}),
    Encoder("shareplex", "oms", DECLARATIONS, _shareplex, ops={"snapshot": "insert"}),
]
