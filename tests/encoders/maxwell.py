"""A log -> messages of Maxwell.

Written from zendesk/maxwell, docs/docs/dataformat.md: numbers are JSON numbers, binaries base64, times text
with the digits of the column.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from typing import Any

from encoders.canal import CANAL, NUMBERS, changed, image, milliseconds, text
from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table


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


def encode(changes: list[Change], table: Table, nulls: bool = True) -> list[Message]:
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
            fields["data"] = image(row if nulls else _without_nulls(row), table, VALUES)
            if change.kind == "update":
                old = changed(change)
                fields["old"] = image(old if nulls else _without_nulls(old), table, VALUES)
        elif change.kind == "ddl":
            definition = text({"database": table.database, "table": table.name, "columns": []})
            fields |= {"type": text("table-alter"), "old": definition, "def": definition}
            fields |= {"ts": str(seconds * 1000), "sql": text(change.ddl)}
        else:
            continue
        value = "{" + ",".join(f"{text(name)}:{literal}" for name, literal in fields.items()) + "}"
        messages.append(Message(value))
    return messages


def _without_nulls(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


ENCODERS = [
    Encoder("maxwell", "maxwell", DECLARATIONS, encode),
    # output_nulls=false: of the row before, a column that `old` lacks may have been NULL.
    Encoder("maxwell", "nulls_left_out", DECLARATIONS, partial(encode, nulls=False), before="key"),
]
