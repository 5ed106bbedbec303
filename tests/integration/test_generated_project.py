"""`spark-cdc generate` on messages of a real database: dbt builds what it wrote, and the tables equal the database's."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from harness import Lake, Project
from ruamel.yaml import YAML
from shared_data import CAPTURES

CAPTURE = CAPTURES / "debezium-mysql" / "schema.jsonl"
# Another process reads its tables.
LAKES = ("iceberg",)
SCHEMA = "generated"
pytestmark = pytest.mark.skipif(not CAPTURE.is_file(), reason="the captures of ../shared are not here")

ROUTES = """\
include: ['cdc\\.(t_par|t_nopk)', 'cdc2\\.t_pk']
route:
  - source-table: cdc\\.t_par
    sink-table: parents
"""
# Source table -> the model that it gets.
MODELS = {("cdc", "t_par"): "parents", ("cdc2", "t_pk"): "t_pk"}


def generate(project: Project, *arguments: str, files: tuple[str, ...] = (str(CAPTURE),)) -> Any:
    return CliRunner().invoke(
        main, ["generate", *files, "--source", "cdc", "--raw-table", "raw_cdc.raw", "--project-dir",
               str(project.folder), *arguments]
    )  # fmt: skip


def land(lake: Lake) -> None:
    lake.create_raw("raw", schema="raw_cdc")
    rows = []
    for line in CAPTURE.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        texts = [message[name] and message[name].encode() for name in ("key", "value")]
        at = datetime.fromtimestamp(message["timestamp"] / 1000, timezone.utc)
        headers = [(name, text.encode()) for name, text in message.get("headers") or []]
        rows.append((message["topic"], message["partition"], message["offset"], at, *texts, headers))
    lake.append("raw_cdc.raw", rows)


def as_declared(text: str | None, declared: str) -> Any:
    """A database's text as a value of the type that the model declares."""
    if text is None:
        return None
    # Debezium sends MySQL's zero dates as null, which its format page says.
    if declared in ("date", "timestamp", "timestamp_ntz") and "-00" in text[:10]:
        return None
    if declared == "boolean":
        return text == "1"
    if declared == "binary":
        return bytearray.fromhex(text)
    if declared in ("float", "double"):
        return float(text)
    if declared.startswith("decimal"):
        return Decimal(text)
    if declared == "date":
        return date.fromisoformat(text)
    if declared in ("timestamp", "timestamp_ntz"):
        return datetime.fromisoformat(text)
    return int(text) if declared.endswith("int") else text


def test_the_tables_of_the_generated_project_equal_the_database(
    lake: Lake, new_project: Callable[..., Project], tmp_path: Path
) -> None:
    project = new_project(SCHEMA, {})
    land(lake)
    routes = tmp_path / "routes.yml"
    routes.write_text(ROUTES)
    done = generate(project, "--routes", str(routes))
    assert done.exit_code == 0, done.output
    run = project.dbt("build").must_succeed("warn", "no-op")  # an exposure
    assert run.statuses
    warned = sorted(name for name, status in run.statuses.items() if status == "warn")
    assert [re.match("spark_cdc_(no_[a-z]+_[a-z]+)_stg", name)[1] for name in warned] == ["no_unread_tables"]

    described = YAML(typ="safe").load((project.folder / "models/marts/cdc/_cdc__models.yml").read_text())
    columns = {
        model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
        for model in described["models"] if "columns" in model
    }  # fmt: skip
    assert sorted(columns) == sorted(MODELS.values())
    truth = [
        json.loads(line) for line in (CAPTURE.parent / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    compared = 0
    for (database, table), model in MODELS.items():
        names = list(columns[model])
        expected = [
            {name: as_declared(line["row"][name], columns[model][name]) for name in names}
            for line in truth if (line["schema"], line["table"]) == (database, table)
        ]  # fmt: skip
        quoted = ", ".join(f"`{name.replace('`', '``')}`" for name in names)
        found = lake.rows(f"select {quoted} from {SCHEMA}.{model} where not _cdc_is_deleted")
        key = names[0]
        assert sorted(found, key=lambda row: str(row[key])) == sorted(
            expected, key=lambda row: str(row[key])
        ), model
        compared += len(found)
    assert compared == 3

    # A table without a key has its changes only.
    assert lake.rows(f"select count(*) > 0 as has_changes from {SCHEMA}.stg_cdc__t_nopk_changes") == [
        {"has_changes": True}
    ]
    assert not (project.folder / "models/marts/cdc/t_nopk.sql").exists()

    # The raw table, through the project's profile: the same messages ask for the same files.
    read = generate(
        project, "--routes", str(routes), "--check", "--profiles-dir", str(project.folder), files=()
    )
    assert (read.exit_code, read.stdout) == (0, ""), read.output

    # A new project has only the raw table to go by: its headers hold old keys, though few messages have one.
    lake.spark.sql("update raw_cdc.raw set headers = array()")
    empty = tmp_path / "empty"
    empty.mkdir()
    shutil.copytree(
        project.folder,
        empty,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("models", "spark_cdc_plan.json"),
    )
    (empty / "models").mkdir()
    read = CliRunner().invoke(
        main, ["generate", "--source", "cdc", "--raw-table", "raw_cdc.raw", "--routes", str(routes), "--project-dir", str(empty),
               "--profiles-dir", str(project.folder)]
    )  # fmt: skip
    assert read.exit_code == 0, read.output
    messages = (empty / "models/staging/cdc/stg_cdc__messages.sql").read_text()
    assert "raw_columns={'headers': 'headers'}" in messages
