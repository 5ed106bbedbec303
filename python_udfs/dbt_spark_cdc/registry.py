"""The SQL functions of this package, and `register`, which makes them known to a Spark session."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SqlFunction(NamedTuple):
    """One SQL function: its name, the Arrow function behind it, and the Spark type that it returns."""

    name: str
    arrow: Callable
    returns: str


MONGO_UPDATE = "fields map<string,string>, patches map<string,string>"

SQL_FUNCTIONS = (
    SqlFunction("cdc_decode_binary", decode_binary_arrow, "binary"),
    SqlFunction("cdc_type", type_name_arrow, "name string, spark_type string"),
    SqlFunction("cdc_detect", detect_arrow, "format string, dialect string, confidence double"),
    SqlFunction("cdc_dts_avro", dts_avro_arrow, "string"),
    SqlFunction("cdc_mongo_fields", mongo_fields_arrow, "map<string,string>"),
    SqlFunction("cdc_mongo_update", mongo_update_arrow, MONGO_UPDATE),
    SqlFunction("cdc_mongo_update_description", mongo_update_description_arrow, MONGO_UPDATE),
    SqlFunction(
        "cdc_mongo_patched", mongo_patched_arrow, "array<struct<document: string, is_known: boolean>>"
    ),
)


def register(spark: SparkSession) -> list[str]:
    """Register the package's functions in a Spark session and return their names.

    They are temporary functions of that session: deterministic, usable in tables and queries, not in views.
    Calling it again replaces them with themselves. In `dbt run` with `method: session` the dbt plugin calls
    it; in a notebook or over Spark Connect, call it once per session.

    The functions travel to the workers by name, so each worker's Python must be able to import
    `dbt_spark_cdc`: install the same version there (`pip install dbt-spark-cdc`). In local mode it is enough
    that `PYSPARK_PYTHON` is the interpreter that has the package.

    Needs Spark 4.1 or newer (`arrow_udf`) and pyarrow. Raises TypeError when `spark` is not a session and
    RuntimeError when Spark is too old.
    """
    if not hasattr(spark, "udf"):
        raise TypeError(
            f"dbt_spark_cdc.register: argument spark must be a SparkSession; got {type(spark).__name__}"
        )
    try:
        from pyspark.sql.functions import ArrowUDFType, arrow_udf
    except ImportError as error:
        raise RuntimeError(
            "dbt_spark_cdc.register: argument spark must be a session of Spark 4.1 or newer; "
            f"got Spark {spark.version}"
        ) from error
    for function in SQL_FUNCTIONS:
        # Spark would rather resolve the type hints, which it cannot: the modules do not import pyarrow.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="It is preferred to specify type hints")
            udf = arrow_udf(function.arrow, function.returns, ArrowUDFType.SCALAR)
        spark.udf.register(function.name, udf)
    return [function.name for function in SQL_FUNCTIONS]
