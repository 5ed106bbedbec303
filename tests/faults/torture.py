"""Kills dbt at each named place and at random moments, and looks whether plain runs repair all.

make torture ARGS="--lake delta --kills 50 --seed 7"
make torture ARGS="--operations" kills column changes, full refreshes, restate, maintain, replay and prune instead
make torture ARGS="--landing --kills 20" kills runs that land a topic
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import landing
import operations
from kills import FIRST_BUILD, FULL_REFRESH, PLAIN_RUN, STEPS, Siege, Worker

Attempt = tuple[str, list[str], dict[str, Any]]


def attempts(siege: Siege, chance: random.Random) -> Iterator[Attempt]:
    """A kill's name, the command that it is for, and its place: each place in turn, and any moment."""
    for name, stop in FIRST_BUILD.items():
        yield name, PLAIN_RUN, stop
    while True:
        names = sorted(STEPS)
        chance.shuffle(names)
        for name in names:
            yield name, PLAIN_RUN, STEPS[name]
            if chance.random() < 0.5:
                moment = {"seconds": round(chance.uniform(0.2, siege.seconds_of_a_run), 2)}
                full = chance.random() < 0.2
                command = FULL_REFRESH if full else PLAIN_RUN
                yield f"at any moment{' of a full refresh' if full else ''}", command, moment


def torture(siege: Siege, kills: int, chance: random.Random) -> int:
    """Kill, and now and then repair and look; return how many repairs were right."""
    repaired = 0
    worker: Worker = siege.start()
    # It loads dbt while the other one runs; its JVM starts with its first order, when the other one's is dead.
    next_worker = siege.start()
    siege.workload.goes_on(40)
    try:
        for name, command, stop in attempts(siege, chance):
            if sum(siege.killed.values()) >= kills:
                break
            killed = siege.kill(worker, name, command, stop)
            print(f"{'killed' if killed else 'never came'}: {name}", flush=True)
            if killed:
                worker, next_worker = next_worker, siege.start()
            # The next victim repairs too: what two dead runs left is harder than what one left. And a plain run
            # would end the first build.
            if name not in FIRST_BUILD and chance.random() < 0.4:
                siege.repair(worker)
                repaired += 1
                print(f"repaired, run of {siege.seconds_of_a_run:.1f} s", flush=True)
            siege.workload.goes_on()
        siege.workload.catches_up()
        siege.repair(worker)
        must_equal_one_clean_run(siege, worker)
    finally:
        worker.is_gone()
        next_worker.is_gone()
    return repaired + 1


def must_equal_one_clean_run(siege: Siege, worker: Worker) -> None:
    """A full refresh in the end changes no row and no column."""
    before = worker.tables()
    worker.must_run(FULL_REFRESH)
    after = worker.tables()
    for name in ("profiles", "profiles_history"):
        assert sorted(map(str, before[name])) == sorted(map(str, after[name])), name


def main() -> None:
    """Print what was done, place by place, and the verdict."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--lake", choices=["iceberg", "delta"], default="iceberg")
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--operations", action="store_true", help="kill these, not plain runs")
    arguments.add_argument("--landing", action="store_true", help="kill runs that land a topic")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    chosen = arguments.parse_args()
    work = operations.torture if chosen.operations else torture
    print(f"--lake {chosen.lake} --kills {chosen.kills} --seed {chosen.seed}", flush=True)

    started = time.monotonic()
    if chosen.landing:
        with tempfile.TemporaryDirectory() as folder:
            siege = landing.LandingSiege(Path(folder).resolve(), chosen.lake, chosen.seed)
            places = [name for _ in range(chosen.kills) for name in landing.PLACES][: chosen.kills]
            landing.kill(siege, places, random.Random(chosen.seed))
        print(
            f"verdict: each message landed once after {sum(siege.killed.values())} kills (seed {chosen.seed})"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        siege = Siege(Path(folder).resolve(), chosen.lake, chosen.seed)
        try:
            repaired = work(siege, chosen.kills, random.Random(chosen.seed))
        except BaseException:
            print(f"verdict: NOT REPAIRED, after {sum(siege.killed.values())} kills", flush=True)
            raise
    for name, times in sorted(siege.killed.items()):
        print(f"{times:4d}  {name}")
    kills, minutes = sum(siege.killed.values()), (time.monotonic() - started) / 60
    print(f"{kills:4d}  kills in {minutes:.0f} minutes")
    print(f"{repaired:4d}  times the tables were looked at afterwards, and were right")
    print(f"verdict: repaired (seed {chosen.seed})")


if __name__ == "__main__":
    main()
