"""From real databases to tables, all the way: servers, workload, a generated dbt project, and what must hold.

databases -> Debezium or Canal -> Kafka -> `cdc_landing` -> `spark-cdc generate` -> `dbt build`, again and again while the
databases change, with runs and connectors that are killed. At the end the current tables equal the databases', value
by value, and the history tables their logs.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from itertools import groupby, zip_longest
from typing import Any

from broker import Broker
from harness import Project, environment
from kills import SCHEMA, Siege, Worker
from servers import DATABASES, Canal, Connect, Database, MysqlForCanal, Reader
from transactions import Bit, Column, Document, Key, Row, Single, Wide, Workload, integers, texts, types

LANDING = """\
{{{{ config(materialized='cdc_landing') }}}}
{{{{ spark_cdc.kafka_messages(options={{
    'kafka.bootstrap.servers': '{servers}',
    'subscribePattern': '{pattern}',
    'kafka.metadata.max.age.ms': '1000'
}}) }}}}
"""
# All databases have tables of the same names.
ROUTES = "route: [{{source-table: '.*', sink-table: {name}_<>, replace-symbol: <>}}]"
APPLY = ["run", "--select", "models/staging", "models/marts"]
# A wider type of a column of orders, and two more columns, while everything runs.
WIDER_COLUMN = Column("small", types("int"), integers(32))
LATE_COLUMNS = (
    Column("rating", types("smallint"), integers(16)),
    Column("remark", types("varchar(60)"), texts(60)),
)
MARK = "the last row"


@dataclass
class Pipeline(Siege):
    """Databases with their workloads, and the project that reads them. `names` are names of `DATABASES`."""

    names: Sequence[str] = ("pg",)
    broker: Broker = field(init=False)
    databases: dict[str, Database] = field(init=False)
    workloads: dict[str, Workload] = field(init=False)
    connect: Connect | None = field(init=False)
    readers: list[Reader] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.chmod(0o755)  # PostgreSQL is another user
        self.began = time.monotonic()
        self.killed = Counter()
        self.chance = random.Random(self.seed)
        self.broker = Broker(self.folder / "kafka")
        self.databases = {name: DATABASES[name](self.folder) for name in self.names}

    def open(self) -> None:
        """Start the servers, with some rows for the snapshots, and make the project, which lands the topics."""
        self.broker.start()
        self.workloads = {}
        for name, database in self.databases.items():
            database.start()
            self.workloads[name] = Workload(database, self.seed)
            self.workloads[name].begin()
        self._make_readers()
        for reader in self.readers:
            reader.start()
        for reader in self.readers:
            reader.waits_for_changes()
        models = {
            f"models/landing/raw_{name}.sql": LANDING.format(
                servers=self.broker.servers, pattern=rf"{name}\\..*"
            )
            for name in self.names
        }
        self.project = Project(self.folder / "project", SCHEMA, models)

    def _make_readers(self) -> None:
        """Debezium's connectors are in one process; each server for Canal has a process of Canal."""
        of_debezium = [each for each in self.databases.values() if not isinstance(each, MysqlForCanal)]
        of_canal = [each for each in self.databases.values() if isinstance(each, MysqlForCanal)]
        servers = self.broker.servers
        self.connect = Connect(self.folder / "connect", servers, of_debezium) if of_debezium else None
        self.readers = [Canal(self.folder / each.name / "reader", servers, each) for each in of_canal]
        self.readers += [self.connect] if self.connect else []

    def close(self) -> None:
        """End all servers."""
        for workload in getattr(self, "workloads", {}).values():
            workload.close()
        for reader in getattr(self, "readers", ()):
            reader.stop(suddenly=True)
        for database in self.databases.values():
            database.stop()
        self.broker.stop()

    def say(self, what: str) -> None:
        """Print what has happened, and after how many seconds."""
        print(f"{time.monotonic() - self.began:6.0f} s  {what}", flush=True)

    def generate(self) -> None:
        """Let `spark-cdc generate` write the models of all tables that have messages."""
        for name in self.names:
            routes = self.folder / f"{name}_routes.yml"
            routes.write_text(ROUTES.format(name=name))
            done = subprocess.run(
                [
                    sys.executable, "-m", "dbt_spark_cdc.cli", "generate", "--source", name,
                    "--raw-table", f"{SCHEMA}.raw_{name}", "--project-dir", str(self.project.folder),
                    "--profiles-dir", str(self.project.folder), "--routes", str(routes),
                ],
                env=self.environment(), capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        """What the project's profile reads."""
        return os.environ | environment(self.folder, self.lake) | {"SHOP_SCHEMA": SCHEMA}

    def land(self, worker: Worker) -> None:
        """Land what the topics have."""
        worker.must_run(["run", "--select", "models/landing"])

    def apply(self, worker: Worker) -> None:
        """Run the models of messages, changes and tables."""
        worker.must_run(APPLY)

    def check(self, worker: Worker) -> None:
        """Run the quality models and the shipped tests."""
        worker.must_run(["build", "--select", "models/quality", "test_type:generic"])

    @contextmanager
    def busy(self, pause: float) -> Iterator[None]:
        """The databases change all the time."""
        over, failures = threading.Event(), []

        def change(workload: Workload) -> None:
            try:
                while not over.wait(pause):
                    workload.transaction()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=change, args=(each,)) for each in self.workloads.values()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert not failures, failures

    def restart_connect(self) -> None:
        """Kill Kafka Connect, which then sends some messages again.

        Canal stays: its messages have no position of the log, so one that comes again is a change that happened again.
        """
        if self.connect:
            self.connect.stop(suddenly=True)
            self.connect.start()
            self.killed["connect"] += 1

    def add_column(self, number: int) -> None:
        """A new column of orders in each database; nobody may change rows meanwhile."""
        self._let_canal_read()
        for workload in self.workloads.values():
            workload.add_column("orders", LATE_COLUMNS[number])

    def widen_column(self) -> None:
        """A column of orders gets a wider type; nobody may change rows meanwhile."""
        self._let_canal_read()
        for workload in self.workloads.values():
            workload.change_type("orders", WIDER_COLUMN)

    def _let_canal_read(self) -> None:
        """Canal reads a row with the columns that the table has by then."""
        if any(isinstance(reader, Canal) for reader in self.readers):
            time.sleep(3)

    def catch_up(self, worker: Worker, seconds: int = 600) -> None:
        """Write a last row, and land until it has arrived."""
        for workload in self.workloads.values():
            workload.mark(MARK)
        until = time.monotonic() + seconds
        missing = set(self.names)
        while missing:
            assert time.monotonic() < until, f"{missing} did not arrive: {[*map(str, self.readers)]}"
            time.sleep(2)
            self.land(worker)
            tables = worker.tables()
            missing = {
                name
                for name in self.names
                if not any(MARK in _text(row["value"]) for row in tables[f"raw_{name}"])
            }

    def must_equal_the_databases(self, worker: Worker) -> dict[str, int]:
        """Compare all tables with the databases; gives what was compared."""
        found = worker.tables()
        compared: Counter[str] = Counter()
        for name, workload in self.workloads.items():
            for table, key in workload.keys().items():
                model = f"{name}_{table}"
                columns = workload.columns(table)
                _must_be_once(found[model], key, model)
                current = {
                    tuple(row[part] for part in key): {column: row[column] for column in columns}
                    for row in found[model] if not row["_cdc_is_deleted"]
                }  # fmt: skip
                wanted = workload.rows(table)
                assert current.keys() == wanted.keys(), f"{model}: {current.keys() ^ wanted.keys()}"
                for place, row in wanted.items():
                    differ = {
                        column: (value, current[place][column])
                        for column, value in row.items() if not same(value, current[place][column])
                    }  # fmt: skip
                    assert not differ, f"{model} {place}: (database, table) {_short(differ)}"
                compared[f"current {name}"] += len(wanted)
                compared[f"history {name}"] += self.must_equal_the_log(
                    f"{model}_history", found[f"{model}_history"], workload, table
                )
        return dict(compared)

    def must_equal_the_log(self, model: str, found: list[Row], workload: Workload, table: str) -> int:
        """Each key went through the states that the database committed, in this order."""
        key, columns = workload.keys()[table], workload.columns(table)
        states = workload.states(table)
        _must_be_once(found, [*key, "_cdc_sequence"], model)
        versions: dict[Key, list[Row | None]] = defaultdict(list)
        for row in sorted(found, key=lambda row: row["_cdc_sequence"]):
            place = tuple(row[part] for part in key)
            versions[place].append(
                None if row["_cdc_is_deleted"] else {column: row[column] for column in columns}
            )
        count = 0
        for place in states.keys() | versions.keys():
            wanted, got = _without_repeats(states.get(place, [])), _without_repeats(versions[place])
            for number, (state, version) in enumerate(zip_longest(wanted, got)):
                assert _same_rows(state, version), (
                    f"{model} {place}: {len(got)} versions, {len(wanted)} states; number {number}: "
                    f"(log, table) {_short(state)}, {_short(version)}"
                )
            assert len(wanted) == len(got), f"{model} {place}: {len(got)} versions, {len(wanted)} states"
            count += len(got)
        return count


