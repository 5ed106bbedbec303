"""One quiet local Spark for the command line and the demo."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_BANNER = b"WARNING: Using incubator modules"

# With fewer bytes the JVM's second compiler costs more time than it saves (measured: 13.5 s -> 10.6 s).
SMALL = 16_000_000

# The meaning of a query must not depend on who started the session.
SESSION = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.caseSensitive": "false",
}

# So few rows are read before their code would be compiled (measured: a state of 44 columns 7.3 s -> 4.6 s).
SESSION_OF_FEW = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

LOG4J = """\
status = off
rootLogger.level = fatal
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = Spark %p %c{1}: %m%n%ex{short.message}
# As loud as the root, or Spark announces "Setting default log level".
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""


@contextmanager
def local_spark(size: int) -> Iterator[SparkSession]:
    """Give a session for messages of `size` bytes: of the Spark that runs in this process, or of a new one.

    It is a session of its own, so that views and settings stay separate. A new Spark ends with the context;
    it opens no port beyond this machine, prints nothing and leaves no file.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield _with_settings(running.newSession(), size)
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(prefix="spark-cdc-", ignore_cleanup_errors=True) as folder:
        spark = _start(Path(folder), size)
        try:
            yield _with_settings(spark, size)
        finally:
            spark.stop()


def _with_settings(spark: SparkSession, size: int) -> SparkSession:
    for name, value in (SESSION | (SESSION_OF_FEW if size < SMALL else {})).items():
        spark.conf.set(name, value)
    return spark


def _start(folder: Path, size: int) -> SparkSession:
    from pyspark.sql import SparkSession

    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J, encoding="utf-8")
    java = [f"-Dlog4j2.configurationFile={log4j}", f"-Djava.io.tmpdir={folder}"]
    if size < SMALL:
        java += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"]
    settings = {
        "spark.app.name": "spark-cdc",
        "spark.driver.memory": os.environ.get("SPARK_CDC_DRIVER_MEMORY", "3g"),
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        **SESSION,
    }
    builder = SparkSession.builder.master(os.environ.get("SPARK_CDC_MASTER", "local[2]"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def quiet_spark() -> Iterator[None]:
    """Keep off the terminal what log4j2.properties cannot: Java's banner and PySpark's copy of each error.

    Java warns of the vector module that Spark's launcher asks for, and no switch turns this off, so
    standard error goes through a pipe that drops this one line. PySpark logs a failed statement as one line
    of JSON with the whole Java stack; dbt prints the same error readably.
    """
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)

    reader, writer = os.pipe()
    terminal = os.dup(2)

    def pass_on() -> None:
        with os.fdopen(reader, "rb") as lines:
            for line in lines:
                if not line.startswith(JAVA_BANNER):
                    os.write(terminal, line)

    threading.Thread(target=pass_on, daemon=True).start()
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
