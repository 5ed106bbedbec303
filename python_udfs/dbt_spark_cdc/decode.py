"""`spark-cdc decode`: messages of files -> one object per message or row change, or the tables they lead to.

Every message is read by the package's macros in Spark SQL; nothing here knows a format. What Spark gives back
is put in the order of the files.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions.detect import alike, detect
from dbt_spark_cdc.functions.fingerprints import READS_ALL
from dbt_spark_cdc.inputs import Message, read_messages
from dbt_spark_cdc.macros import CompilerError, MacroLibrary
from dbt_spark_cdc.registry import register

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

AUTO = "auto"
DETECT_FROM = 200
# Tables of few columns share a query, because each query costs a second; a wide one costs more than it saves.
COLUMNS_OF_A_QUERY = 60
TABLE_ID = "_spark_cdc_table"
RAW_COLUMNS = {"headers": "headers"}

KINDS = {"rows": "row", "begin": "txn_begin", "commit": "txn_end", "unreadable": "error"}

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
class _File:
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
class _Table:
    """A table of one file: what its decoded changes tell of it."""

    file: _File
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


class Decoder:
    """Decodes files with one Spark. Files of one format share a query."""

    def __init__(self, library: MacroLibrary, options: Options) -> None:
        """Check the options; raises UsageError."""
        self.library = library
        self.options = options
        self.formats: dict[str, list[str]] = library.formats()
        allowed = [AUTO, *self.formats]
        if options.format not in allowed:
            raise UsageError(f"option --format must be one of {', '.join(allowed)}; got `{options.format}`.")
        if options.format != AUTO:
            self._check_dialect(options.format)
        elif options.dialect is not None:
            known = list(dict.fromkeys(itertools.chain.from_iterable(self.formats.values())))
            if options.dialect not in known:
                raise UsageError(
                    f"option --dialect must be one of {', '.join(known)}; got `{options.dialect}`."
                )
        self._check_columns()

    def _check_dialect(self, name: str) -> None:
        allowed = self.formats[name]
        if self.options.dialect is not None and self.options.dialect not in allowed:
            raise UsageError(
                f"option --dialect must be one of {', '.join(allowed)} for the format {name}; "
                f"got `{self.options.dialect}`."
            )

    def _check_columns(self) -> None:
        columns = self.options.columns
        if columns is None:
            return
        try:
            self.library.call("_columns", columns, "decode")
        except CompilerError as error:
            raise UsageError(f"option --columns: {error}") from None
        for name in itertools.chain.from_iterable(self.options.keys.values()):
            if name not in columns:
                raise UsageError(
                    f"option --key must name columns of --columns ({', '.join(columns)}); got `{name}`."
                )

    # -- what the sources are

    def files(self, sources: Sequence[Source], names: Sequence[str] | None = None) -> list[_File]:
        """Read the sources and settle each one's format.

        A file whose format cannot be known is left empty, with its `refusal`; where that is every file,
        UsageError is raised.
        """
        files = []
        for source, name in zip(sources, names or [source.topic for source in sources], strict=True):
            messages = read_messages(source.topic, source.data)
            told, dialect, refusal = self.options.format, self.options.dialect, None
            writers: list[Writer] = []
            if told == AUTO:
                try:
                    writers = self._detected(messages, name)
                    told, found = writers[0]
                    self._check_dialect(told)
                    dialect = dialect or found
                except UsageError as error:
                    messages, refusal = [], str(error)
            keys = source.keys or self.options.keys
            files.append(_File(source.topic, name, messages, told, dialect, keys, writers, refusal=refusal))
        if files and all(file.refusal is not None for file in files):
            raise UsageError(files[0].refusal)
        return files

    def _detected(self, messages: list[Message], name: str) -> list[Writer]:
        """Return the format of most of the first messages, and its dialect where the macros know it.

        Several where these write such messages alike.
        """
        if not messages:
            return [(next(iter(self.formats)), None)]  # nothing to read
        votes: Counter[tuple[str, str | None]] = Counter()
        values = [
            message.value.decode("utf-8", "replace")
            for message in itertools.islice((m for m in messages if m.value is not None), DETECT_FROM)
        ]
        detected = [detect(value) for value in values]
        for told in detected:
            if told.format in self.formats:
                votes[told.format, self._voted(told.format, told.dialect)] += 1
        # A heartbeat, which more than one format writes alike, says nothing of the rows beside it.
        rows_are_told = any(told.format and told.confidence == 1 for told in detected)
        if not votes or not (rows_are_told or all(told.format for told in detected)):
            return self._writers(values, name)
        formats: Counter[str] = Counter()
        for (told, _), count in votes.items():
            formats[told] += count
        winner = formats.most_common(1)[0][0]
        found = [
            dialect for (told, dialect), _ in votes.most_common() if told == winner and dialect is not None
        ]
        return [(winner, next((d for d in found if (winner, d) in READS_ALL), next(iter(found), None)))]

    def _voted(self, name: str, dialect: str | None) -> str | None:
        """A dialect of the macros; the first of them also reads what only the fingerprints tell apart."""
        known = self.formats[name]
        return dialect if dialect is None or dialect in known else next(iter(known), None)

    def _writers(self, values: list[str], name: str) -> list[Writer]:
        told = Counter(itertools.chain.from_iterable(map(alike, values)))
        # What a writer of some of the messages cannot have written speaks against it.
        writers: list[Writer] = [writer for writer, count in told.items() if count == max(told.values())]
        if self.options.dialect is not None:
            writers = [writer for writer in writers if writer[1] == self.options.dialect]
        if not writers:
            raise UsageError(
                f"option --format must be one of {', '.join(self.formats)} for {name}, because its messages "
                f"do not tell their format; got `{AUTO}`."
            )
        return writers

    def _agreed(
        self, files: list[_File], read: Callable[[list[_File]], list[list[dict[str, Any]]]]
    ) -> list[list[dict[str, Any]]]:
        """Read each file as each of its writers would; it is refused where they mean other things by it."""
        copies = [
            [replace(file, format=name, dialect=dialect, rows=[]) for name, dialect in file.writers]
            if file.is_open
            else [file]
            for file in files
        ]
        results = iter(read(list(itertools.chain.from_iterable(copies))))
        agreed = []
        for file, readings in zip(files, copies, strict=True):
            contents = [next(results) for _ in readings]
            # What one of them cannot have written, because it is an error to its readers, others have.
            unreadable = [sum(row["kind"] == "unreadable" for row in reading.rows) for reading in readings]
            kept = [place for place, count in enumerate(unreadable) if count == min(unreadable)]
            file.writers = [(readings[place].format, readings[place].dialect) for place in kept]
            file.format, file.dialect = file.writers[0]
            first, *others = [contents[place] for place in kept]
            if any(_content(other) != _content(first) for other in others):
                file.refusal = (
                    f"option --format must be {options(file.writers, 'or')} for {file.name}, because "
                    f"these write its messages alike and mean different things by them; got `{AUTO}`."
                )
                first = []
            agreed.append(first)
        return agreed

    # -- decoding

    def changes(self, spark: SparkSession, files: list[_File]) -> list[list[dict[str, Any]]]:
        """Return, for each file, an object per message or row change in the order of its lines."""
        register(spark)
        return self._agreed(files, partial(self._changes, spark))

    def _changes(self, spark: SparkSession, files: list[_File]) -> list[list[dict[str, Any]]]:
        for batch in self._batches(files):
            self._decode(spark, batch, self.options.columns)
        return [[_shown(row) for row in file.rows] for file in files]

    def _batches(self, files: Iterable[_File]) -> Iterator[list[_File]]:
        """Files that one query may read: halves of updates find each other by the source's numbers alone."""
        batches: dict[tuple, list[_File]] = {}
        for number, file in enumerate(files):
            if file.messages:
                own = number if self._splits_updates(file) else None
                batches.setdefault((file.format, file.dialect or "", own), []).append(file)
        yield from batches.values()

    def _splits_updates(self, file: _File) -> bool:
        return bool(self._header(file).get("splits_updates"))

    def _header(self, file: _File) -> dict[str, Any]:
        return self.library.call("_header_of", file.format, file.dialect)

    def _decode(self, spark: SparkSession, batch: list[_File], columns: dict[str, str] | None) -> None:
        places = [(file, message) for file in batch for message in file.messages]
        _create_raw(spark, ((n, message) for n, (_, message) in enumerate(places)))
        inner = self.library.decoded("raw", batch[0].format, batch[0].dialect, RAW_COLUMNS)
        typed = self._typed(spark, batch[0], columns) if columns else None
        # The texts of other formats stand in the message.
        is_made_here = "document" in self._header(batch[0])
        lines = {
            (id(file), message.topic, message.partition, message.offset): message.line
            for file, message in reversed(places)
        }
        query = f"""select partition, offsets, kind, half, database_name, schema_name, table_name, op,
            before, after, coalesce(patched, array()) as patched,
            sequence, {_instant("committed_at")} as committed_at, key_columns, error_code
            from ({inner})"""  # noqa: S608  # the macros' own SQL
        for row in spark.sql(query).toArrow().to_pylist():
            file, message = places[row["partition"]]
            # Two offsets are two halves, of which the one that completes the update is `message`.
            halves = [places[half["partition"]][1] for half in row["offsets"]]
            row["lines"] = (
                sorted({lines[id(file), half.topic, half.partition, half.offset] for half in halves})
                if len(halves) > 1
                else [message.line]
            )
            row["position"] = int(row["sequence"][-1]) if row["sequence"] else 0
            row["before"] = _image(row["before"])
            row["after"] = _image(row["after"])
            row["detail"] = None
            if typed is None and is_made_here:
                _refuse_lost_texts(row)
            elif typed is not None and row["kind"] == "rows":
                _put_typed(row, columns, _twin(row, typed))
            file.rows.append(row)
        for file in batch:
            file.rows.sort(key=lambda row: (row["lines"][0], row["position"]))

    def _typed(
        self, spark: SparkSession, file: _File, declared: dict[str, str]
    ) -> dict[tuple[int, int | None], dict[str, Any]]:
        """The changes of every table, with the values as declared, by message and position.

        A message that cannot be read so has no position. This reading may refuse what the other one takes,
        because that one reads numbers as texts.
        """
        columns = self._parsed_columns(file, declared)
        # Behind the check that asks for a key: without --key a row needs none to be shown.
        inner = self.library["spark__changes"](
            "raw",
            file.format,
            "*",
            file.keys.get(None, []),
            columns,
            None,
            None,
            file.dialect,
            None,
            RAW_COLUMNS,
            "UTC",
        )
        query = f"""select _cdc_partition as partition,
            case when _cdc_op is not null then
                row_number() over (partition by _cdc_partition order by _cdc_sequence) - 1
            end as position,
            _cdc_error.code as code, _cdc_error.detail as detail, {_texts(columns)} as after,
            case when _cdc_before is not null then {_texts(columns, "_cdc_before.")} end as before
            from ({inner})"""  # noqa: S608  # the macros' own SQL
        with _names_told_apart(spark, declared):
            rows = spark.sql(query).toArrow().to_pylist()
        for row in rows:
            for side in ("before", "after"):
                row[side] = row[side] and dict(zip(declared, map(_plain, columns, row[side]), strict=True))
        return {(row["partition"], row["position"]): row for row in rows}

    def _parsed_columns(self, file: _File, columns: dict[str, str]) -> list[dict[str, Any]]:
        return self.library.call("_columns", columns, "changes")

    def _call_changes(self, relation: str, file: _File, key: list[str], columns: dict[str, str]) -> str:
        return self.library.changes(
            relation=relation,
            format=file.format,
            dialect=file.dialect,
            table="*",
            key=key,
            columns=columns,
            raw_columns=RAW_COLUMNS,
        )

    # -- state

    def states(self, spark: SparkSession, files: list[_File]) -> list[list[dict[str, Any]]]:
        """Return, for each file, an object per table: its rows after all changes, deleted ones gone."""
        register(spark)
        return self._agreed(files, partial(self._states, spark))

    def _states(self, spark: SparkSession, files: list[_File]) -> list[list[dict[str, Any]]]:
        for batch in self._batches(files):
            self._decode(spark, batch, None)
        tables = [table for file in files for table in _tables(file)]
        groups: dict[tuple, list[list[_Table]]] = {}
        for table in tables:
            if not self._settle(table):
                continue
            alone = id(table) if table.has_truncate else None
            of_file = id(table.file) if self._splits_updates(table.file) else None
            same = groups.setdefault(
                (table.file.format, table.file.dialect, tuple(table.key), alone, of_file), [[]]
            )
            union = {name for other in same[-1] for name in other.columns} | table.columns.keys()
            if same[-1] and len(union) > COLUMNS_OF_A_QUERY:
                same.append([])
            same[-1].append(table)
        for group in itertools.chain.from_iterable(groups.values()):
            self._state(spark, group)
        return [[_shown_table(table) for table in tables if table.file is file] for file in files]

    def _settle(self, table: _Table) -> bool:
        """Fix the table's key and columns; False, with the reason, where its state cannot be told."""
        keys = table.file.keys
        named = list(table.named_keys.values())
        for spelling in _spellings(table.name):
            if spelling in keys:
                named = [keys[spelling]]
                break
        table.key = named[0] if len(named) == 1 else []
        if self.options.columns is not None:
            table.columns = dict.fromkeys(self.options.columns)
        else:
            self._leave_out_reserved(table)
        for code, count in sorted(table.unreadable.items()):
            table.errors.append(f"Messages not read: {count} with the error {code}.")
        if not table.columns or not table.lines:
            return False  # truncates only, or nothing that can be read
        if len(named) > 1:
            found = "; ".join(", ".join(key) for key in named)
            table.errors.append(f"Its messages name different key columns ({found}); name them with --key.")
            return False
        if not table.key:
            table.errors.append("Its messages name no key columns; name them with --key.")
            return False
        missing = [name for name in table.key if name not in table.columns]
        if missing:
            table.errors.append(
                f"The key column {missing[0]} is in none of its messages; name others with --key."
            )
            return False
        return True

    def _leave_out_reserved(self, table: _Table) -> None:
        for name in list(table.columns):
            try:
                self._parsed_columns(table.file, {name: "string"})
            except CompilerError:
                del table.columns[name]
                table.errors.append(
                    f"The column {name} is left out: names that start with _cdc_ are reserved."
                )

    def _state(self, spark: SparkSession, tables: list[_Table]) -> None:
        file, key = tables[0].file, tables[0].key
        declared = self.options.columns or dict.fromkeys(
            itertools.chain.from_iterable(table.columns for table in tables), "string from text"
        )
        _create_raw(
            spark,
            (
                (n, message)
                for n, table in enumerate(tables)
                for message in table.file.messages
                if message.line in table.lines
            ),
        )
        try:
            columns = self._parsed_columns(file, declared)
            changes = self._call_changes("raw", file, key, declared)
        except CompilerError as error:
            for table in tables:
                table.errors.append(str(error))
            return
        variants = [c["name"] for c in columns if c["family"] == "variant"]
        # Tables that share a query are kept apart by a key column more.
        fields = ", ".join(f"{c['literal']}, _cdc_before.{c['quoted']}" for c in columns)
        with_table = f"""select *
            except (_cdc_before), cast(_cdc_partition as string) as {TABLE_ID},
            case when _cdc_before is not null
                then named_struct('{TABLE_ID}', cast(_cdc_partition as string), {fields}) end as _cdc_before
            from ({changes})"""  # noqa: S608  # the macros' own SQL
        with _names_told_apart(spark, declared):
            # Kept as rows, as a model keeps them: `current_rows` reads its changes several times.
            rows = spark.sql(with_table)
            # Spark takes no VARIANT back from Arrow.
            rows = rows.localCheckpoint() if variants else spark.createDataFrame(rows.toArrow())
            rows.createOrReplaceTempView("changes")
            for row in spark.sql(
                "select _cdc_partition as n, _cdc_error.code, count(*) as changes from changes "
                "where _cdc_error is not null group by all order by all"
            ).collect():
                tables[row.n].errors.append(f"Changes not applied: {row.changes} with the error {row.code}.")
            has_patches = "_cdc_patches" in spark.table("changes").columns
            patchable = self.library.call("_patchable", columns, key) if has_patches else []
            current = self.library.current_rows(
                "changes",
                [TABLE_ID, *key],
                [TABLE_ID, *declared],
                variants=variants,
                patched_columns=[c["name"] for c in patchable],
            )
            query = f"""select {TABLE_ID} as n, {_texts(columns)} as row,
                coalesce(_cdc_absent, array()) as absent
                from ({current}) where not _cdc_is_deleted"""  # noqa: S608  # the macros' own SQL
            for row in spark.sql(query).toArrow().to_pylist():
                table = tables[int(row["n"])]
                values = dict(zip(declared, map(_plain, columns, row["row"]), strict=True))
                # What is not known must not look like a null that was sent.
                known = [name for name in table.columns if name not in row["absent"]]
                table.rows.append({name: values[name] for name in known})
        for table in tables:
            table.rows.sort(key=lambda row: [_sortable(row[name]) for name in key])
            _tell_unknown_values(table)


