"""The figures of a dbt project: queries over its models, found by what their `meta` says (decision 0016)."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from dbt_spark_cdc.dbt_rows import DbtError, DbtProject
from dbt_spark_cdc.explain.graph import Graph, Node, arguments_of, moved_place
from dbt_spark_cdc.message_text import STAR, matches_star
from dbt_spark_cdc.report.figures import (
    ANOMALIES,
    LAG,
    REJECTED,
    ROWS,
    RUNS,
    SCHEMAS,
    UNDECLARED,
    Activity,
    Anomaly,
    Figures,
    LastCommand,
    PartitionLag,
    Periods,
    Rejected,
    Run,
    SchemaChange,
    Table,
    TableLag,
    Timing,
    UndeclaredColumn,
    Unread,
)

KINDS = {"messages": "messages", "changes": "changes", "current": "cdc_current", "history": "cdc_history"}
HOUR, DAY = 3600, 86400
HOURS, DAYS = 48, 30
NEWEST_RUNS = 30
# The newest ones; the page says how many there are.
VERSIONS = STATEMENTS = 100
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Row = dict[str, Any]


class Reading:
    """Asks one project. A part that cannot be asked is noted, and the others are shown."""

    def __init__(self, project: DbtProject) -> None:
        self._project = project
        self._manifest = project.manifest()
        self._graph = Graph(self._manifest)
        self._unread: list[Unread] = []
        self._not_built: set[str] = set()
        self.notices: list[str] = []

    def figures(self, last_command: LastCommand | None, asked_at: datetime) -> Figures:
        """Return all figures; raises DbtError if the project has no model of this package."""
        models = {kind: self._graph.of_kind(name) for kind, name in KINDS.items()}
        if not models["messages"] and not models["changes"]:
            raise DbtError(
                f"no model in {self._project.folder} is made by spark_cdc.messages or spark_cdc.changes; "
                "write them, or let spark-cdc generate do it."
            )
        built, self._not_built = self._built(models)
        messages = _names(built["messages"])
        over_messages = _names(node for node in built["changes"] if self._graph.reads(node, "messages"))
        over_raw = _names(node for node in built["changes"] if not self._graph.reads(node, "messages"))
        with_rows = [*messages, *over_raw]
        periods, activities = self._part(ROWS, (None, ()), self._activities, with_rows, over_raw)
        partitions, tables = self._part(LAG, ((), ()), self._lags, messages, _names(built["current"]))
        count, rejected = self._part(REJECTED[0], (0, ()), self._rejected, messages, over_messages)
        count_of_raw, rejected_of_raw = self._part(REJECTED[1], (0, ()), self._rejected_of_raw, over_raw)
        schemas, schemas_of = self._part(SCHEMAS[0], ((), 0), self._schemas, messages)
        statements, statements_of = self._part(SCHEMAS[1], ((), 0), self._statements, messages)
        nodes = [node for kind in models.values() for node in kind]
        return Figures(
            project=_name_of_project(self._project.folder, nodes),
            schemas_built_in=tuple(sorted({node["schema"] for node in nodes})),
            asked_at=asked_at,
            models={kind: len(of_kind) for kind, of_kind in models.items()},
            not_built=tuple(sorted(self._not_built)),
            periods=periods,
            activities=activities,
            partition_lags=partitions,
            table_lags=tables,
            rejected=tuple(sorted((*rejected, *rejected_of_raw), key=lambda one: (-one.messages, one.code))),
            rejected_messages=count + count_of_raw,
            runs=self._part(RUNS, (), self._runs, messages),
            last_command=last_command,
            schemas=schemas,
            schemas_of=schemas_of,
            statements=statements,
            statements_of=statements_of,
            anomalies=self._part(ANOMALIES, (), self._anomalies, messages),
            undeclared=self._part(UNDECLARED, (), self._undeclared, messages),
            unread=tuple(self._unread),
        )

    def _part(self, what: str, nothing: Any, ask: Callable[..., Any], *names: list[str]) -> Any:
        """Return what a part of the report asks of the models that the first list, at least, names."""
        if not names[0]:
            return nothing
        try:
            return ask(*names)
        except DbtError as error:
            self._note(what, error)
            return nothing

    def _note(self, what: str, error: DbtError) -> None:
        # Spark's words may have a value in them: the page gets the error's code, the terminal the sentence.
        _, bracket, rest = str(error).partition("[")
        code = rest.partition("]")[0]
        is_code = bool(bracket) and code.replace("_", "").replace(".", "").isalnum()
        self._unread.append(Unread(what, code if is_code else "dbt could not ask it"))
        self.notices.append(f"{what}: {error}")

    def _macro(self, name: str, **arguments: Any) -> list[Row]:
        return self._project.macro(f"spark_cdc._report_{name}", arguments)

    def _built(self, models: dict[str, list[Node]]) -> tuple[dict[str, list[Node]], set[str]]:
        """Return the models that can be read, and the names of the others."""
        tables_there = {row["name"]: row["is_built"] for row in self._macro("tables_there")}
        # A list of relations has no views: only a query shows whether they can be read. One over all changes
        # of messages takes long, so they are checked where one fails: see `_rejected`.
        views = [node for kind in ("messages", "changes") for node in models[kind]]
        views = [node for node in views if node["name"] not in tables_there]
        checked_later = {node["name"] for node in views if self._graph.reads(node, "messages")}
        readable = {name for name, is_there in tables_there.items() if is_there} | checked_later
        readable |= set(self._readable([name for name in _names(views) if name not in checked_later]))
        built = {kind: [node for node in nodes if node["name"] in readable] for kind, nodes in models.items()}
        return built, {node["name"] for nodes in models.values() for node in nodes} - readable

    def _readable(self, names: list[str]) -> list[str]:
        """Return those that a query can read: halves of the list until one model is left."""
        if not names:
            return []
        try:
            self._macro("readable", models=names)
        except DbtError:
            half = len(names) // 2
            return [*self._readable(names[:half]), *self._readable(names[half:])] if half else []
        return names

    def _activities(
        self, with_rows: list[str], over_raw: list[str]
    ) -> tuple[Periods | None, tuple[Activity, ...]]:
        messages = [name for name in with_rows if name not in over_raw]
        (extent,) = self._macro("extent", messages=messages, changes=over_raw)
        periods = periods_of(extent["now"], extent["oldest"], extent["newest"])
        rows = self._macro(
            "tables",
            messages=messages,
            changes=over_raw,
            begin=int((periods.begin - EPOCH).total_seconds()),
            seconds=periods.seconds,
            periods=periods.count,
        )
        ignored = self._ignored_tables()
        activities = (_activity(row, ignored) for row in rows)
        found = tuple(sorted(activities, key=lambda one: (-one.rows, one.table.label, one.table.topic or "")))
        return (periods if found else None), found

    def _lags(
        self, messages: list[str], current: list[str]
    ) -> tuple[tuple[PartitionLag, ...], tuple[TableLag, ...]]:
        return lags_of(self._macro("lag", messages=messages, current=current))

    def _rejected(self, messages: list[str], changes: list[str]) -> tuple[int, tuple[Rejected, ...]]:
        try:
            found = self._macro("with_errors", changes=changes)
        except DbtError:
            readable = self._readable(changes)
            if len(readable) == len(changes):
                raise
            self._not_built |= set(changes) - set(readable)
            found = self._macro("with_errors", changes=readable)
        rows = self._macro("rejected", messages=messages, changes=[row["name"] for row in found])
        total = next((row["messages"] for row in rows if row["is_total"]), 0)
        # A rejected row has the place that its messages model gives it.
        moved = {node["name"]: moved_place(node) for node in self._graph.of_kind("messages")}
        for node in self._graph.of_kind("changes"):
            for read in self._graph.reads(node, "messages"):
                moved[node["name"]] = moved[read["name"]]
        return total, tuple(_rejected(row, moved) for row in rows if not row["is_total"])

    def _rejected_of_raw(self, changes: list[str]) -> tuple[int, tuple[Rejected, ...]]:
        with_errors = [row["name"] for row in self._macro("with_errors", changes=changes)]
        if not with_errors:
            return 0, ()
        rows = self._macro("rejected_of_changes", changes=with_errors)
        nodes = {node["name"]: node for node in self._graph.of_kind("changes")}
        moved = {name: moved_place(node) for name, node in nodes.items()}
        found = []
        for row in rows:
            if row["is_total"]:
                continue
            # Without a model they could not be read, and each model over the raw table has them.
            noted = arguments_of(nodes[row["model"]]) if row["model"] else {}
            names = {f"{part}_name": noted.get(part) or None for part in ("database", "schema", "table")}
            found.append(_rejected(row | names | {"last_at": None}, moved))
        return next((row["messages"] for row in rows if row["is_total"]), 0), tuple(found)

    def _runs(self, messages: list[str]) -> tuple[Run, ...]:
        rows = self._macro("runs", messages=messages, runs=NEWEST_RUNS)
        return tuple(
            Run(at, row["messages"], row["topics"], row["rejected"])
            for row in rows
            if (at := time_of(row["loaded_at"])) is not None
        )

    def _schemas(self, messages: list[str]) -> tuple[tuple[SchemaChange, ...], int]:
        rows = self._macro("schemas", messages=messages, versions=VERSIONS)
        found = (
            SchemaChange(
                table_of(row),
                time_of(row["valid_from"]),
                row["difference"] or "the columns are not certain",
                row["version"],
            )
            for row in rows
        )
        return tuple(found), rows[0]["of"] if rows else 0

    def _statements(self, messages: list[str]) -> tuple[tuple[SchemaChange, ...], int]:
        rows = self._macro("ddl", messages=messages, statements=STATEMENTS)
        found = (
            SchemaChange(
                table_of(row),
                time_of(row["at"]),
                " ".join(filter(None, (row["action"], row["tables"]))) + _after(row),
            )
            for row in rows
        )
        return tuple(found), rows[0]["of"] if rows else 0

    def _anomalies(self, messages: list[str]) -> tuple[Anomaly, ...]:
        acknowledged = {
            text
            for arguments in self._tests("topics_intact")
            for text in arguments.get("acknowledged") or []
            if isinstance(text, str)
        }
        return tuple(
            Anomaly(
                row["topic"],
                row["partition"],
                row["anomaly"],
                row["advice"],
                row["acknowledge"] in acknowledged,
            )
            for row in self._macro("anomalies", messages=messages)
        )

    def _undeclared(self, messages: list[str]) -> tuple[UndeclaredColumn, ...]:
        ignored = [
            (table, names)
            for arguments in self._tests("no_undeclared_columns")
            if isinstance(arguments.get("ignored"), dict)
            for table, names in arguments["ignored"].items()
        ]
        found = []
        for row in self._macro("undeclared", messages=messages):
            table, column = table_of(row), row["column_name"]
            is_ignored = any(
                _is_named(pattern, table.name, STAR) and any(_is_named(name, column, STAR) for name in names)
                for pattern, names in ignored
                if isinstance(names, list)
            )
            found.append(
                UndeclaredColumn(
                    table, column, row["line"], row["note"], row["rows"], row["changes_models"], is_ignored
                )
            )
        return tuple(found)

    def _ignored_tables(self) -> list[str]:
        return [
            name
            for arguments in self._tests("no_unread_tables")
            for name in arguments.get("ignored_tables") or []
            if isinstance(name, str)
        ]

    def _tests(self, name: str) -> Iterable[dict[str, Any]]:
        """The arguments of the project's tests of this name."""
        for node in self._manifest["nodes"].values():
            about = node.get("test_metadata") or {}
            if about.get("namespace") == "spark_cdc" and about.get("name") == name:
                yield about.get("kwargs") or {}


