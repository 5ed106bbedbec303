"""`make bench`: the two steps of reading, each against a hand-written from_json with one cast a column.

messages  raw -> messages with their rows, exact, as a messages model stores them
changes   messages as they are stored -> typed changes, ten columns

All read the same messages in one process, turn about, after a warm-up; the figure is the JVM's CPU seconds, which a busy machine
disturbs least, and the answer is their ratio. Changes and what is written by hand must give the same rows: a checksum over all
columns that both have. Each line also has the length of the SQL and the seconds that Spark's analyzer takes for it, warm.

`least` is the ratio of a query that nobody can leave out: for messages the exact reading of the JSON and of its names, without
any rule of a format; for changes a cast of each value, without a look at any.

    make bench ARGS="--messages 200000 --formats canal"
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from dbt_spark_cdc.macros import MacroLibrary
from envelopes import COLUMNS, ENVELOPES, Envelope, row
from pyspark.sql import DataFrame, SparkSession

PROJECT = Path(__file__).parents[2]
# How many times the CPU of what is written by hand; characters of the SQL and of its longest line; seconds of Spark's analyzer.
BARS = {
    "messages": {"ratio": 3.0, "characters": 20_000, "longest line": 400},
    "changes": {"ratio": 1.0, "characters": 10_000, "longest line": 160, "analysis": 0.3},
}
# Of messages whose rows lie deeper, or are two messages.
NESTED, RATIO_OF_NESTED = ("debezium", "dataworks"), 4.5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--formats", nargs="+", default=list(ENVELOPES), choices=list(ENVELOPES))
    options = arguments.parse_args()
    spark = session()
    macros = MacroLibrary(PROJECT)
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(options.formats):
            envelope = ENVELOPES[name]
            queries = {"messages": macros.call("messages", "raw", envelope.format)}
            store(spark, messages(spark, envelope, options.messages), f"{scratch}/{number}/raw", "raw")
            store(spark, spark.sql(queries["messages"]), f"{scratch}/{number}/messages", "stored")
            queries["changes"] = changes(macros, envelope)
            least = {"messages": least_of_messages(macros, envelope), "changes": least_of_changes()}
            missed += compare(spark, name, queries, least, envelope.by_hand, options.repeats)
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


def store(spark: SparkSession, rows: DataFrame, path: str, view: str) -> None:
    """Write rows to files, and give them a name."""
    rows.write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView(view)


def session() -> SparkSession:
    settings = {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={PROJECT / 'profiles/log4j2.properties'}",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.codegen.hugeMethodLimit": "8000",  # as the dbt plugin sets it, for both queries
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def changes(macros: MacroLibrary, envelope: Envelope) -> str:
    columns = {**COLUMNS, "created_at": envelope.created_at}
    return macros.call(
        "changes", messages="stored", format=envelope.format, table="orders", key=["id"], columns=columns
    )


def least_of_messages(macros: MacroLibrary, envelope: Envelope) -> str:
    """Each message read once, with its numbers as they are written, and the names of its fields to find one twice."""
    read = macros.call("_format", envelope.format)
    return f"select {macros.call('_parsed', read, read['schema'])} as document, json_object_keys(value) as names from raw"


def least_of_changes() -> str:
    """Each value of a row and of the row before, by one cast."""
    rows = (
        f"struct({', '.join(f'try_cast(row.{image}[{name!r}] as {kind}) as {name}' for name, kind in COLUMNS.items())})"
        for image in ("image", "before")
    )
    return f"select {', '.join(rows)}, topic, partition, offset from stored lateral view explode(rows) as row"


def messages(spark: SparkSession, envelope: Envelope, count: int) -> DataFrame:
    """Deterministic messages of about 800 bytes: a fifth inserts, a tenth deletes, the rest updates."""
    op = "case when id % 10 < 2 then 0 when id % 10 < 9 then 1 else 2 end"
    changes = f"select id as offset, id, {op} as op from range(0, {count}, 1, 4)"
    if envelope.halves:
        halves = f"explode(case when {op} = 1 then array(1, 3) else array({op}) end)"
        changes = f"select id * 2 + if(op = 3, 1, 0) as offset, id, op from (select id, {halves} as op from range(0, {count}, 1, 4))"
    return spark.sql(f"""
        select 'orders' as topic, cast(0 as int) as partition, offset, timestamp_seconds(1700000000) as timestamp,
            cast(null as string) as key, to_json({envelope.message}, map('ignoreNullFields', 'false')) as value
        from (select *, {row(2, True)} as texts from ({changes}))
    """)


def compare(
    spark: SparkSession,
    name: str,
    queries: dict[str, str],
    least: dict[str, str],
    by_hand: str,
    repeats: int,
) -> list[str]:
    """Print a line for each step; gives the bars that it missed."""
    checksums = {query: checksum(spark.sql(query)) for query in (queries["changes"], by_hand)}
    if len(set(checksums.values())) > 1:
        sys.exit(f"{name}: the two queries give different rows: {list(checksums.values())}")
    measured = queries | {f"least of {step}": query for step, query in least.items()} | {"by hand": by_hand}
    seconds: dict[str, list[float]] = {label: [] for label in measured}
    for turn in range(repeats + 1):
        for label, query in measured.items():
            started = cpu_seconds(spark)
            spark.sql(query).write.format("noop").mode("overwrite").save()
            if turn:
                seconds[label].append(cpu_seconds(spark) - started)
    medians = {label: statistics.median(values) for label, values in seconds.items()}
    missed = []
    for step, query in queries.items():
        bars = dict(BARS[step])
        if step == "messages" and name.startswith(NESTED):
            bars["ratio"] = RATIO_OF_NESTED
        figures = {
            "ratio": medians[step] / medians["by hand"],
            "characters": len(query),
            "longest line": max(map(len, query.splitlines())),
            "analysis": analysis_seconds(spark, query),
        }
        shown = [f"{what} {figures[what]:.4g} (bar {bar:g})" for what, bar in bars.items()]
        shown.append(f"least {medians[f'least of {step}'] / medians['by hand']:.2f}")
        print(
            f"{name:24s} {step:8s} {medians[step]:.1f} s, by hand {medians['by hand']:.1f} s: {', '.join(shown)}",
            flush=True,
        )
        missed += [f"{name} {step} {what}" for what, bar in bars.items() if figures[what] > bar]
    return missed


def analysis_seconds(spark: SparkSession, query: str) -> float:
    """Of Spark's analyzer for a query that it has seen before."""
    started = time.perf_counter()
    spark.sql(query)
    return time.perf_counter() - started


def checksum(rows: DataFrame) -> tuple[int, int]:
    """Number of rows and a sum of hashes over the columns that both queries have."""
    names = ", ".join([*COLUMNS, "_cdc_op", "_cdc_offset", *(f"_cdc_before.{column}" for column in COLUMNS)])
    result = rows.selectExpr(f"xxhash64({names}) as h").selectExpr(
        "count(*)", "sum(cast(h as decimal(38,0)))"
    )
    return tuple(result.first())


def cpu_seconds(spark: SparkSession) -> float:
    """Of the JVM, user and system, as Linux counts them."""
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
