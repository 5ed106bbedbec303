"""One lake and one JVM for all integration tests; each test module has a project and schemas of its own.

The JVM ends with the last test of this folder, so that other folders start one with settings of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Lake, Project, prepare_environment, stop_jvm

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these run dbt."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("dbt")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Not a fixture's end: one that all modules here share ends with the whole session."""
    if nextitem is None or HERE not in nextitem.path.parents:
        stop_jvm()


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake of all projects."""
    prepare_environment(tmp_path_factory.mktemp("lake"))
    return Lake()


@pytest.fixture(scope="session")
def new_project(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Give a fresh copy of the user's project that builds into the named schema."""
    return lambda schema: Project(tmp_path_factory.mktemp(schema) / "project", schema)
