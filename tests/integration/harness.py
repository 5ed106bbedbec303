"""A user's dbt project and the Spark session of its runs: one JVM for all integration tests.

`Project` is a copy of integration_tests/ in a folder of its own. Its dbt runs in this process, so
that the tests can fill raw tables and read results in the very session that dbt-spark uses.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
USER_PROJECT = REPOSITORY / "integration_tests"
# Lake, which is also the file format and the target of the profile -> its jars.
JARS = {
    "iceberg": ("iceberg-spark-runtime-4.1_2.13-1.12.0.jar", "sqlite-jdbc-3.50.3.0.jar"),
    "delta": ("delta-spark_4.1_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"),
}
# Of modules that would take long on each lake: `make delta` asks for the other one.
LAKES_ASKED_FOR = tuple(os.environ.get("SPARK_CDC_LAKES", "iceberg").split())
# Iceberg with its files in memory: see `environment`.
IN_MEMORY = "memory"
QUICK_LAKES_ASKED_FOR = tuple(IN_MEMORY if lake == "iceberg" else lake for lake in LAKES_ASKED_FOR)
# dbt-spark turns ANSI off in each session of its own, and cannot in those of a Thrift server: `make ansi` has it on.
HAS_ANSI = bool(os.environ.get("SPARK_CDC_ANSI"))
# Spark's Kafka source, where it could be fetched.
KAFKA_JARS = tuple(
    f"kafka-source/{file.name}" for file in sorted((REPOSITORY / ".jars" / "kafka-source").glob("*.jar"))
)
KAFKA_USER, KAFKA_PASSWORD = "reader", "s3cr3t'of the reader"
KAFKA_LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="{KAFKA_USER}" password="{KAFKA_PASSWORD}";'
)
RAW_SCHEMA = (
    "topic string, `partition` int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary, "
    "headers array<struct<`key`: string, `value`: binary>>"
)
# Only what stops the process: an error of a query reaches the test through dbt.
LOG4J2 = """
status = off
rootLogger.level = fatal
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = Spark %p %c{1}: %m%n%ex{short.message}
"""


@dataclass(frozen=True)
class Message:
    """One Kafka message; the offset is given when it lands."""

    value: str | bytes | None
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    partition: int = 0


@dataclass
class Run:
    """What one dbt command said: of each node, and why it stopped, if it did; and what macros logged for people."""

    result: dbtRunnerResult
    logged: list[str] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """The error that stopped the command before any node ran."""
        return str(self.result.exception or "")

    @property
    def messages(self) -> dict[str, str]:
        """Node name -> what dbt says of it."""
        return {node.node.name: str(node.message) for node in self._nodes()}

    @property
    def statuses(self) -> dict[str, str]:
        """Node name -> success, error, skipped, pass, fail …"""
        return {node.node.name: str(node.status) for node in self._nodes()}

    def _nodes(self) -> Iterable[Any]:
        return self.result.result.results if self.result.result else ()

    def must_succeed(self, *also: str) -> Run:
        """Fail with dbt's own words if anything went wrong; a node may have a status of `also`, such as warn."""
        bad = {
            name: self.messages[name]
            for name, status in self.statuses.items()
            if status not in ("success", "pass", *also)
        }
        assert self.result.success and not bad, self.failure or json.dumps(bad, indent=2)
        return self


class Project:
    """A copy of a user's project that has the package installed as its packages.yml says.

    `models` (path under the project -> text) stand in place of its own models. With `writes_json` dbt leaves the files that it
    leaves a user, such as run_results.json.
    """

    writes_json = False

    def __init__(
        self, folder: Path, schema: str, models: dict[str, str] | None = None, template: Path = USER_PROJECT
    ) -> None:
        shutil.copytree(template, folder, ignore=shutil.ignore_patterns("dbt_packages", "target", "logs"))
        packages = folder / "packages.yml"
        installed, replaced = re.subn(
            r"local: (?:\.\./)*\.\.\n", f"local: {REPOSITORY}\n", packages.read_text()
        )
        assert replaced == 1
        packages.write_text(installed)
        self.folder = folder
        self.schema = schema
        if models is not None:
            self.remove("models")
            self.write(models)
        self.dbt("deps").must_succeed()

    def dbt(self, *arguments: str) -> Run:
        """Run one dbt command in this process."""
        # Not above: `stop_jvm` also ends the session of tests beside which no dbt is installed, as on Spark 4.0.
        from dbt.cli.main import dbtRunner

        command = [
            *arguments,
            *([] if "--no-quiet" in arguments else ["--quiet"]), "--no-send-anonymous-usage-stats", "--log-level-file", "none",
            "--project-dir", str(self.folder),
            # Two manifests a command take half a second.
            *([] if self.writes_json else ["--no-write-json"]),
        ]  # fmt: skip
        if arguments[0] != "deps":
            command += ["--profiles-dir", str(self.folder)]
        os.environ["SHOP_SCHEMA"] = self.schema
        logged: list[str] = []

        def keep(event: Any) -> None:
            if event.info.name in ("JinjaLogInfo", "JinjaLogWarning"):
                logged.append(event.info.msg)

        if HAS_ANSI:
            _keep_ansi_on()
        with _inside(self.folder):
            return Run(dbtRunner(callbacks=[keep]).invoke(command), logged)

    def run(self, *arguments: str) -> Run:
        """`dbt run` that has to succeed."""
        return self.dbt("run", *arguments).must_succeed()

    def step_of(self, model: str) -> str:
        """What the statement with which the model was last written says of itself in a long run."""
        from dbt_spark_cdc.progress import step_of

        [written] = self.folder.glob(f"target/run/**/{model}.sql")
        return step_of(written.read_text())

    def start_spark(self) -> None:
        """Let there be dbt's session, which the tests use too: one for all projects of a JVM."""
        from pyspark.sql import SparkSession

        if SparkSession._instantiatedSession is None:
            self.dbt("show", "--inline", "select 1").must_succeed()

    def write(self, files: dict[str, str]) -> None:
        """Put files into the project: path under the project -> text."""
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def remove(self, *paths: str) -> None:
        """Take files or folders out of the project."""
        for path in paths:
            target = self.folder / path
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink()


