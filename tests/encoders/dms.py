"""A log -> messages of AWS DMS for Kafka: data and metadata, control records, the row before in two ways.

Written from the user guide, "Using Apache Kafka as a target": IncludeNullAndEmpty and
IncludeTransactionDetails are on, the row before comes by BeforeImageSettings or by a transformation rule
with a prefix. There is no truncate.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table

OPERATIONS = {"snapshot": "load", "insert": "insert", "update": "update", "delete": "delete"}


def _literal(value: Any) -> str:
    """Return a value as it stands in the message; json.dumps has no way to write a long decimal."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return f'"0x{value.hex().upper()}"'
    if isinstance(value, datetime):
        return f'"{value.replace(tzinfo=None).isoformat()}Z"'
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    return json.dumps(value, ensure_ascii=False)


def _members(row: Row, table: Table, prefix: str = "") -> list[str]:
    return [f"{json.dumps(prefix + name)}:{_literal(row[name])}" for name in table.columns]


def _encode(changes: list[Change], table: Table, with_prefix: bool) -> list[Message]:
    messages = []
    for change in changes:
        metadata = {"timestamp": "2024-07-29T00:58:17.983670Z"}
        parts = []
        if change.kind in OPERATIONS:
            metadata |= {"record-type": "data", "operation": OPERATIONS[change.kind]}
            if change.kind != "snapshot":
                metadata |= {
                    "transaction-id": 9000 - change.sequence,
                    "transaction-record-id": 1,
                    "stream-position": f"mysql-bin-changelog.000002:{change.sequence}",
                    "commit-timestamp": change.committed_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                }
            data = _members(change.before if change.kind == "delete" else change.after, table)
            if change.kind == "update" and with_prefix:
                data += _members(change.before, table, "BI_")
            elif change.kind == "update":
                parts.append(f'"before-image":{{{",".join(_members(change.before, table))}}}')
            parts.append(f'"data":{{{",".join(data)}}}')
        elif change.kind == "ddl":
            metadata |= {"record-type": "control", "operation": "add-column"}
            parts.append('"control":{}')
        else:
            continue
        metadata |= {"schema-name": table.schema, "table-name": table.name}
        parts.append(f'"metadata":{json.dumps(metadata)}')
        messages.append(Message("{" + ",".join(parts) + "}"))
    return messages


ENCODERS = [
    Encoder("dms", None, DECLARATIONS, lambda changes, table: _encode(changes, table, with_prefix=False)),
    Encoder("dms", None, DECLARATIONS, lambda changes, table: _encode(changes, table, with_prefix=True)),
]
