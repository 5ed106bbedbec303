"""Messages -> one object per message or row change."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.decode.files import NAME, File, Options, UsageError, given_key
from dbt_spark_cdc.decode.texts import RAW_COLUMNS, create_raw, image, instant, names_told_apart, plain, texts
from dbt_spark_cdc.macros import CompilerError, MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The kinds that have another name in the output.
KINDS = {"rows": "row", "begin": "txn_begin", "commit": "txn_end", "unreadable": "error"}


class Changes:
    """Reads files into their `rows`. Files of one format share a query."""

    def __init__(self, library: MacroLibrary, options: Options) -> None:
        """Check the options; raises UsageError."""
        self.library = library
        self.options = options
        self._formats: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._check_columns()

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

    def of(self, spark: SparkSession, files: list[File]) -> list[list[dict[str, Any]]]:
        """Return the output for each file, in the order of its lines."""
        for batch in self.batches(files):
            self.read(spark, batch, self.options.columns)
            if self.options.columns is None:
                for file in batch:
                    _refuse_rows_without_key(file)
        return [[_shown(row) for row in file.rows] for file in files]

    def batches(self, files: Iterable[File]) -> Iterator[list[File]]:
        """Group the files that one query may read: only the source's numbers pair update parts."""
        batches: dict[tuple, list[File]] = {}
        for number, file in enumerate(files):
            if file.messages:
                own = number if self.splits_updates(file) else None
                batches.setdefault((file.format, file.dialect or "", own), []).append(file)
        yield from batches.values()

    def splits_updates(self, file: File) -> bool:
        """Whether an update may be two messages."""
        return bool(self._format(file)["header"]["splits_updates"])

    def _format(self, file: File) -> dict[str, Any]:
        """Return the macros' mapping of a file's format, made once."""
        if (file.format, file.dialect) not in self._formats:
            self._formats[file.format, file.dialect] = self.library.call("_format", file.format, file.dialect)
        return self._formats[file.format, file.dialect]

    def read(self, spark: SparkSession, batch: list[File], columns: dict[str, str] | None) -> None:
        """Fill the files' `rows` and `columns`; with `columns` the rows have only these, as declared."""
        places = [(file, message) for file in batch for message in file.messages]
        create_raw(spark, ((n, message) for n, (_, message) in enumerate(places)))
        declared = list(self.options.columns or ())
        inner = self.library.decoded("raw", batch[0].format, batch[0].dialect, RAW_COLUMNS, declared)
        typed = self._typed(spark, batch[0], columns) if columns else None
        # In other formats the message itself has the texts.
        is_made_here = self._format(batch[0])["header"]["document"] is not None
        lines = {
            (id(file), message.topic, message.partition, message.offset): message.line
            for file, message in reversed(places)
        }
        query = f"""select partition, offsets, kind, update_part, database_name, schema_name, table_name, op,
            before, after, coalesce(patched, array()) as patched,
            sequence, {instant("committed_at")} as committed_at, key_columns,
            error.code as error_code, error.detail as detail
            from ({inner})"""  # noqa: S608  # the macros' own SQL
        for row in spark.sql(query).toArrow().to_pylist():
            file, message = places[row["partition"]]
            # Two offsets are the two parts of an update; `message` is the part that completes it.
            parts = [places[part["partition"]][1] for part in row["offsets"]]
            row["lines"] = (
                sorted({lines[id(file), part.topic, part.partition, part.offset] for part in parts})
                if len(parts) > 1
                else [message.line]
            )
            # -1 for the only row of a message if another message deletes the old key.
            row["position"] = max(int(row["sequence"][-1]), 0) if row["sequence"] else 0
            row["before"] = image(row["before"])
            row["after"] = image(row["after"])
            file.rows.append(row)
        for file in batch:
            file.rows.sort(key=lambda row: (row["lines"][0], row["position"]))
            file.columns = _columns(file.rows)
            for row in file.rows:
                if typed is None and is_made_here:
                    _refuse_lost_texts(row)
                elif typed is not None and row["kind"] == "rows":
                    _put_typed(row, columns, _twin(row, typed))

    def _typed(
        self, spark: SparkSession, file: File, declared: dict[str, str]
    ) -> dict[tuple[int, int | None], dict[str, Any]]:
        """Return the changes of every table, with the values as declared, by message and position.

        An unreadable message has no position. This reading may reject a message that the other one accepts,
        because the other one reads numbers as texts.
        """
        columns = self.parsed_columns(declared)
        # After the check that needs a key: without --key a row without a key is still shown.
        inner = self.library["spark__changes"](
            "raw",
            self._format(file),
            "*",
            file.keys.get(None, []),
            columns,
            None,
            None,
            None,
            RAW_COLUMNS,
            self.options.time_zone,
            False,  # nothing is stored that the rows are appended to
        )
        query = f"""select _cdc_partition as partition,
            case when _cdc_op is not null then
                row_number() over (partition by _cdc_partition order by _cdc_sequence) - 1
            end as position,
            _cdc_error.code as code, _cdc_error.detail as detail,
            coalesce(_cdc_missing_columns, array()) as absent,
            {texts(columns)} as after,
            case when _cdc_before is not null then {texts(columns, "_cdc_before.")} end as before
            from ({inner})"""  # noqa: S608  # the macros' own SQL
        with names_told_apart(spark, declared):
            rows = spark.sql(query).toArrow().to_pylist()
        for row in rows:
            for side in ("before", "after"):
                row[side] = row[side] and dict(zip(declared, map(plain, columns, row[side]), strict=True))
        return {(row["partition"], row["position"]): row for row in rows}

    def parsed_columns(self, columns: dict[str, str]) -> list[dict[str, Any]]:
        """Columns as the macros know them; raises CompilerError."""
        return self.library.call("_columns", columns, "changes")


