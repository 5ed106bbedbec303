"""Operations and schema changes on a user's project, with the harness of tests/integration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness import Lake, Project, prepare_environment, stop_jvm  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these run dbt."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("dbt")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module runs on Iceberg, or on each lake that it names, as in tests/integration."""
    if "lake" in metafunc.fixturenames:
        lakes = getattr(metafunc.module, "LAKES", ("iceberg",))
        metafunc.parametrize("lake", lakes, indirect=True, scope="session")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the JVM with the last test of this folder."""
    if nextitem is None or HERE not in nextitem.path.parents:
        stop_jvm()


@pytest.fixture(scope="session")
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The lake of all projects."""
    prepare_environment(tmp_path_factory.mktemp(request.param), request.param)
    yield Lake(request.param)
    stop_jvm()


@pytest.fixture(scope="session")
def new_project(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Give a fresh copy of the user's project that builds into the named schema, without its models."""

    def make(schema: str) -> Project:
        project = Project(tmp_path_factory.mktemp(schema) / "project", schema)
        project.remove("models")
        return project

    return make
