"""A seeded random workload: transactions on five tables of a real database, and what each did to each row.

The log of committed changes is the expectation of history, and the tables themselves that of current. Both are
the server's own values: a row is read back after each statement.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

    def of(self, kind: str) -> Table:
        """The table with the columns that this kind of database can have."""
        return replace(self, columns=tuple(column for column in self.columns if kind in column.types))


class Bit(bytes):
    """A bit: a table may have a boolean or a number."""


class Single(float):
    """A float of 32 bits: a message may have more digits of it."""


class Wide(Decimal):
    """A decimal that may have more digits than Spark's: a table may have its text."""


class Document(str):
    """A document: of MySQL, which keeps no text; its snapshots and changes have other blanks and numbers."""


def types(pg: str, binlog: str | None = None) -> dict[str, str]:
    """One type, or one for PostgreSQL and one for MariaDB and MySQL."""
    return {"pg": pg} | of_binlog(binlog or pg)


def of_binlog(name: str) -> dict[str, str]:
    """A type that PostgreSQL does not have."""
    return {"mariadb": name, "mysql": name, "canal": name}


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


def unsigned(bits: int) -> Callable[[random.Random], int]:
    """Unsigned integers, often at the edge."""
    return lambda chance: chance.choice([0, 1, 2**bits - 1, chance.randrange(2**bits)])


def one_of(*values: Any) -> Callable[[random.Random], Any]:
    return lambda chance: chance.choice(values)


def times_of(digits: int, zone: timezone | None = None) -> Callable[[random.Random], datetime]:
    """Times with so many digits after the second."""

    def value(chance: random.Random) -> datetime:
        moment = times(zone)(chance)
        return moment.replace(microsecond=chance.randrange(10**digits) * 10 ** (6 - digits))

    return value


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


STATES = "enum('new','on hold','gone')"
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
# What not every database has, and times and numbers that a connector writes in another way. MySQL shows six digits of a float.
KINDS = (
    Column("tiny", of_binlog("tinyint unsigned"), unsigned(8)),
    Column("medium", of_binlog("mediumint"), integers(24)),
    Column("count", of_binlog("int unsigned"), unsigned(32)),
    Column("bytes", of_binlog("bigint unsigned"), unsigned(64)),
    Column("single", types("real", "float"), one_of(0.5, -2.25, 1.1, 3.14159, 1e-5, 65536.0)),
    Column("flag", of_binlog("bit(1)"), one_of(b"\0", b"\1")),
    Column("vintage", of_binlog("year"), one_of(1901, 2026, 2155)),
    Column("state", {"pg": "state", "mariadb": STATES, "mysql": STATES}, one_of("new", "on hold", "gone")),
    Column("tags", {"mariadb": "set('a','b','c')", "mysql": "set('a','b','c')"}, one_of("", "a", "a,c", "a,b,c")),
    Column("at_second", types("timestamp(0)", "datetime"), times_of(0)),
    Column("at_millisecond", types("timestamp(3)", "datetime(3)"), times_of(3)),
    Column("seen_at", types("timestamptz(3)", "timestamp(3) null"), times_of(3, timezone.utc)),
    Column("seconds", types("time(0)", "time"), lambda chance: times_of(0)(chance).time()),
    Column("fixed", types("char(5)"), one_of("", "ab", "汉字", "12345")),
    Column("body", types("text", "longtext"), texts(500)),
    Column("picture", types("bytea", "blob"), one_of(b"", b"\xff\x00", bytes(range(256)))),
    Column("huge", types("numeric(38,30)", "decimal(65,30)"), one_of(Decimal(0), Decimal("1.50"), Decimal("-1e-30"), Decimal("12345678.000000000000000000000000000001"))),
    Column("price", {"pg": "numeric"}, one_of(Decimal(0), Decimal("1.50"), Decimal("1E+5"), Decimal("-12345678901234567890.000000000000000001"))),
    Column("pause", {"pg": "interval"}, one_of(timedelta(0), timedelta(days=40, microseconds=1), timedelta(seconds=-1))),
    Column("numbers", {"pg": "int[]"}, one_of([], [1, None, -3], [2147483647])),
    Column("names", {"pg": "text[]"}, one_of([], ["a", None, 'b "c", {d}'], ["null", ""])),
    Column("address", {"pg": "inet"}, one_of("10.0.0.1", "10.0.0.0/8", "::1")),
    Column("document", {"pg": "json"}, one_of('{"a": 1.10,  "a": 2}', "[1e400]", "null")),
    Column("opens", {"pg": "timetz"}, lambda chance: times(timezone.utc)(chance).timetz()),
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
    Table("kinds", ("id",), (NUMBER, *KINDS)),
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
        self._tables = {table.name: table.of(self.database.kind) for table in TABLES}
        self._live: dict[str, list[Key]] = {table.name: [] for table in TABLES}

    def begin(self) -> None:
        """Create the tables, with rows that the connector's snapshot will find."""
        if self.database.kind == "pg":
            self._cursor.execute(f"create type state as {STATES}")
        for table in self._tables.values():
            columns = [f"{self._quoted(c.name)} {c.types[self.database.kind]}" for c in table.columns]
            key = ", ".join(map(self._quoted, table.key))
            self._cursor.execute(
                f"create table {self._quoted(table.name)} ({', '.join(columns)}, primary key ({key}))"
            )
        self._connection.commit()
        for _ in range(8):
            self.transaction()
        if self.database.has_snapshot:
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
            f"alter table {self._quoted(table)} add column {self._quoted(column.name)} {column.types[self.database.kind]}"
        )
        self._connection.commit()
        old = self._tables[table]
        self._tables[table] = replace(old, columns=(*old.columns, column))

    def change_type(self, table: str, column: Column) -> None:
        """A column of this name gets another type."""
        verb, to = ("alter", "type ") if self.database.kind == "pg" else ("modify", "")
        self._cursor.execute(
            f"alter table {self._quoted(table)} {verb} column {self._quoted(column.name)} {to}{column.types[self.database.kind]}"
        )
        self._connection.commit()
        old = self._tables[table]
        self._tables[table] = replace(
            old, columns=tuple(column if each.name == column.name else each for each in old.columns)
        )

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
            if self.database.kind == "pg" and column.types["pg"] in ("json", "jsonb")
            else self._quoted(column.name)
            for column in table.columns
        ]
        self._cursor.execute(f"select {', '.join(names)} from {self._quoted(table.name)}{where}", list(key))
        return [
            {
                column.name: self._read(column, value)
                for column, value in zip(table.columns, values, strict=True)
            }
            for values in self._cursor.fetchall()
        ]

    def _read(self, column: Column, value: Any) -> Any:
        """Mark a value of which a table may have another one than this."""
        marks = {
            "bit(1)": Bit, "real": Single, "float": Single, "decimal(65,30)": Wide,
            "json": Document if self.database.kind in ("mysql", "canal") else None,
        }  # fmt: skip
        mark = marks.get(column.types[self.database.kind])
        return mark(value) if mark and value is not None else value

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
