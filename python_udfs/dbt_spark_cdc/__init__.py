"""Python part of the dbt package spark_cdc: functions for what Spark SQL cannot do.

dbt imports every top-level module whose name starts with ``dbt_`` on every command, and Spark workers
import this package to run its functions. So it imports nothing heavy here, and dbt itself may be missing.
"""

from __future__ import annotations

from typing import Any

from dbt_spark_cdc.registry import register

__version__ = "0.1.0"

__all__ = ["__version__", "plugins", "register"]


def __getattr__(name: str) -> Any:
    # Only dbt asks for `plugins`: a worker or a notebook does not need dbt, and must not wait for its
    # import.
    if name == "plugins":
        try:
            from dbt_spark_cdc.plugin import SparkCdcPlugin
        except ImportError:
            return []
        return [SparkCdcPlugin]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