def _columns(rows: list[dict[str, Any]]) -> dict[NAME, dict[str, None]]:
    """Return the columns of the named tables, in the order in which they appear."""
    columns: dict[NAME, dict[str, None]] = {}
    for row in rows:
        if row["kind"] != "rows" and row["table_name"] is None:
            continue
        found = columns.setdefault((row["database_name"], row["schema_name"], row["table_name"]), {})
        if row["kind"] != "rows" or row["error_code"] is not None:
            continue
        for column in itertools.chain(row["before"] or (), row["after"] or ()):
            found[column.split(".", 1)[0] if column in row["patched"] else column] = None
    return columns


def _twin(row: dict[str, Any], typed: dict[tuple[int, int | None], dict[str, Any]]) -> dict[str, Any]:
    """Return the typed reading of a row, or of its first message that the typed reading rejected."""
    for message in row["offsets"]:
        if (unreadable := typed.get((message["partition"], None))) is not None:
            return unreadable
    missing = {"code": "missing_rows", "detail": None}
    return typed.get((row["partition"], row["position"]), missing)


def _put_typed(row: dict[str, Any], declared: dict[str, str], typed: dict[str, Any]) -> None:
    """Show the declared columns only; a rejected row shows the message's texts."""
    for side in ("before", "after"):
        if row[side] is not None:
            row[side] = {name: row[side][name] for name in declared if name in row[side]}
    if row["error_code"] is not None:
        return
    if typed["code"] is not None and (typed["code"] != "unpaired_update" or row["update_part"] is None):
        row["error_code"], row["detail"] = typed["code"], typed["detail"]
        return
    if row["before"] is not None:
        row["before"] = {name: typed["before"][name] for name in row["before"]}
    if row["after"] is not None:
        # If a writer leaves out nulls, a missing column is a null.
        known = [name for name in declared if name in row["after"] or name not in typed["absent"]]
        row["after"] = {name: typed["after"][name] for name in known}


def _refuse_rows_without_key(file: File) -> None:
    """Reject rows without a key, as the typed reading does; `notices` names --key columns that no row has."""
    for row in file.rows:
        if row["kind"] != "rows" or row["error_code"] is not None or row["update_part"] is not None:
            continue
        name = (row["database_name"], row["schema_name"], row["table_name"])
        shown = (row["before"] if row["op"] == "delete" else row["after"]) or {}
        # Some writers spell the key in other letters than the row.
        values = {key.lower(): value for key, value in shown.items()}
        missing = [
            column
            for column in given_key(file.keys, name) or ()
            if column in file.columns[name] and values.get(column.lower()) is None
        ]
        if missing:
            row["error_code"], row["detail"] = "key_missing", ", ".join(missing)


def _refuse_lost_texts(row: dict[str, Any]) -> None:
    """Reject texts that begin with U+FFFD: `cdc_dts_avro` writes it for bytes that it could not read."""
    if row["error_code"] is not None or row["update_part"] is not None:
        return
    lost = {
        side: [
            name for name, text in (row[side] or {}).items() if text is not None and text.startswith("\ufffd")
        ]
        for side in ("after", "before")
    }
    # As the models do: an error in the row before is named only if the row itself has none.
    names = lost["after"] + [f"before {name}" for name in lost["before"] if name not in lost["after"]]
    if names:
        row["error_code"], row["detail"] = (
            "invalid_value",
            ", ".join(f"{name}: string" for name in names),
        )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    kind, error = KINDS.get(row["kind"], row["kind"]), None
    if row["update_part"] is not None:
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
