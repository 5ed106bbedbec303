"""Spark for a command of `spark-cdc`, or the sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_of_command(command: str, size: int) -> Iterator[SparkSession]:
    """Give a quiet local Spark for messages of `size` bytes, or say why there is none."""
    try:
        from dbt_spark_cdc.local_spark import local_spark, quiet_spark
        from dbt_spark_cdc.registry import UnsupportedSparkError

        with quiet_spark(), local_spark(size) as spark:
            yield spark
    except ImportError as error:
        raise click.ClickException(
            f"{command} needs Spark, which is not installed ({error}); type pip install 'dbt-spark-cdc[dbt]'."
        ) from None
    except UnsupportedSparkError as error:
        raise click.ClickException(f"{command} needs Spark 4.0 or newer: {error}.") from None
