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
    project: Path, profiles_dir: Path | None, target: str | None, table: str, limit: int
) -> tuple[list[Message], bool]:
    """Return at most `limit` messages of each topic, and whether the raw table has a column of headers.

    Raises UsageError with dbt's own words.
    """
    name = ".".join(f"`{part}`" for part in table.split("."))
    query = f"""
        select topic, `partition`, `offset`, unix_millis(`timestamp`) as timestamp,
            base64(cast(`key` as binary)) as key, base64(cast(`value` as binary)) as value
        from (
            select *, row_number() over (partition by topic order by `timestamp` desc, `offset` desc) as place
            from {name}
        )
        where place <= {limit}
        order by topic, `partition`, `offset`
    """  # noqa: S608  # a name of letters, and a number
    try:
        with DbtProject(project, profiles_dir, target) as dbt:
            rows = dbt.rows(query)
            columns = dbt.macro("spark_cdc._columns_as_json", {"relation": name})
    except DbtError as error:
        raise UsageError(
            f"option --raw-table must be a raw table that dbt can read, or FILES must be given; got {table}: "
            f"{error}"
        ) from None
    has_headers = any(
        column["name"] == "headers" and column["type"].startswith(HEADERS) for column in columns
    )
    return [_message(line, row) for line, row in enumerate(rows)], has_headers


def _message(line: int, row: dict[str, Any]) -> Message:
    key, value = (row[name] and base64.b64decode(row[name]) for name in ("key", "value"))
    return Message(line, row["topic"], row["partition"], row["offset"], row["timestamp"], key, value, None)
