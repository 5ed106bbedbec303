"""One lake and one JVM for all integration tests; each test module has a project and schemas of its own."""

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


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The lake of all projects."""
    prepare_environment(tmp_path_factory.mktemp("lake"))
    yield Lake()
    stop_jvm()


@pytest.fixture(scope="session")
def new_project(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Give a fresh copy of the user's project that builds into the named schema."""
    return lambda schema: Project(tmp_path_factory.mktemp(schema) / "project", schema)
