"""A log -> messages of Oracle GoldenGate's JSON formatters, by operation and by row.

Written from "Using the Pluggable Formatters": metadata fields, I U D T, both images of an operation, the one
image of a row message, primary key updates as delete and insert (pkUpdateHandling=delete-insert). An initial
load writes inserts. Numbers are bare JSON numbers; binaries are base64 here, and the model says so.
"""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

OPS = {"insert": "I", "snapshot": "I", "update": "U", "delete": "D", "truncate": "T"}
COLUMNS = {**without(DECLARATIONS, "boolean"), "binary": "binary from base64"}


def _literal(value: Any) -> str:
    """Return a value as it stands in the message; json.dumps has no way to write a long decimal."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return json.dumps(base64.b64encode(value).decode())
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(" ", "microseconds") + "000"
        return f'"{text}"' if value.tzinfo is None else f'"{text} +00:00"'
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    return json.dumps(value, ensure_ascii=False)


def _members(row: Row, table: Table) -> str:
    return ",".join(f"{json.dumps(name)}:{_literal(row[name])}" for name in table.columns)


def _metadata(change: Change, table: Table) -> str:
    fields = {
        "table": f"{table.schema}.{table.name}",
        "op_type": OPS[change.kind],
        "op_ts": change.committed_at.replace(tzinfo=None).isoformat(" ", "microseconds"),
        "current_ts": "2016-10-05T10:15:51.267000",
        "pos": f"{3:010}{2000 + change.sequence:010}",
        "primary_keys": list(table.key),
        "tokens": {"R": "AADPkvAAEAAEqL2AAA"},
    }
    return json.dumps(fields)[1:-1]


def _operations(changes: list[Change], table: Table) -> list[Message]:
    messages = []
    for change in changes:
        if change.kind in OPS:
            images = "".join(
                f',"{name}":{{{_members(row, table)}}}'
                for name, row in (("before", change.before), ("after", change.after))
                if row is not None
            )
            messages.append(Message(f"{{{_metadata(change, table)}{images}}}"))
    return messages


def _rows(changes: list[Change], table: Table) -> list[Message]:
    messages = []
    for change in changes:
        parts = [change]
        if change.kind == "update" and any(change.before[name] != change.after[name] for name in table.key):
            parts = [
                Change("delete", change.sequence, change.before, None, change.committed_at),
                Change("insert", change.sequence, None, change.after, change.committed_at),
            ]
        for part in parts:
            if part.kind in OPS:
                row = part.before if part.kind == "delete" else part.after
                columns = "" if row is None else "," + _members(row, table)
                messages.append(Message(f"{{{_metadata(part, table)}{columns}}}"))
    return messages


ENCODERS = [
    Encoder("goldengate", "operation", COLUMNS, _operations, ops={"snapshot": "insert"}),
    Encoder(
        "goldengate",
        "row",
        COLUMNS,
        _rows,
        before="none",
        splits_key_changes=True,
        ops={"snapshot": "insert"},
    ),
]