def periods_of(now: int, oldest: int | None, newest: int | None) -> Periods:
    """Return hours if all changes are of two days, else the days up to the newest change.

    >>> periods_of(1_800_000_000, 1_799_990_000, 1_799_999_000).unit
    'hour'
    """
    newest = now if newest is None else newest
    oldest = newest if oldest is None else oldest
    seconds, count = (HOUR, HOURS) if oldest > newest - HOUR * (HOURS - 1) else (DAY, DAYS)
    begin = newest // seconds * seconds - (count - 1) * seconds
    return Periods(EPOCH + timedelta(seconds=begin), seconds, count)


def lags_of(rows: list[Row]) -> tuple[tuple[PartitionLag, ...], tuple[TableLag, ...]]:
    """Return the rows of `lag` by partition, and by table."""
    partitions: dict[tuple[str, int], PartitionLag] = {}
    of_tables: dict[Table, list[Row]] = defaultdict(list)
    for row in rows:
        place = (row["topic"] or "", -1 if row["partition"] is None else row["partition"])
        partitions[place] = PartitionLag(
            row["topic"],
            row["partition"],
            row["landed_offset"],
            row["read_offset"],
            row["unread_offsets"],
            _number(row["unread_seconds"]),
            _number(row["silent_seconds"]),
        )
        if row["table_offset"] is not None:
            of_tables[table_of(row)].append(row)
    tables = []
    for table, of_table in of_tables.items():
        newest = max(of_table, key=lambda row: (row["table_committed_at"] or "", row["table_offset"]))
        unapplied = [row["unapplied_messages"] for row in of_table if row["unapplied_messages"] is not None]
        tables.append(
            TableLag(
                table,
                len({row["partition"] for row in of_table}),
                _number(newest["landing_seconds"]),
                _number(newest["loading_seconds"]),
                sum(unapplied) if unapplied else None,
                time_of(newest["table_committed_at"]),
            )
        )
    tables.sort(key=lambda lag: (-(lag.unapplied_messages or 0), lag.table.label, lag.table.topic or ""))
    return tuple(partitions[place] for place in sorted(partitions)), tuple(tables)


