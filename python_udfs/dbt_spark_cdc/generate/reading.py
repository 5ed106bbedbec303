"""Messages -> the plan: their tables, keys, columns and types. Spark aggregates; no value reaches Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.decode.files import NAME, Refusal
from dbt_spark_cdc.decode.texts import RAW_COLUMNS, create_messages, names_told_apart
from dbt_spark_cdc.decode.writers import ALIKE, Writers, options
from dbt_spark_cdc.generate.ddl import Declared, Statement, declared, spark_type
from dbt_spark_cdc.generate.plan import (
    BASE64_TEXTS,
    DOES_NOT_FIT,
    FEW_DIFFER,
    MORE_THAN_DOUBLE,
    NO_DIGITS,
    NO_TYPE,
    ONLY_NULLS,
    SCALES_DIFFER,
    UNKNOWN_TYPE,
    Column,
    Table,
    differs_in_case,
    model_name,
)
from dbt_spark_cdc.generate.types import (
    DIGITS_OF_DOUBLE,
    OF_OWN_SCALE,
    SHAPES,
    TEXT,
    Shapes,
    guessed,
    is_exact_number,
    nearly,
    needed,
)
from dbt_spark_cdc.inputs import Message
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.message_text import STAR
from dbt_spark_cdc.registry import register

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

MESSAGES = "generate_messages"
# As `decode`: tables with few columns share a query, because each query costs a second.
COLUMNS_OF_A_QUERY = 60
# What Debezium's schema names a decimal that has a scale in each value; where types have no names, a struct.
WITH_OWN_SCALE = ("io.debezium.data.VariableScaleDecimal", "struct")
# What AWS DMS names a decimal of any digits.
WITHOUT_DIGITS = "NUMERIC"
# MySQL means ten digits by it. TiCDC writes the same fields, and mostly leaves the digits of decimals out.
BARE_DECIMAL = re.compile(r"(?:decimal|numeric|dec|fixed)(?: unsigned(?: zerofill)?)?", re.IGNORECASE)
OF_TEN_DIGITS, OF_ALL_DIGITS = "decimal(10,0)", "decimal(38,0)"
# What dbt would run in a YAML file: a name of a message is never code.
JINJA = re.compile(r"\{[{%#]|^\s*(?:env_var|ref|var|source|doc)\s*\(.+\)\s*$", re.DOTALL)
NAMES = "database_name, schema_name, table_name"
# The digits before and after a point.
WHOLE, FRACTIONAL = r"r'^-?([0-9]{1,38})(?:\.[0-9]+)?$'", r"r'^-?[0-9]{1,38}\.([0-9]+)$'"
# A table's columns are tried until none rejects a value; each round takes at least one column further.
ROUNDS = 4


class Topics(NamedTuple):
    """The messages of one format and dialect, and what was left out and why, a sentence each."""

    messages: list[Message]
    format: str
    dialect: str | None
    notices: list[str]
    # Whether a messages model reads headers: the source has them, if not in each of these messages.
    has_headers: bool


def topics(
    writers: Writers, messages: Iterable[Message], origin: str, has_headers: bool = False
) -> list[Topics]:
    """Find the format of each topic, and return the topics of each format and dialect; raises UsageError."""
    by_topic: dict[str, list[Message]] = {}
    for message in messages:
        by_topic.setdefault(message.topic, []).append(message)
    if not by_topic:
        raise UsageError(f"FILES or the raw table must hold messages; got none in {origin}.")
    found: dict[tuple[str, str | None], list[str]] = {}
    refused: dict[Refusal, list[str]] = {}
    for topic, its in by_topic.items():
        writer = writers.of(its)
        if isinstance(writer, Refusal):
            refused.setdefault(writer, []).append(topic)
        else:
            found.setdefault(writer, []).append(topic)
    if not found or any(refusal.reason == ALIKE for refusal in refused):
        raise UsageError(" ".join(refusal.text(alike) for refusal, alike in refused.items()))
    # Heartbeats and marks of transactions are written alike in all dialects.
    for name, dialect in list(found):
        others = [other for other in found if other[0] == name and other != (name, dialect)]
        if dialect is None and len(others) == 1:
            found[others[0]] += found.pop((name, dialect))
    if len(found) > 1 and not all(m.names_topic for its in found.values() for t in its for m in by_topic[t]):
        raise UsageError(
            "FILES must name the topic of each message if they have several formats, because each format "
            "gets a messages model that reads its topics; got "
            + "; ".join(f"{options([writer], 'or')} in {_shortened(its)}" for writer, its in found.items())
            + ". Run the command once for each, with a --source of its own."
        )
    notices = [
        f"left out the topic {_shortened(alike)}: {refusal.reason}." for refusal, alike in refused.items()
    ]
    parts = []
    for (format_, dialect), read in found.items():
        its = [message for topic in read for message in by_topic[topic]]
        with_headers = has_headers or any(message.headers for message in its)
        parts.append(Topics(its, format_, dialect, notices, with_headers))
        notices = []
    return parts


def _shortened(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


class _Found(NamedTuple):
    """A column of a table, with the types that may be declared for it, the best one first."""

    name: str
    source_type: str | None
    candidates: list[tuple[str, str | None]]
    # The type that the source names, if it is one of Spark's.
    named: str | None
    # The smallest decimal that holds the values, if they are numbers.
    needs: str | None


class Reader:
    """Reads the tables of messages with one Spark."""

    def __init__(self, spark: SparkSession, library: MacroLibrary, read: Topics) -> None:
        self.spark = spark
        self.library = library
        self.read = read
        self.notices: list[str] = []
        self._header = library.call("_format", read.format, read.dialect)["header"]
        register(spark)
        create_messages(spark, "raw", ((m.partition, m) for m in read.messages))
        query = library.call("messages", "raw", read.format, read.dialect, RAW_COLUMNS)
        # Read several times: parsed once, as a messages model does.
        spark.sql(query).localCheckpoint().createOrReplaceTempView(MESSAGES)

    def tables(self) -> list[Table]:
        """Return the tables, in the order of their names."""
        self._note_rejected()
        rows = self.spark.sql(f"""
            select {NAMES},
                count(distinct key_columns) as keys,
                max_by(key_columns, struct(sequence, offset)) filter (where key_columns is not null) as key
            from {MESSAGES} where error is null
            group by {NAMES} having count_if(kind = 'rows') > 0 order by {NAMES}
        """).collect()  # noqa: S608  # names of our own
        statements = self._statements()
        columns = self._columns(statements)
        tables: list[Table] = []
        found: dict[NAME, list[_Found]] = {}
        for row in rows:
            name = (row.database_name, row.schema_name, row.table_name)
            if (reason := _not_declarable(name)) is not None:
                self.notices.append(f"left out a table: {reason}.")
                continue
            table = Table(database=name[0], schema_name=name[1], name=name[2] or STAR, model="")
            found[name] = list(self._declarable(table, columns.get(name, [])))
            if not found[name]:
                self.notices.append(f"left out {table.full_name}: no message has a column of it.")
                continue
            table.key = self._key(table, row, _of_table(statements, name), found[name])
            tables.append(table)
        self._check_names(tables)
        self._settle(tables, found)
        return tables

    def _check_names(self, tables: list[Table]) -> None:
        unnamed = [table for table in tables if table.name == STAR]
        if not unnamed:
            return
        its = sorted({message.topic for message in self.read.messages})
        if len(tables) > 1 or len(its) > 1:
            raise UsageError(
                "the messages must be one topic of one table if the messages name no table; got the topics "
                f"{_shortened(its)}. Run the command once for each, with a --source of its own and --topics."
            )
        # Kafka Connect names a table's topic prefix.database.table.
        unnamed[0].model = model_name(its[0].rsplit(".", 1)[-1])

    def _note_rejected(self) -> None:
        for row in self.spark.sql(
            "select error.code, count(*) as n, array_sort(collect_set(topic)) as topics "  # noqa: S608
            f"from {MESSAGES} where error is not null group by error.code order by all"
        ).collect():
            topics = f"{'topic' if len(row.topics) == 1 else 'topics'} {_shortened(row.topics)}"
            self.notices.append(
                f"{row.n} of {len(self.read.messages)} messages are rejected with the error {row.code}, "
                f"of the {topics}; spark-cdc decode shows those of a file, the dead letters show all."
            )

    def _statements(self) -> dict[tuple[str | None, str], Declared]:
        rows = self.spark.sql(f"""
            select coalesce(schema_name, database_name) as qualifier, table_name, ddl,
                {self._sql_dialect()} as sql_dialect
            from {MESSAGES}
            where kind in ('ddl', 'truncate') and error is null and ddl is not null
            order by sequence, topic, partition, offset
        """).collect()  # noqa: S608
        return declared(Statement(*row) for row in rows)

    def _sql_dialect(self) -> str:
        return self._header["sql_dialect"] or "cast(null as string)"

    def _columns(self, statements: dict[tuple[str | None, str], Declared]) -> dict[NAME, list[_Found]]:
        """Return the columns of each table, in the order of its newest row."""
        vendor = self.library.call("_literal", self._header["type_codes"] or self.read.format)
        bytes_ = self.library.call("decode_binary", "text", "base64")
        shapes = ", ".join(f"count_if({condition}) as `is_{name}`" for name, condition in SHAPES.items())
        query = f"""
            with texts as (
                select {NAMES}, column_types, {self._sql_dialect()} as sql_dialect,
                    struct(sequence, offset) as place, entry.key as name,
                    entry.value as text, position,
                    -- a change of a part of a nested value is no column
                    row.patches is not null and size(row.patches) > 0 and contains(entry.key, '.') as is_part
                from {MESSAGES}
                lateral view explode(rows) exploded as row
                lateral view posexplode(concat(
                    coalesce(map_entries(row.image), array()), coalesce(map_entries(row.before), array())
                )) exploded as position, entry
                where kind = 'rows' and error is null
            ),
            columns as (
                select {NAMES}, name,
                    -- the row itself, not the row before, which may have some columns only
                    max_by(position, struct(place, -position)) as position,
                    max_by(column_types[name], place)
                        filter (where column_types[name] is not null) as source_type,
                    max_by(sql_dialect, place) as sql_dialect,
                    count(text) as values,
                    coalesce(max(length(regexp_extract(text, {WHOLE}, 1))), 0) as digits,
                    coalesce(max(length(regexp_extract(text, {FRACTIONAL}, 1))), 0) as scale,
                    -- digits that count, and zeros at the end, which no double has
                    coalesce(max(length(trim('0' from translate(text, '-.', '')))), 0) as significant,
                    count_if(text rlike r'[.](?![0-9]{{6}}$)[0-9]+0$') > 0 as ends_with_zero,
                    -- a text that ends with = is hardly anything else
                    count(text) = count({bytes_}) and count_if(endswith(text, '=')) > 0 as is_base64,
                    {shapes}
                from texts where not is_part
                group by {NAMES}, name
            ),
            -- of formats that name the types in messages about the table only
            tables as (
                select {NAMES}, max_by(column_types, struct(sequence, offset)) as types
                from {MESSAGES} where kind = 'ddl' and error is null and column_types is not null
                group by {NAMES}
            ),
            named as (
                select columns.* except (source_type), coalesce(source_type, types[name]) as source_type
                from columns left join tables on {self._same_table("columns", "tables")}
            ),
            known as (
                select *, cdc_type({vendor}, source_type).spark_type as found from named
            )
            select *, {self.library.call("_declarable_type", "found")} as declarable
            from known order by {NAMES}, position, name
        """  # noqa: S608
        has_decimals = bool(self._header["doubles_may_be_decimals"])
        found: dict[NAME, list[_Found]] = {}
        for row in self.spark.sql(query).collect():
            name = (row.database_name, row.schema_name, row.table_name)
            its = _of_table(statements, name)
            shapes = Shapes(
                row["values"], {shape: row[f"is_{shape}"] for shape in SHAPES}, row.digits, row.scale
            )
            found.setdefault(name, []).append(
                _Found(
                    row.name,
                    row.source_type,
                    list(_candidates(row, shapes, its.types.get(row.name.lower()), has_decimals)),
                    row.declarable,
                    needed(shapes),
                )
            )
        return found

    def _declarable(self, table: Table, columns: Iterable[_Found]) -> Iterator[_Found]:
        seen: dict[str, str] = {}
        for column in columns:
            if re.match("(?i)_cdc_", column.name) or not column.name.strip() or not column.name.isprintable():
                self.notices.append(
                    f"left out a column of {table.full_name}: no model can declare {column.name!r}."
                )
            elif JINJA.search(column.name):
                self.notices.append(f"left out a column of {table.full_name}: dbt would run {column.name!r}.")
            elif column.name.lower() in seen:
                self.notices.append(differs_in_case(column.name, seen[column.name.lower()], table))
            else:
                seen[column.name.lower()] = column.name
                yield column

    def _key(self, table: Table, row: Row, statement: Declared, columns: list[_Found]) -> list[str]:
        key = row.key if row.key is not None else statement.key
        names = {column.name for column in columns}
        if row.keys > 1:
            self.notices.append(
                f"{table.full_name}: its messages name different keys; taken is the newest, {', '.join(key)}."
            )
        return list(key) if key and set(key) <= names else []

    def _settle(self, tables: list[Table], found: dict[NAME, list[_Found]]) -> None:
        """Declare for each column the first type that rejects no value of it; without one, leave it out."""
        for table in tables:
            name = _name(table)
            table.columns = [
                Column(
                    name=c.name,
                    type=c.candidates[0][0],
                    source_type=c.source_type,
                    guess=c.candidates[0][1],
                    needs=c.needs,
                )
                for c in found[name]
            ]
        pending = tables
        for _ in range(ROUNDS):
            rejected = self._rejected(pending)
            pending = [table for table in pending if self._retype(table, found[_name(table)], rejected)]
            if not pending:
                return

    def _retype(self, table: Table, found: list[_Found], rejected: dict[NAME, list[str]]) -> bool:
        """Give columns that reject a value another type, or leave them out; True if more may follow."""
        is_left_out = self._settle_unread(table, found, rejected)
        return _demote(table, found, rejected) or is_left_out

    def _settle_unread(self, table: Table, found: list[_Found], rejected: dict[NAME, list[str]]) -> bool:
        """Leave out columns of which not even a text reads a value; True if there are any.

        The rows keep the other columns. If a text reads some values, rows with other values are rejected. So
        they are if a text reads none and the type that the source names reads some: of decimals in base64 a
        few may have more digits than Spark's decimals.
        """
        details = rejected.get(_name(table), ())
        unread = [
            column for column in table.columns
            if (column.type, column.guess) == (TEXT, DOES_NOT_FIT)
            and _is_named(column, details) and not self._reads_a_value(table, column.name, TEXT)
        ]  # fmt: skip
        named = {its.name: its.named for its in found}
        for column in unread:
            type_ = named[column.name]
            if type_ in (None, TEXT):
                continue
            if column.name in table.key or self._reads_a_value(table, column.name, type_):
                column.type, column.guess = type_, None
                self.notices.append(
                    f"{table.full_name}: rows whose {column.name} does not fit the source's type, {type_}, "
                    "are rejected."
                )
        unread = [column for column in unread if column.type == TEXT and column.name not in table.key]
        if len(unread) == len(table.columns):
            return False
        for column in unread:
            table.columns.remove(column)
            of_source = f", which the source calls {column.source_type}" if column.source_type else ""
            self.notices.append(
                f"left out a column of {table.full_name}: no type reads the values of {column.name}"
                f"{of_source}."
            )
        return bool(unread)

    def _reads_a_value(self, table: Table, column: str, type_: str) -> bool:
        """Whether any value of a column can be read as a type."""
        self._show_messages([table])
        changes = self._changes({column: type_})
        with names_told_apart(self.spark, [column]):
            name = self.library.call("_quote", column)
            query = f"select 1 from ({changes}) where _cdc_error is null and {name} is not null limit 1"  # noqa: S608
            return bool(self.spark.sql(query).collect())

    def _show_messages(self, tables: list[Table]) -> None:
        """Make the view `messages_of_group`: the messages with rows of these tables."""
        self.spark.createDataFrame(
            [_name(table) for table in tables], f"{NAMES.replace(',', ' string,')} string"
        ).createOrReplaceTempView("tables_of_group")
        self.spark.sql(
            f"select m.* from {MESSAGES} m left semi join tables_of_group t on {self._same_table('m', 't')} "  # noqa: S608
            "where m.kind = 'rows' and m.error is null"
        ).createOrReplaceTempView("messages_of_group")

    def _same_table(self, one: str, other: str) -> str:
        """Return the condition that the rows of two relations are of one table."""
        return self.library.call("_same", one, other, NAMES.split(", "))

    def _changes(self, columns: dict[str, str]) -> str:
        """Return the query of the changes in `messages_of_group`."""
        return self.library.call(
            "changes", messages="messages_of_group", format=self.read.format, dialect=self.read.dialect,
            table=STAR, key=[], columns=columns,
        )  # fmt: skip

    def _rejected(self, tables: list[Table]) -> dict[NAME, list[str]]:
        """Return the details of the rows that the columns as declared reject, as the macros read them."""
        details: dict[NAME, list[str]] = {}
        for group in _groups(tables):
            columns = {column.name: column.type for table in group for column in table.columns}
            guesses = {column.guess for table in group for column in table.columns}
            if all(declared == TEXT for declared in columns.values()) and DOES_NOT_FIT not in guesses:
                continue
            self._show_messages(group)
            changes = self._changes(columns)
            query = f"""
                select {", ".join(f"m.{part}" for part in NAMES.split(", "))}, c.detail from (
                    select _cdc_topic, _cdc_partition, _cdc_offset, _cdc_error.detail from ({changes})
                    where _cdc_error.code = 'invalid_value'
                ) c join {MESSAGES} m on m.topic = c._cdc_topic and m.partition = c._cdc_partition
                    and m.offset = c._cdc_offset
                group by all
            """  # noqa: S608
            with names_told_apart(self.spark, columns):
                for row in self.spark.sql(query).collect():
                    name = (row.database_name, row.schema_name, row.table_name)
                    details.setdefault(name, []).append(row.detail)
        return details


def notices_of_base64(tables: Iterable[Table]) -> Iterator[str]:
    """Yield a sentence for each table with texts that may be decimals of Debezium, unless a route says it."""
    for table in tables:
        names = [c.name for c in table.columns if c.guess == BASE64_TEXTS and not c.is_of_route]
        if names:
            yield (
                f"{table.full_name}: the texts of {', '.join(names)} look like base64. If they are "
                "decimals, as Debezium writes them without a schema, let a route declare them: "
                "decimal(20,4) from base64, with the scale of the source."
            )


def notices_of_slips(tables: Iterable[Table]) -> Iterator[str]:
    """Yield a sentence for each column that a few values give another type, unless a route says it."""
    for table in tables:
        for column in table.columns:
            reason = column.guess or ""
            if reason == DOES_NOT_FIT or reason.startswith(FEW_DIFFER):
                named = f", {column.source_type}" if column.source_type and reason == DOES_NOT_FIT else ""
                yield (
                    f"{table.full_name}: its column {column.name} is declared as {column.type}, because "
                    f"{reason}{named}. To reject such rows, let a route declare the type."
                )


def _name(table: Table) -> NAME:
    return table.database, table.schema_name, None if table.name == STAR else table.name


def _demote(table: Table, found: list[_Found], rejected: dict[NAME, list[str]]) -> bool:
    """Give each column whose type rejects a value its next type; return whether there is one."""
    details = rejected.get(_name(table), ())
    demoted = False
    by_name = {its.name: its for its in found}
    for column in table.columns:
        its = by_name[column.name]
        # What a string rejects, such as an invalid character, no other type takes; the last type stays.
        if column.type != TEXT and its.candidates[1:] and _is_named(column, details):
            its.candidates.pop(0)
            column.type, column.guess = its.candidates[0]
            demoted = True
    return demoted


def _of_table(statements: dict[tuple[str | None, str], Declared], name: NAME) -> Declared:
    database, schema, table = name
    found = [statements[q, table] for q in (schema, database, None) if (q, table) in statements]
    return found[0] if found else Declared()


def _not_declarable(name: NAME) -> str | None:
    for part in name:
        if part is not None and (STAR in part or not part.strip() or not part.isprintable()):
            return f"no model can name {part!r}"
        if part is not None and JINJA.search(part):
            return f"dbt would run its name {part!r}"
    return None


def _is_decimal_sent_as_double(row: Row, has_decimals: bool) -> bool:
    """Whether the texts of a double have digits that no double has.

    17 digits say which double it is, and none is written with zeros after its fraction. The latter counts
    only where the format sends decimals as doubles: MySQL's own double(10,2) ends with zeros, too. So
    does a double that DataWorks writes as a text, with six decimals.
    """
    return row.significant > DIGITS_OF_DOUBLE or (has_decimals and row.ends_with_zero)


def _candidates(
    row: Row, shapes: Shapes, of_statement: str | None, has_decimals: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield the types that may be declared for a column, the best one first; the last one takes any text."""
    guess, note = guessed(shapes), None
    has_own_scale = any(shapes.counts[name] for name in OF_OWN_SCALE)
    if row.source_type in WITH_OWN_SCALE and (has_own_scale or row["values"] == 0):
        note = SCALES_DIFFER if has_own_scale else ONLY_NULLS
        yield from [(guess, note)] if guess != TEXT else []
        yield TEXT, note
        return
    if has_own_scale and guess != TEXT and row.source_type is None:
        yield guess, SCALES_DIFFER
    if has_own_scale:
        # Not as numbers: of a column that the source calls JSON such an object is a value.
        guess = TEXT
    if row.source_type == WITHOUT_DIGITS and row.declarable == TEXT and is_exact_number(guess):
        yield guess, NO_DIGITS
    if row.declarable == OF_TEN_DIGITS and BARE_DECIMAL.fullmatch(row.source_type):
        note = NO_DIGITS if row["values"] else ONLY_NULLS
        if of_statement is not None and is_exact_number(of_statement):
            yield of_statement, None
            note = DOES_NOT_FIT
        if is_exact_number(guess):
            yield (OF_ALL_DIGITS if guess == "bigint" else guess), note
        yield TEXT, note
        return
    if (
        row.declarable == "double"
        and is_exact_number(guess)
        and _is_decimal_sent_as_double(row, has_decimals)
    ):
        yield guess, MORE_THAN_DOUBLE
    if row.declarable is not None:
        if of_statement is not None and _is_decimal_of_scale(of_statement, row.declarable):
            yield of_statement, None
        yield row.declarable, None
        note = DOES_NOT_FIT
    elif of_statement is not None:
        yield of_statement, None
        note = DOES_NOT_FIT
    elif (of_name := _type_of_database(row.source_type, row.sql_dialect)) is not None:
        yield of_name, None
        note = DOES_NOT_FIT
    elif row["values"] == 0:
        note = ONLY_NULLS
    elif row.source_type is not None:
        note = UNKNOWN_TYPE
    elif row.is_base64:
        note = BASE64_TEXTS
    elif guess == TEXT and (type_ := nearly(shapes)) is not None:
        note = FEW_DIFFER + type_
    else:
        note = NO_TYPE
    if guess != TEXT:
        yield guess, note
    yield TEXT, note


