"""A log -> messages of KafkaRiverCanal, as its page "Kafka message specification" and Gson write them.

Gson leaves out what is null and escapes < > & = ' in texts. The values are the texts that Canal hands over:
binaries as one character a byte, an instant as local time of the Canal server, which is in UTC here. The
format knows inserts, updates and deletes, and nothing else.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

EVENTS = {"insert": "i", "update": "u", "delete": "d"}
COLUMNS = without(DECLARATIONS, "boolean")


def _value(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    return value.isoformat() if isinstance(value, date) else str(value)


def _columns(change: Change, table: Table) -> list[dict[str, Any]]:
    row: Row = change.before if change.kind == "delete" else change.after
    columns = []
    for name, kind in table.columns.items():
        column = {"n": name, "t": kind, "v": _value(row[name]), "null": row[name] is None}
        if change.kind == "update":
            column["updated"] = change.before[name] != row[name]
            column["origin_val"] = _value(change.before[name]) if column["updated"] else None
        columns.append({key: value for key, value in column.items() if value is not None})
    return columns


def _gson(message: dict[str, Any]) -> str:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&='":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def encode(changes: list[Change], table: Table) -> list[Message]:
    """Return the messages of the row changes of a log."""
    return [
        Message(
            _gson(
                {
                    # Two events share a position, as the rows of one binlog event do.
                    "binlog": f"{100 + change.sequence // 2}@mysql-bin.000070",
                    "time": int(change.committed_at.timestamp() * 1000),
                    "canalTime": 1450235093370,
                    "db": table.database,
                    "table": table.name,
                    "event": EVENTS[change.kind],
                    "columns": _columns(change, table),
                    "keys": list(reversed(table.key)),
                }
            )
        )
        for change in changes
        if change.kind in EVENTS
    ]


ENCODERS = [Encoder("kafka_river_canal", None, COLUMNS, encode)]