def _tell_unknown_values(table: _Table) -> None:
    rows = [row for row in table.rows if len(row) < len(table.columns)]
    if rows:
        names = ", ".join(name for name in table.columns if any(name not in row for row in rows))
        table.errors.append(f"Rows with values that no message tells: {len(rows)}, in the columns {names}.")


@contextmanager
def _names_told_apart(spark: SparkSession, names: Iterable[str]) -> Iterator[None]:
    """Case counts in the names of columns where two differ in nothing else."""
    names = list(names)
    spark.conf.set("spark.sql.caseSensitive", str(len({name.lower() for name in names}) < len(names)).lower())
    try:
        yield
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


def _twin(row: dict[str, Any], typed: dict[tuple[int, int | None], dict[str, Any]]) -> dict[str, Any]:
    """What the typed reading says of a row, or of the first of its messages that it could not read."""
    for message in row["offsets"]:
        if (unreadable := typed.get((message["partition"], None))) is not None:
            return unreadable
    missing = {"code": "no_rows", "detail": None}
    return typed.get((row["partition"], row["position"]), missing)


def _put_typed(row: dict[str, Any], declared: dict[str, str], typed: dict[str, Any]) -> None:
    """Show the declared columns only; of a row that is refused, the texts that the message has."""
    for side in ("before", "after"):
        if row[side] is not None:
            row[side] = {name: row[side][name] for name in declared if name in row[side]}
    if row["error_code"] is not None:
        return
    if typed["code"] is not None and (typed["code"] != "half_of_update" or row["half"] is None):
        row["error_code"], row["detail"] = typed["code"], typed["detail"]
        return
    for side in ("before", "after"):
        if row[side] is not None:
            row[side] = {name: typed[side][name] for name in row[side]}


