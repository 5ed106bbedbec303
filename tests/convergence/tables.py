"""Many logs in one table: dbt runs batch by batch, and the tests query the tables log by log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from change_logs import BATCHES, COLUMNS, SCHEMA, Log, batch_time
from harness import Project, environment
from reference import State, Tables, Version, fold, versions_of

PROJECT = Path(__file__).resolve().parent / "project"
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Kind:
    """A model and the options that it has. With `one_table` all logs are one source table."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    one_table: bool = False

    @property
    def is_history(self) -> bool:
        """Whether the model is a history."""
        return self.name.startswith("history")

    def wanted(self, logs: Sequence[Log]) -> dict[int, set[Row]]:
        """All rows that the table has to hold: log -> its rows."""
        made = self._made if self.is_history else current
        if not self.one_table:
            return {number: made(fold(log.changes(number))) for number, log in enumerate(logs)}
        changes = [
            replace(change, key=change.key and (number, *change.key), old_key=change.old_key and (number, *change.old_key))
            for number, log in enumerate(logs)
            for change in log.changes(number)
            if change.key or number == truncates_of(logs)
        ]  # fmt: skip
        found: dict[int, set[Row]] = {}
        for row in made(fold(changes)):
            found.setdefault(row[0], set()).add(row[1:])
        return found

    def compared(self, logs: Sequence[Log]) -> set[int]:
        """Logs of one table are of one source, where no row stands at a truncate's place: those that do are left out."""
        if not self.one_table:
            return set(range(len(logs)))
        truncating = truncates_of(logs)
        places = {change.order for change in logs[truncating].changes(truncating) if change.key is None}
        return {
            number
            for number, log in enumerate(logs)
            if number == truncating or places.isdisjoint(change.order for change in log.changes(number))
        }

    def _made(self, tables: Tables) -> set[Row]:
        return history(tables, **self.options)


def truncates_of(logs: Sequence[Log]) -> int:
    """The log whose truncates act on all logs that are one table: the one that has most of them."""
    return max(
        range(len(logs)), key=lambda number: sum(one.op == "truncate" for one in logs[number].messages)
    )


def current(tables: Tables) -> set[Row]:
    """The current table, every column."""
    return {
        (*key, *_state(*[states[-1]] * 3, states[-1].values is None)) for key, states in tables.states.items()
    }


def history(tables: Tables, **options: Any) -> set[Row]:
    """The history table, every column."""

    def is_deleted(version: Version) -> bool:
        return (version.last if options.get("hard_deletes") == "ignore" else version.first).values is None

    return {
        (
            *key, *_state(version.first, version.shown, version.last, is_deleted(version)), version.valid_from, version.valid_to,
            version.last.sequence,
        )
        for key, states in tables.states.items()
        for version in versions_of(states, **options)
    }  # fmt: skip


def _state(first: State, shown: State, last: State, is_deleted: bool) -> Row:
    absent = None if shown.values is None else tuple(sorted(set(COLUMNS) - set(shown.values))) or None
    return (
        *((shown.values or {}).get(name) for name in COLUMNS), first.change.op, is_deleted, first.sequence,
        first.change.at, first.change.transaction, absent, *(last.change.place or ()),
    )  # fmt: skip


CURRENT_COLUMNS = (
    "id", *COLUMNS, "_cdc_op", "_cdc_is_deleted", "_cdc_sequence", "_cdc_committed_at", "_cdc_transaction_id",
    "_cdc_missing_columns", "_cdc_topic", "_cdc_partition", "_cdc_offset",
)  # fmt: skip
HISTORY_COLUMNS = (*CURRENT_COLUMNS, "valid_from", "valid_to", "_cdc_last_sequence")
# Versions whose text does not say what their arrays say, or that have one and are closed.
TEXT_OF_OTHER_ARRAYS = """
select * from {}
where not case when valid_to is not null then _cdc_resume_state is null else
    from_json(_cdc_resume_state,
        '_cdc_sequence array<decimal(20,0)>, _cdc_missing_columns array<string>, _cdc_last_sequence array<decimal(20,0)>'
    ) <=> struct(_cdc_sequence, _cdc_missing_columns, _cdc_last_sequence) end
"""


