"""`make bench`: a batch of changes from raw text into a current and a history table, against one hand-written MERGE.

A user's project with a changes model, a current and a history table over many keys; each batch lands a few thousand messages
for keys all over the table. By hand it is from_json, one cast a column, the newest row of each key, and one MERGE with a guard
by offset, into a table with the properties that ours has. What a batch costs is counted from raw text to the table, for current
and for history alike. Batches go in turn through both in one JVM, the first ones unmeasured: until about the twentieth the
figures fall, as the JVM compiles. The figure is the JVM's CPU seconds. In the end all current tables must hold the same rows.

Beside them go two floors, in two steps, since a log of typed changes is to be kept: an append to the log, and a MERGE of what
was appended. Once by hand, without dbt, and once as two plain models of dbt-spark's own incremental strategies. Neither looks
for anything that is late, doubled or does not fit.

    .venv/bin/python tests/bench/apply.py --keys 1000000 --changes 5000 --lake delta
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness import JARS, Project, prepare_environment  # noqa: E402
from run import cpu_seconds  # noqa: E402

COLUMNS = {
    "id": "bigint",
    "customer": "string",
    "amount": "decimal(20,4)",
    "note": "string",
    "size": "int",
    "placed_at": "timestamp_ntz",
}
CONTRACT = (
    "_cdc_op string, _cdc_sequence array<decimal(20,0)>, _cdc_committed_at timestamp, _cdc_transaction_id string, "
    f"_cdc_before struct<{', '.join(f'{name}: {kind}' for name, kind in COLUMNS.items())}>, _cdc_missing_columns array<string>, "
    "_cdc_error struct<code: string, detail: string>, _cdc_topic string, _cdc_partition int, _cdc_offset bigint, "
    "_cdc_offsets array<struct<partition: int, offset: bigint>>, _cdc_loaded_at timestamp, "
    "_cdc_read_positions string"
)
# Of key `id` in its version `v`, as SQL.
TEXTS = {
    "id": "cast(id as string)",
    "customer": "concat('customer ', id % 1000, ' ', v)",
    "amount": "concat(id % 100000, '.', lpad(v % 10000, 4, '0'))",
    "note": "sha2(concat(id, v), 256)",
    "size": "cast((id + v) % 1000 as string)",
    "placed_at": "concat('2026-01-01 00:00:', lpad(id % 60, 2, '0'))",
}
WARM_UP = 20
# Bars of current against the MERGE, by keys and size of batch; what is not listed has none.
BARS = {
    ("iceberg", 1_000_000, 5_000): 1.4,
    ("iceberg", 10_000_000, 5_000): 0.6,
    ("iceberg", 10_000_000, 500_000): 1.2,
    ("delta", 10_000_000, 5_000): 0.75,
}


class Bench:
    """The project, its tables, and the tables made by hand beside them."""

    def __init__(self, lake: str, folder: Path, keys: int, changes: int) -> None:
        self.lake, self.keys, self.changes = lake, keys, changes
        prepare_environment(folder, lake)
        self.project = Project(folder / "project", "bench", template=HERE / "project")
        self.offset = 0
        self.dbt("show", "--inline", "select 1")
        from pyspark.sql import SparkSession

        self.spark = SparkSession.builder.getOrCreate()

    def dbt(self, *arguments: str) -> None:
        self.project.dbt(*arguments).must_succeed()

    def cpu(self, work: Callable[[], object]) -> float:
        """CPU seconds of the JVM."""
        started = cpu_seconds(self.spark)
        work()
        return cpu_seconds(self.spark) - started

    def create(self) -> None:
        """Fill the tables with one row a key, as a snapshot would."""
        self.spark.sql("create schema if not exists raw")
        self.spark.sql("create schema if not exists bench")
        using = f"using {self.lake}"
        self.spark.sql(f"""
            create table raw.orders (topic string, partition int, offset bigint, timestamp timestamp, key string, value string)
            {using}
        """)
        typed = ", ".join(f"cast({TEXTS[name]} as {kind}) as {name}" for name, kind in COLUMNS.items())
        contract = {
            "_cdc_op": "'snapshot'",
            "_cdc_sequence": "array(cast(id - 100000000 as decimal(20,0)), cast(0 as decimal(20,0)))",
            "_cdc_committed_at": "timestamp'2026-01-01'",
            "_cdc_topic": "'snapshot'",
            "_cdc_partition": "0",
            "_cdc_offset": "id",
            "_cdc_offsets": "array(named_struct('partition', 0, 'offset', id))",
            "_cdc_loaded_at": "timestamp'2026-01-01'",
        }
        fields = ", ".join(
            f"cast({contract.get(field.split()[0], 'null')} as {field.split(' ', 1)[1]}) as {field.split()[0]}"
            for field in CONTRACT.replace(", _cdc", "|_cdc").split("|")
        )
        self.spark.sql(f"""
            create table bench.orders_changes {using} as
            select {typed}, {fields} from (select id, 0 as v from range({self.keys}))
        """)
        declared = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        for table in ("log_by_hand", "plain_log"):
            self.spark.sql(
                f"create table bench.{table} ({declared}, is_deleted boolean, offset bigint) {using}"
            )
        marks_rows = " tblproperties ('delta.enableDeletionVectors' = 'true')" if self.lake == "delta" else ""
        for table in ("by_hand", "of_log_by_hand", "plain_current"):
            self.spark.sql(f"""
                create table bench.{table} {using}{marks_rows} as
                select {typed}, false as is_deleted, cast(-1 as bigint) as offset from (select id, 0 as v from range({self.keys}))
            """)
        self.dbt("run", "--select", "orders", "orders_history")

    def land(self) -> None:
        """Append messages: a fifth inserts, a tenth deletes, the rest updates, of keys all over the table."""
        first = self.offset
        self.offset += self.changes
        row = f"named_struct({', '.join(f'{name!r}, {text}' for name, text in TEXTS.items())})"
        self.spark.sql(f"""
            insert into raw.orders
            select 'shop' as topic, 0 as partition, offset, timestamp'2026-01-02', cast(null as string),
                to_json(named_struct(
                    'data', array({row}), 'database', 'shop', 'es', 1767312000000 + offset, 'id', offset, 'isDdl', false,
                    'old', case when op = 'UPDATE' then array(map('note', 'before')) end, 'pkNames', array('id'),
                    'table', 'orders', 'ts', 1767312000000 + offset, 'type', op
                ), map('ignoreNullFields', 'false'))
            from (
                select
                    offset,
                    offset as v,
                    case when offset % 10 < 2 then {self.keys} + offset
                        else pmod(xxhash64(offset), {self.keys}) end as id,
                    case when offset % 10 < 2 then 'INSERT' when offset % 10 < 9 then 'UPDATE' else 'DELETE' end as op
                from (select id as offset from range({first}, {self.offset}))
            )
        """)

    def parsed_by_hand(self) -> str:
        """Query of what landed last, one row a change."""
        texts = ", ".join(f"{name}: string" for name in COLUMNS)
        typed = ", ".join(f"cast(row.{name} as {kind}) as {name}" for name, kind in COLUMNS.items())
        return f"""
            select {typed}, message.type = 'DELETE' as is_deleted, offset
            from (
                select offset, from_json(value, 'type string, data array<struct<{texts}>>') as message
                from raw.orders
                where offset >= {self.offset - self.changes}
            )
            lateral view explode(message.data) exploded as row
        """

    def merge_by_hand(self) -> None:
        """Parse what landed last and merge it."""
        self.merge("bench.by_hand", self.parsed_by_hand())

    def merge_of_log_by_hand(self) -> None:
        """Append what landed last to a log, and merge what was appended."""
        self.spark.sql(f"insert into bench.log_by_hand {self.parsed_by_hand()}")
        appended = f"select * from bench.log_by_hand where offset >= {self.offset - self.changes}"
        self.merge("bench.of_log_by_hand", appended)

    def merge(self, table: str, changes: str) -> None:
        """The newest change of each key, guarded by offset."""
        assigned = [*COLUMNS, "is_deleted", "offset"]
        self.spark.sql(f"""
            merge into {table} as stored
            using (
                select * except (place) from (
                    select *, row_number() over (partition by id order by offset desc) as place
                    from ({changes})
                )
                where place = 1
            ) as changed
            on stored.id = changed.id
            when matched and changed.offset > stored.offset then update set
                {", ".join(f"{name} = changed.{name}" for name in assigned if name != "id")}
            when not matched then insert ({", ".join(assigned)})
                values ({", ".join("changed." + name for name in assigned)})
        """)

    def assert_same(self) -> None:
        """All current tables hold the same live rows."""
        counts = [
            tuple(
                self.spark.sql(
                    f"select count(*), sum(cast(xxhash64({', '.join(COLUMNS)}) as decimal(38,0))) from {table}"
                ).first()
            )
            for table in (
                "bench.orders where not _cdc_is_deleted",
                "bench.by_hand where not is_deleted",
                "bench.of_log_by_hand where not is_deleted",
                "bench.plain_current where not is_deleted",
            )
        ]
        if len(set(counts)) > 1:
            sys.exit(f"the tables differ: {counts}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--changes", type=int, default=5_000)
    arguments.add_argument("--batches", type=int, default=5, help="measured ones; others go before them")
    arguments.add_argument("--lake", choices=list(JARS), default="iceberg")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.lake, Path(folder), options.keys, options.changes)
        bench.create()
        work = {
            "by hand": bench.merge_by_hand,
            "by hand, of a log": bench.merge_of_log_by_hand,
            "plain log": lambda: bench.dbt("run", "--select", "plain_log"),
            "plain current": lambda: bench.dbt("run", "--select", "plain_current"),
            "changes": lambda: bench.dbt("run", "--select", "orders_changes"),
            "current": lambda: bench.dbt("run", "--select", "orders"),
            "history": lambda: bench.dbt("run", "--select", "orders_history"),
            "changes, nothing new": lambda: bench.dbt("run", "--select", "orders_changes"),
            "current, nothing new": lambda: bench.dbt("run", "--select", "orders"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in work}
        for batch in range(WARM_UP + options.batches):
            bench.land()
            for name, step in work.items():
                spent = bench.cpu(step)
                if batch >= WARM_UP:
                    seconds[name].append(spent)
            print(f"batch {batch + 1} of {WARM_UP + options.batches}", file=sys.stderr, flush=True)
        bench.assert_same()
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        for name, values in seconds.items():
            print(f"{name:22s} CPU seconds {' '.join(f'{value:.1f}' for value in sorted(values))}")
        print(
            f"{options.lake}, {options.keys} keys, {options.changes} changes; the tables hold the same rows"
        )
        applied = medians["changes"] + medians["current"]
        idle = medians["changes, nothing new"] + medians["current, nothing new"]
        bars = {
            "current to by hand": (
                applied / medians["by hand"],
                BARS.get((options.lake, options.keys, options.changes)),
            ),
            "floor, by hand": (medians["by hand, of a log"] / medians["by hand"], None),
            "floor, plain dbt": (
                (medians["plain log"] + medians["plain current"]) / medians["by hand"],
                None,
            ),
            "current alone": (medians["current"] / medians["by hand"], None),
            "history to current": ((medians["changes"] + medians["history"]) / applied, 2),
            "history alone": (medians["history"] / medians["current"], None),
            "nothing new to current": (idle / applied, 0.2),
        }
        for name, (ratio, bar) in bars.items():
            verdict = "no bar" if bar is None else f"bar {bar}: {'within' if ratio <= bar else 'MISSED'}"
            print(f"{name:22s} ratio {ratio:.2f}, {verdict}")
        missed = [name for name, (ratio, bar) in bars.items() if bar is not None and ratio > bar]
        sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
