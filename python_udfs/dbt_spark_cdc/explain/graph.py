"""Which models of a dbt project a message reaches, from dbt's manifest."""

from __future__ import annotations

import re
from typing import Any

from dbt_spark_cdc.message_text import STAR, is_pattern, matches_star

Node = dict[str, Any]
TARGETS = ("cdc_current", "cdc_history")
_COLUMN = re.compile(r"(?:`[^`]+`|[^\W\d]\w*)(?:\.(?:`[^`]+`|[^\W\d]\w*))*")


class Graph:
    """The models of a project, with the kinds that the package's macros note in their `meta`."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self._nodes: dict[str, Node] = manifest["nodes"]

    def of_kind(self, kind: str) -> list[Node]:
        """Return the models of a kind, of those in macros/_internal/models.sql, in the order of names."""
        return sorted(
            (node for node in self._nodes.values() if kind_of(node) == kind), key=lambda node: node["name"]
        )

    def reads(self, node: Node, kind: str) -> list[Node]:
        """Return the models of a kind that a model reads, directly or through models of no kind."""
        found: dict[str, Node] = {}
        for id_ in node["depends_on"]["nodes"]:
            if (read := self._nodes.get(id_)) is not None:
                of_kind = kind_of(read)
                below = [read] if of_kind == kind else [] if of_kind else self.reads(read, kind)
                found.update({one["unique_id"]: one for one in below})
        return list(found.values())


def kind_of(node: Node) -> str | None:
    """Return what a node is: messages, changes, cdc_current, cdc_history ..., or None for others."""
    if node["resource_type"] != "model":
        return None
    if node["config"]["materialized"] in TARGETS:
        return node["config"]["materialized"]
    return (node["config"].get("meta") or {}).get("spark_cdc")


def arguments_of(node: Node) -> dict[str, Any]:
    """Return the arguments of `messages` or `changes`, name -> text."""
    return node["config"]["meta"]["spark_cdc.arguments"]


def moved_place(node: Node) -> str | None:
    """Return why the offsets in a model are not Kafka's, so that a line's does not compare with them.

    For the topic that was recreated, `raw_columns` computes the offset instead of naming its column.
    """
    raw_columns = node["config"]["meta"].get("spark_cdc.raw_columns") or {}
    moved = [
        f"'{name}': {text}"
        for name, text in raw_columns.items()
        if name in ("partition", "offset") and not _COLUMN.fullmatch(str(text).strip())
    ]
    if not moved:
        return None
    return f"raw_columns of {node['name']} has {', '.join(moved)}, and the line has the place that Kafka gave"


def is_read_by(changes: Node, facts: dict[str, Any]) -> bool:
    """Whether a changes model reads the source table of a message: the rule of `_name_condition`."""
    noted = arguments_of(changes)
    return all(
        _matches(noted[part], facts[part])
        for part in ("database", "schema", "table")
        if noted[part] and not (part == "table" and noted[part] == STAR)
    )


def _matches(wanted: str, name: str | None) -> bool:
    if name is None:
        return False
    return matches_star(wanted, name) if is_pattern(wanted) else name == wanted


def reads_several_tables(changes: Node) -> bool:
    """Whether a row's source table is a column of the model."""
    noted = arguments_of(changes)
    return any(is_pattern(noted[part]) for part in ("database", "schema", "table"))
