"""Logs of changes from hypothesis, and the rows of a changes model for them.

A log is a list of messages in the source's own order, each with the batch in which it arrives and those in
which it arrives again. Every log is independent: its number is its source table, part of each key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from reference import Change

BATCHES = 4
COLUMNS = ("amount", "name", "note")
START = datetime(2026, 3, 1, 8, 0, 0)  # noqa: DTZ001 - as a Spark session in UTC gives times
SCHEMA = (
    "_cdc_source_table string, id bigint, amount bigint, name string, note string, "
    "_cdc_op string, _cdc_sequence array<decimal(20,0)>, _cdc_committed_at timestamp, _cdc_transaction_id string, "
    "_cdc_before struct<_cdc_source_table: string, id: bigint, amount: bigint, name: string, note: string>, "
    "_cdc_missing_columns array<string>, _cdc_error struct<code: string, detail: string>, _cdc_topic string, "
    "_cdc_partition int, _cdc_offset bigint, _cdc_offsets array<bigint>, _cdc_loaded_at timestamp, _cdc_read_positions bigint"
)


@dataclass(frozen=True)
class Row:
    """One row of a message; `values` lacks what the message does not carry, and is None for a delete.

    `goes_on`: an earlier row of the message took or changed the key that this one leaves.
    """

    key: int | None
    values: tuple[tuple[str, Any], ...] | None = None
    old_key: int | None = None
    goes_on: bool = False


@dataclass(frozen=True)
class Message:
    """One message. It shares its source's position with the one before it where `joins`; `minute` is its commit."""

    op: str
    rows: tuple[Row, ...]
    minute: int | None
    batch: int
    again: tuple[tuple[int, bool], ...] = ()  # (batch, under the same offset)
    joins: bool = False
    parts: tuple[int, ...] = ()  # batches of error rows, of which this is the whole


@dataclass(frozen=True)
class Log:
    """Messages in the source's order. `by_offset`: the vendor gives no position, so that they come in order."""

    messages: tuple[Message, ...]
    by_offset: bool = False

    def copies(self) -> Iterator[tuple[Message, tuple[int, ...], int, int]]:
        """Each message as often as it comes: the message, the source's position, the offset, the batch."""
        position = 0
        used: dict[int, int] = {}
        last = 0

        def next_offset(batch: int) -> int:
            used[batch] = used.get(batch, 0) + 1
            return 1000 * batch + used[batch]

        for message in self.messages:
            position += 0 if message.joins and position else 10
            batch = last = max(message.batch, last) if self.by_offset else message.batch
            offset = next_offset(batch)
            at = () if self.by_offset else (position,)
            yield message, at, offset, batch
            for other, same in message.again:
                if self.by_offset:
                    yield message, at, offset, max(other, batch)
                else:
                    yield (
                        message,
                        at,
                        offset if same else next_offset(other),
                        other if not same else max(other, batch),
                    )

    def changes(self, log: int, until: int = BATCHES) -> list[Change]:
        """The log for the reference, as far as it has come with a batch."""
        found: dict[tuple[int, ...], Change] = {}
        for message, at, offset, batch in self.copies():
            if batch > until:
                continue
            for index, row in enumerate(message.rows):
                change = Change(
                    order=(*at, offset),
                    at=commit_time(message),
                    key=None if message.op == "truncate" else (row.key,),
                    values=None if row.values is None else dict(row.values),
                    old_key=None if row.old_key is None else (row.old_key,),
                    position=index,
                    goes_on=row.goes_on,
                    source_position=at or None,
                    op=message.op,
                    transaction=transaction(message),
                    place=("t", log % 3, offset),
                )
                found[change.sequence] = change
        return list(found.values())

    def rows(self, log: int) -> list[tuple[Any, ...]]:
        """The log as rows of a changes model."""
        made = []
        for message, at, offset, batch in self.copies():
            for index, row in enumerate(message.rows):
                for part in message.parts:
                    if part < batch and not self.by_offset:
                        made.append(
                            _row(log, message, row, at, 1000 * part + 900 + index, 0, part, "unpaired_update")
                        )
                made.append(_row(log, message, row, at, offset, index, batch, None))
        return made


def commit_time(message: Message) -> datetime | None:
    """When the message's transaction was committed."""
    return None if message.minute is None else START + timedelta(minutes=message.minute)


def batch_time(batch: int) -> datetime:
    """When the run began that read this batch."""
    return START + timedelta(days=1, hours=batch)


def transaction(message: Message) -> str | None:
    """Some messages tell no transaction."""
    return None if message.minute is None else f"tx {message.minute}"


def _row(
    log: int,
    message: Message,
    row: Row,
    at: tuple[int, ...],
    offset: int,
    position: int,
    batch: int,
    error: str | None,
) -> tuple[Any, ...]:
    source_table = f"log {log}"
    values = dict(row.values or ())
    absent = [name for name in COLUMNS if name not in values] if row.values is not None else []
    before = None
    if row.old_key is not None:
        before = (source_table, row.old_key, None, None, None)
    elif message.op == "delete":
        # How much of the row a delete carries must not matter.
        values = {"amount": 99, "name": "deleted", "note": None}
    return (
        source_table, row.key, *(values.get(name) for name in COLUMNS),
        message.op, [Decimal(part) for part in (*at, offset, position, *([0] if row.goes_on else []))], _utc(commit_time(message)), transaction(message),
        before, absent or None, (error, None) if error else None, "t", log % 3, offset, [offset],
        _utc(batch_time(batch)), 0,
    )  # fmt: skip


