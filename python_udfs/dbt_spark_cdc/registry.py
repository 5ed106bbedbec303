"""The SQL functions of this package, and `register`, which registers them in a Spark session."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions.ddl import ddl_arrow
from dbt_spark_cdc.functions.decode_binary import decode_binary_arrow
from dbt_spark_cdc.functions.detect import detect_arrow
from dbt_spark_cdc.functions.dts_avro import dts_avro_arrow
from dbt_spark_cdc.functions.mongo_documents import (
    mongo_fields_arrow,
    mongo_update_arrow,
    mongo_update_description_arrow,
)
from dbt_spark_cdc.functions.mongo_patches import mongo_patched_arrow
from dbt_spark_cdc.functions.type_name import type_name_arrow
from dbt_spark_cdc.workers import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SqlFunction(NamedTuple):
    """One SQL function: its name, the Arrow function behind it, and the Spark type that it returns."""

    name: str
    arrow: Callable
    returns: str


OLDEST_SPARK, FIRST_WITH_ARROW_FUNCTIONS = (4, 0), (4, 1)
DDL = (
    "action string, is_conditional boolean, "
    "tables array<struct<qualifier: string, name: string, new_name: string>>, "
    "columns array<struct<change: string, name: string, old_name: string, type: string, nullable: boolean>>"
)
MONGO_UPDATE = "fields map<string,string>, patches map<string,string>"

SQL_FUNCTIONS = (
    SqlFunction("cdc_decode_binary", decode_binary_arrow, "binary"),
    SqlFunction("cdc_type", type_name_arrow, "name string, spark_type string"),
    SqlFunction("cdc_ddl", ddl_arrow, DDL),
    SqlFunction("cdc_detect", detect_arrow, "format string, dialect string, confidence double"),
    SqlFunction("cdc_dts_avro", dts_avro_arrow, "string"),
    SqlFunction("cdc_mongo_fields", mongo_fields_arrow, "map<string,string>"),
    SqlFunction("cdc_mongo_update", mongo_update_arrow, MONGO_UPDATE),
    SqlFunction("cdc_mongo_update_description", mongo_update_description_arrow, MONGO_UPDATE),
    SqlFunction(
        "cdc_mongo_patched", mongo_patched_arrow, "array<struct<document: string, is_known: boolean>>"
    ),
)


class UnsupportedSparkError(RuntimeError):
    """The functions do not run on the session's version of Spark."""


def register(spark: SparkSession) -> list[str]:
    """Register the package's functions in a Spark session and return their names.

    They are temporary functions of that session: deterministic, usable in tables and queries, not in views.
    Calling it again replaces them with themselves. In `dbt run` with `method: session` the dbt plugin calls
    it; in a notebook or over Spark Connect, call it once per session.

    Workers on other machines get the package from here. What it imports must be installed there:
    `pip install 'dbt-spark-cdc[worker]'`, with `dts` and `mongodb` for the formats of those names and `ddl`
    for cdc_ddl. In local mode it is enough that `PYSPARK_PYTHON` is the interpreter that has the package.

    Needs Spark 4.0 or newer and pyarrow. Raises TypeError when `spark` is not a session and
    UnsupportedSparkError, a RuntimeError, when Spark is too old.
    """
    if not hasattr(spark, "udf"):
        raise TypeError(
            f"dbt_spark_cdc.register: argument spark must be a SparkSession; got {type(spark).__name__}"
        )
    if version_of(spark) < OLDEST_SPARK:
        raise UnsupportedSparkError(
            "dbt_spark_cdc.register: argument spark must be a session of Spark 4.0 or newer; "
            f"got Spark {spark.version}"
        )
    ship(spark)
    for function in SQL_FUNCTIONS:
        spark.udf.register(function.name, _udf(spark, function))
    return [function.name for function in SQL_FUNCTIONS]


def version_of(spark: SparkSession) -> tuple[int, int]:
    """Return a session's version of Spark: major and minor."""
    major, minor = spark.version.split(".")[:2]
    return int(major), int(minor)


def _udf(spark: SparkSession, function: SqlFunction) -> Any:
    if version_of(spark) < FIRST_WITH_ARROW_FUNCTIONS:
        return _row_udf(function)
    from pyspark.sql.functions import ArrowUDFType, arrow_udf

    # Spark would otherwise resolve the type hints, which it cannot: the modules do not import pyarrow.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="It is preferred to specify type hints")
        return arrow_udf(function.arrow, function.returns, ArrowUDFType.SCALAR)


def _row_udf(function: SqlFunction) -> Any:
    """Call the same Arrow function row by row: slower, but Spark 4.0 knows nothing else for its types."""
    from pyspark.sql.functions import udf

    by_arrow = function.arrow

    def by_row(*values: Any) -> Any:
        import pyarrow as pa

        return plain(by_arrow(*(pa.array([_given(value)]) for value in values))[0])

    return udf(by_row, function.returns, useArrow=False)


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(part) for part in value]
    # A struct arrives as a Row, which Arrow reads as a list.
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value


def plain(value: Any) -> Any:
    """Return an Arrow scalar as the value that a Python function of Spark returns: a map as a dictionary."""
    import pyarrow as pa

    if not value.is_valid:
        return None
    if isinstance(value, pa.MapScalar):
        return dict(value.as_py())
    if isinstance(value, pa.StructScalar):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, pa.ListScalar):
        return [plain(part) for part in value]
    return value.as_py()
