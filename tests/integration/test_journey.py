"""The tutorial of a whole database, as its page shows it: a database of 20 tables, and each value of all of them.

The commands are the page's own, in a copy of examples/library. The current tables then equal the rows that the
database itself had (tests/e2e/capture_library.py wrote them next to the messages).

`make journey` builds and tests everything. That takes minutes, so `make test` leaves out the histories but one, the
first build's tests, and two models of counts.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from harness import REPOSITORY, USER_PROJECT, Lake, Project
from ruamel.yaml import YAML

EXAMPLE = REPOSITORY / "examples" / "library"
PAGE = (REPOSITORY / "docs" / "tutorial-database.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
TRUTH = Path(__file__).with_name("library_truth.jsonl")
TABLES = 20
IS_WHOLE = "SPARK_CDC_JOURNEY" in os.environ
SHORT_BUILD = [
    "--select", "+config.materialized:cdc_current", "members_history", "cdc_dead_letters", "--resource-type", "model",
]  # fmt: skip
# A block of commands, and what the page says that they print.
BLOCKS = re.compile(r"^```(bash|text)\n(.*?)^```", re.M | re.S)
PRINTED = re.compile(r"^OK created sql \S+ model library\.(\S+) \[(.*) in [\d.]+s\]$", re.M)
COUNTS = re.compile(r"^Done\. PASS=(\d+) WARN=(\d+) ERROR=0 SKIP=0 NO-OP=(\d+)", re.M)


def steps() -> Iterator[tuple[str, str]]:
    """The commands of the page, each with the text that follows it; an earlier one of a block has none."""
    blocks = BLOCKS.findall(PAGE)
    for (kind, text), (next_kind, printed) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "bash":
            *others, last = text.splitlines()
            yield from ((command, "") for command in others)
            yield last, printed if next_kind == "text" else ""


class Typed:
    """A user's shell in the copy of the example."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.kinds: list[str] = []
        # What the page says and a command does not, of all commands: one run is long.
        self.differences: list[Any] = []

    def type(self, command: str, printed: str) -> None:
        """Run a command, and see that it prints what the page says."""
        program, *arguments = shlex.split(command)
        if program == "dbt":
            self.kinds.append(arguments[0])
            getattr(self, "_" + arguments[0].replace("-", "_"))(arguments, printed)
        elif program == "spark-cdc":
            self.kinds.append(arguments[0])
            self._spark_cdc(arguments, printed)
        elif program == "sed":
            self.kinds.append(program)
            subprocess.run(["bash", "-c", command], cwd=self.project.folder, check=True)
        else:  # the harness has copied the example and installed the package
            assert program in ("cd", "pip"), command

    def _deps(self, arguments: list[str], printed: str) -> None:
        assert not printed

    def _build(self, arguments: list[str], printed: str) -> None:
        is_short = arguments == ["build"] and not IS_WHOLE
        run = self.project.dbt(*arguments, *(SHORT_BUILD if is_short else []))
        run.must_succeed("warn", "no-op")
        shown = dict(PRINTED.findall(printed))
        assert shown
        self._must_be(arguments, shown, {name: run.messages.get(name) for name in shown})
        counts = [
            sum(status in those for status in run.statuses.values())
            for those in (("success", "pass"), ("warn",), ("no-op",))
        ]
        if not is_short:
            self._must_be(arguments, COUNTS.findall(printed), [tuple(map(str, counts))])
        for reason in re.findall(r"^(\d+ x .*)$", printed, re.M):
            if not any(reason in line for line in run.logged):
                self._must_be(arguments, reason, run.logged)

    def _show(self, arguments: list[str], printed: str) -> None:
        run = self.project.dbt(*arguments).must_succeed()
        table = run.result.result.results[0].agate_table
        found = [["" if value is None else str(value) for value in row.values()] for row in table.rows]
        names, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()
        )
        self._must_be(arguments, [names, *rows], [list(table.column_names), *found])

    def _run_operation(self, arguments: list[str], printed: str) -> None:
        # Spark's folder is not dbt's here: all projects of the tests share one JVM.
        with contextlib.redirect_stdout(io.StringIO()) as output:
            run = self.project.dbt(
                *(part.replace("later.jsonl", f"'{self.project.folder}/later.jsonl'") for part in arguments)
            )
        assert run.result.success, run.failure
        if printed not in output.getvalue():
            self._must_be(arguments, printed, output.getvalue())

    def _spark_cdc(self, arguments: list[str], printed: str) -> None:
        files = [
            file
            for part in arguments
            for file in (sorted(map(str, Path().glob(part))) if "*" in part else [part])
        ]
        done = CliRunner().invoke(main, files)
        assert done.exit_code == 0, done.output
        assert printed
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        if any(line not in lines for line in printed.splitlines()):
            self._must_be(arguments, printed, done.stdout)

    def _must_be(self, command: object, on_page: object, found: object) -> None:
        if on_page != found:
            self.differences.append({"command": command, "page": on_page, "found": found})