def _type_of_database(name: str | None, sql_dialect: str | None) -> str | None:
    """Return the type by a database's own name for it, which the format's page does not list.

    Not of bytes: nothing says how the format writes them.
    """
    found = spark_type(name, sql_dialect) if name and sql_dialect else None
    return None if found == "binary" else found


def _is_decimal_of_scale(precise: str, found: str) -> bool:
    """Whether a statement names the digits of a decimal of which the messages name the scale only."""
    is_open = re.fullmatch(r"decimal\(38,([0-9]+)\)", found)
    return is_open is not None and re.fullmatch(rf"decimal\([0-9]+,{is_open[1]}\)", precise) is not None


def _is_named(column: Column, details: Iterable[str]) -> bool:
    """Whether the detail of a rejected row names a column: `amount: decimal(20,4), before note: date`."""
    entry = f"{column.name}: {column.type}"
    return any(
        part in f", {detail}, " for detail in details for part in (f", {entry}, ", f", before {entry}, ")
    )


def _groups(tables: Iterable[Table]) -> Iterator[list[Table]]:
    """Group tables that declare no name in two ways, so that one query reads them."""
    groups: list[tuple[list[Table], dict[str, tuple[str, str]]]] = []
    for table in tables:
        its = {column.name.lower(): (column.name, column.type) for column in table.columns}
        for group, columns in reversed(groups):
            union = {**columns, **its}
            if len(union) <= COLUMNS_OF_A_QUERY and all(columns.get(n, its[n]) == its[n] for n in its):
                group.append(table)
                columns.update(its)
                break
        else:
            groups.append(([table], its))
    yield from (group for group, _ in groups)