def profile_named(name: str) -> str:
    """The profile of the tests for a project that asks for one of this name."""
    return (USER_PROJECT / "profiles.yml").read_text().replace("\nshop:\n", f"\n{name}:\n")


def _keep_ansi_on() -> None:
    from dbt.adapters.spark.connections import SparkCredentials

    force_off = SparkCredentials.__post_init__
    if force_off.__name__ != "keep_on":

        def keep_on(self: SparkCredentials) -> None:
            force_off(self)
            self.server_side_parameters["spark.sql.ansi.enabled"] = "true"

        SparkCredentials.__post_init__ = keep_on


class Lake:
    """The Spark session that dbt-spark has, as the tests use it beside dbt."""

    def __init__(self, file_format: str = "iceberg") -> None:
        self.file_format = file_format
        self._offsets: dict[tuple[str, str, int], int] = {}

    @property
    def spark(self) -> SparkSession:
        """The session of dbt's own connection; dbt has to have run once."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        return [row.asDict(recursive=True) for row in self.spark.sql(sql).collect()]

    def create_raw(self, *tables: str, schema: str = "raw") -> None:
        """Create empty raw tables as a Kafka sink would."""
        self.spark.sql(f"create schema if not exists {schema}")
        for table in tables:
            self.spark.sql(
                f"create or replace table {schema}.{table} ({RAW_SCHEMA}) using {self.file_format}"
            )
            self._offsets = {place: at for place, at in self._offsets.items() if place[:2] != (schema, table)}

    def commits(self, table: str) -> int:
        """How often a table was written to."""
        if self.file_format == "delta":
            return len(self.rows(f"describe history {table}"))
        [count] = self.rows(f"select count(*) as n from {table}.snapshots")
        return count["n"]

    def land(self, table: str, messages: Iterable[Message], schema: str = "raw") -> list[int]:
        """Append messages to a raw table under the next offsets; return these."""
        rows, offsets = [], []
        for message in messages:
            place = (schema, table, message.partition)
            offset = self._offsets.get(place, 0)
            self._offsets[place] = offset + 1
            offsets.append(offset)
            rows.append(raw_row(f"{schema}.{table}", offset, message))
        self.append(f"{schema}.{table}", rows)
        return offsets

    def land_again(self, table: str, offsets: dict[int, Message], schema: str = "raw") -> None:
        """Append messages under offsets that the table has already, as a sink does after a crash."""
        self.append(f"{schema}.{table}", [raw_row(f"{schema}.{table}", *place) for place in offsets.items()])

    def append(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Append rows to a raw table as they are."""
        if rows:
            self.spark.createDataFrame(rows, RAW_SCHEMA).writeTo(table).append()


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def raw_row(topic: str, offset: int, message: Message) -> tuple[Any, ...]:
    """A message as a row of a raw table."""
    from datetime import datetime, timezone

    value = message.value.encode() if isinstance(message.value, str) else message.value
    return (
        topic,
        message.partition,
        offset,
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        message.key.encode() if message.key is not None else None,
        value,
        [(name, text.encode()) for name, text in message.headers.items()],
    )


def prepare_environment(lake: Path, file_format: str = "iceberg", in_memory: bool = False) -> None:
    """Say where dbt's profile finds the lake and the jars; no session may run yet."""
    from pyspark import SparkContext

    assert SparkContext._active_spark_context is None, (
        "another test's Spark still runs: name the folders of tests one after the other"
    )
    os.environ |= environment(lake, file_format, in_memory)


def environment(lake: Path, file_format: str, in_memory: bool = False) -> dict[str, str]:
    """The variables that the profile of the user's project reads, and what they name.

    `in_memory`: Iceberg's files are in the memory of the JVM, where no other process finds them. A run takes four fifths of
    the time: on a disk Hadoop writes a checksum next to each file, and starts a process to change its mode.
    """
    (lake / "log4j2.properties").write_text(LOG4J2)
    return {
        "SHOP_TARGET": file_format,
        "SHOP_LAKE": str(lake),
        "SHOP_JARS": ",".join(str(REPOSITORY / ".jars" / name) for name in JARS[file_format] + KAFKA_JARS),
        "SHOP_LOG4J2": str(lake / "log4j2.properties"),
        "SHOP_FILE_IO": "inmemory.InMemoryFileIO" if in_memory else "hadoop.HadoopFileIO",
        "PYSPARK_PYTHON": sys.executable,
        # Of the JVM, whose Kafka client reads it: see tests/integration/test_landing.py.
        "KAFKA_LOGIN": KAFKA_LOGIN,
    }


def stop_jvm() -> None:
    """End the session and its JVM, so that tests after these start one with settings of their own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Not the active session: that is the one of a thread, and dbt has threads of its own.
    session = SparkSession._instantiatedSession
    if session is None:
        return
    session.stop()
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)
