"""`kill -9` of dbt and its JVM at bad moments: one plain run then leaves the tables as if nothing had happened.

`make torture` kills more often, at every place and at random moments.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from broker import needs_broker
from harness import LAKES_ASKED_FOR
from kills import PLAIN_RUN, STEPS, Siege, running
from landing import LandingSiege, kill

# Few, because each costs two JVMs' first runs: where most hangs on the lake, and where the table is written and its
# properties are not.
KILLS = {
    "iceberg": (
        "history: files written, MERGE not committed",
        "current: after the MERGE, before the table properties",
    ),
    "delta": ("current: files written, MERGE not committed",),
}


@pytest.mark.slow
@pytest.mark.parametrize("file_format", LAKES_ASKED_FOR)
def test_plain_run_repairs_what_a_kill_left(tmp_path: Path, file_format: str) -> None:
    """Tables as the source's log says, each message once, and no scratch table left."""
    siege = Siege(tmp_path, file_format, seed=1)
    siege.workload.goes_on(40)
    with running(siege) as worker:
        worker.must_run()
        for name in KILLS[file_format]:
            siege.workload.goes_on()
            assert siege.kill(worker, name, PLAIN_RUN, STEPS[name]), f"the run never came there: {name}"
            worker = siege.start()
            siege.repair(worker)
    assert sum(siege.killed.values()) == len(KILLS[file_format])


@pytest.mark.slow
@needs_broker()
def test_a_killed_landing_run_lands_all_or_nothing(tmp_path: Path) -> None:
    """Each message once, and no offset twice."""
    siege = LandingSiege(tmp_path, "iceberg", 1)
    kill(siege, ["while its rows are written", "between its rows and its note"], random.Random(1))
    assert sum(siege.killed.values()) == 2
