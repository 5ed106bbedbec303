"""`spark-cdc decode`: messages of files -> one object per message or row change, or their tables.

The package's macros read every message in Spark SQL; no Python code here knows a format. It only puts
Spark's results in the order of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.decode.changes import Changes
from dbt_spark_cdc.decode.files import AUTO, File, Options, Source, UsageError, refusals
from dbt_spark_cdc.decode.notices import notices
from dbt_spark_cdc.decode.states import States
from dbt_spark_cdc.decode.writers import Writers
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.registry import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["AUTO", "Decoder", "Options", "Source", "UsageError", "refusals"]


class Decoder:
    """Decodes files with one Spark."""

    def __init__(self, library: MacroLibrary, options: Options) -> None:
        """Check the options; raises UsageError."""
        self._writers = Writers(library.formats(), options)
        self._changes = Changes(library, options)

    def files(self, sources: Sequence[Source], names: Sequence[str] | None = None) -> list[File]:
        """Read the sources and find each one's format.

        If a file's format is not certain, its `refusal` says why and it has no messages. If that holds for
        every file, UsageError is raised.
        """
        return self._writers.files(sources, names)

    def changes(self, spark: SparkSession, files: list[File]) -> list[list[dict[str, Any]]]:
        """Return, for each file, an object per message or row change in the order of its lines."""
        register(spark)
        return self._writers.agreed(files, partial(self._changes.of, spark))

    def states(self, spark: SparkSession, files: list[File]) -> list[list[dict[str, Any]]]:
        """Return, for each file, an object per table: its rows after all changes, deleted ones gone."""
        register(spark)
        return self._writers.agreed(files, partial(States(self._changes).of, spark))

    def notices(self, files: list[File]) -> list[str]:
        """Return the notes about the decoded files that their results do not contain, a sentence each."""
        return list(notices(files, self._writers))
