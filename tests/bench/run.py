"""`make bench`: parse speed of each format's staging model against a hand-written from_json for the same columns.

Both read the same messages in one process, turn about, after a warm-up; the figure is the JVM's CPU seconds, which a busy
machine disturbs least, and the answer is their ratio. Each pair must give the same rows: a checksum over all columns that
both have.

Beside them goes the floor: what is written by hand, over messages in which a key that stands twice and bytes that are no UTF-8
have been looked for, each with the cheapest built-in that was found. It checks no value.

    make bench ARGS="--messages 200000 --formats canal"
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from dbt_spark_cdc.macros import MacroLibrary
from envelopes import COLUMNS, ENVELOPES, Envelope, row
from pyspark.sql import DataFrame, SparkSession

PROJECT = Path(__file__).parents[2]
READ_STRICTLY = """
    select * except (value), try_validate_utf8(value) as value
    from raw
    where size(array_distinct(json_object_keys(value))) > 0
"""


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
            path = f"{scratch}/{number}"
            messages(spark, envelope, options.messages).write.parquet(path)
            spark.read.parquet(path).createOrReplaceTempView("raw")
            spark.sql(READ_STRICTLY).createOrReplaceTempView("raw_read_strictly")
            ratio, floor = compare(spark, name, ours(macros, envelope), envelope.by_hand, options.repeats)
            verdict = "within" if ratio <= envelope.bar else "MISSED"
            print(
                f"{name:24s} ratio {ratio:.2f}, floor {floor:.2f}, bar {envelope.bar}: {verdict}", flush=True
            )
            missed += [name] if ratio > envelope.bar else []
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


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


def ours(macros: MacroLibrary, envelope: Envelope) -> str:
    columns = {**COLUMNS, "created_at": envelope.created_at}
    return macros.call("changes", "raw", format=envelope.format, table="orders", key=["id"], columns=columns)


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


def compare(spark: SparkSession, name: str, ours: str, by_hand: str, repeats: int) -> tuple[float, float]:
    """Of our query and of the floor, how many times the CPU of what is written by hand."""
    checksums = {query: checksum(spark.sql(query)) for query in (ours, by_hand)}
    if len(set(checksums.values())) > 1:
        sys.exit(f"{name}: the two queries give different rows: {list(checksums.values())}")
    queries = {
        "spark_cdc": ours,
        "by hand": by_hand,
        "floor": by_hand.replace("from raw", "from raw_read_strictly"),
    }
    seconds: dict[str, list[float]] = {label: [] for label in queries}
    for turn in range(repeats + 1):
        for label, query in queries.items():
            started = cpu_seconds(spark)
            spark.sql(query).write.format("noop").mode("overwrite").save()
            if turn:
                seconds[label].append(cpu_seconds(spark) - started)
    for label, values in seconds.items():
        print(
            f"{name:24s} {label:10s} CPU seconds {' '.join(f'{value:.1f}' for value in sorted(values))}",
            flush=True,
        )
    medians = {label: statistics.median(values) for label, values in seconds.items()}
    return medians["spark_cdc"] / medians["by hand"], medians["floor"] / medians["by hand"]


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
