"""Messages -> the current rows of each table that they name."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.decode.changes import Changes
from dbt_spark_cdc.decode.files import NAME, Error, File, Table, given_key
from dbt_spark_cdc.decode.texts import RAW_COLUMNS, create_raw, names_told_apart, plain, sortable, texts
from dbt_spark_cdc.macros import CompilerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Tables with few columns share a query, because each query costs a second; a wide table would cost more
# than that.
COLUMNS_OF_A_QUERY = 60
TABLE_ID = "_spark_cdc_table"
DETAILS_SHOWN = 10


class States:
    """The tables of files, by the key that their messages or the options name."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.library = changes.library
        self.options = changes.options

    def of(self, spark: SparkSession, files: list[File]) -> list[list[dict[str, Any]]]:
        """Return the output for the tables of each file."""
        for batch in self.changes.batches(files):
            self.changes.read(spark, batch, None)
        tables = [table for file in files for table in _tables(file)]
        groups: dict[tuple, list[list[Table]]] = {}
        for table in tables:
            if not self._settle(table):
                continue
            alone = id(table) if table.has_truncate else None
            of_file = id(table.file) if self.changes.splits_updates(table.file) else None
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

    def _settle(self, table: Table) -> bool:
        """Set the table's key and columns; if its state is not certain, note the reason and return False."""
        given = given_key(table.file.keys, table.name)
        named = list(table.named_keys.values()) if given is None else [given]
        table.key = named[0] if len(named) == 1 else []
        if self.options.columns is not None:
            table.columns = dict.fromkeys(self.options.columns)
        else:
            self._leave_out_reserved(table)
        table.errors.extend(_counted("Messages not read", table.unreadable))
        table.errors.extend(_counted("Changes not applied", table.refused))
        if not table.columns or not table.lines:
            return False  # truncates only, or nothing readable
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

    def _leave_out_reserved(self, table: Table) -> None:
        for name in list(table.columns):
            try:
                self.changes.parsed_columns({name: "string"})
            except CompilerError:
                del table.columns[name]
                table.errors.append(
                    f"The column {name} is left out: names that start with _cdc_ are reserved."
                )

    def _state(self, spark: SparkSession, tables: list[Table]) -> None:
        file, key = tables[0].file, tables[0].key
        declared = self.options.columns or dict.fromkeys(
            itertools.chain.from_iterable(table.columns for table in tables), "string from text"
        )
        # Each partition counts its own offsets, so each gets a number.
        numbers: dict[tuple[int, str, int], int] = {}
        create_raw(
            spark,
            (
                (numbers.setdefault((n, message.topic, message.partition), len(numbers)), message)
                for n, table in enumerate(tables)
                for message in table.file.messages
                if message.line in table.lines
            ),
        )
        try:
            columns = self.changes.parsed_columns(declared)
            changes = self.library.changes(
                relation="raw",
                format=file.format,
                dialect=file.dialect,
                table="*",
                key=key,
                columns=declared,
                raw_columns=RAW_COLUMNS,
            )
        except CompilerError as error:
            for table in tables:
                table.errors.append(str(error))
            return
        variants = [c["name"] for c in columns if c["family"] == "variant"]
        # One more key column keeps tables apart that share a query.
        table_id = f"cast(get(array({', '.join(str(n) for n, *_ in numbers)}), _cdc_partition) as string)"
        fields = ", ".join(f"{c['literal']}, _cdc_before.{c['quoted']}" for c in columns)
        with_table = f"""select *
            except (_cdc_before), {table_id} as {TABLE_ID},
            case when _cdc_before is not null
                then named_struct('{TABLE_ID}', {table_id}, {fields}) end as _cdc_before
            from ({changes})"""  # noqa: S608  # the macros' own SQL
        with names_told_apart(spark, declared):
            # Cached as rows, as a model stores them: `current_rows` reads its changes several times.
            rows = spark.sql(with_table)
            # Spark cannot read a VARIANT from Arrow.
            rows = rows.localCheckpoint() if variants else spark.createDataFrame(rows.toArrow())
            rows.createOrReplaceTempView("changes")
            refused: dict[int, Counter[Error]] = {}
            for row in spark.sql(
                f"select {TABLE_ID} as n, _cdc_error.*, count(*) as changes from changes "  # noqa: S608  # a name of ours
                "where _cdc_error is not null group by all"
            ).collect():
                refused.setdefault(int(row.n), Counter())[row.code, row.detail] = row.changes
            for number, counts in refused.items():
                tables[number].errors.extend(_counted("Changes not applied", counts))
            has_patches = "_cdc_patches" in spark.table("changes").columns
            patchable = self.library.call("_patchable", columns, key) if has_patches else []
            # Spark plans a query that follows rows from key to key for seconds; few files need it.
            inherits_values = self.library.call("_inherits_values", [TABLE_ID, *key])
            carries_over = (
                not spark.table("changes").where(f"_cdc_error is null and {inherits_values}").isEmpty()
            )
            current = self.library.current_rows(
                "changes",
                [TABLE_ID, *key],
                [TABLE_ID, *declared],
                carries_over,
                variants=variants,
                patched_columns=[c["name"] for c in patchable],
            )
            query = f"""select {TABLE_ID} as n, {texts(columns)} as row,
                coalesce(_cdc_missing_columns, array()) as absent
                from ({current}) where not _cdc_is_deleted"""  # noqa: S608  # the macros' own SQL
            for row in spark.sql(query).toArrow().to_pylist():
                table = tables[int(row["n"])]
                values = dict(zip(declared, map(plain, columns, row["row"]), strict=True))
                # An unknown value must not look like a null that was sent.
                known = [name for name in table.columns if name not in row["absent"]]
                table.rows.append({name: values[name] for name in known})
        for table in tables:
            table.rows.sort(key=lambda row: [sortable(row[name]) for name in key])
            _tell_unknown_values(table)


