"""One log of changes at a source, which each encoder writes in its format.

A log has the changes as plain Python values; an encoder is written from the vendor's page, never from our
macros, so that two readings of the page must agree. `test_one_truth.py` writes a log with every encoder and
expects the same changes from each format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# What a column may hold, and as which Python value a log has it.
KINDS = {
    "int8": int,
    "int16": int,
    "int32": int,
    "int64": int,
    "uint64": int,
    "decimal": "Decimal of at most 38 digits, 10 of them after the point (all 10 are there)",
    "long_decimal": "Decimal of 60 digits, 20 of them after the point",
    "double": "float, finite",
    "boolean": bool,
    "text": str,
    "binary": bytes,
    "date": "datetime.date",
    "datetime": "datetime without a zone, to the microsecond: a wall clock",
    "instant": "datetime in UTC, to the microsecond",
    "time": "text as databases print a time: [-]HH:MM:SS[.ffffff], also beyond 24 hours, no zeros at the end",
    "json": "text of a JSON object",
}

# What a model declares where a format and its values leave no choice.
DECLARATIONS = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "decimal": "decimal(38,10)",
    "long_decimal": "string",
    "double": "double",
    "boolean": "boolean",
    "text": "string",
    "binary": "binary",
    "date": "date",
    "datetime": "timestamp_ntz",
    "instant": "timestamp",
    "time": "string",
    "json": "string",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """What happened at the source.

    `kind` is insert, update, delete, snapshot, truncate, ddl, heartbeat, begin or commit. `sequence` is the
    place in the source's order, from 1 upwards. A row holds every column of the table; `before` of an update
    or a delete is the whole old row.
    """

    kind: str
    sequence: int
    before: Row | None = None
    after: Row | None = None
    committed_at: datetime | None = None
    ddl: str | None = None


@dataclass(frozen=True)
class Table:
    """A source table: column -> one of KINDS, and the key."""

    columns: Mapping[str, str]
    key: tuple[str, ...] = ("id",)
    name: str = "orders"
    database: str = "shop"
    schema: str = "sales"


@dataclass(frozen=True)
class Message:
    """A Kafka record, as a producer sends it."""

    value: str | bytes | None
    key: str | None = None


@dataclass(frozen=True)
class Encoder:
    """How one format writes a log.

    columns  the kinds that the format carries, each with the declaration that a model gives such a column. A
             kind is left out where the vendor's page has no way to write it exactly
    encode   the messages of a log, in the order of the log; it may leave out what the format cannot tell
    fits     a value as far as the format can hold it (milliseconds only, say), by kind: used before encoding
    before   of an update's old row, what can be told: `full`, `key` or `none`
    deletes  of a deleted row, what is told: `full` or `key`
    splits_key_changes
             true where an update that changes the key is sent as a delete and an insert
    ops      ops that come out under another name: {'snapshot': 'insert'} where they cannot be told apart
    """

    format: str
    dialect: str | None
    columns: Mapping[str, str]
    encode: Callable[[list[Change], Table], list[Message]]
    fits: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    before: str = "full"
    deletes: str = "full"
    splits_key_changes: bool = False
    ops: Mapping[str, str] = field(default_factory=dict)


def without(columns: Mapping[str, str], *kinds: str) -> dict[str, str]:
    """The columns but for kinds that a page has no way to write."""
    return {kind: declaration for kind, declaration in columns.items() if kind not in kinds}
