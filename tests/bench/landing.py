"""`make bench`: a topic of a real Kafka broker, landed and read into a messages model, against a bare read of the topic.

ours   dbt runs a landing model and, over it, a messages model that stores the rows of each message
bare   Spark reads the same offsets and writes them to a table of the same format, without a look at any message
least  bare, and each message read once exactly, with the names of its fields, stored without any rule of a format

All go turn about in one JVM, each time into new tables; the first turn is not measured. The figure is the CPU seconds of that JVM:
the broker is a process of its own. In the end both tables have the same messages, and the messages model has a row for each.

    .venv/bin/python tests/bench/landing.py --messages 1000000 --formats canal debezium
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from broker import Broker, Client  # noqa: E402
from dbt_spark_cdc.macros import MacroLibrary  # noqa: E402
from envelopes import ENVELOPES  # noqa: E402
from harness import Project, prepare_environment  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from run import PROJECT, cpu_seconds, least_of_messages, messages  # noqa: E402

# How many times the CPU of the bare read.
BAR = 3.0
PARTITIONS = 4
COLUMNS = "topic, partition, offset, timestamp, key, value, headers"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--formats", nargs="+", default=["canal"], choices=list(ENVELOPES))
    options = arguments.parse_args()
    if not Broker.can_start():
        sys.exit(
            "the jars of a Kafka broker could not be fetched: `make setup-dev`, where Maven Central can be reached"
        )
    missed = []
    with tempfile.TemporaryDirectory(prefix="spark_cdc_bench_") as scratch:
        folder = Path(scratch)
        prepare_environment(folder)
        broker = Broker(folder / "kafka").start()
        try:
            for name in options.formats:
                missed += Bench(folder, broker, name).measure(options.messages, options.repeats)
        finally:
            broker.stop()
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


class Bench:
    """A topic, and a project with models of its own for each turn."""

    def __init__(self, folder: Path, broker: Broker, name: str) -> None:
        self.topic, self.servers, self.envelope = name, broker.servers, ENVELOPES[name]
        self.project = Project(folder / name, name, {}, template=HERE / "project")
        self.project.start_spark()
        self.spark = SparkSession.builder.getOrCreate()
        self.spark.sql(f"create schema if not exists {name}")

    def measure(self, count: int, repeats: int) -> list[str]:
        """Print the medians; gives the format if it misses the bar."""
        self.produce(count)
        steps = {
            "landing": lambda turn: self.project.run("--select", f"landing_{turn}"),
            "messages": lambda turn: self.project.run("--select", f"messages_{turn}"),
            "bare": lambda turn: self.store(self.of_kafka().selectExpr(*COLUMNS.split(", ")), f"bare_{turn}"),
            "exact reading": self.read_exactly,
        }
        seconds: dict[str, list[float]] = {step: [] for step in steps}
        for turn in range(repeats + 1):
            self.project.write(self.models(turn))
            for step, do in steps.items():
                started = cpu_seconds(self.spark)
                do(turn)
                if turn:
                    seconds[step].append(cpu_seconds(self.spark) - started)
            self.must_be_equal(turn, count)
        landing, read, bare, exact = (statistics.median(values) for values in seconds.values())
        ratio = (landing + read) / bare
        print(
            f"{self.topic}, {count} messages: CPU seconds landing {landing:.1f}, messages {read:.1f}, bare {bare:.1f}; "
            f"ratio {ratio:.2f} (bar {BAR}), of landing alone {landing / bare:.2f}, least {(bare + exact) / bare:.2f}",
            flush=True,
        )
        return [self.topic] if ratio > BAR else []

    def produce(self, count: int) -> None:
        """Fill the topic; keys spread the messages over its partitions."""
        client = Client(self.spark, self.servers)
        client.create(self.topic, PARTITIONS)
        client.close()
        made = messages(self.spark, self.envelope, count).selectExpr("cast(offset as string) as key", "value")
        made.write.format("kafka").options(
            **{"kafka.bootstrap.servers": self.servers, "topic": self.topic}
        ).save()
        [length] = self.of_kafka().selectExpr("avg(length(value))").first()
        print(f"{self.topic}: messages of {length:.0f} bytes", flush=True)

    def of_kafka(self) -> DataFrame:
        options = {"kafka.bootstrap.servers": self.servers, "subscribe": self.topic, "includeHeaders": "true"}
        return self.spark.read.format("kafka").options(**options).load()

    def models(self, turn: int) -> dict[str, str]:
        options = {"kafka.bootstrap.servers": self.servers, "subscribe": self.topic}
        return {
            f"models/landing_{turn}.sql": "{{ config(materialized='cdc_landing') }}\n"
            f"{{{{ spark_cdc.kafka_messages(options={options}) }}}}\n",
            f"models/messages_{turn}.sql": "{{ config(materialized='cdc_append') }}\n"
            f"{{{{ spark_cdc.messages(ref('landing_{turn}'), format='{self.envelope.format}') }}}}\n",
        }

    def store(self, rows: DataFrame, table: str) -> None:
        rows.writeTo(f"{self.topic}.{table}").using("iceberg").create()

    def read_exactly(self, turn: int) -> None:
        """Store each message of the bare table, read once, without any rule of the format."""
        values = self.spark.table(f"{self.topic}.bare_{turn}").selectExpr("cast(value as string) as value")
        values.createOrReplaceTempView("raw")
        self.store(self.spark.sql(least_of_messages(MacroLibrary(PROJECT), self.envelope)), f"least_{turn}")

    def must_be_equal(self, turn: int, count: int) -> None:
        """The landing model has what the bare table has, and the messages model has read each of them."""
        one, other = (
            f"select topic, partition, offset, timestamp, key, value from {self.topic}.{table}_{turn}"
            for table in ("landing", "bare")
        )
        [differ] = self.spark.sql(f"select count(*) from (({one}) except all ({other}))").first()
        found = self.spark.sql(
            f"select count(*), count(rows), count(error) from {self.topic}.messages_{turn}"
        ).first()
        landed = self.spark.table(f"{self.topic}.bare_{turn}").count()
        if differ or landed < count or tuple(found) != (landed, landed, 0):
            sys.exit(
                f"{self.topic}: {differ} of {landed} messages differ; the messages model has {tuple(found)}"
            )


if __name__ == "__main__":
    main()