class Lake:
    """A lake with the tables of many logs."""

    def __init__(self, file_format: str, folder: Path) -> None:
        os.environ |= environment(folder, file_format, in_memory=True)
        self.file_format = file_format
        self.project = Project(folder / "project", "converge", template=PROJECT)
        self.dbt("show", "--inline", "select 1")

    def dbt(self, *arguments: str) -> None:
        """Run a dbt command that has to succeed."""
        self.project.dbt(*arguments, "--target", self.file_format).must_succeed()

    @property
    def spark(self) -> Any:
        """The session of dbt's own connection."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()

    def fill(self, logs: Sequence[Log]) -> None:
        """Let the rows of all logs lie ready."""
        rows = [row for number, log in enumerate(logs) for row in log.rows(number)]
        self.spark.sql("create schema if not exists logs")
        self.write("changes", rows, SCHEMA)

    def write(self, table: str, rows: Iterable[Row], schema: str) -> None:
        """Write a table of the schema `logs` again."""
        frame = self.spark.createDataFrame(list(rows), schema)
        frame.createOrReplaceTempView("rows_to_write")
        self.spark.sql(
            f"create or replace table logs.{table} using {self.file_format} as select * from rows_to_write"
        )

    def run(self, batch: int, *models: str, truncates_of: int = 0, fresh: bool = False) -> None:
        """Run models with all that has come until a batch."""
        self.write("now", [(batch_time(batch), truncates_of)], "arrived_at timestamp, truncates_of bigint")
        rebuild = (
            ["--full-refresh", "--vars", json.dumps({"spark_cdc__allow_history_loss": models})]
            if fresh
            else []
        )
        self.dbt("run", "--select", *models, *rebuild)

    def rows(self, table: str, kind: Kind) -> dict[int, set[Row]]:
        """What a table holds: log -> its rows."""
        columns = HISTORY_COLUMNS if kind.is_history else CURRENT_COLUMNS
        number = "log" if kind.one_table else "cast(substr(_cdc_source_table, 5) as bigint)"
        found: dict[int, set[Row]] = {}
        for row in self.spark.sql(f"select {number}, {', '.join(columns)} from converge.{table}").collect():
            of_log = found.setdefault(row[0], set())
            made = tuple(_plain(value, name) for name, value in zip(columns, row[1:], strict=True))
            assert made not in of_log, f"{table} has a row twice: {made}"
            of_log.add(made)
        if kind.is_history:
            assert not self.spark.sql(TEXT_OF_OTHER_ARRAYS.format(f"converge.{table}")).collect()
        return found


def _plain(value: Any, name: str) -> Any:
    if name == "_cdc_missing_columns":
        return None if value is None else tuple(sorted(value))
    if name.endswith("sequence"):
        return tuple(int(part) for part in value)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def play(lake: Lake, logs: Sequence[Log], kinds: Sequence[Kind]) -> dict[str, dict[int, str]]:
    """Run the logs batch by batch and all at once; tell what differs: kind -> log -> what."""
    lake.fill(logs)
    for batch in range(BATCHES):
        models = [f"split_{kind.name}" for kind in kinds]
        if batch == 0:
            models += [f"whole_{kind.name}" for kind in kinds]
        lake.run(batch, *models, truncates_of=truncates_of(logs), fresh=batch == 0)
    bad: dict[str, dict[int, str]] = {kind.name: {} for kind in kinds}
    for kind in kinds:
        wanted = kind.wanted(logs)
        for way in ("split", "whole"):
            got = lake.rows(f"{way}_{kind.name}", kind)
            for number in sorted((got.keys() | wanted.keys()) & kind.compared(logs)):
                rows = got.get(number, set()), wanted.get(number, set())
                if rows[0] != rows[1]:
                    bad[kind.name].setdefault(number, f"{way}_{kind.name}:\n" + difference(*rows))
    return bad


def difference(got: set[Row], wanted: set[Row]) -> str:
    """Say which rows are too many and which are missing."""
    lines = [f"  too many: {row}" for row in sorted(got - wanted, key=str)]
    return "\n".join(lines + [f"  missing:  {row}" for row in sorted(wanted - got, key=str)])
