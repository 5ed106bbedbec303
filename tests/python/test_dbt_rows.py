"""Rows through the user's dbt: a child process with the profile's own Spark, and nothing of dbt's on our output."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from dbt_spark_cdc.dbt_rows import DbtError, DbtProject, sentence

pytestmark = pytest.mark.dbt
SETTINGS = {
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}
OUTPUT = {"type": "spark", "method": "session", "host": "localhost", "schema": "default"}
FILES = {
    "dbt_project.yml": "name: shop\nversion: 1.0.0\nprofile: shop\n",
    "profiles.yml": yaml.safe_dump(
        {"shop": {"target": "local", "outputs": {"local": OUTPUT | {"server_side_parameters": SETTINGS}}}}
    ),
    "models/sources.yml": "sources: [{name: shop, tables: [{name: raw}]}]\n",
    "models/stg_shop__messages.sql": "{{ config(materialized='cdc_append') }}"
    "{{ spark_cdc.messages(source('shop', 'raw'), format='canal') }}\n",
    "macros/named.sql": "{% macro named(id) %}{% do log('not a row') %}{% do spark_cdc._log_row('{\"id\": ' ~ id ~ '}') %}"
    "{% endmacro %}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A user's project, with the package as `dbt deps` installs a local one."""
    folder = tmp_path_factory.mktemp("rows")
    for name, text in (FILES | {"packages.yml": f"packages: [{{local: {repository}}}]\n"}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages" / "spark_cdc").symlink_to(repository)
    return folder


@pytest.fixture(scope="module")
def project(folder: Path) -> Iterator[DbtProject]:
    with DbtProject(folder) as project:
        yield project


def test_a_relative_folder_of_profiles_is_meant_from_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profiles").mkdir()
    text = (
        (folder / "profiles.yml").read_text(encoding="utf-8").replace("schema: default", "schema: elsewhere")
    )
    (tmp_path / "profiles" / "profiles.yml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("DBT_PROFILES_DIR", "profiles")
    monkeypatch.chdir(tmp_path)
    with DbtProject(folder) as project:
        assert {node["schema"] for node in project.manifest()["nodes"].values()} == {"elsewhere"}


def test_rows_are_exact(project: DbtProject, capfd: pytest.CaptureFixture[str]) -> None:
    sql = """
        select 1 as id, 12345678901234567890.50 as amount, cast(null as string) as note, "a'\\"\\n汉字\\u2028" as text,
            timestamp_ntz'2026-01-01 12:00:00.000001' as at,
            timestamp'2026-01-01 12:00:00 UTC' as instant, X'00FF' as bytes, array(1, null) as parts, true as flag
        union all
        select 2, 0.00, 'null', '', null, null, null, array(), null
    """
    assert project.rows(sql) == [
        {
            "id": 1,
            "amount": Decimal("12345678901234567890.50"),
            "note": None,
            "text": "a'\"\n汉字\u2028",
            "at": "2026-01-01T12:00:00.000001",
            "instant": "2026-01-01T12:00:00.000000Z",
            "bytes": "AP8=",
            "parts": [1, None],
            "flag": True,
        },
        {
            "id": 2,
            "amount": Decimal("0.00"),
            "note": "null",
            "text": "",
            "at": None,
            "instant": None,
            "bytes": None,
            "parts": [],
            "flag": None,
        },
    ]
    assert project.rows("select 1 as id where false") == []
    assert capfd.readouterr() == ("", "")


def test_a_session_lives_from_one_question_to_the_next(project: DbtProject) -> None:
    assert project.macro("named", {"id": 7}) == [{"id": 7}]
    assert project.rows("select typeof(cdc_type('canal', 'bigint')) as type")[0]["type"].startswith(
        "struct<name"
    )
    nodes = project.manifest()["nodes"]
    assert nodes["model.shop.stg_shop__messages"]["config"]["meta"]["spark_cdc"] == "messages"


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select * from no_such", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("select 1 as a, 2 as a", "several columns named a;"),
        ("select , 1", "[PARSE_SYNTAX_ERROR]"),
    ],
)
def test_what_a_query_lacks_is_one_sentence(project: DbtProject, sql: str, words: str) -> None:
    with pytest.raises(DbtError) as error:
        project.rows(sql)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value)[-1] in ".;" or str(error.value).endswith("each its own name.")
    assert len(str(error.value)) < 600


def test_a_macro_that_is_not_there_is_one_sentence(project: DbtProject) -> None:
    with pytest.raises(
        DbtError, match=r"^dbt: dbt could not find a macro with the name 'no_such' in any package"
    ):
        project.macro("no_such")


def test_no_project_is_one_sentence(tmp_path: Path) -> None:
    with (
        DbtProject(tmp_path) as project,
        pytest.raises(DbtError, match=r"no dbt_project\.yml in .*; name the folder"),
    ):
        project.rows("select 1")


def test_a_project_that_dbt_cannot_read_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    (copy / "dbt_project.yml").write_text("name: shop\nversion: 1.0.0\nprofile: other\n", encoding="utf-8")
    with DbtProject(copy) as project, pytest.raises(DbtError) as error:
        project.rows("select 1")
    assert "Could not find profile named 'other'" in str(error.value)
    (copy / "dbt_project.yml").write_text(FILES["dbt_project.yml"], encoding="utf-8")
    (copy / "models" / "broken.sql").write_text("select {{ ref('no_such') }", encoding="utf-8")
    with DbtProject(copy) as project, pytest.raises(DbtError) as error:
        project.manifest()
    assert str(error.value).startswith("dbt: ") and "\n" not in str(error.value)
    assert "broken" in str(error.value)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("Runtime Error\n  Runtime Error\n    Could not run dbt\n", "dbt: Could not run dbt."),
        ("Compilation Error in macro no (macros/no.sql)\n  spark_cdc.x: no.\n", "dbt: spark_cdc.x: no."),
        (
            "Compilation Error in model a (models/a.sql)\n  unexpected '}'\n    line 1",
            "dbt: in model a (models/a.sql) unexpected '}' line 1.",
        ),
        (
            "Runtime Error\n  [NOT_FOUND] The table `a` is missing. SQLSTATE: 42P01; line 1 pos 2;\n'Project [*]\n"
            "+- 'UnresolvedRelation [a]\n\nJVM stacktrace:\norg.apache.spark.X\n\tat org.a.b(C.scala:1)",
            "dbt: [NOT_FOUND] The table `a` is missing. SQLSTATE: 42P01.",
        ),
    ],
)
def test_dbts_error_as_a_sentence(error: str, expected: str) -> None:
    assert sentence(error) == expected
