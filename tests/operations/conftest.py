"""Operations and schema changes bring models of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness import Project


@pytest.fixture(scope="session")
def new_project(new_project: Callable[[str], Project]) -> Callable[[str], Project]:
    """Give a fresh copy of the user's project without its models."""

    def make(schema: str) -> Project:
        project = new_project(schema)
        project.remove("models")
        return project

    return make