def _refuse_lost_texts(row: dict[str, Any]) -> None:
    """A text that begins with U+FFFD is what `cdc_dts_avro` writes of bytes that it could not read."""
    if row["error_code"] is not None or row["half"] is not None:
        return
    for side, prefix in (("after", ""), ("before", "before ")):
        for name, text in (row[side] or {}).items():
            if text is not None and text.startswith("\ufffd"):
                row["error_code"], row["detail"] = "value_does_not_fit", f"{prefix}{name}: string"
                return


def _tables(file: _File) -> list[_Table]:
    """The tables that the decoded rows of a file name, in the order of their first message."""
    tables: dict[NAME, _Table] = {}
    for row in file.rows:
        if row["kind"] not in ("rows", "truncate", "unreadable"):
            continue
        name = (row["database_name"], row["schema_name"], row["table_name"])
        table = tables.setdefault(name, _Table(file, name))
        if row["kind"] == "unreadable":
            table.unreadable[row["error_code"]] += 1
            continue
        table.lines.update(row["lines"])
        table.has_truncate |= row["kind"] == "truncate"
        if row["key_columns"]:
            table.named_keys[frozenset(row["key_columns"])] = row["key_columns"]
        for image in (row["before"], row["after"]):
            for column in image or ():
                table.columns[column.split(".", 1)[0] if column in row["patched"] else column] = None
    return list(tables.values())


