"""`make bench`: what a run costs when there are many messages already, and when some changes come late.

length  a topic of 100 tables, once with few and once with many messages. Each batch has 5,000 new messages, and dbt runs messages,
        changes (a view) and current of one table. The answer is the cost with many messages to the cost with few.
late    a topic of one table. Some batches have 50 messages that come late: their offsets were left out of the batch before. The
        answer is the cost of such a batch to one without. It is measured with changes as a view and as a stored log,
        which is the choice for such a table.

All runs go in turn in one JVM, the first ones unmeasured. The figure is the JVM's CPU seconds. In the end the current tables hold
the newest message of each key.

    .venv/bin/python tests/bench/long_log.py --few 1000000 --many 50000000 --of-one-table 10000000
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness import Project, prepare_environment  # noqa: E402
from run import cpu_seconds  # noqa: E402

BARS = {"length": 1.3, "late": 3.0}
NEW, LATE = 5_000, 50
COLUMNS = {"id": "bigint", "name": "string", "amount": "decimal(20,4)", "v": "bigint"}
WARM_UP = 3


@dataclass
class Topic:
    """A raw table with messages of some tables, and a project that reads it."""

    folder: Path
    name: str
    tables: int
    keys: int
    with_log: bool = False
    landed: int = 0
    left_out: list[int] = field(default_factory=list)

    def create(self, messages: int) -> None:
        """Land the first messages, and build the tables from them."""
        self.project = Project(self.folder / self.name, self.name, self.models(), template=HERE / "project")
        self.project.start_spark()
        from pyspark.sql import SparkSession

        self.spark = SparkSession.builder.getOrCreate()
        for schema in ("raw", self.name):
            self.spark.sql(f"create schema if not exists {schema}")
        self.spark.sql(f"create table raw.{self.name} using iceberg as {self.messages(f'range({messages})')}")
        self.landed = messages
        self.project.run()

    def models(self) -> dict[str, str]:
        changes = (
            "{{ spark_cdc.changes(messages=ref('messages'), format='canal', table='table_0', key=['id'], "
            f"columns={COLUMNS}) }}}}\n"
        )
        models = {
            "models/sources.yml": f"sources: [{{name: raw, tables: [{{name: {self.name}}}]}}]\n",
            "models/messages.sql": "{{ config(materialized='cdc_append') }}\n"
            f"{{{{ spark_cdc.messages(source('raw', '{self.name}'), format='canal') }}}}\n",
        }
        for kind, materialized in {"view": "view", "log": "cdc_append"}.items():
            if kind == "view" or self.with_log:
                models[f"models/changes_{kind}.sql"] = (
                    f"{{{{ config(materialized='{materialized}') }}}}\n" + changes
                )
                models[f"models/current_{kind}.sql"] = (
                    "{{ config(materialized='cdc_current', unique_key=['id']) }}\n"
                    f"select * from {{{{ ref('changes_{kind}') }}}}\n"
                )
        return models

    def messages(self, offsets: str) -> str:
        """Query of the messages that stand at the offsets `id`: of the tables in turn, of keys all over the table."""
        key = f"pmod(xxhash64(id), {self.keys})"
        return f"""
            select '{self.name}' as topic, 0 as partition, id as offset, timestamp_millis(1700000000000 + id) as timestamp,
                cast(null as binary) as key, cast(to_json(named_struct(
                    'data', array(named_struct(
                        'id', cast({key} as string), 'name', concat('name ', id % 1000),
                        'amount', concat(id % 100000, '.', lpad(id % 10000, 4, '0')), 'v', cast(id as string)
                    )),
                    'database', 'shop', 'es', 1700000000000 + id, 'id', id, 'isDdl', false,
                    'old', array(map('name', 'before')), 'pkNames', array('id'),
                    'table', concat('table_', id % {self.tables}), 'ts', 1700000000000 + id, 'type', 'UPDATE'
                )) as binary) as value,
                cast(null as array<struct<key: string, value: binary>>) as headers
            from {offsets}
        """

    def land(self, with_late: bool = False, leaves_out: bool = False) -> None:
        """Append a batch of new messages; some of them may be left out, and those left out before come late."""
        offsets = list(range(self.landed, self.landed + NEW))
        self.landed += NEW
        late, kept = (self.left_out, []) if with_late else ([], self.left_out)
        if leaves_out:
            kept = kept + offsets[:: NEW // LATE]
        self.left_out = kept
        new = ", ".join(f"{offset}L" for offset in sorted({*offsets, *late} - set(kept)))
        self.spark.sql(
            f"insert into raw.{self.name} {self.messages(f'(select explode(array({new})) as id)')}"
        )

    def cpu(self, *models: str) -> float:
        """CPU seconds of the JVM for a run of the models."""
        started = cpu_seconds(self.spark)
        self.project.run("--select", *models)
        return cpu_seconds(self.spark) - started

    def assert_newest(self) -> None:
        """The current tables have the newest message of each key of the table."""
        kinds = ("view", "log") if self.with_log else ("view",)
        newest = f"""
            select pmod(xxhash64(offset), {self.keys}) as id, max(offset) as v
            from raw.{self.name} where offset % {self.tables} = 0 group by 1
        """
        for kind in kinds:
            current = f"select id, v from {self.name}.current_{kind} where not _cdc_is_deleted"
            [differing] = self.spark.sql(
                f"select count(*) from (({newest}) except all ({current}) union all (({current}) except all ({newest})))"
            ).first()
            if differing:
                sys.exit(f"{self.name}: current_{kind} has {differing} rows that are not the newest")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--few", type=int, default=1_000_000)
    arguments.add_argument("--many", type=int, default=5_000_000)
    arguments.add_argument("--of-one-table", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    missed = []
    with tempfile.TemporaryDirectory(prefix="spark_cdc_bench_") as scratch:
        folder = Path(scratch)
        prepare_environment(folder)
        missed += length(folder, options)
        missed += late(folder, options)
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


def length(folder: Path, options: argparse.Namespace) -> list[str]:
    """Print what a run costs where there are few messages and where there are many; gives the bar if it is missed."""
    topics = {}
    for name, messages in {"few": options.few, "many": options.many}.items():
        topics[name] = Topic(folder, name, tables=100, keys=100_000)
        topics[name].create(messages)
    seconds: dict[str, list[float]] = {name: [] for name in topics}
    for batch in range(WARM_UP + options.repeats):
        for name, topic in topics.items():
            topic.land()
            spent = topic.cpu("messages", "changes_view", "current_view")
            if batch >= WARM_UP:
                seconds[name].append(spent)
    for topic in topics.values():
        topic.assert_newest()
    figures = {
        f"{options.few} messages": seconds["few"],
        f"{options.many} messages": seconds["many"],
    }
    return report("length", f"{NEW} new messages of 100 tables", figures)


def late(folder: Path, options: argparse.Namespace) -> list[str]:
    """Print what late changes cost, over a view and over a stored log; gives the bars that are missed."""
    topic = Topic(folder, "one", tables=1, keys=options.of_one_table // 10, with_log=True)
    topic.create(options.of_one_table)
    seconds: dict[tuple[str, bool], list[float]] = {
        (kind, is_late): [] for kind in ("view", "log") for is_late in (False, True)
    }
    for batch in range(WARM_UP + options.repeats):
        for is_late in (False, True):
            topic.land(with_late=is_late, leaves_out=not is_late)
            shared = topic.cpu("messages")
            for kind in ("view", "log"):
                spent = shared + topic.cpu(f"changes_{kind}", f"current_{kind}")
                if batch >= WARM_UP:
                    seconds[kind, is_late].append(spent)
    topic.assert_newest()
    missed = []
    for kind in ("view", "log"):
        figures = {"none late": seconds[kind, False], f"{LATE} late": seconds[kind, True]}
        what = f"{NEW} new messages of a table with {options.of_one_table}, changes as a {kind}"
        missed += [f"{bar} ({kind})" for bar in report("late", what, figures)]
    return missed


def report(bar: str, what: str, figures: dict[str, list[float]]) -> list[str]:
    """Print the medians and their ratio; gives the bar if it is missed."""
    medians = [statistics.median(values) for values in figures.values()]
    ratio = medians[1] / medians[0]
    shown = ", ".join(f"{name} {median:.1f}" for name, median in zip(figures, medians, strict=True))
    print(f"{what}: CPU seconds {shown}, ratio {ratio:.2f} (bar {BARS[bar]})", flush=True)
    return [bar] if ratio > BARS[bar] else []


if __name__ == "__main__":
    main()
