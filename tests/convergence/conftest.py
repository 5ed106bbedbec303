"""A lake and a JVM for each file format; the JVM ends with the last test that needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# The harness of a user's project and the reference fold serve these tests too.
sys.path.insert(0, str(HERE.parent / "integration"))
sys.path.insert(0, str(HERE))

from harness import stop_jvm  # noqa: E402
from results import Results  # noqa: E402
from tables import Lake  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these run dbt."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("dbt")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Not a fixture's end: one that all tests here share ends with the whole session."""
    if nextitem is None or HERE not in nextitem.path.parents:
        stop_jvm()


@pytest.fixture(scope="session", params=["iceberg", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of one format."""
    yield Lake(request.param, tmp_path_factory.mktemp(request.param))
    stop_jvm()


@pytest.fixture(scope="session")
def results(lake: Lake) -> Results:
    """What many logs left in each table of a lake."""
    return Results(lake)
