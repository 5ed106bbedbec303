"""A log -> messages of Debezium's MySQL connector: with and without the converter's schema, and flattened.

Written from Debezium's documentation of the MySQL connector: "data change events", the tables of data type
mappings and of temporal types (time.precision.mode=adaptive_time_microseconds, decimal.handling.mode=precise,
binary.handling.mode=bytes) and the page of ExtractNewRecordState.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

MICROSECOND = timedelta(microseconds=1)

# A kind's schema in the converter's words.
SCHEMAS: dict[str, dict[str, Any]] = {
    "int8": {"type": "int16"},
    "int16": {"type": "int16"},
    "int32": {"type": "int32"},
    "int64": {"type": "int64"},
    # bigint.unsigned.handling.mode=precise
    "uint64": {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "0"},
    },
    "decimal": {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "10", "connect.decimal.precision": "38"},
    },
    "double": {"type": "double"},
    "boolean": {"type": "boolean"},
    "text": {"type": "string"},
    "binary": {"type": "bytes"},
    "date": {"type": "int32", "name": "io.debezium.time.Date"},
    "datetime": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "instant": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    "time": {"type": "int64", "name": "io.debezium.time.MicroTime"},
    "json": {"type": "string", "name": "io.debezium.data.Json"},
}

WITH_SCHEMA = without(DECLARATIONS, "long_decimal")
WITHOUT_SCHEMA = {
    **WITH_SCHEMA,
    "uint64": "decimal(20,0) from base64",
    "decimal": "decimal(38,10) from base64",
    "datetime": "timestamp_ntz from microseconds",
    "time": "string from time_microseconds",
}


def _epoch(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)) // MICROSECOND


def _two_complement(unscaled: int) -> str:
    length = (unscaled if unscaled >= 0 else -unscaled - 1).bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(length, "big", signed=True)).decode()


def _unscaled(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def _time(text: str) -> int:
    hours, minutes, seconds = text.removeprefix("-").split(":")
    whole = (int(hours) * 60 + int(minutes)) * 60_000_000 + int(Decimal(seconds) * 1_000_000)
    return -whole if text.startswith("-") else whole


VALUES: dict[str, Callable[[Any], Any]] = {
    "uint64": _two_complement,
    "decimal": lambda value: _two_complement(_unscaled(value)),
    "binary": lambda value: base64.b64encode(value).decode(),
    "date": lambda value: (value - date(1970, 1, 1)).days,
    "datetime": _epoch,
    "instant": lambda value: value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z"),
    "time": _time,
}


def _image(row: Row | None, table: Table) -> Row | None:
    if row is None:
        return None
    return {
        name: None if row[name] is None else VALUES.get(kind, lambda same: same)(row[name])
        for name, kind in table.columns.items()
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _record(fields: list[dict[str, Any]], payload: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        "schema": {"type": "struct", "fields": fields, "optional": False, "name": name},
        "payload": payload,
    }


def _row_fields(table: Table) -> list[dict[str, Any]]:
    return [
        {**SCHEMAS[kind], "optional": name not in table.key, "field": name}
        for name, kind in table.columns.items()
    ]


def _events(changes: list[Change]) -> list[tuple[str, Change]]:
    """(op, change): a changed key is a delete, its tombstone and an insert."""
    events = []
    for change in changes:
        if change.kind == "update" and any(
            change.before[name] != change.after[name] for name in ("id", "code") if name in change.before
        ):
            events.append(("d", Change("delete", change.sequence, change.before, None, change.committed_at)))
            events.append(("c", Change("insert", change.sequence, None, change.after, change.committed_at)))
        else:
            op = {"insert": "c", "update": "u", "delete": "d", "snapshot": "r", "truncate": "t"}.get(
                change.kind
            )
            events.append((op or change.kind, change))
    return events


def _envelope(changes: list[Change], table: Table, with_schema: bool) -> list[Message]:
    messages = []
    prefix = "server"
    for op, change in _events(changes):
        milliseconds = _epoch(change.committed_at) // 1000
        source = {
            "version": "3.5.0.Final",
            "connector": "mysql",
            "name": prefix,
            "ts_ms": milliseconds,
            "snapshot": "true" if op == "r" else "false",
            "db": table.database,
            "table": table.name,
            "server_id": 1,
            "gtid": None,
            "file": "binlog.000002",
            # As of a compressed transaction: two changes share a position, and `row` orders nothing.
            "pos": 100 + change.sequence // 2,
            "row": 1 - change.sequence % 2,
        }
        if op == "heartbeat":
            payload, key, fields, name = {"ts_ms": milliseconds}, {"serverName": prefix}, [], "Heartbeat"
            name = "io.debezium.connector.common.Heartbeat"
        elif op in ("begin", "commit"):
            payload = {
                "status": "BEGIN" if op == "begin" else "END",
                "id": f"tx{change.sequence}",
                "event_count": None if op == "begin" else 0,
                "data_collections": None if op == "begin" else [],
                "ts_ms": milliseconds,
            }
            key, fields, name = (
                {"id": f"tx{change.sequence}"},
                [],
                "io.debezium.connector.common.TransactionMetadataValue",
            )
        elif op == "ddl":
            payload = {
                "source": source,
                "ts_ms": milliseconds,
                "databaseName": table.database,
                "schemaName": None,
                "ddl": change.ddl,
                "tableChanges": [],
            }
            key, fields, name = (
                {"databaseName": table.database},
                [],
                "io.debezium.connector.mysql.SchemaChangeValue",
            )
        else:
            payload = {
                "before": _image(change.before, table),
                "after": _image(change.after, table),
                "source": source,
                "transaction": None,
                "op": op,
                "ts_ms": milliseconds,
            }
            row = change.after or change.before
            key = row and {column: row[column] for column in table.key}
            images = [
                {"type": "struct", "fields": _row_fields(table), "optional": True, "field": side}
                for side in ("before", "after")
            ]
            fields, name = images, f"{prefix}.{table.database}.{table.name}.Envelope"
        value = _record(fields, payload, name) if with_schema else payload
        messages.append(Message(_text(value), key and _text(key)))
        if op == "d":
            messages.append(Message(None, _text(key)))
    return messages


def _flat(changes: list[Change], table: Table) -> list[Message]:
    """ExtractNewRecordState: delete.tombstone.handling.mode=rewrite, add.fields=op,table,db,source.ts_ms."""
    messages = []
    for op, change in _events(changes):
        if op not in ("c", "u", "d", "r"):
            continue
        row = change.after or change.before
        value = {
            **_image(row, table),
            "__deleted": "true" if op == "d" else "false",
            "__op": op,
            "__table": table.name,
            "__db": table.database,
            "__source_ts_ms": _epoch(change.committed_at) // 1000,
        }
        messages.append(Message(_text(value), _text({column: row[column] for column in table.key})))
    return messages


ENCODERS = [
    Encoder(
        "debezium",
        "envelope",
        WITH_SCHEMA,
        lambda changes, table: _envelope(changes, table, with_schema=True),
        splits_key_changes=True,
    ),
    Encoder(
        "debezium",
        "envelope",
        WITHOUT_SCHEMA,
        lambda changes, table: _envelope(changes, table, with_schema=False),
        splits_key_changes=True,
    ),
    Encoder("debezium", "flat", WITHOUT_SCHEMA, _flat, before="none", splits_key_changes=True),
]
