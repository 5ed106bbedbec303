"""One JVM for each lake, and in it each test module with a project and schemas of its own.

A module runs on Iceberg, or on each lake that it names: `LAKES = ("iceberg", "delta")`. The last JVM ends with
the last test of this folder, so that other folders start one with settings of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Lake, Project, prepare_environment, stop_jvm

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these run dbt."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("dbt")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All tests of one lake run before those of the next one: so pytest orders what a session shares."""
    if "lake" in metafunc.fixturenames:
        lakes = getattr(metafunc.module, "LAKES", ("iceberg",))
        metafunc.parametrize("lake", lakes, indirect=True, scope="session")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Not a fixture's end: one that all modules here share ends with the whole session."""
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
    """Give a fresh copy of the user's project that builds into the named schema."""
    return lambda schema: Project(tmp_path_factory.mktemp(schema) / "project", schema)