def _spellings(name: NAME) -> list[str | None]:
    """How --key may name a table: db.schema.table, db.table, schema.table, table, or not at all."""
    database, schema, table = name
    parts = [(database, schema, table), (database, table), (schema, table), (table,)]
    return [".".join(p for p in some if p is not None) for some in parts if some[-1] is not None] + [None]


def _create_raw(spark: SparkSession, messages: Iterable[tuple[int, Message]]) -> None:
    """Make the view `raw`. Its `partition` is a number of ours, by which the answers find their way back."""
    spark.createDataFrame(_raw_table(messages)).createOrReplaceTempView("raw")


def _raw_table(messages: Iterable[tuple[int, Message]]) -> pa.Table:
    import pyarrow as pa

    numbers, rows = zip(*messages, strict=True)
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.table(
        {
            "topic": pa.array([m.topic for m in rows], pa.string()),
            "partition": pa.array(numbers, pa.int32()),
            "offset": pa.array([m.offset for m in rows], pa.int64()),
            "timestamp": pa.array(
                [None if m.timestamp is None else m.timestamp * 1000 for m in rows],
                pa.timestamp("us", tz="UTC"),
            ),
            "key": pa.array([m.key for m in rows], pa.binary()),
            "value": pa.array([m.value for m in rows], pa.binary()),
            "headers": pa.array([m.headers for m in rows], pa.list_(header)),
        }
    )


