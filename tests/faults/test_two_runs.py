"""Two dbt runs of one project at the same time, on a lake that allows two processes: the tables stay right.

Two runs may both append the same messages, which are then duplicates. They may compute rows from the same
table and write them one after the other: the later one detects that and stops, and the next run repairs the
table.

Each of these tests takes minutes: `make races` lets two runs meet in more ways than `make test` does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kills import PLAIN_RUN, TABLES, Siege, Worker, running

# What a run asks first once its MERGE is done: to drop what it made for itself, or for the commits.
AFTER_MERGE = r"drop|select\s+concat\(.s.|describe history"
ANOTHER_RUN = " at the same time as this one, and its rows may be wrong now. Run `dbt retry`"
BUILD = ["build"]
ALL_RACES = "SPARK_CDC_RACES" in os.environ
# What a run may end with when another one is at work, beside success.
SENTENCES = (
    ANOTHER_RUN,
    " at the same time as this one, which has written nothing. Run `dbt retry`",
    # Iceberg refuses the later of two commits to the same rows.
    "Found conflicting files that can contain records matching",
    # The run that began later took the scratch tables of the earlier one for those of a dead run.
    "__cdc_new_",
    "__cdc_rows_",
    "__cdc_operations_",
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


@pytest.fixture(scope="module")
def third(siege: Siege) -> Iterator[Worker]:
    """A process that no test kills: the first run of each costs a minute."""
    with running(siege) as worker:
        yield worker


def must_be_right(siege: Siege, worker: Worker) -> None:
    """After one more plain run, current and history equal the reference, and nothing else is left."""
    worker.must_run()
    tables = worker.tables()
    assert tables.keys() == TABLES
    siege.must_equal_the_reference(tables)


@pytest.mark.slow
def test_two_runs_at_once(siege: Siege, workers: tuple[Worker, Worker]) -> None:
    """Each succeeds or says why not; the next plain run has the right tables."""
    for _ in range(2):
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
@pytest.mark.parametrize(
    "slow_run_dies",
    [False, True] if ALL_RACES else [True],
    ids=lambda dies: f"slow run {'dies' if dies else 'ends'}",
)
def test_rows_computed_before_another_run_wrote(
    siege: Siege, workers: tuple[Worker, Worker], third: Worker, slow_run_dies: bool
) -> None:
    """The worst that can happen: a slow run writes old rows over those of a run that began later.

    It says so; and if it dies before it can, the next run sees that the table is not what its properties say.
    """
    slow, quick = workers
    table, key = siege.workload.table, 1_000_000 + slow_run_dies * 100
    siege.workload.happens(table.insert(key + 1, {"id": key, "name": "first", "bio": "b"}))
    quick.must_run()

    # Quick has looked for scratch tables of dead runs, so that it does not take those of slow for such.
    has_looked = Gate(siege, f"has_looked_{key}")
    quick.tell(run=["run", "--select", "profiles"], stops=[has_looked.at("show tables", "after")])
    has_looked.wait_until_reached()
    siege.workload.happens(table.update(key + 2, {"id": key, "name": "second", "bio": "b"}))
    has_rows = Gate(siege, f"has_rows_{key}")
    stops = [has_rows.at("merge into", "before")]
    if slow_run_dies:
        # The first statement after the MERGE.
        stops.append({"model": "profiles", "statement": AFTER_MERGE, "when": "before"})
    slow.tell(run=["run", "--exclude", "profiles_history"], stops=stops)
    has_rows.wait_until_reached()
    siege.workload.happens(table.update(key + 3, {"id": key, "name": "third", "bio": "b"}))
    third.must_run(["run", "--exclude", "profiles", "profiles_history"])
    has_looked.open()
    assert quick.answer()["success"]
    has_rows.open()
    answer = slow.answer()
    if slow_run_dies:
        assert answer is None
    else:
        assert f"another run wrote shop.profiles{ANOTHER_RUN}" in answer["messages"]["profiles"]

    [row] = [row for row in quick.tables()["profiles"] if row["id"] == key]
    assert row["name"] == "second", "the old row was not written over the new one: this test shows nothing"
    must_be_right(siege, quick)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["stg_messages", "stg_profiles_changes"] if ALL_RACES else ["stg_messages"])
def test_one_plain_build_heals_what_two_builds_appended(
    siege: Siege, workers: tuple[Worker, Worker], third: Worker, model: str
) -> None:
    """Both have read the same messages before one of them appends: the second copies count once."""
    _, quick = workers
    siege.workload.goes_on()
    has_read = Gate(siege, f"has_read_for_{model}")
    # The slow one of the tests above is dead.
    third.tell(run=BUILD, stops=[has_read.at("insert into", "before", model)])
    has_read.wait_until_reached()
    quick.must_run(BUILD)
    has_read.open()
    assert third.answer() is not None

    offsets = [row.get("_cdc_offset", row.get("offset")) for row in quick.tables()[model]]
    assert len(set(offsets)) < len(offsets), "nothing was appended twice: this test shows nothing"
    quick.must_run(BUILD)
    siege.must_equal_the_reference(quick.tables())
    siege.workload.goes_on()
    quick.must_run(BUILD)
    must_be_right(siege, quick)


class Gate:
    """A place in a run where it waits until it may go on."""

    def __init__(self, siege: Siege, name: str) -> None:
        self._file = siege.folder / f"{name}.open"

    def at(self, statement: str, when: str, model: str = "profiles") -> dict[str, Any]:
        """The gate stands at a statement of a model."""
        return {"model": model, "statement": statement, "when": when, "wait_for": str(self._file)}

    def wait_until_reached(self) -> None:
        """A run stands before it."""
        while not self._file.with_suffix(".reached").exists():
            time.sleep(0.05)

    def open(self) -> None:
        """The run goes on."""
        self._file.touch()
