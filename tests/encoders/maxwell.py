"""A log -> messages of Maxwell.

Written from zendesk/maxwell, docs/docs/dataformat.md: numbers are JSON numbers, binaries base64, times text
with the digits of the column.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from encoders.canal import CANAL, NUMBERS, changed, image, milliseconds, text
from encoders.log import DECLARATIONS, Change, Encoder, Message, Table


def _moment(value: datetime) -> str:
    return text(value.isoformat(" ", timespec="microseconds"))


VALUES: dict[str, Callable[[Any], str]] = {
    **CANAL,
    **NUMBERS,
    "long_decimal": lambda value: f"{value:f}",
    "boolean": lambda value: str(int(value)),
    "binary": lambda value: text(base64.b64encode(value).decode()),
    "datetime": _moment,
    "instant": lambda value: _moment(value.astimezone(timezone.utc).replace(tzinfo=None)),
}
TYPES = {"insert": "insert", "update": "update", "delete": "delete", "snapshot": "bootstrap-insert"}


def encode(changes: list[Change], table: Table) -> list[Message]:
    """Begin and end are not written, nor is a truncate; every transaction of this log has one row."""
    messages = []
    for change in changes:
        seconds = milliseconds(change.committed_at) // 1000
        fields = {"database": text(table.database), "table": text(table.name)}
        if change.kind in TYPES:
            row = change.before if change.kind == "delete" else change.after
            fields |= {"type": text(TYPES[change.kind]), "ts": str(seconds)}
            if change.kind != "snapshot":
                fields |= {"xid": str(1000 + change.sequence), "commit": "true"}
            fields["primary_key_columns"] = text(list(table.key))
            fields["data"] = image(row, table, VALUES)
            if change.kind == "update":
                fields["old"] = image(changed(change), table, VALUES)
        elif change.kind == "ddl":
            definition = text({"database": table.database, "table": table.name, "columns": []})
            fields |= {"type": text("table-alter"), "old": definition, "def": definition}
            fields |= {"ts": str(seconds * 1000), "sql": text(change.ddl)}
        else:
            continue
        value = "{" + ",".join(f"{text(name)}:{literal}" for name, literal in fields.items()) + "}"
        messages.append(Message(value))
    return messages


ENCODERS = [Encoder("maxwell", "maxwell", DECLARATIONS, encode)]
