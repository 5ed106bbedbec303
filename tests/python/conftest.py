"""One Spark session for all Python tests, set up as dbt-spark's `method: session` sets it up."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dbt_spark_cdc.macros import MacroLibrary
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
# `make ansi`: all tests with ANSI on, which the goldens have in any case.
HAS_ANSI = bool(os.environ.get("SPARK_CDC_ANSI"))
PACKAGE_PATH = str(REPOSITORY / "python_udfs")

# The workers import the package too; with an editable install both lines change nothing.
if PACKAGE_PATH not in sys.path:
    sys.path.insert(0, PACKAGE_PATH)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE_PATH, os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A local session that has the package's functions; ANSI is off, as dbt-spark forces it in a session of its own.

    tests/conftest.py ends it.
    """
    from dbt_spark_cdc import register
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        # Many wide queries, each run once over a few rows: to compile them, and to plan again while one runs, costs more
        # than it saves. What plans them runs for a quarter of an hour, so Java's second compiler saves more than it costs.
        # Plans are large and soon garbage. By default Java has little space for new objects: collecting them took a tenth of
        # the time.
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC -Xms1600m -Xmn1000m",
        )
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # Nobody reads the plans that Spark prints of each query: a third of the time of a wide one.
        .config("spark.sql.debug.maxToStringFields", "0")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    register(session)
    return session


@pytest.fixture(scope="session")
def library() -> MacroLibrary:
    """The macros, rendered without dbt."""
    from dbt_spark_cdc.macros import MacroLibrary

    return MacroLibrary(REPOSITORY)


@pytest.fixture(scope="session")
def session(spark: SparkSession) -> SparkSession:
    """A session whose time zone is far from UTC: no result may depend on it."""
    return _far_from_utc(spark, ansi=HAS_ANSI)


@pytest.fixture(scope="session")
def ansi_session(spark: SparkSession) -> SparkSession:
    """The same with ANSI on, as Spark 4 has it where dbt-spark's setting does not reach: a Thrift server."""
    return _far_from_utc(spark, ansi=True)


def _far_from_utc(spark: SparkSession, ansi: bool) -> SparkSession:
    from dbt_spark_cdc import register

    session = spark.newSession()
    register(session)
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    return session


@pytest.fixture(autouse=True)
def _must_be_marked_if_it_starts_spark(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make test-fast` leaves out what starts Spark, and can only see the marks."""
    if any(request.node.get_closest_marker(name) for name in ("spark", "dbt")):
        return

    def not_marked(_: object) -> None:
        pytest.fail("the test starts Spark: mark it with @pytest.mark.spark")

    monkeypatch.setattr("pyspark.sql.SparkSession.Builder.getOrCreate", not_marked)
