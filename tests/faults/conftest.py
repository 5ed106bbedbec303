"""These tests use the integration tests' project, source tables and reference."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these run dbt, in processes of their own."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("dbt")
