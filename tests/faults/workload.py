"""A PostgreSQL table with random changes: partial rows, key changes, truncates; late and repeated messages.

Its changes are those that a database can make; only the way of its messages to the broker is bad.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import Message
from reference import Change, Tables, fold
from source_tables import DebeziumTable, Event

KEYS = range(1, 25)


class Workload:
    """The source table, and the broker that holds its messages: a file that grows."""

    def __init__(self, broker: Path, seed: int) -> None:
        self.broker = broker
        self.messages = 0
        self._random = random.Random(seed)
        self.table = DebeziumTable("profiles")
        self._live: set[int] = set()
        self._log_position = 100
        self._late: list[Event] = []
        self._changes: list[Change] = []
        broker.write_text("")

    def happens(self, *events: Event) -> None:
        """Just this happens, and its messages arrive."""
        self._produce(events)

    def goes_on(self, statements: int = 12) -> None:
        """Some statements happen; most of their messages reach the broker, in some order."""
        events = [event for _ in range(statements) for event in self._statement()]
        chance = self._random.random
        arriving = self._late + [event for event in events if chance() < 0.85]
        self._late = [event for event in events if event not in arriving]
        if chance() < 0.5:
            self._random.shuffle(arriving)
        arriving += [Event([], event.messages) for event in self._random.sample(arriving, len(arriving) // 6)]
        self._produce(arriving)

    def catches_up(self) -> None:
        """All that was late arrives."""
        arriving, self._late = self._late, []
        self._produce(arriving)

    def tables(self) -> Tables:
        """What the tables have to hold, of all that is in the broker."""
        return fold(self._changes)

    def _statement(self) -> Iterable[Event]:
        self._log_position += 1
        at, table, chance = self._log_position, self.table, self._random.random()
        free = [key for key in KEYS if key not in self._live]
        if chance < 0.04 or not free:
            self._live.clear()
            return (table.truncate(at),)
        if not self._live or (free and chance < 0.3):
            key = self._random.choice(free)
            self._live.add(key)
            return (table.insert(at, self._row(key, with_bio=True)),)
        key = self._random.choice(sorted(self._live))
        if chance < 0.42:
            self._live.remove(key)
            return (table.delete(at, key),)
        if chance < 0.55:
            new = self._random.choice(free)
            self._live ^= {key, new}
            return table.change_key(at, key, self._row(new, with_bio=chance < 0.48))
        return (table.update(at, self._row(key, with_bio=chance < 0.75)),)

    def _row(self, key: int, *, with_bio: bool) -> dict[str, Any]:
        row: dict[str, Any] = {"id": key, "name": self._random.choice("abc") + " O'Brien"}
        return row | {"bio": f"bio {self._log_position}"} if with_bio else row

    def _produce(self, events: Iterable[Event]) -> None:
        with self.broker.open("a") as broker:
            for event in events:
                self._changes += event.changes
                for message in event.messages:
                    broker.write(json.dumps(_record(self.messages, message)) + "\n")
                    self.messages += 1


def _record(offset: int, message: Message) -> dict[str, Any]:
    headers = [{"key": name, "value": _base64(text)} for name, text in message.headers.items()]
    return {
        "topic": "profiles", "partition": 0, "offset": offset,
        "key": _base64(message.key), "value": _base64(message.value), "headers": headers,
    }  # fmt: skip


def _base64(content: str | bytes | None) -> str | None:
    if content is None:
        return None
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
