"""The plan: what `spark-cdc generate` found in the messages, from which the files are written."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.generate.types import OF_OWN_SCALE, TEXT, is_exact_number, joined, makes_texts_alike
from dbt_spark_cdc.message_text import STAR, is_pattern, matches_star

# Why a type is a guess.
NO_TYPE = "the messages name no type"
FEW_DIFFER = "a few of its values are not of the type "
UNKNOWN_TYPE = "this package does not know the type that the messages name"
NO_DIGITS = "the messages name no digits of its decimals"
ONLY_NULLS = "no message has a value"
BASE64_TEXTS = "its texts look like base64: bytes, or the decimals of a Debezium message without a schema"
DOES_NOT_FIT = "a value does not fit the type that the source names"
MORE_THAN_DOUBLE = "the source calls it a double, and its texts are those of a decimal"
SCALES_DIFFER = "each value has a scale of its own"
SHARDS_DIFFER = "the types of the shards differ"
# The columns of a history that a current table does not have, as `cdc_history` names them.
OF_HISTORY = ("valid_from", "valid_to")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Column(_Part):
    """A column of a source table: its type as a model declares it."""

    name: str
    type: str
    # As the messages name it, of the newest message.
    source_type: str | None = None
    # Why the type is a guess; None if the source or a route names it.
    guess: str | None = None
    is_of_route: bool = False
    # The smallest type of the numbers that were read, without room for larger ones. It is not kept.
    needs: str | None = Field(default=None, exclude=True)

    @property
    def shown_guess(self) -> str | None:
        """The guess that a reader has to know: a text that no message gives a type is one in any case."""
        return None if self.type == "string" and self.guess == NO_TYPE else self.guess


def of_own_scale(columns: Sequence[Column]) -> Column | None:
    """Return the first column with a type for all, if all are numbers and one has a scale in each value.

    If no type holds all of them, rows with numbers that do not fit are rejected; as a `string` the column
    would hold no number at all.
    """
    numbers = [column.type for column in columns]
    if not any(column.guess == SCALES_DIFFER for column in columns) or not all(map(is_exact_number, numbers)):
        return None
    type_ = functools.reduce(joined, numbers)
    type_ = OF_OWN_SCALE[1] if type_ == TEXT else type_
    return columns[0].model_copy(update={"type": type_, "guess": SCALES_DIFFER})


class Table(_Part):
    """A source table, or shards of one, and the models that it gets."""

    database: str | None
    schema_name: str | None
    name: str
    model: str = ""
    key: list[str] = Field(default_factory=list)
    columns: list[Column] = Field(default_factory=list)
    description: str | None = None
    # Columns that a route leaves out.
    left_out: list[str] = Field(default_factory=list)
    # If another table of the messages has this name: the parts that tell them apart are written out.
    needs_database: bool = False
    needs_schema: bool = False

    @property
    def identity(self) -> tuple[str | None, str | None, str]:
        return self.database, self.schema_name, self.name

    @property
    def full_name(self) -> str:
        """The name as people write it."""
        return ".".join(part for part in self.identity if part is not None)

    @property
    def models(self) -> tuple[str, str]:
        """The names of its current table and its history."""
        return self.model, f"{self.model}_history"

    @property
    def built_models(self) -> tuple[str, ...]:
        """The models that it gets: none without a key, no history if a column has a name of the history's."""
        if not self.key:
            return ()
        return self.models[:1] if self.names_of_history else self.models

    @property
    def names_of_history(self) -> list[str]:
        """The columns that have the name of one that a history has itself."""
        return [column.name for column in self.columns if column.name.lower() in OF_HISTORY]

    def covers(self, other: Table) -> bool:
        """Whether its model reads another table, because of a star."""
        return all(map(matches, self.identity, other.identity))

    @property
    def is_of_shards(self) -> bool:
        """Whether one model reads several source tables."""
        if self.name == STAR:
            return False
        # A star alone is no pattern: `changes` then reads every name, and does not tell the tables apart.
        return any(map(is_pattern, self.identity))

    @property
    def table_key(self) -> list[str]:
        """The key of the current and the history table."""
        return ["_cdc_source_table", *self.key] if self.is_of_shards else self.key


