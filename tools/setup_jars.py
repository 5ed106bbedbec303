"""Fetch the jars that the local profiles name, once: `python tools/setup_jars.py folder [demo|test|e2e]`.

Spark could fetch them itself (`spark.jars.packages`), but then every start prints its resolver's tables and
asks the network. So its resolver runs here once, its output is kept back unless it fails, and profiles name
the files.
A mirror is used when DEFAULT_ARTIFACT_REPOSITORY names one; that is Spark's own setting.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

# Coordinates, and what the file must hash to wherever it came from. The demo's lake is Iceberg.
DEMO_JARS = {
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0": (
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82"
    ),
    "org.xerial:sqlite-jdbc:3.50.3.0": "a3f53a2aa15ae9425a9e793bbe9c8e5288febeb4b65ef5c1a4e80d4c2045cf08",
}
# The tests also run on Delta.
TEST_JARS = {
    **DEMO_JARS,
    "io.delta:delta-spark_4.1_2.13:4.4.0": "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    "io.delta:delta-storage:4.4.0": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
JARS = {"demo": DEMO_JARS, "test": TEST_JARS, "e2e": TEST_JARS}
# Spark's Kafka source, a broker, Kafka Connect with Debezium, Canal: tests are skipped without them. One hash
# for all files of each.
KAFKA_SOURCE = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",)
KAFKA_BROKER = ("org.apache.kafka:kafka_2.13:4.3.1",)
DEBEZIUM = (
    "org.apache.kafka:connect-runtime:4.3.1",
    "org.apache.kafka:connect-json:4.3.1",
    "io.debezium:debezium-connector-mariadb:3.5.0.Final",
    "io.debezium:debezium-connector-mysql:3.5.0.Final",
    "io.debezium:debezium-connector-postgres:3.5.0.Final",
    "org.slf4j:slf4j-simple:1.7.36",
)
CANAL = (
    "com.alibaba.otter:canal.server:1.1.7",
    "com.alibaba.otter:connector.core:1.1.7",
    "com.alibaba.otter:connector.kafka:1.1.7",
    "org.slf4j:slf4j-api:1.7.25",  # as new as its log4j binding
)
TEST_FOLDERS = {
    "kafka-source": (KAFKA_SOURCE, "11c2e1ee40baffea6927e35af913cf2f7742c1f99edb6905e7706434e0109f61"),
    "kafka-broker": (KAFKA_BROKER, "bb90fc6b4361656d05c9396e4f8d8711917970666e429ab8bc9975108108eb6b"),
    "debezium": (DEBEZIUM, "e19c4af075e59580d771aa923bb940e8760191c55a8dba5867f43123224716c6"),
}
E2E_FOLDERS = {
    **TEST_FOLDERS,
    "canal": (CANAL, "587a117c066738cf5d4408414274757b986fff17671e01efbfee6abb9f9d6aae"),
}
FOLDERS = {"demo": {}, "test": TEST_FOLDERS, "e2e": E2E_FOLDERS}
# What Spark has itself, and what Delta needs for other catalogs only.
NOT_FETCHED = (
    "org.slf4j:slf4j-api",
    "io.delta:delta-kernel-api",
    "io.delta:delta-kernel-defaults",
    "io.delta:delta-kernel-unitycatalog",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
)
OF_SPARK = (
    "org.slf4j:slf4j-api",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
    "org.lz4:lz4-java",
    "org.xerial.snappy:snappy-java",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
)


def main(argv: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else argv
    name, purpose = (*arguments, *(".jars", "demo")[len(arguments) :])
    folder = Path(name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # Side by side: most of it is waiting for the network and for Java to start.
    with ThreadPoolExecutor() as fetching:
        begun = [fetching.submit(fetch, folder, JARS[purpose])]
        for part, (jars, wanted) in FOLDERS[purpose].items():
            begun.append(fetching.submit(fetch_with_all, folder / part, jars, wanted))
    for done in begun:
        done.result()


def fetch(folder: Path, jars: dict[str, str]) -> None:
    """Put the jars that are not there yet into the folder; a file is there whole or not at all."""
    paths = {jar: folder / "{1}-{2}.jar".format(*jar.split(":")) for jar in jars}
    missing = {jar: path for jar, path in paths.items() if not path.is_file()}
    if not missing:
        return
    print(f"Fetching {len(missing)} Spark jars into {folder.name} (70 MB at most, once) ...", flush=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        output = resolve(list(missing), Path(scratch))
        for jar, path in missing.items():
            group, name, version = jar.split(":")
            fetched = Path(scratch, "jars", f"{group}_{name}-{version}.jar")
            if not fetched.is_file():
                print("\n".join(output.strip().splitlines()[-20:]), file=sys.stderr)
                stop(
                    f"{jar} could not be fetched: check the network, or name your Maven mirror in "
                    "DEFAULT_ARTIFACT_REPOSITORY, then run the same command again."
                )
            if hashlib.sha256(fetched.read_bytes()).hexdigest() != jars[jar]:
                stop(f"{jar} is not the file that was pinned: check the mirror that it came from.")
            os.replace(fetched, path)


def fetch_with_all(folder: Path, jars: tuple[str, ...], wanted: str) -> None:
    """Put jars and all that they need into a folder; if that fails, say that tests are skipped."""
    stamp = folder / "pinned"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"Fetching {jars[0]} and what it needs into {folder.name} (80 MB at most, once) ...", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        resolve(list(jars), Path(scratch), OF_SPARK if jars == KAFKA_SOURCE else ())
        files = sorted(Path(scratch, "jars").glob("*.jar"))
        found = "".join(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files)
        if hashlib.sha256(found.encode()).hexdigest() != wanted:
            print(f"{jars[0]} was not fetched as pinned: tests that need it are skipped.", file=sys.stderr)
            return
        Path(scratch, "jars", stamp.name).write_text(wanted)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(Path(scratch, "jars"), folder)


def resolve(coordinates: list[str], scratch: Path, excluded: tuple[str, ...] = NOT_FETCHED) -> str:
    """Run Spark's own resolver into a scratch folder and return what it printed."""
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        stop("PySpark is not installed: type `pip install 'dbt-spark-cdc[dbt]'`, then run this again.")
    home = Path(spark.origin).parent
    # Resolving is a side effect of submitting an application, so submit one that does nothing.
    nothing = scratch / "nothing.py"
    nothing.write_text("")
    command = [
        str(home / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *("--packages", ",".join(coordinates)),
        *(("--exclude-packages", ",".join(excluded)) if excluded else ()),
        *("--conf", f"spark.jars.ivy={scratch}"),
        str(nothing),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def stop(sentence: str) -> NoReturn:
    sys.exit(f"spark-cdc setup: {sentence}")


if __name__ == "__main__":
    main()
