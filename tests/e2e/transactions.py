"""A seeded random workload: transactions on four tables of a real database, and what each did to each row.

The log of committed changes is the expectation of history, and the tables themselves that of current. Both are
the server's own values: a row is read back after each statement.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from servers import Database

Key = tuple[Any, ...]
Row = dict[str, Any]
WORDS = (
    "",
    "a",
    'O\'Brien "q" \\',
    "汉字 😀",
    "line\nbreak\ttab",
    "null",
    "NULL",
    "0",
    "1.50",
    "true",
    "{}",
    '{"a": 1.10}',
    "\x01\x7f\u2028",
    " both ends ",
)


@dataclass(frozen=True)
class Column:
    """A column: its type by database, and a random value of it, which is never null."""

    name: str
    types: dict[str, str]
    value: Callable[[random.Random], Any]


@dataclass(frozen=True)
class Table:
    """A table of the source; `is_emptied` says that it is truncated now and then."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    is_emptied: bool = False


def types(pg: str, mariadb: str | None = None) -> dict[str, str]:
    """One type, or one for each database."""
    return {"pg": pg, "mariadb": mariadb or pg}


def decimals(digits: int, scale: int) -> Callable[[random.Random], Decimal]:
    """Numbers of up to so many digits, often at the edge."""

    def value(chance: random.Random) -> Decimal:
        largest = 10**digits - 1
        number = chance.choice([0, 1, -1, largest, -largest, chance.randint(-largest, largest)])
        return Decimal(f"{number}E-{scale}")

    return value


def integers(bits: int) -> Callable[[random.Random], int]:
    """Signed integers, often at the edge."""
    smallest, largest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda chance: chance.choice([0, 1, -1, smallest, largest, chance.randint(smallest, largest)])


def doubles(chance: random.Random) -> float:
    return chance.choice([0.1, 1e22, 1e-7, -2.5, 123456789.125, chance.uniform(-1e9, 1e9)])


def times(zone: timezone | None = None) -> Callable[[random.Random], datetime]:
    """Times with microseconds, from 1980 to 2035."""
    begin = datetime(1980, 1, 1, tzinfo=zone)
    return lambda chance: (
        begin
        + timedelta(
            seconds=chance.randrange(1_735_689_600), microseconds=chance.choice([0, 1, 500_000, 999_999])
        )
    )


def texts(longest: int) -> Callable[[random.Random], str]:
    return lambda chance: (chance.choice(WORDS) + "x" * chance.choice([0, 0, 5, longest]))[:longest]


def big_texts(chance: random.Random) -> str:
    """Some so large that PostgreSQL keeps them elsewhere, and sends them only if they change."""
    return chance.choice(WORDS) + chance.choice(["", "y" * 50, "".join(chance.choices("abcdefgh", k=9_000))])


