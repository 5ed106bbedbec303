"""A lake of many logs' tables for each file format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from results import Results
    from tables import Lake


@pytest.fixture(scope="session")
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of one format."""
    from harness import stop_jvm
    from tables import Lake

    yield Lake(request.param, tmp_path_factory.mktemp(request.param))
    stop_jvm()


@pytest.fixture(scope="session")
def results(lake: Lake) -> Results:
    """What many logs left in each table of a lake."""
    from results import Results

    return Results(lake)