def last_command(folder: Path) -> LastCommand | None:
    """Return what target/run_results.json says: names, states and times, and no message."""
    file = folder / _target_path(folder) / "run_results.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        timings = []
        for result in found["results"]:
            kind, _, name = result["unique_id"].split(".", 2)
            if kind == "test":
                # The last part is a hash.
                name = name.rsplit(".", 1)[0]
            timings.append(Timing(name, kind, str(result["status"]), float(result["execution_time"] or 0)))
        return LastCommand(
            str(found["args"].get("which") or "run"),
            time_of(found["metadata"]["generated_at"]),
            float(found["elapsed_time"] or 0),
            tuple(sorted(timings, key=lambda timing: (-timing.seconds, timing.name))),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # No command has run yet, or it is a file of another version of dbt.
        return None


def time_of(text: str | None) -> datetime | None:
    """Return a time of JSON; None for one that Python does not know, such as the year 10000."""
    try:
        time = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)


def table_of(row: Row) -> Table:
    """Return the table of a row, named as our tests name it: database, schema and table."""
    names = (row.get(f"{part}_name") for part in ("database", "schema", "table"))
    return Table(row.get("topic"), ".".join(name for name in names if name))


def _activity(row: Row, ignored: list[str]) -> Activity:
    by_op: Counter[str] = Counter()
    by_period: dict[int, dict[str, int]] = defaultdict(dict)
    for count in row["counts"]:
        by_op[count["op"]] += count["rows"]
        if count["period"] is not None:
            by_period[count["period"]][count["op"]] = count["rows"]
    table = table_of(row)
    is_ignored = any(_is_named(name, table.name) for name in ignored)
    return Activity(
        table,
        row["model"],
        row["is_routed"],
        is_ignored,
        dict(by_op),
        dict(by_period),
        time_of(row["last_at"]),
    )


