"""The tutorial of a whole database, as its page shows it: a database of 20 tables, and each value of all of them.

The commands are the page's own, in a copy of examples/library. The current tables then equal the rows that the
database itself had (tests/e2e/capture_library.py wrote them next to the messages).

`make journey` builds and tests everything. That takes minutes, so `make test` leaves out the histories but one, the
first build's tests, and two models of counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Collection
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from harness import REPOSITORY, Lake, Project, profile_named
from ruamel.yaml import YAML
from typed_pages import Shell, steps

EXAMPLE = REPOSITORY / "examples" / "library"
PAGE = (REPOSITORY / "docs" / "tutorial-database.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
TRUTH = Path(__file__).with_name("library_truth.jsonl")
TABLES = 20
IS_WHOLE = "SPARK_CDC_JOURNEY" in os.environ
SHORT_BUILD = [
    "--select", "+config.materialized:cdc_current", "members_history", "cdc_dead_letters", "--resource-type", "model",
]  # fmt: skip


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
    (template / "profiles.yml").write_text(profile_named("library"))
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
    shell = Shell(project, short_build=None if IS_WHOLE else SHORT_BUILD)
    for command, printed in steps(PAGE):
        assert printed or not command.startswith("dbt build")
        shell.type(command, printed)
    assert shell.kinds == [
        "deps", "generate", "build", "show", "sed", "build", "explain",
        "run-operation", "run-operation", "build", "show", "show",
    ]  # fmt: skip
    assert must_equal_the_database(lake, project, "library") == len(
        TRUTH.read_text(encoding="utf-8").splitlines()
    )
    assert shell.differences == []


def must_equal_the_database(
    lake: Lake, project: Project, schema: str, tables: Collection[str] | None = None
) -> int:
    """Compare each value of the current tables with the database's, of all or of some; give the number of rows."""
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
        if tables is None or entry["table"] in tables:
            truth.setdefault(entry["table"], []).append(entry["row"])
    assert len(truth) == len(tables or range(TABLES))
    assert types.keys() == truth.keys()
    compared = 0
    for table, rows in truth.items():
        columns = types[table]
        assert columns.keys() == rows[0].keys(), table
        expected = [{name: as_declared(row[name], columns[name]) for name in columns} for row in rows]
        found = lake.rows(
            f"select {', '.join(map(of_table, columns.items()))} from {schema}.{table} where not _cdc_is_deleted"
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
    commands = [
        command for command, _ in steps(PAGE) if command.startswith(("spark-cdc generate", "dbt build"))
    ]
    (start,) = re.findall(r"^## Quick start\n.*?```bash\n(.*?)^```", README, re.M | re.S)
    assert start.splitlines()[-2:] == [commands[0], commands[1]]
