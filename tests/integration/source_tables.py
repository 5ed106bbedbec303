"""Logical changes and the vendors' messages for them, which share no code with the macros.

Each method of a table returns an `Event`: changes for the reference fold, and messages for the raw table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import count
from typing import Any

from harness import Message
from reference import Change, Key, Values

START = datetime(2026, 3, 1, 8, 0, 0)  # noqa: DTZ001 - as a Spark session in UTC gives times
UNAVAILABLE = "__debezium_unavailable_value"


def minute(number: int) -> datetime:
    """Return the commit time of the change with this number."""
    return START + timedelta(minutes=number)


def milliseconds(at: datetime) -> int:
    """Return Unix milliseconds of a UTC time without a zone."""
    return int(at.replace(tzinfo=timezone.utc).timestamp() * 1000)


@dataclass(frozen=True)
class Event:
    """What happened, and how it is said."""

    changes: list[Change]
    messages: list[Message]


def split(key: list[str], row: Values) -> tuple[Key, Values]:
    """A row -> its key and its other values."""
    return tuple(row[name] for name in key), {name: value for name, value in row.items() if name not in key}


class CanalTopic:
    """One topic of Canal; its order is that of the messages: events land in the order of their making."""

    def __init__(self, database: str = "shop") -> None:
        self.database = database
        self._order = count(1)

    def message(
        self, kind: str, table: str, key: list[str], rows: list[Values] | None, **fields: Any
    ) -> Message:
        """Encode one message; a value travels as text."""
        number = fields.pop("number", 0)
        texts = [
            {name: None if value is None else str(value) for name, value in row.items()} for row in rows or []
        ]
        envelope = {
            "data": texts if rows is not None else None,
            "database": self.database,
            "es": milliseconds(minute(number)),
            "id": 1,
            "isDdl": kind in ("ALTER", "TRUNCATE"),
            "mysqlType": None,
            "old": None,
            "pkNames": key,
            "sql": "",
            "sqlType": None,
            "table": table,
            "ts": milliseconds(minute(number)),
            "type": kind,
        }
        return Message(json.dumps(envelope | fields, ensure_ascii=False))


class CanalTable:
    """One table of a Canal topic."""

    def __init__(self, topic: CanalTopic, name: str, key: list[str]) -> None:
        self.topic = topic
        self.name = name
        self.key = key

    def insert(self, number: int, *rows: Values) -> Event:
        """Insert rows, all in one message."""
        return self._rows("INSERT", number, list(rows))

    def delete(self, number: int, *rows: Values) -> Event:
        """Delete rows, all in one message."""
        order = self._order()
        changes = [Change(order, minute(number), split(self.key, row)[0]) for row in rows]
        return Event(changes, [self._message("DELETE", number, list(rows))])

    def update(self, number: int, *pairs: tuple[Values, Values]) -> Event:
        """Update rows, given as (before, after), all in one message; `old` says what changed."""
        after = [pair[1] for pair in pairs]
        event = self._rows("UPDATE", number, after)
        changes = [
            Change(change.order, change.at, change.key, change.values, split(self.key, before)[0])
            for change, (before, _) in zip(event.changes, pairs, strict=True)
        ]
        old = [
            {
                name: None if value is None else str(value)
                for name, value in before.items()
                if now[name] != value
            }
            for before, now in pairs
        ]
        return Event(changes, [self._message("UPDATE", number, after, old=old)])

    def truncate(self, number: int) -> Event:
        """Empty the table."""
        return Event(
            [Change(self._order(), minute(number), None)],
            [self._message("TRUNCATE", number, None, sql=f"truncate table {self.name}")],
        )

    def _rows(self, kind: str, number: int, rows: list[Values]) -> Event:
        order = self._order()
        changes = [Change(order, minute(number), *split(self.key, row)) for row in rows]
        return Event(changes, [self._message(kind, number, rows)])

    def _order(self) -> tuple[int, ...]:
        return (next(self.topic._order),)

    def _message(self, kind: str, number: int, rows: list[Values] | None, **fields: Any) -> Message:
        return self.topic.message(kind, self.name, self.key, rows, number=number, **fields)


class DebeziumTable:
    """One table of PostgreSQL with the default replica identity: a before image holds the key only.

    `lsn` is the source's order and comes with each event, so that events may land in any order.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def insert(self, lsn: int, row: Values, number: int | None = None) -> Event:
        """Insert a row."""
        return self._upsert("c", lsn, row, number)

    def update(self, lsn: int, row: Values, number: int | None = None) -> Event:
        """Update a row; a column that `row` lacks was not sent by the database (TOAST)."""
        return self._upsert("u", lsn, row, number)

    def delete(self, lsn: int, key: int, number: int | None = None) -> Event:
        """Delete a row; Debezium sends a tombstone after it."""
        return Event(
            [Change((lsn, 0), self._at(lsn, number), (key,))],
            [
                self._message("d", lsn, key, {"id": key}, None, number),
                Message(None, key=self._key(key)),
            ],
        )

    def change_key(self, lsn: int, old: int, row: Values) -> tuple[Event, Event]:
        """Change a key: a delete of the old one, then an insert that names it in a header; one statement."""
        insert = self._upsert("c", lsn, row, None)
        [change] = insert.changes
        [message] = insert.messages
        return self.delete(lsn, old), Event(
            [Change((lsn, 0), change.at, change.key, change.values, (old,))],
            [Message(message.value, message.key, {"__debezium.oldkey": self._key(old)})],
        )

    def truncate(self, lsn: int) -> Event:
        """Empty the table."""
        return Event(
            [Change((lsn, 0), self._at(lsn, None), None)], [self._message("t", lsn, None, None, None, None)]
        )

    def _upsert(self, op: str, lsn: int, row: Values, number: int | None) -> Event:
        key, values = split(["id"], row)
        image = {"id": row["id"], "name": UNAVAILABLE, "bio": UNAVAILABLE} | row
        return Event(
            [Change((lsn, 0), self._at(lsn, number), key, values)],
            [self._message(op, lsn, row["id"], None, image, number)],
        )

    def _at(self, lsn: int, number: int | None) -> datetime:
        return minute(lsn if number is None else number)

    def _key(self, key: int) -> str:
        return json.dumps({"id": key})

    def _message(
        self,
        op: str,
        lsn: int,
        key: int | None,
        before: Values | None,
        after: Values | None,
        number: int | None,
    ) -> Message:
        at = milliseconds(self._at(lsn, number))
        source = {
            "version": "3.3.1.Final", "connector": "postgresql", "name": "crm", "ts_ms": at,
            "snapshot": "false", "db": "crm", "schema": "public", "table": self.name, "txId": lsn, "lsn": lsn,
            "sequence": json.dumps([str(lsn), str(lsn)]), "xmin": None,
        }  # fmt: skip
        envelope = {
            "before": before,
            "after": after,
            "source": source,
            "op": op,
            "ts_ms": at + 500,
            "transaction": None,
        }
        return Message(json.dumps(envelope), key=None if key is None else self._key(key))


