"""What is decoded, file by file, and what is known of it on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dbt_spark_cdc.inputs import Message

AUTO = "auto"

Writer = tuple[str, str | None]
NAME = tuple[str | None, str | None, str | None]


class UsageError(Exception):
    """An option that cannot be met. The message is one sentence: option, what is allowed, what was got."""


class Source(NamedTuple):
    """A file: the topic of its bare values, its bytes, and keys by table in place of the options'."""

    topic: str
    data: bytes
    keys: dict[str | None, list[str]] | None = None


@dataclass(frozen=True)
class Options:
    """What the command's options say. `keys` has the key for any table under None."""

    format: str = AUTO
    dialect: str | None = None
    columns: dict[str, str] | None = None
    keys: dict[str | None, list[str]] = field(default_factory=dict)


@dataclass
class File:
    topic: str
    name: str
    messages: list[Message]
    format: str
    dialect: str | None
    keys: dict[str | None, list[str]]
    # The formats and dialects that may have written its messages, where the options do not say which.
    writers: list[Writer]
    rows: list[dict[str, Any]] = field(default_factory=list)
    # Why it is not read, where its messages do not tell how.
    refusal: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether several formats write such messages alike."""
        return len(self.writers) > 1


@dataclass
class Table:
    """A table of one file: what its decoded changes tell of it."""

    file: File
    name: NAME
    columns: dict[str, None] = field(default_factory=dict)
    key: list[str] = field(default_factory=list)
    # The keys that its messages name; the order of a key's columns makes no other key.
    named_keys: dict[frozenset[str], list[str]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    has_truncate: bool = False
    unreadable: Counter[str] = field(default_factory=Counter)
    rows: list[dict[str, str | None]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
