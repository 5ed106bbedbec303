"""The expected tables, from logical changes and not from messages: a fold in the source's own order.

The rules are those of a database and of a versioned table, written in another way than the package's SQL:
apply one change after the other to a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any

Key = tuple[Any, ...]
Values = dict[str, Any]
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as a Spark session in UTC gives times


@dataclass(frozen=True)
class Change:
    """One change of one row at the source, or a truncate (`key` is None then).

    `order` is the source's own order; the rows of one statement share it, and `position` orders them. `values`
    lacks the columns that the source did not send: their value stays. `goes_on` says that it leaves a key which an
    earlier row of its statement took or changed. `source_position` is what the vendor says of its place, which a
    delete and an update of one key change may share. The rest is what a table keeps of a change beside its values.
    """

    order: tuple[int, ...]
    at: datetime | None
    key: Key | None
    values: Values | None = None
    old_key: Key | None = None
    position: int = 0
    goes_on: bool = False
    source_position: tuple[int, ...] | None = None
    op: str | None = None
    transaction: str | None = None
    place: tuple[str, int, int] | None = None

    @property
    def sequence(self) -> tuple[int, ...]:
        """The order of this very row."""
        return (*self.order, self.position, *([0] if self.goes_on else []))

    @property
    def moves(self) -> bool:
        """Whether the row has another key from here on."""
        return self.values is not None and self.old_key is not None and self.old_key != self.key


@dataclass(frozen=True)
class State:
    """What one change made of one key: its row's values, or None for a deleted one."""

    values: Values | None
    change: Change
    sequence: tuple[int, ...]


@dataclass(frozen=True)
class Version:
    """One version of one key: the state that began it, the one whose values it has, and the last one in it."""

    first: State
    shown: State
    last: State
    valid_from: datetime
    valid_to: datetime | None = None


@dataclass
class Tables:
    """All states of all keys: a key's last state is its current row."""

    states: dict[Key, list[State]] = field(default_factory=dict)

    def apply(self, statement: list[Change]) -> None:
        """Apply the rows of one statement: all rows leave their old keys before any takes its new one.

        But for those that go on from an earlier row of it.
        """
        leaving = [
            self._leaving(change.old_key, change) if change.moves and not change.goes_on else None
            for change in statement
        ]
        for change in statement:
            if change.moves and not change.goes_on:
                self._add(change.old_key, None, replace(change, op="delete"), change.order)
        for change, left in zip(statement, leaving, strict=True):
            if change.goes_on:
                left = self._leaving(change.old_key, change)
                self._add(change.old_key, None, replace(change, op="delete"), change.sequence[:-1])
            if change.key is None:
                for key, states in self.states.items():
                    if states[-1].values is not None:
                        self._add(key, None, change, change.sequence)
            elif change.values is None:
                self._add(change.key, None, change, change.sequence)
            else:
                kept = left if change.moves else self._values(change.key)
                self._add(change.key, (kept or {}) | change.values, change, change.sequence)

    def _add(self, key: Key, values: Values | None, change: Change, sequence: tuple[int, ...]) -> None:
        self.states.setdefault(key, []).append(State(values, change, sequence))

    def _values(self, key: Key) -> Values | None:
        states = self.states.get(key)
        return states[-1].values if states else None

    def _leaving(self, key: Key, change: Change) -> Values | None:
        """The row that leaves a key, also where a delete under the same place of the source came before."""
        states = self.states.get(key, [])
        dead = []
        for state in reversed(states):
            if state.values is not None:
                ended_here = not dead or dead[-1].change.source_position == change.source_position is not None
                return state.values if ended_here else None
            dead.append(state)
        return None


def fold(changes: Iterable[Change]) -> Tables:
    """Apply changes in the source's order, whatever the order in which they came."""
    tables = Tables()
    # A truncate takes the rows with a lower sequence, and so comes before one with the same.
    in_order = sorted(changes, key=lambda change: (change.sequence, change.key is not None))
    for _, statement in groupby(in_order, key=lambda change: change.order):
        tables.apply(list(statement))
    return tables


def versions_of(
    states: Sequence[State],
    track_columns: Sequence[str] | None = None,
    keep_unchanged: bool = False,
    hard_deletes: str = "new_record",
) -> list[Version]:
    """Put states into versions: one ends where the next state differs, in a column that is tracked."""
    hides_deletes = hard_deletes != "new_record"
    ignored = [state for state in states[1:] if state.values is None] if hard_deletes == "ignore" else []
    versions: list[Version] = []
    for state in states:
        if any(state is other for other in ignored):
            versions[-1] = replace(versions[-1], last=state)
        elif (
            versions
            and not keep_unchanged
            and _seen(versions[-1].shown, track_columns) == _seen(state, track_columns)
        ):
            versions[-1] = replace(versions[-1], shown=state, last=state)
        else:
            valid_from = max([state.change.at or EPOCH] + [version.valid_from for version in versions[-1:]])
            versions[-1:] = [
                replace(version, valid_to=version.valid_to or valid_from) for version in versions[-1:]
            ]
            versions.append(Version(state, state, state, valid_from))
            if hides_deletes and state is states[0] and state.values is None:
                versions[-1] = replace(versions[-1], valid_to=valid_from)
    return _without_deletes(versions) if hard_deletes == "invalidate" else versions


def _without_deletes(versions: list[Version]) -> list[Version]:
    """A deleted version only ends the one before it."""
    kept = versions[:1]
    for version in versions[1:]:
        if version.first.values is None:
            kept[-1] = replace(kept[-1], last=version.last)
        else:
            kept.append(version)
    return kept


def _seen(state: State, track_columns: Sequence[str] | None) -> Values | None:
    return state.values and {
        name: value
        for name, value in state.values.items()
        if value is not None and (not track_columns or name in track_columns)
    }


def current_rows(tables: Tables, columns: list[str]) -> dict[Key, tuple[Any, ...]]:
    """Key -> (is deleted, the other columns' values)."""
    return {key: _row(states[-1], columns) for key, states in tables.states.items()}


def history_rows(tables: Tables, columns: list[str]) -> dict[Key, list[tuple[Any, ...]]]:
    """Key -> its versions in order: (valid_from, valid_to, is deleted, the other columns' values)."""
    return {
        key: [
            (version.valid_from, version.valid_to, *_row(version.shown, columns))
            for version in versions_of(states)
        ]
        for key, states in tables.states.items()
    }


def _row(state: State, columns: list[str]) -> tuple[Any, ...]:
    return (state.values is None, *((state.values or {}).get(name) for name in columns))