def _utc(at: datetime | None) -> datetime | None:
    return at and at.replace(tzinfo=timezone.utc)


KEYS = st.sampled_from([1, 2, 3, 4])
BATCH = st.integers(0, BATCHES - 1)
VALUES = {
    "amount": st.one_of(st.none(), st.integers(0, 2)),
    "name": st.one_of(st.none(), st.sampled_from(["x", "y"])),
    "note": st.one_of(st.none(), st.just("n")),
}


@st.composite
def images(draw: st.DrawFn) -> tuple[tuple[str, Any], ...]:
    """A row, whole or in part."""
    names = COLUMNS if draw(st.booleans()) else [name for name in COLUMNS if draw(st.booleans())]
    return tuple((name, draw(VALUES[name])) for name in names)


@st.composite
def rows_of_message(draw: st.DrawFn) -> tuple[str, tuple[Row, ...]]:
    """What one message says."""
    kind = draw(
        st.sampled_from(
            ["put"] * 5
            + ["delete"] * 2
            + ["move"] * 3
            + ["swap", "rotate", "truncate", "many", "chain", "touch"]
        )
    )
    if kind == "put":
        op = draw(st.sampled_from(["update", "update", "insert", "snapshot"]))
        return op, (Row(draw(KEYS), draw(images())),)
    if kind == "delete":
        return "delete", (Row(draw(KEYS)),)
    if kind == "truncate":
        return "truncate", (Row(None),)
    if kind == "many":
        return "update", tuple(Row(draw(KEYS), draw(images())) for _ in range(draw(st.integers(2, 3))))
    keys = draw(st.permutations([1, 2, 3, 4]))[: 3 if kind in ("rotate", "chain") else 2]
    if kind == "move":
        return "update", (Row(keys[1], draw(images()), keys[0]),)
    if kind == "touch":
        return "update", (Row(keys[0], draw(images())), Row(keys[1], draw(images()), keys[0], goes_on=True))
    if kind == "chain":
        return "update", (
            Row(keys[1], draw(images()), keys[0]),
            Row(keys[2], draw(images()), keys[1], goes_on=True),
        )
    return "update", tuple(
        Row(new, draw(images()), old) for old, new in zip(keys, [*keys[1:], keys[0]], strict=True)
    )


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A log: most messages come in order, some late, some again; some commits have one time."""
    in_order = draw(st.booleans())
    by_offset = in_order and draw(st.integers(0, 4)) == 0
    messages: list[Message] = []
    minute = 0
    batch = 0
    for _ in range(draw(st.integers(1, 12))):
        op, rows = draw(rows_of_message())
        minute += draw(st.sampled_from([0, 0, 1, 1, 5, -2]))
        batch = min(BATCHES - 1, batch + draw(st.sampled_from([0, 0, 1]))) if in_order else draw(BATCH)
        again = tuple(
            draw(st.lists(st.tuples(BATCH, st.booleans()), max_size=2))
            if draw(st.integers(0, 3)) == 0
            else ()
        )
        old_keys = [row.old_key for row in rows if row.old_key is not None]
        if old_keys and draw(st.integers(0, 4)) == 0:
            # Debezium's way: the old key's delete is a message of its own under the same position.
            messages.append(
                Message("delete", (Row(old_keys[0]),), max(minute, 0), draw(BATCH) if not in_order else batch)
            )
            joins = True
        else:
            # Two statements of which one changes a key do not share a place in a log, and could not be told apart.
            changes_keys = old_keys or any(row.old_key for row in messages[-1].rows) if messages else True
            joins = not changes_keys and not by_offset and draw(st.integers(0, 9)) == 0
        whole = all(row.values is not None and row.old_key is None for row in rows)
        parts = (
            tuple(draw(st.lists(BATCH, min_size=1, max_size=2)))
            if whole and draw(st.integers(0, 7)) == 0
            else ()
        )
        messages.append(
            Message(
                op, rows, draw(st.sampled_from([max(minute, 0)] * 9 + [None])), batch, again, joins, parts
            )
        )
    return Log(tuple(messages), by_offset)


def smaller(log: Log) -> list[Log]:
    """Logs that are one step simpler."""
    found = []
    for index, message in enumerate(log.messages):
        rest = log.messages[:index], log.messages[index + 1 :]
        found.append(Log((*rest[0], *rest[1]), log.by_offset))
        steps = [
            replace(message, again=()), replace(message, parts=()), replace(message, joins=False),
            replace(message, batch=0), replace(message, batch=max(0, message.batch - 1)), replace(message, minute=0),
            replace(message, again=message.again[1:]),
        ]  # fmt: skip
        for at, row in enumerate(message.rows):
            if len(message.rows) > 1:
                steps.append(replace(message, rows=message.rows[:at] + message.rows[at + 1 :]))
            for name, _ in row.values or ():
                values = tuple(pair for pair in row.values or () if pair[0] != name)
                steps.append(
                    replace(
                        message,
                        rows=(*message.rows[:at], replace(row, values=values), *message.rows[at + 1 :]),
                    )
                )
        found.extend(Log((*rest[0], step, *rest[1]), log.by_offset) for step in steps if step != message)
    return [smaller_log for smaller_log in found if smaller_log.messages]
