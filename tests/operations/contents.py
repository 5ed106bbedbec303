"""The contents of a table, to compare two builds of it: all columns but those of the time of reading."""

from __future__ import annotations

from typing import Any

from harness import Lake

Contents = list[tuple[tuple[str, Any], ...]]
READING = ("_cdc_loaded_at", "_cdc_read_positions", "loaded_at", "read_positions")


def contents(lake: Lake, table: str) -> Contents:
    """Return what a table holds."""
    return contents_of(lake.rows(f"select * from {table}"))


def contents_of(found: list[dict[str, Any]]) -> Contents:
    """Return the rows in an order of their own; names of absent columns are a set."""
    rows = []
    for row in map(dict, found):
        if row.get("_cdc_missing_columns"):
            row["_cdc_missing_columns"] = sorted(row["_cdc_missing_columns"])
        if isinstance(row.get("_cdc_before"), dict):
            row["_cdc_before"] = sorted(row["_cdc_before"].items())
        rows.append(tuple(sorted((name, value) for name, value in row.items() if name not in READING)))
    return sorted(rows, key=repr)
