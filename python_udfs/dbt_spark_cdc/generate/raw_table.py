"""The newest messages of each topic of a raw table, read through the user's dbt profile."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from dbt_spark_cdc.dbt_rows import DbtError, DbtProject
from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.inputs import Message

# Not the whole type: Spark shortens it where spark.sql.debug.maxToStringFields says so.
HEADERS = "array<struct<"


def newest(
    project: Path,
    profiles_dir: Path | None,
    target: str | None,
    table: str,
    limit: int,
    condition: str | None,
    *,
    is_landed: bool = False,
) -> tuple[list[Message], bool]:
    """Return at most `limit` messages of each topic, and whether the raw table has a column of headers.

    `condition` is SQL that chooses topics; None for all. The table is that of a model if it `is_landed`.
    Raises UsageError with dbt's own words.
    """
    try:
        with DbtProject(project, profiles_dir, target) as dbt:
            name = _of_model(dbt, table) if is_landed else ".".join(f"`{part}`" for part in table.split("."))
            rows = dbt.rows(_query(name, limit, condition))
            columns = dbt.macro("spark_cdc._columns_as_json", {"relation": name})
    except DbtError as error:
        option, what = ("--landing", "model") if is_landed else ("--raw-table", "raw table")
        raise UsageError(
            f"option {option} must be a {what} that dbt can read, or FILES must be given; got {table}: "
            f"{error}"
        ) from None
    has_headers = any(
        column["name"] == "headers" and column["type"].startswith(HEADERS) for column in columns
    )
    return [_message(line, row) for line, row in enumerate(rows)], has_headers


def _of_model(dbt: DbtProject, model: str) -> str:
    """Return the table of a model, as SQL names it."""
    for node in dbt.manifest()["nodes"].values():
        if node["resource_type"] == "model" and node["name"] == model:
            return node["relation_name"]
    raise DbtError("dbt knows no model of this name.")


def _query(name: str, limit: int, condition: str | None) -> str:
    return f"""
        select topic, `partition`, `offset`, unix_millis(`timestamp`) as timestamp,
            base64(cast(`key` as binary)) as key, base64(cast(`value` as binary)) as value
        from (
            select *, row_number() over (partition by topic order by `timestamp` desc, `offset` desc) as place
            from {name}
            where {condition or "true"}
        )
        where place <= {limit}
        order by topic, `partition`, `offset`
    """  # noqa: S608  # a name of letters or of dbt, a number, and literals


def _message(line: int, row: dict[str, Any]) -> Message:
    key, value = (row[name] and base64.b64decode(row[name]) for name in ("key", "value"))
    topic = row["topic"]
    return Message(
        line, topic, row["partition"], row["offset"], row["timestamp"], key, value, None, topic is not None
    )
