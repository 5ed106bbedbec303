"""Everything in the package has a description: each macro and argument, each model and column."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_spark_cdc.macros import MacroLibrary
from rich.console import Console

PACKAGE = Path(importlib.util.find_spec("dbt_spark_cdc").origin).parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
KAFKA = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> dict[str, Any]:
    """What dbt knows of the project after `dbt parse`, in which no warning was allowed."""
    target = tmp_path_factory.mktemp("parsed")
    command = ["--no-use-colors", "--warn-error", "parse", "--no-partial-parse", "--profiles-dir", "profiles"]
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", *command, "--target-path", target, "--log-path", target],
        cwd=repository,
        env=os.environ | {"JAVA_HOME": str(target / "no_java")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((target / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def macros(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The package's own macros."""
    return [macro for macro in manifest["macros"].values() if macro["package_name"] == "spark_cdc"]


@pytest.fixture(scope="module")
def models(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The models of the worked example by name."""
    return {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}


def is_public(macro: dict[str, Any]) -> bool:
    """Whether a user calls the macro; `sample_messages` is the worked example's own."""
    return not macro["name"].startswith(("_", "default__", "spark__")) and macro["name"] != "sample_messages"


def test_every_macro_is_described(macros: list[dict[str, Any]]) -> None:
    assert [macro["name"] for macro in macros if not macro["description"].strip()] == []


def test_every_argument_of_a_public_macro_has_a_type_and_a_description(macros: list[dict[str, Any]]) -> None:
    missing = [
        (macro["name"], argument["name"])
        for macro in macros
        # The arguments of a materialization are dbt's.
        if is_public(macro) and not macro["name"].startswith("materialization_")
        for argument in macro["arguments"]
        if not (argument["type"] and argument["description"].strip())
    ]
    assert missing == []


def test_the_docs_page_shows_what_a_user_calls(macros: list[dict[str, Any]]) -> None:
    shown = {macro["name"] for macro in macros if macro["docs"]["show"]}
    assert shown == {macro["name"] for macro in macros if is_public(macro)}


def test_no_model_takes_a_user_s_name(models: dict[str, dict[str, Any]]) -> None:
    """What our YAML says of a name, dbt says of the user's model of that name too, though ours is disabled there."""
    assert all("example__" in model["name"] for model in models.values())


def test_every_model_and_column_is_described(models: dict[str, dict[str, Any]]) -> None:
    missing = [name for name, model in models.items() if not model["description"].strip()]
    missing += [
        f"{name}.{column['name']}"
        for name, model in models.items()
        for column in model["columns"].values()
        if not column["description"].strip()
    ]
    assert missing == []


def test_every_column_that_a_model_has_is_listed_in_order(
    models: dict[str, dict[str, Any]], repository: Path
) -> None:
    library = MacroLibrary(repository)
    expected: dict[str, list[str]] = {}
    for name, model in models.items():
        code = model["raw_code"]
        if "spark_cdc.messages(" in code:
            expected[name] = [
                *KAFKA,
                "format",
                "kind",
                *library.call("_header_columns"),
                "error",
                "rows",
                "loaded_at",
                "read_positions",
            ]
        elif "spark_cdc.changes(" in code:
            expected[name] = [*declared(code), *library.call("change_columns")]
        elif "sample_messages(" in code:
            expected[name] = KAFKA
    for name, model in models.items():
        if model["config"]["materialized"] in ("cdc_current", "cdc_history"):
            changes = model["depends_on"]["nodes"][0].removeprefix("model.spark_cdc.")
            columns = declared(models[changes]["raw_code"])
            expected[name] = (
                [*columns, *library.call("_key_operation_columns")]
                if model["config"]["materialized"] == "cdc_current"
                else library.call("_history_columns", columns)
            )
    found = {name: list(model["columns"]) for name, model in models.items() if name in expected}
    assert found == expected
    kept = {"example__reconciliation", "example__dead_letters", "example__run_ledger", "example__run_summary"}
    assert set(models) - set(expected) == kept


def declared(code: str) -> list[str]:
    """The columns that a changes model declares."""
    columns = re.search(r"columns=({[^}]*})", code)
    assert columns is not None, code
    return list(ast.literal_eval(columns.group(1)))


def test_the_tables_that_others_read_have_a_contract(models: dict[str, dict[str, Any]]) -> None:
    tables = [
        model
        for model in models.values()
        if model["config"]["materialized"] in ("cdc_current", "cdc_history")
    ]
    assert tables
    assert [model["name"] for model in tables if not model["config"]["contract"]["enforced"]] == []


def test_an_exposure_says_who_reads_them(manifest: dict[str, Any], models: dict[str, dict[str, Any]]) -> None:
    (exposure,) = manifest["exposures"].values()
    assert exposure["owner"]["name"]
    assert set(exposure["depends_on"]["nodes"]) == {
        model["unique_id"]
        for model in models.values()
        if model["config"]["materialized"] in ("cdc_current", "cdc_history")
    }


def test_the_demo_shows_the_messages_of_tables_over_changes(
    models: dict[str, dict[str, Any]], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model over other models has no messages of its own, such as the dead letters."""
    spec = importlib.util.spec_from_file_location("demo", repository / "tools" / "demo.py")
    assert spec is not None and spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    shown: list[str] = []
    monkeypatch.setattr("pyspark.sql.SparkSession.builder", SimpleNamespace(getOrCreate=lambda: None))
    monkeypatch.setattr(demo, "messages_of", lambda _, changes, *others: shown.append(changes.name) or "")
    monkeypatch.setattr(demo, "as_table", lambda *_: "")
    nodes = [
        json.loads(json.dumps(model), object_hook=lambda part: SimpleNamespace(**part))
        for model in models.values()
    ]
    demo.show_models(nodes, Console(file=io.StringIO()))
    assert set(shown) == {name for name, model in models.items() if "spark_cdc.changes(" in model["raw_code"]}


def test_lines_of_macros_are_short_enough_to_read(macros: list[dict[str, Any]], repository: Path) -> None:
    """sqlfluff does not lint macros; .editorconfig says how long their lines may be."""
    longest = int(
        re.search(r"\[\*\.sql\]\nmax_line_length = (\d+)", (repository / ".editorconfig").read_text())[1]
    )
    files = {macro["original_file_path"] for macro in macros}
    assert not [
        f"{file}:{number}"
        for file in sorted(files)
        for number, line in enumerate((repository / file).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > longest
    ]


def test_the_reference_names_every_way_to_write_a_value(repository: Path) -> None:
    library = MacroLibrary(repository)
    page = (repository / "docs" / "reference" / "columns.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:3] for row in page.splitlines() if row[:2] == "| "]
    named = {
        family: re.findall("`([a-z0-9_]+)`", what)
        for families, what in rows
        for family in families.split(", ")
    }
    for family in library.call("_type_families"):
        encodings = set(library.call("_encodings", family))
        found = set(
            named.get(next((name for name in named if name.strip().split("(")[0] == family), ""), ["text"])
        )
        assert encodings == found - (set() if family == "date" else {"days"}), family


@pytest.mark.parametrize(
    "file",
    [file for file in sorted(PACKAGE.rglob("*.py")) if EXAMPLE.search(file.read_text(encoding="utf-8"))],
    ids=lambda file: file.stem,
)
def test_the_examples_in_the_docstrings_are_true(file: Path) -> None:
    name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted == len(EXAMPLE.findall(file.read_text(encoding="utf-8")))
    assert results.failed == 0
