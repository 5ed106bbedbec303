"""Two dbt runs of one project at the same time, on a lake that takes two processes: the tables stay right.

Two runs may both append the same messages, which are duplicates then. They may compute rows from the same
table and write them one after the other: the later one sees that and stops, and the next run repairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kills import PLAIN_RUN, TABLES, Siege, Worker

ANOTHER_RUN = "another run wrote shop.{table} at the same time as this one"
# What a run may end with when another one is at work, beside success.
SENTENCES = (
    ANOTHER_RUN.format(table="profiles"),
    # Iceberg refuses the later of two commits to the same rows.
    "Found conflicting files that can contain records matching",
    # The run that began later took the scratch tables of the earlier one for those of a dead run.
    "__cdc_rows_",
    "__cdc_effects_",
)


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    """A project on Iceberg."""
    return Siege(tmp_path_factory.mktemp("two_runs"), "iceberg", seed=3)


@pytest.fixture(scope="module")
def workers(siege: Siege) -> Iterator[tuple[Worker, Worker]]:
    """Two processes, whose tables exist."""
    siege.workload.goes_on(40)
    first, second = siege.start(), siege.start()
    try:
        first.must_run()
        yield first, second
    finally:
        first.is_gone()
        second.is_gone()


def must_be_right(siege: Siege, worker: Worker) -> None:
    """After one more plain run, current and history equal the reference, and nothing else is left."""
    worker.must_run()
    tables = worker.tables()
    assert tables.keys() == TABLES
    siege.must_equal_the_reference(tables)


@pytest.mark.slow
def test_two_runs_at_once(siege: Siege, workers: tuple[Worker, Worker]) -> None:
    """Each succeeds or says why not; the next plain run has the right tables."""
    for _ in range(3):
        siege.workload.goes_on()
        for worker in workers:
            worker.tell(run=PLAIN_RUN)
        for worker in workers:
            answer = worker.answer()
            assert answer is not None
            for message in answer["messages"].values():
                assert "Skipping" in message or any(said in message for said in SENTENCES), message[:2000]
    must_be_right(siege, workers[0])


@pytest.mark.slow
@pytest.mark.parametrize("slow_run_dies", [False, True], ids=["slow run ends", "slow run dies"])
def test_rows_computed_before_another_run_wrote(
    siege: Siege, workers: tuple[Worker, Worker], slow_run_dies: bool
) -> None:
    """The worst that can happen: a slow run writes old rows over those of a run that began later.

    It says so; and if it dies before it can, the next run sees that the table is not what its properties say.
    """
    slow, quick = workers
    table, at = siege.workload.table, 1_000_000 + slow_run_dies * 100
    key = at
    siege.workload.happens(table.insert(at + 1, {"id": key, "name": "first", "bio": "b"}))
    quick.must_run()

    siege.workload.happens(table.update(at + 2, {"id": key, "name": "second", "bio": "b"}))
    gate = siege.folder / f"gate_{at}.open"
    stops: list[dict[str, Any]] = [
        {"model": "profiles", "statement": "create or replace table .*__cdc_rows", "wait_for": str(gate)},
        {"model": "profiles", "statement": "merge into", "when": "after"},
    ]
    slow.tell(run=[*PLAIN_RUN, "--exclude", "profiles_history"], stops=stops[: 1 + slow_run_dies])
    while not gate.with_suffix(".reached").exists():
        time.sleep(0.05)
    siege.workload.happens(table.update(at + 3, {"id": key, "name": "third", "bio": "b"}))
    quick.must_run()
    gate.touch()
    answer = slow.answer()
    if slow_run_dies:
        assert answer is None
    else:
        assert answer is not None
        assert ANOTHER_RUN.format(table="profiles") in answer["messages"]["profiles"]
        assert "Run `dbt retry`" in answer["messages"]["profiles"]

    [row] = [row for row in quick.tables()["profiles"] if row["id"] == key]
    assert row["name"] == "second", "the old row was not written over the new one: this test shows nothing"
    must_be_right(siege, quick)