def _instant(expression: str) -> str:
    return f"concat(replace(cast({expression} as string), ' ', 'T'), 'Z')"


def _texts(columns: list[dict[str, Any]], prefix: str = "") -> str:
    return f"array({', '.join(_text(column, prefix + column['quoted']) for column in columns)})"


def _text(column: dict[str, Any], expression: str) -> str:
    if column["family"] == "binary":
        # Spark breaks base64 into lines, as in mail.
        return f"replace(base64({expression}), '\\r\\n', '')"
    if column["family"] == "variant":
        return f"to_json({expression})"
    if column["family"] == "timestamp":
        return _instant(expression)
    text = f"cast({expression} as string)"
    return f"replace({text}, ' ', 'T')" if column["family"] == "timestamp_ntz" else text


def _plain(column: dict[str, Any], text: str | None) -> str | None:
    # Spark writes a small decimal with an exponent.
    return format(Decimal(text), "f") if text is not None and column["family"] == "decimal" else text


def _image(entries: list[tuple[str, str | None]] | None) -> dict[str, str | None] | None:
    return None if entries is None else dict(entries)


def _sortable(value: str | None) -> tuple[int, int, str]:
    if value is not None and re.fullmatch(r"-?[0-9]{1,40}", value, re.ASCII):
        return 0, int(value), value
    return 1, 0, value or ""