def same(value: Any, found: Any) -> bool:
    """Whether a database's value and a table's are the same; a table may have another type, which `generate` chose."""
    if value is None or found is None:
        return value is None and found is None
    if isinstance(value, Document):
        return json.loads(value) == json.loads(found)
    if isinstance(value, Bit):
        return value[0] == int(found)
    if isinstance(value, Single):
        return struct.pack("f", value) == struct.pack("f", found)
    if isinstance(value, Wide):
        return value == Decimal(found)
    if isinstance(value, list):  # the text of a JSON array
        return value == json.loads(found)
    if isinstance(value, (memoryview, bytes)):
        return isinstance(found, (bytes, bytearray)) and bytes(value) == bytes(found)
    if isinstance(value, datetime) and value.tzinfo:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    if isinstance(value, (clock, timedelta)):
        return _microseconds(value) == _microseconds(found)
    return value == found


def _microseconds(value: clock | timedelta | int | str) -> int:
    """A time of day, which a table has as a text, or a span, of which Debezium sends the microseconds."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        value = clock.fromisoformat(value.replace("Z", "+00:00"))
    if isinstance(value, clock):
        value = timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        ) - (value.utcoffset() or timedelta(0))
    return value // timedelta(microseconds=1)


def _same_rows(left: Row | None, right: Row | None) -> bool:
    if left is None or right is None:
        return left is right
    return all(same(left[name], value) for name, value in right.items())


def _without_repeats(states: list[Row | None]) -> list[Row | None]:
    """Without a state that equals the one before it, and without deletes of what was not there."""
    kept = [state for state, _ in groupby(states)]
    return kept[1:] if kept and kept[0] is None else kept


def _must_be_once(rows: Sequence[Row], names: Sequence[str], model: str) -> None:
    """No two rows have the same values of these columns."""
    counts = Counter(repr([row[name] for name in names]) for row in rows)
    assert max(counts.values(), default=1) == 1, f"{model}: {counts.most_common(1)}"


def _short(values: Row | None) -> dict[str, str] | None:
    return values and {name: repr(value)[:80] for name, value in values.items()}


def _text(value: Any) -> str:
    return bytes(value).decode() if value is not None else ""
