"""The files to decode, and the facts about each file that the decoder finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dbt_spark_cdc.inputs import Message

AUTO = "auto"

Writer = tuple[str, str | None]
# A code and its detail.
Error = tuple[str, str | None]
NAME = tuple[str | None, str | None, str | None]


class UsageError(Exception):
    """An option that cannot be met. The message is one sentence: option, what is allowed, what was got."""


class Refusal(NamedTuple):
    """Why a file is not read: its messages do not show their format, and an option has to name it."""

    option: str
    allowed: str
    reason: str
    got: str

    def text(self, names: Sequence[str]) -> str:
        """Return the sentence for the files that are rejected for the same reason."""
        return (
            f"option --{self.option} must be {self.allowed} for {joined(names, 'and')}, "
            f"because {self.reason}; got `{self.got}`."
        )


class Source(NamedTuple):
    """A file: the topic of its bare values, its bytes, and keys by table that replace the options' keys."""

    topic: str
    data: bytes
    keys: dict[str | None, list[str]] | None = None


@dataclass(frozen=True)
class Options:
    """The command's options. In `keys`, None has the key for any table."""

    format: str = AUTO
    dialect: str | None = None
    columns: dict[str, str] | None = None
    keys: dict[str | None, list[str]] = field(default_factory=dict)
    # In which `columns` are typed, as the argument of `changes`.
    time_zone: str = "UTC"


@dataclass
class File:
    topic: str
    name: str
    messages: list[Message]
    # AUTO if no message shows the format.
    format: str
    dialect: str | None
    keys: dict[str | None, list[str]]
    # The formats and dialects that may have written its messages, if no option names them.
    writers: list[Writer]
    rows: list[dict[str, Any]] = field(default_factory=list)
    # All columns in the rows of each table, also those that --columns leaves out.
    columns: dict[NAME, dict[str, None]] = field(default_factory=dict)
    refusal: Refusal | None = None

    @property
    def is_open(self) -> bool:
        """Whether several formats write such messages alike."""
        return len(self.writers) > 1


@dataclass
class Table:
    """A table of one file: the facts that its decoded changes show."""

    file: File
    name: NAME
    columns: dict[str, None] = field(default_factory=dict)
    key: list[str] = field(default_factory=list)
    # The keys that its messages name; two keys with the same columns in another order are one key.
    named_keys: dict[frozenset[str], list[str]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    has_truncate: bool = False
    unreadable: Counter[Error] = field(default_factory=Counter)
    # Rows that the untyped reading rejected.
    refused: Counter[Error] = field(default_factory=Counter)
    rows: list[dict[str, str | None]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def spellings(name: NAME) -> list[str | None]:
    """How --key may name a table: db.schema.table, db.table, schema.table, table, or not at all."""
    database, schema, table = name
    parts = [(database, schema, table), (database, table), (schema, table), (table,)]
    return [".".join(p for p in some if p is not None) for some in parts if some[-1] is not None] + [None]


def given_key(keys: dict[str | None, list[str]], name: NAME) -> list[str] | None:
    """Return the key of a table from the options; the longest spelling of its name wins."""
    return next((keys[spelling] for spelling in spellings(name) if spelling in keys), None)


def refusals(files: Sequence[File]) -> list[str]:
    """Return a sentence for all files that are rejected for the same reason."""
    names: dict[Refusal, list[str]] = {}
    for file in files:
        if file.refusal is not None:
            names.setdefault(file.refusal, []).append(file.name)
    return [refusal.text(alike) for refusal, alike in names.items()]


def joined(texts: Sequence[str], word: str) -> str:
    """Return texts separated by commas, with a word before the last."""
    *most, last = texts
    return f"{', '.join(most)} {word} {last}" if most else last