def _content(result: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """What a result says, and the order of its rows: each format has numbers of its own for it."""
    sequences = {
        place: [-1 if part is None else part for part in entry["sequence"]]
        for place, entry in enumerate(result)
        if entry.get("sequence") is not None
    }
    return [{**entry, "sequence": None} for entry in result], sorted(sequences, key=sequences.__getitem__)


def options(writers: Sequence[Writer], word: str) -> str:
    """Return the command's options for some formats and dialects, with a word before the last."""
    *most, last = [
        f"--format {name}" + (f" --dialect {dialect}" if dialect else "") for name, dialect in writers
    ]
    return f"{', '.join(most)} {word} {last}" if most else last


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    kind, error = KINDS.get(row["kind"], row["kind"]), None
    if row["half"] is not None:
        kind = "pending"
    if row["error_code"] is not None:
        kind, error = "error", {"code": row["error_code"], "detail": row["detail"]}
    return {
        "lines": row["lines"],
        "kind": kind,
        "database": row["database_name"],
        "schema": row["schema_name"],
        "table": row["table_name"],
        "op": row["op"],
        "before": row["before"],
        "after": row["after"],
        "sequence": None
        if row["sequence"] is None
        else [None if part is None else int(part) for part in row["sequence"]],
        "committed_at": row["committed_at"],
        "error": error,
    }


def _shown_table(table: _Table) -> dict[str, Any]:
    database, schema, name = table.name
    shown = {"database": database, "schema": schema, "table": name, "key": table.key, "rows": table.rows}
    return {**shown, "error": " ".join(table.errors)} if table.errors else shown
