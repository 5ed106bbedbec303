"""Landing runs that are killed: the broker, the places where they die, and what the table must have afterwards."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from broker import Broker
from harness import Project
from kills import APPEND, SCHEMA, Siege, Worker

MODEL = """
{{{{ config(materialized='cdc_landing') }}}}
{{{{ spark_cdc.kafka_messages(options={{'kafka.bootstrap.servers': '{servers}', 'subscribe': 'shop'}}) }}}}
"""
PARTITIONS, BATCH = 3, 500
PLACES: dict[str, dict[str, Any]] = {
    "while its rows are written": {"model": "raw_shop", "statement": APPEND, "when": "writing"},
    "between its rows and its note": {"model": "raw_shop", "statement": APPEND, "when": "after"},
    "after its note": {"model": "raw_shop", "statement": "alter table", "when": "after"},
    "before its rows": {"model": "raw_shop", "statement": APPEND, "when": "before"},
}


@dataclass
class LandingSiege(Siege):
    """A project that lands a topic; `produced` messages are in it."""

    broker: Broker = field(init=False)
    produced: int = 0

    def __post_init__(self) -> None:
        self.broker = Broker(self.folder / "kafka").start()
        model = MODEL.format(servers=self.broker.servers)
        self.project = Project(self.folder / "project", SCHEMA, {"models/raw_shop.sql": model})
        self.killed = Counter()

    def start_spark(self, worker: Worker) -> None:
        """Start the session, and let there be the topic."""
        assert worker.ask(run=["show", "--inline", "select 1"])

    def goes_on(self, worker: Worker) -> None:
        """Messages arrive in all partitions, some of them in transactions."""
        answer = worker.ask(
            produce=BATCH,
            topic="shop",
            partitions=PARTITIONS,
            servers=self.broker.servers,
            after=self.produced,
        )
        assert answer is not None
        self.produced += BATCH

    def must_have_landed(self, worker: Worker) -> None:
        """Each message is in the table once, and no offset is twice."""
        rows = worker.tables()["raw_shop"]
        landed = Counter(int(row["value"]) for row in rows)
        missing = sorted(set(range(self.produced)) - landed.keys())
        twice = sorted(number for number, times in landed.items() if times > 1)
        ends = {
            row["partition"]: max(other["offset"] for other in rows if other["partition"] == row["partition"])
            for row in rows
        }
        assert sorted(landed.elements()) == list(range(self.produced)), (
            f"missing {missing[:5]}… of {len(missing)}, twice {twice[:5]}… of {len(twice)}, last offsets {ends}"
        )
        assert len({(row["partition"], row["offset"]) for row in rows}) == self.produced


def kill(siege: LandingSiege, places: list[str], chance: random.Random) -> None:
    """Kill a landing run at each place, mostly repair it by a plain run, and look."""
    worker = siege.start()
    try:
        siege.start_spark(worker)
        for number, name in enumerate(places):
            siege.goes_on(worker)
            died = siege.kill(worker, name, ["run"], PLACES[name])
            print(f"{'killed' if died else 'never came'}: {name}", flush=True)
            if died:
                worker = siege.start()
                siege.start_spark(worker)
            if number == len(places) - 1 or chance.random() < 0.7:
                worker.must_run()
                siege.must_have_landed(worker)
                print(f"each of {siege.produced} messages is there once", flush=True)
    finally:
        worker.is_gone()
        siege.broker.stop()
