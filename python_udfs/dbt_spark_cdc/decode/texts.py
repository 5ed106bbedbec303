"""The view of messages, and the texts of values in the output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.inputs import Message

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

RAW_COLUMNS = {"headers": "headers"}


def create_raw(spark: SparkSession, messages: Iterable[tuple[int, Message]]) -> None:
    """Create the view `raw`. Its `partition` is our own number, which assigns each result to its file."""
    create_messages(spark, "raw", messages)


def create_messages(spark: SparkSession, view: str, messages: Iterable[tuple[int, Message]]) -> None:
    """Create a view of messages, each with the number that its `partition` gets."""
    spark.createDataFrame(_raw_table(messages)).createOrReplaceTempView(view)


def _raw_table(messages: Iterable[tuple[int, Message]]) -> pa.Table:
    import pyarrow as pa

    numbers, rows = zip(*messages, strict=True)
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.table(
        {
            "topic": pa.array([m.topic for m in rows], pa.string()),
            "partition": pa.array(numbers, pa.int32()),
            "offset": pa.array([m.offset for m in rows], pa.int64()),
            "timestamp": pa.array(
                [None if m.timestamp is None else m.timestamp * 1000 for m in rows],
                pa.timestamp("us", tz="UTC"),
            ),
            "key": pa.array([m.key for m in rows], pa.binary()),
            "value": pa.array([m.value for m in rows], pa.binary()),
            "headers": pa.array([m.headers for m in rows], pa.list_(header)),
        }
    )


@contextmanager
def names_told_apart(spark: SparkSession, names: Iterable[str]) -> Iterator[None]:
    """Distinguish upper and lower case in column names if two names differ in nothing else."""
    names = list(names)
    spark.conf.set("spark.sql.caseSensitive", str(len({name.lower() for name in names}) < len(names)).lower())
    try:
        yield
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


def instant(expression: str) -> str:
    return f"concat(replace(cast({expression} as string), ' ', 'T'), 'Z')"


def texts(columns: list[dict[str, Any]], prefix: str = "") -> str:
    return f"array({', '.join(_text(column, prefix + column['quoted']) for column in columns)})"


def _text(column: dict[str, Any], expression: str) -> str:
    if column["family"] == "binary":
        # Spark breaks base64 into lines, as in mail.
        return f"replace(base64({expression}), '\\r\\n', '')"
    if column["family"] == "variant":
        return f"to_json({expression})"
    if column["family"] == "timestamp":
        return instant(expression)
    text = f"cast({expression} as string)"
    return f"replace({text}, ' ', 'T')" if column["family"] == "timestamp_ntz" else text


def plain(column: dict[str, Any], text: str | None) -> str | None:
    # Spark writes a small decimal with an exponent.
    return format(Decimal(text), "f") if text is not None and column["family"] == "decimal" else text


def image(entries: list[tuple[str, str | None]] | None) -> dict[str, str | None] | None:
    return None if entries is None else dict(entries)


def sortable(value: str | None) -> tuple[int, int, str]:
    if value is not None and re.fullmatch(r"-?[0-9]{1,40}", value, re.ASCII):
        return 0, int(value), value
    return 1, 0, value or ""
