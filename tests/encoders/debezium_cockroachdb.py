"""A log -> messages of CockroachDB's changefeeds: envelope=enriched, with source, updated and diff.

Written from CockroachDB's documentation, "Changefeed Message Envelope": numbers are JSON numbers with all
their digits, BYTES is `\\x` and hexadecimal digits, times are ISO texts. JSONB is not kept as the text that
was written, so it is left out here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from encoders.canal import image, text
from encoders.debezium import _epoch, _events
from encoders.log import DECLARATIONS, Change, Encoder, Message, Table, without

VALUES: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint64"), str),
    "decimal": lambda value: f"{value:f}",
    "long_decimal": lambda value: f"{value:f}",
    "double": repr,
    "boolean": lambda value: str(value).lower(),
    "text": text,
    "binary": lambda value: text("\\x" + value.hex()),
    "date": lambda value: text(value.isoformat()),
    "datetime": lambda value: text(value.isoformat()),
    "instant": lambda value: text(value.replace(tzinfo=None).isoformat() + "Z"),
    "time": text,
}


def encode(changes: list[Change], table: Table) -> list[Message]:
    """A table that is emptied ends the changefeed; DDL and transactions are not told."""
    messages = []
    for op, change in _events(changes):
        nanoseconds = _epoch(change.committed_at or datetime(2026, 1, 1)) * 1000  # noqa: DTZ001
        if op == "heartbeat":
            messages.append(Message(text({"resolved": f"{nanoseconds}.0000000000"})))
        if op not in ("c", "u", "d", "r"):
            continue
        source = {
            "changefeed_sink": "kafka",
            "database_name": table.database,
            "origin": "cockroachdb",
            "primary_keys": list(table.key),
            "schema_name": table.schema,
            "table_name": table.name,
            "ts_hlc": f"{nanoseconds}.{change.sequence:010d}",
            "ts_ns": nanoseconds,
        }
        rows = {name: getattr(change, name) for name in ("after", "before")}
        fields = {name: "null" if row is None else image(row, table, VALUES) for name, row in rows.items()}
        fields |= {"op": text("c" if op == "r" else op), "source": text(source), "ts_ns": str(nanoseconds)}
        value = "{" + ",".join(f"{text(name)}:{literal}" for name, literal in fields.items()) + "}"
        key = change.after or change.before
        messages.append(Message(value, "{" + ",".join(f"{text(n)}:{text(key[n])}" for n in table.key) + "}"))
    return messages


ENCODERS = [
    Encoder(
        "debezium",
        "cockroachdb",
        without(DECLARATIONS, "json"),
        encode,
        splits_key_changes=True,
        ops={"snapshot": "insert"},
    )
]