class DataWorksTable:
    """One table of a DataWorks task that sends an update as two messages under one sequenceId."""

    def __init__(self, name: str) -> None:
        self.name = name

    def insert(self, sequence: int, row: Values) -> Event:
        """Insert a row."""
        return Event([self._change(sequence, row)], [self._message("INSERT", sequence, None, row)])

    def update(self, sequence: int, before: Values, after: Values) -> tuple[Event, Event]:
        """Update a row: the first part does nothing until the second is there."""
        change = self._change(sequence, after)
        return (
            Event([], [self._message("UPDATE_BEFOR", sequence, before, None)]),
            Event(
                [Change(change.order, change.at, change.key, change.values, split(["id"], before)[0])],
                [self._message("UPDATE_AFTER", sequence, None, after)],
            ),
        )

    def delete(self, sequence: int, row: Values) -> Event:
        """Delete a row."""
        change = Change((sequence,), minute(sequence), split(["id"], row)[0])
        return Event([change], [self._message("DELETE", sequence, row, None)])

    def truncate(self, sequence: int) -> Event:
        """Empty the table."""
        return Event(
            [Change((sequence,), minute(sequence), None)], [self._message("TRUNCATE", sequence, None, None)]
        )

    def _change(self, sequence: int, row: Values) -> Change:
        return Change((sequence,), minute(sequence), *split(["id"], row))

    def _message(self, op: str, sequence: int, before: Values | None, after: Values | None) -> Message:
        at = milliseconds(minute(sequence))
        envelope = {
            "schema": {
                "dataColumn": [
                    {"name": "id", "type": "LONG"},
                    {"name": "state", "type": "STRING"},
                    {"name": "cents", "type": "LONG"},
                ],
                "primaryKey": ["id"],
                "source": {"dbType": "MySQL", "dbName": "erp", "tableName": self.name},
            },
            "payload": {
                "before": None if before is None else {"dataColumn": before},
                "after": None if after is None else {"dataColumn": after},
                "sequenceId": str(sequence),
                "timestamp": {"eventTime": at, "systemTime": at + 900, "checkpointTime": at},
                "op": op,
                "ddl": None,
            },
            "version": "0.0.1",
        }  # fmt: skip
        return Message(json.dumps(envelope))