@pytest.fixture
def project(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the example, in which only the profile and the folder of the files are ours."""
    template = tmp_path / "example"
    kept = ("models", "captured", "macros", "dbt_project.yml", "packages.yml", "later.jsonl")
    for name in kept:  # not what somebody who typed the commands has there
        copy = shutil.copytree if (EXAMPLE / name).is_dir() else shutil.copyfile
        template.mkdir(exist_ok=True)
        copy(EXAMPLE / name, template / name)
    for name in ("models/staging", "models/marts", "models/quality"):
        shutil.rmtree(template / name, ignore_errors=True)
    (template / "captured/later.jsonl").unlink(missing_ok=True)
    profile = (USER_PROJECT / "profiles.yml").read_text().replace("\nshop:\n", "\nlibrary:\n")
    (template / "profiles.yml").write_text(profile)
    project = Project(tmp_path / "library", "library", template=template)
    landing = project.folder / "models/landing/raw_library.sql"
    text = landing.read_text()
    assert f"```sql\n-- models/landing/raw_library.sql\n{text}```" in PAGE
    landing.write_text(text.replace("'captured'", f"'{project.folder}/captured'"))
    monkeypatch.chdir(project.folder)
    project.start_spark()
    return project


@pytest.mark.slow
def test_the_tables_equal_the_database_at_the_end_of_the_page(lake: Lake, project: Project) -> None:
    shell = Typed(project)
    for command, printed in steps():
        shell.type(command, printed)
    assert shell.kinds == [
        "deps", "generate", "build", "show", "sed", "build", "explain",
        "run-operation", "run-operation", "build", "show", "show",
    ]  # fmt: skip
    assert must_equal_the_database(lake, project) == len(TRUTH.read_text(encoding="utf-8").splitlines())
    assert shell.differences == []


def must_equal_the_database(lake: Lake, project: Project) -> int:
    """Compare each value of all current tables with the database's; give the number of rows."""
    described = YAML(typ="safe").load(
        (project.folder / "models/marts/library/_library__models.yml").read_text()
    )
    types = {
        model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
        for model in described["models"] if "columns" in model
    }  # fmt: skip
    truth: dict[str, list[dict[str, str | None]]] = {}
    for line in TRUTH.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        truth.setdefault(entry["table"], []).append(entry["row"])
    assert len(truth) == TABLES
    assert types.keys() == truth.keys()
    compared = 0
    for table, rows in truth.items():
        columns = types[table]
        assert columns.keys() == rows[0].keys(), table
        expected = [{name: as_declared(row[name], columns[name]) for name in columns} for row in rows]
        found = lake.rows(
            f"select {', '.join(map(of_table, columns.items()))} from library.{table} where not _cdc_is_deleted"
        )
        assert sorted(found, key=repr) == sorted(expected, key=repr), table
        compared += len(found)
    return compared


def of_table(column: tuple[str, str]) -> str:
    """A column of a table; a point in time as microseconds, because Python would write it in its own zone."""
    name, declared = column
    return f"unix_micros({name}) as {name}" if declared == "timestamp" else name


PARSERS: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: {"true": True, "false": False}[text],
    "date": date.fromisoformat,
    "double": float,
    "string": str,
    "timestamp": lambda text: round(_utc(text).timestamp() * 1_000_000),
    "timestamp_ntz": lambda text: _utc(text + "+00").replace(tzinfo=None),
    **dict.fromkeys(("smallint", "int", "bigint"), int),
}


def as_declared(text: str | None, declared: str) -> Any:
    """A database's text as a value of the type that the model declares."""
    if text is None:
        return None
    return Decimal(text) if declared.startswith("decimal(") else PARSERS[declared](text)


def _utc(text: str) -> datetime:
    """What PostgreSQL writes: 2026-03-02 08:00:00.5+00."""
    text, fraction = re.fullmatch(r"([^.+]+)(?:\.(\d+))?\+00", text).groups()
    at = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return at.replace(microsecond=int((fraction or "0").ljust(6, "0")))


def test_the_readme_begins_with_the_page_s_two_commands() -> None:
    commands = [command for command, _ in steps() if command.startswith(("spark-cdc generate", "dbt build"))]
    (start,) = re.findall(r"^## Quick start\n.*?```bash\n(.*?)^```", README, re.M | re.S)
    assert start.splitlines()[-2:] == [commands[0], commands[1]]