def _rejected(row: Row, moved: dict[str, str | None]) -> Rejected:
    newest = row["newest"]
    return Rejected(
        row["code"],
        table_of(row | {"topic": newest["topic"]}),
        row["messages"],
        row["details"],
        newest["detail"] or "",
        newest["topic"],
        newest["partition"],
        newest["offset"],
        time_of(row["last_at"]),
        moved.get(newest["model"]),
    )


def _after(row: Row) -> str:
    return f": {row['columns']}" if row["columns"] else ""


def _is_named(pattern: str, name: str, all_names: str | None = None) -> bool:
    """Whether a name of a test's argument means a name of messages."""
    if pattern == STAR:
        return all_names == STAR
    return matches_star(pattern, name)


def _number(value: Decimal | int | None) -> float | None:
    return None if value is None else float(value)


def _names(nodes: Iterable[Node]) -> list[str]:
    return [node["name"] for node in nodes]


def _target_path(folder: Path) -> str:
    return os.environ.get("DBT_TARGET_PATH") or _setting(folder, "target-path") or "target"


def _name_of_project(folder: Path, nodes: list[Node]) -> str:
    return _setting(folder, "name") or nodes[0]["package_name"]


def _setting(folder: Path, name: str) -> str | None:
    """Return a text of dbt_project.yml; None if it is computed."""
    # Comes with dbt.
    import yaml

    try:
        settings = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return None
    text = settings.get(name) if isinstance(settings, dict) else None
    return text if isinstance(text, str) and "{" not in text else None