class Plan(_Part):
    """All tables of one raw table, or of some of its topics, whose messages have one format and dialect."""

    source: str
    raw_schema: str
    raw_table: str
    # Whether the raw table is a landing model of the project, and no source.
    is_landed: bool = False
    # Names and regular expressions, as the messages model has them; empty for all.
    topics: list[str] = Field(default_factory=list)
    format: str
    dialect: str | None
    has_headers: bool = False
    tables: list[Table] = Field(default_factory=list)

    @property
    def messages_model(self) -> str:
        return f"stg_{self.source}__messages"

    @property
    def sources_file(self) -> str:
        return f"models/staging/{self.source}/_{self.source}__sources.yml"

    def changes_model(self, table: Table) -> str:
        return f"stg_{self.source}__{table.model}_changes"


def keep_keys_apart(tables: Iterable[Table]) -> None:
    """Declare columns of a key as texts if their type is a guess in which two texts may be one value.

    As numbers, the versions 1.1 and 1.10 would be one row.
    """
    for table in tables:
        for column in table.columns:
            is_guess = column.guess in (NO_TYPE, UNKNOWN_TYPE)
            if column.name in table.key and is_guess and makes_texts_alike(column.type):
                column.type = TEXT


def without_models(table: Table) -> str | None:
    """Return the sentence about a table that does not get all models; None if it gets them."""
    if not table.key:
        return (
            f"{table.full_name} has no key in its messages: it gets a changes model only. "
            "A route names a key."
        )
    if names := table.names_of_history:
        return (
            f"{table.full_name} gets no history, because a history has columns of its own named "
            f"{' and '.join(names)}. A route leaves out columns."
        )
    return None


def put_names(tables: Sequence[Table], found: Iterable[Table]) -> None:
    """Give each table without a model the shortest name that no other one has.

    `found` are all tables of the messages, also those that get no model: a model must not read them.
    """
    named: dict[str, list[Table]] = {}
    for table in [*found, *tables]:
        named.setdefault(table.name, []).append(table)
    for table in tables:
        alike = named[table.name] if STAR not in table.name else itertools.chain.from_iterable(named.values())
        others = [other for other in alike if matches(table.name, other.name) and not table.covers(other)]
        # Once needed, always: the other table's messages may come again.
        table.needs_database |= any(not matches(table.database, other.database) for other in others)
        table.needs_schema |= any(not matches(table.schema_name, other.schema_name) for other in others)
    new = [table for table in tables if not table.model]
    for table in new:
        table.model = model_name(table.name)
    for longer in (_qualified, _full):
        for table in _clashing(new, tables):
            table.model = model_name(longer(table))
    clashes: dict[str, str] = {}
    for table in _clashing(tables, tables):
        alike = [t.full_name for t in tables if not set(t.models).isdisjoint(table.models)]
        clashes.setdefault(" and ".join(alike), table.model)
    if clashes:
        got = "; ".join(f"`{model}` for {alike}" for alike, model in clashes.items())
        raise UsageError(
            f"option --routes must give each table a model name of its own; got {got}. "
            "Write a route with source-table and sink-table."
        )


def _qualified(table: Table) -> str:
    return "_".join(part for part in (table.schema_name or table.database, table.name) if part)


def _full(table: Table) -> str:
    return "_".join(part for part in table.identity if part)


def _clashing(some: Sequence[Table], tables: Sequence[Table]) -> list[Table]:
    """Return those whose model has the name of another one, as a current table or as a history."""
    taken = Counter(name for table in tables for name in table.models)
    return [table for table in some if taken[table.model] > 1]


def in_order(table: Table) -> tuple[str, ...]:
    """Return by what tables are sorted."""
    return tuple(part or "" for part in table.identity)


def differs_in_case(column: str, known: str, table: Table) -> str:
    """Return the sentence about a column that another one's name has in other letters."""
    return f"left out the column {column} of {table.full_name}: a model cannot tell it from {known}."


def matches(pattern: str | None, name: str | None) -> bool:
    """Whether a name of a model's argument, in which a star matches any text, means a name of messages.

    >>> matches("orders_*", "orders_07"), matches("orders", "orders_07")
    (True, False)
    """
    if pattern is None or name is None or STAR not in pattern:
        return pattern == name
    return matches_star(pattern, name)


def model_name(text: str) -> str:
    """Return a name for dbt, whose letters are lower: a name of a message is no file name.

    A name that does not begin with a letter is no identifier in SQL.

    >>> model_name("T Weird.1"), model_name("2024")
    ('t_weird_1', 'table_2024')
    """
    name = re.sub(r"[^a-z0-9_]+", "_", text.replace(STAR, "").lower()).strip("_")
    return name if name[:1].isalpha() else f"table_{name}".strip("_")