def _counted(what: str, counts: Counter[Error]) -> Iterator[str]:
    """Return a sentence for each code, with its details and how often each occurs."""
    for code in sorted({code for code, _ in counts}):
        details = Counter({detail: count for (other, detail), count in counts.items() if other == code})
        shown = [
            detail if len(details) == 1 else f"{count} {detail}"
            for detail, count in sorted(
                details.most_common(DETAILS_SHOWN), key=lambda pair: (-pair[1], pair[0] or "")
            )
            if detail
        ]
        more = details.total() - sum(count for _, count in details.most_common(DETAILS_SHOWN))
        why = "; ".join(shown + [f"{more} others"] * bool(more))
        yield f"{what}: {details.total()} with the error {code}{f' ({why})' if why else ''}."


def _tell_unknown_values(table: Table) -> None:
    rows = [row for row in table.rows if len(row) < len(table.columns)]
    if rows:
        names = ", ".join(name for name in table.columns if any(name not in row for row in rows))
        table.errors.append(f"Rows with values that no message tells: {len(rows)}, in the columns {names}.")


def _name(row: dict[str, Any]) -> NAME:
    return row["database_name"], row["schema_name"], row["table_name"]


def _tables(file: File) -> list[Table]:
    """Return the tables that the decoded rows of a file name, in the order of their first message."""
    tables: dict[NAME, Table] = {}
    topics = {message.line: message.topic for message in file.messages}
    null_values = {message.line for message in file.messages if message.value is None}
    readable = {line for row in file.rows if row["error_code"] is None for line in row["lines"]}
    named: dict[tuple[str, str | None], set[NAME]] = {}
    for row in file.rows:
        if row["kind"] == "rows" and not null_values.intersection(row["lines"]):
            named.setdefault((topics[row["lines"][0]], row["table_name"]), set()).add(_name(row))
    for row in file.rows:
        if row["kind"] not in ("rows", "truncate", "unreadable"):
            continue
        name = _name(row)
        if row["kind"] == "rows" and null_values.issuperset(row["lines"]):
            # The row has no names but those of its topic and key: it belongs to the table whose rows the
            # topic has.
            found = named.get((topics[row["lines"][0]], row["table_name"]), set())
            name = next(iter(found)) if len(found) == 1 else name
        table = tables.setdefault(name, Table(file, name, dict(file.columns.get(name, {}))))
        if row["kind"] == "unreadable":
            table.unreadable[row["error_code"], row["detail"]] += 1
            continue
        if row["error_code"] is not None and readable.isdisjoint(row["lines"]):
            # Not read again: that reading declares each column that was found, so it would count as the
            # table's.
            table.refused[row["error_code"], row["detail"]] += 1
            continue
        table.lines.update(row["lines"])
        table.has_truncate |= row["kind"] == "truncate"
        if row["key_columns"]:
            table.named_keys[frozenset(row["key_columns"])] = row["key_columns"]
    return list(tables.values())


def _shown_table(table: Table) -> dict[str, Any]:
    database, schema, name = table.name
    shown = {"database": database, "schema": schema, "table": name, "key": table.key, "rows": table.rows}
    return {**shown, "error": " ".join(table.errors)} if table.errors else shown
