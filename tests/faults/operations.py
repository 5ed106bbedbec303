"""What people do beside plain runs, as `torture.py` kills it: a command, what goes before it, and what it leaves right.

Each command is killed before, in the midst of and after any of its statements, and then given again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kills import PROFILES, SCHEMA, Siege, Worker
from reference import current_rows
from test_days import Target, current_of, differences

WITHOUT_BIO = ["run", "--vars", json.dumps({"columns": {"id": "bigint", "name": "string"}})]
WITH_BIO = ("stg_profiles_changes", "profiles", "profiles_history")
BY_NAME = "tblproperties ('delta.columnMapping.mode' = 'name')"
REBUILD = ["run", "--full-refresh", "--select", "stg_profiles_changes+"]


def _operation(name: str, **arguments: Any) -> list[str]:
    return ["run-operation", f"spark_cdc.{name}", "--args", json.dumps(arguments)]


def _restate(model: str) -> list[str]:
    return _operation("restate", model=model, since={"topic": "profiles", "partition": 0, "offset": 0})


@dataclass
class Operation:
    """A command that may be killed, and what must hold when it was given again."""

    name: str
    command: list[str]
    look: Callable[[Siege, Worker], None]
    before: tuple[str, ...] = ()
    # Whether a plain run, which a schedule may start in between, knows the same columns.
    may_be_run_between: bool = True

    def prepare(self, siege: Siege, worker: Worker) -> None:
        """Do what goes before the command."""
        assert worker.ask(sql=self.before)

    def is_done(self, siege: Siege, worker: Worker) -> int:
        """Give the command and look; say how many statements it has."""
        answer = worker.must_run(self.command)
        self.look(siege, worker)
        return answer["statements"]


class Replay(Operation):
    """Rejected messages whose raw rows were repaired: a third of those that a run reads."""

    def prepare(self, siege: Siege, worker: Worker) -> None:
        """Damage messages, let a run reject them, and repair them."""
        raw, whole = f"{SCHEMA}.raw_profiles", "whole.messages"
        siege.workload.goes_on()
        worker.must_run(["run", "--select", "raw_profiles"])
        read = f"select read.offset from {SCHEMA}.stg_messages as read"
        new = f"select raw.offset, raw.value from {raw} as raw where raw.offset not in ({read})"
        merge = f"merge into {raw} as raw using {whole} as whole on raw.offset = whole.offset and whole.offset % 3 = 0"
        assert worker.ask(
            sql=[
                "create schema if not exists whole",
                f"create or replace table {whole} using {siege.lake} as {new}",
                f"{merge} when matched then update set value = substring(raw.value, 1, 20)",
            ]
        )
        worker.must_run()
        assert any(row["error"] for row in worker.tables()["stg_messages"])
        assert worker.ask(sql=[f"{merge} when matched then update set value = whole.value"])


def _replayed_are_applied(siege: Siege, worker: Worker) -> None:
    """Each message was read once without an error, and the tables are those of a first build."""
    worker.must_run()
    tables = worker.tables()
    siege.must_equal_the_reference(tables)
    read = [row["offset"] for row in tables["stg_messages"] if not row["error"]]
    assert sorted(read) == list(range(siege.workload.messages))
    worker.must_run(["run", "--full-refresh", "--select", "stg_messages+"])
    _all_is_right(siege, worker)


def _all_is_right(siege: Siege, worker: Worker) -> None:
    siege.must_be_right(worker.tables())


def _live_rows_are_right(siege: Siege, worker: Worker, target: Target = PROFILES) -> None:
    """Of the current table alone: deleted keys may be gone, and a history has had its columns."""
    wanted = current_rows(siege.workload.tables(), target.columns)
    live = [row for row in worker.tables()["profiles"] if not row["_cdc_is_deleted"]]
    assert (
        differences(current_of(live, target), {key: row for key, row in wanted.items() if not row[0]}) == {}
    )


def _edits(table: str) -> tuple[str, ...]:
    """Rows changed and deleted by hand."""
    return (
        f"update {SCHEMA}.{table} set name = 'by hand' where id % 3 = 0",
        f"delete from {SCHEMA}.{table} where id % 3 = 1",
    )


# In this order: the column comes back in the state in which it went, and deleted keys go last.
OPERATIONS = (
    Operation(
        "a column goes",
        WITHOUT_BIO,
        partial(_live_rows_are_right, target=replace(PROFILES, columns=["name"])),
        may_be_run_between=False,
    ),
    Operation("it comes back and the tables are built again", REBUILD, _all_is_right),
    Operation("restate current", _restate("profiles"), _all_is_right, _edits("profiles")),
    Operation("restate history", _restate("profiles_history"), _all_is_right, _edits("profiles_history")),
    Operation("maintain", _operation("maintain", dry_run=False), _all_is_right),
    Replay("replay", _operation("replay", model="stg_messages"), _replayed_are_applied),
)
PRUNE = Operation("prune", _operation("prune", older_than_days=1, dry_run=False), _live_rows_are_right)


def torture(siege: Siege, kills: int, chance: random.Random) -> int:
    """Kill each operation in turn, give it again and look; return how often all was right."""
    looked = 0
    statements: dict[str, int] = {}
    worker, next_worker = siege.start(), siege.start()
    try:
        siege.workload.goes_on(40)
        worker.must_run()
        if siege.lake == "delta":
            # What Delta asks for before it drops a column.
            assert worker.ask(sql=[f"alter table {SCHEMA}.{table} set {BY_NAME}" for table in WITH_BIO])
        for operation in _in_turn(kills):
            siege.workload.goes_on()
            worker.must_run()
            operation.prepare(siege, worker)
            if operation.name in statements:
                number = chance.randint(1, statements[operation.name])
                stop = {"number": number, "when": chance.choice(["before", "writing", "after"])}
                killed = siege.kill(worker, operation.name, operation.command, stop)
                print(f"{'killed' if killed else 'never came'}: {operation.name} at {stop}", flush=True)
                if killed:
                    worker, next_worker = next_worker, siege.start()
                if operation.may_be_run_between and chance.random() < 0.4:
                    worker.must_run()
            statements[operation.name] = operation.is_done(siege, worker)
            looked += 1
    finally:
        worker.is_gone()
        next_worker.is_gone()
    return looked


def _in_turn(kills: int) -> Iterator[Operation]:
    """Each once without a kill, to know its statements; prune last, after which deleted keys are gone."""
    rounds = 1 + -(-kills // (len(OPERATIONS) + 1))
    for _ in range(rounds):
        yield from OPERATIONS
    for _ in range(rounds):
        yield PRUNE
