"""What the tables have to hold, from logical changes and not from messages: a fold in the source's own order.

The rules are those of a database and of a versioned table, written once more and in another way than the
package's SQL: apply one change after the other to a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

Key = tuple[Any, ...]
Values = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """One change of one row at the source, or a truncate (`key` is None then).

    `order` is the source's own order; the rows of one statement share it. `values` lacks the columns that the
    source did not send: their value stays.
    """

    order: tuple[int, ...]
    at: datetime
    key: Key | None
    values: Values | None = None
    old_key: Key | None = None


@dataclass
class Version:
    """One version of one key: its values, or None for a deleted one."""

    values: Values | None
    valid_from: datetime
    valid_to: datetime | None = None


@dataclass
class Tables:
    """The current table and the history table in one: a key's last version is its current row."""

    versions: dict[Key, list[Version]] = field(default_factory=dict)

    def apply(self, statement: list[Change]) -> None:
        """Apply the rows of one statement: all rows leave their old keys before any takes its new one."""
        rows = [change for change in statement if change.values is not None]
        kept = [
            self._values(change.key if change.old_key is None else change.old_key) or {} for change in rows
        ]
        for change in statement:
            if change.key is None:
                for key in list(self.versions):
                    if self._values(key) is not None:
                        self._set(key, None, change.at)
            elif change.values is None:
                self._set(change.key, None, change.at)
            elif change.old_key is not None and change.old_key != change.key:
                self._set(change.old_key, None, change.at)
        for change, old in zip(rows, kept, strict=True):
            self._set(change.key, old | change.values, change.at)

    def _values(self, key: Key) -> Values | None:
        versions = self.versions.get(key)
        return versions[-1].values if versions else None

    def _set(self, key: Key, values: Values | None, at: datetime) -> None:
        versions = self.versions.setdefault(key, [])
        if not versions:
            versions.append(Version(values, at))
        elif versions[-1].values != values:
            valid_from = max(at, versions[-1].valid_from)
            versions[-1].valid_to = valid_from
            versions.append(Version(values, valid_from))


def fold(changes: Iterable[Change]) -> Tables:
    """Apply changes in the source's order, whatever the order in which they came."""
    tables = Tables()
    in_order = sorted(changes, key=lambda change: change.order)
    for _, statement in groupby(in_order, key=lambda change: change.order):
        tables.apply(list(statement))
    return tables


def current_rows(tables: Tables, columns: list[str]) -> dict[Key, tuple[Any, ...]]:
    """Key -> (is deleted, the other columns' values)."""
    return {key: _row(versions[-1], columns) for key, versions in tables.versions.items()}


def history_rows(tables: Tables, columns: list[str]) -> dict[Key, list[tuple[Any, ...]]]:
    """Key -> its versions in order: (valid_from, valid_to, is deleted, the other columns' values)."""
    return {
        key: [(version.valid_from, version.valid_to, *_row(version, columns)) for version in versions]
        for key, versions in tables.versions.items()
    }


def _row(version: Version, columns: list[str]) -> tuple[Any, ...]:
    return (version.values is None, *((version.values or {}).get(name) for name in columns))