VALUES = (
    Column("amount", types("numeric(20,4)", "decimal(20,4)"), decimals(20, 4)),
    Column("wide", types("numeric(38,10)", "decimal(38,10)"), decimals(38, 10)),
    Column("small", types("smallint"), integers(16)),
    Column("qty", types("int"), integers(32)),
    Column("large", types("bigint"), integers(64)),
    Column("ratio", types("double precision"), doubles),
    Column("is_paid", types("boolean"), lambda chance: chance.random() < 0.5),
    Column("placed_at", types("timestamp(6)", "datetime(6)"), times()),
    Column("paid_at", types("timestamptz", "timestamp(6) null"), times(timezone.utc)),
    Column("due", types("date"), lambda chance: date(1970, 1, 1) + timedelta(days=chance.randrange(-30_000, 60_000))),
    Column("clock", types("time(6)"), lambda chance: times()(chance).time()),
    Column("payload", types("bytea", "varbinary(300)"), lambda chance: chance.choice([b"", b"\x00", b"1234", bytes(range(256)), b"true"])),
    Column("customer", types("varchar(60)"), texts(60)),
    Column("note", types("text", "mediumtext"), big_texts),
    Column("doc", types("jsonb", "json"), lambda chance: chance.choice(['{"a": 1.10}', "[]", '{"b": [1, null, "x"], "big": 12345678901234567890.5}', '"text"', "1.10"])),
    Column("uid", types("uuid", "char(36)"), lambda chance: f"{chance.getrandbits(32):08x}-9c0b-4ef8-bb6d-6bb9bd380a11"),
)  # fmt: skip
NUMBER = Column("id", types("bigint"), lambda chance: chance.randint(1, 60))
TABLES = (
    Table("orders", ("id",), (NUMBER, *VALUES)),
    Table("order_lines", ("order_id", "line"), (
        Column("order_id", types("bigint"), lambda chance: chance.randint(1, 20)),
        Column("line", types("int"), lambda chance: chance.randint(1, 4)),
        VALUES[0], VALUES[3],
    )),
    Table("customers", ("code",), (
        Column("code", types("varchar(20)"), lambda chance: f"c'{chance.randint(1, 30)} 汉"),
        Column("name", types("varchar(60)"), texts(60)),
        VALUES[6],
    )),
    Table("visits", ("id",), (NUMBER, Column("seen", types("varchar(60)"), texts(60))), is_emptied=True),
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A committed change: the row of a key after it, None if it is gone."""

    table: str
    key: Key
    row: Row | None


@dataclass
class Workload:
    """Random transactions of one database; `log` has what they committed."""

    database: Database
    seed: int
    log: list[Change] = field(default_factory=list)
    # How many changes of the log the connector's snapshot has not seen one by one.
    before_snapshot: int = 0
    transactions: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._connection = self.database.connect()
        self._cursor = self._connection.cursor()
        self._tables = {table.name: table for table in TABLES}
        self._live: dict[str, list[Key]] = {table.name: [] for table in TABLES}

    def begin(self) -> None:
        """Create the tables, with rows that the connector's snapshot will find."""
        for table in TABLES:
            columns = [f"{self._quoted(c.name)} {c.types[self.database.name]}" for c in table.columns]
            key = ", ".join(map(self._quoted, table.key))
            self._cursor.execute(
                f"create table {self._quoted(table.name)} ({', '.join(columns)}, primary key ({key}))"
            )
        self._connection.commit()
        for _ in range(8):
            self.transaction()
        self.before_snapshot = len(self.log)

    def transaction(self) -> None:
        """One transaction of a few statements; one of six is rolled back."""
        before = {name: list(keys) for name, keys in self._live.items()}
        table = self._tables[self._chance.choice(list(self._tables))]
        if table.is_emptied and self._chance.random() < 0.15:
            # MariaDB commits before and after it: alone, in both.
            changes = [Change(table.name, key, None) for key in self._live[table.name]]
            self._cursor.execute(f"truncate table {self._quoted(table.name)}")
            self._live[table.name] = []
            self._connection.commit()
            self.log += changes
        else:
            changes = []
            for _ in range(self._chance.choice([1, 1, 2, 3, 6])):
                changes += self._statement(self._tables[self._chance.choice(list(self._tables))])
            if self._chance.random() < 1 / 6:
                self._connection.rollback()
                self._live = before
            else:
                self._connection.commit()
                self.log += changes
        self.transactions += 1

    def add_column(self, table: str, column: Column) -> None:
        """A column more, null in all rows that are there."""
        self._cursor.execute(
            f"alter table {self._quoted(table)} add column {self._quoted(column.name)} {column.types[self.database.name]}"
        )
        self._connection.commit()
        old = self._tables[table]
        self._tables[table] = Table(old.name, old.key, (*old.columns, column), old.is_emptied)

    def mark(self, code: str) -> None:
        """Write a last row, which shows that all before it has arrived."""
        key = self._insert(self._tables["customers"], {"code": code, "name": code, "is_paid": True})
        self._connection.commit()
        self.log += key

    def states(self, table: str) -> dict[Key, list[Row | None]]:
        """Key -> what its row was after each change that the connector saw, None where it was gone."""
        columns = self.columns(table)
        of_table = [
            [c for c in part if c.table == table]
            for part in (self.log[: self.before_snapshot], self.log[self.before_snapshot :])
        ]
        of_snapshot = {change.key: change for change in of_table[0]}
        states: dict[Key, list[Row | None]] = {}
        for change in (*of_snapshot.values(), *of_table[1]):
            # A column that was added later was null until then.
            row = change.row and {column: change.row.get(column) for column in columns}
            states.setdefault(change.key, []).append(row)
        return states

    def rows(self, table: str) -> dict[Key, Row]:
        """All rows of a table, by key."""
        definition = self._tables[table]
        self._connection.commit()
        return {self._key_of(definition, row): row for row in self._select(definition, "")}

    def columns(self, table: str) -> list[str]:
        """The columns of a table as they are now."""
        return [column.name for column in self._tables[table].columns]

    def keys(self) -> dict[str, tuple[str, ...]]:
        """Table -> the columns of its key."""
        return {table.name: table.key for table in TABLES}

    def close(self) -> None:
        self._connection.close()

    def _statement(self, table: Table) -> list[Change]:
        live = self._live[table.name]
        kind = self._chance.random()
        if not live or kind < 0.4:
            key = self._random_key(table)
            return (
                self._update(table, key) if key in live else self._insert(table, self._random_row(table, key))
            )
        key = self._chance.choice(live)
        if kind < 0.75:
            return self._update(table, key)
        if kind < 0.85:
            return self._move(table, key)
        return self._delete(table, key)

    def _insert(self, table: Table, row: Row) -> list[Change]:
        names = ", ".join(map(self._quoted, row))
        marks = ", ".join(["%s"] * len(row))
        self._cursor.execute(
            f"insert into {self._quoted(table.name)} ({names}) values ({marks})", list(row.values())
        )
        key = self._key_of(table, row)
        self._live[table.name].append(key)
        return [self._after(table, key)]

    def _update(self, table: Table, key: Key) -> list[Change]:
        values = [column for column in table.columns if column.name not in table.key]
        changed = self._chance.sample(values, self._chance.randint(1, min(3, len(values))))
        self._set(table, key, {column.name: self._value(column) for column in changed})
        return [self._after(table, key)]

    def _move(self, table: Table, key: Key) -> list[Change]:
        """The row gets another key, if no row has it."""
        new = self._random_key(table)
        if new in self._live[table.name]:
            return self._update(table, key)
        self._set(table, key, dict(zip(table.key, new, strict=True)))
        self._live[table.name].remove(key)
        self._live[table.name].append(new)
        return [Change(table.name, key, None), self._after(table, new)]

    def _delete(self, table: Table, key: Key) -> list[Change]:
        self._cursor.execute(f"delete from {self._quoted(table.name)} where {self._is(table)}", list(key))
        self._live[table.name].remove(key)
        return [Change(table.name, key, None)]

    def _set(self, table: Table, key: Key, values: Row) -> None:
        pairs = ", ".join(f"{self._quoted(name)} = %s" for name in values)
        self._cursor.execute(
            f"update {self._quoted(table.name)} set {pairs} where {self._is(table)}", [*values.values(), *key]
        )

    def _after(self, table: Table, key: Key) -> Change:
        [row] = self._select(table, f" where {self._is(table)}", key)
        return Change(table.name, key, row)

    def _select(self, table: Table, where: str, key: Key = ()) -> list[Row]:
        # PostgreSQL's driver would parse a document.
        names = [
            f"cast({self._quoted(column.name)} as text)"
            if column.types[self.database.name] == "jsonb"
            else self._quoted(column.name)
            for column in table.columns
        ]
        self._cursor.execute(f"select {', '.join(names)} from {self._quoted(table.name)}{where}", list(key))
        return [
            dict(zip((column.name for column in table.columns), values, strict=True))
            for values in self._cursor.fetchall()
        ]

    def _is(self, table: Table) -> str:
        return " and ".join(f"{self._quoted(name)} = %s" for name in table.key)

    def _key_of(self, table: Table, row: Row) -> Key:
        return tuple(row[name] for name in table.key)

    def _random_key(self, table: Table) -> Key:
        return tuple(column.value(self._chance) for column in table.columns if column.name in table.key)

    def _random_row(self, table: Table, key: Key) -> Row:
        of_key = dict(zip(table.key, key, strict=True))
        return {c.name: of_key[c.name] if c.name in of_key else self._value(c) for c in table.columns}

    def _value(self, column: Column) -> Any:
        return None if self._chance.random() < 0.15 else column.value(self._chance)

    def _quoted(self, name: str) -> str:
        return self.database.quoted(name)
