"""`make e2e`: real databases, Debezium, Kafka, landing, generated models, kills; then all tables are compared.

make e2e ARGS="--databases pg mariadb --rounds 10 --seed 7"
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))

from kills import Worker
from pipeline import APPLY, Pipeline
from servers import DATABASES, missing


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--databases", nargs="+", default=list(DATABASES), choices=list(DATABASES))
    arguments.add_argument("--rounds", type=int, default=8)
    # With less, the databases write more during a run of a small machine than its next run can read.
    arguments.add_argument("--pause", type=float, default=0.4, help="seconds between transactions")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--folder", type=Path, help="a new folder for all data, which stays there")
    options = arguments.parse_args()
    if lacks := missing(options.databases):
        sys.exit(f"make e2e: missing: {lacks}. Install it, and type make e2e again.")
    print(f"seed {options.seed}", flush=True)
    long = (options.databases, options.seed, options.rounds, options.pause, True)
    if options.folder:
        options.folder.mkdir(parents=True)
        print(end_to_end(options.folder.resolve(), *long))
    else:
        with tempfile.TemporaryDirectory(prefix="spark_cdc_e2e_") as scratch:
            print(end_to_end(Path(scratch), *long))


def end_to_end(
    folder: Path, names: list[str], seed: int, rounds: int, pause: float, is_long: bool = False
) -> dict[str, int]:
    """Let databases change for some rounds of landing and running; return how many rows were compared.

    A long form also runs the quality models and the shipped tests.
    """
    pipeline = Pipeline(folder, "iceberg", seed, names=names)
    try:
        pipeline.open()
        pipeline.say("servers are up")
        worker = rounds_of_changes(pipeline, rounds, pause)
        try:
            pipeline.restart_connect()
            pipeline.catch_up(worker)
            pipeline.say("all messages have landed")
            if rounds > 1:  # there are new columns
                pipeline.generate()
                pipeline.say("wrote models")
            pipeline.apply(worker)
            pipeline.say("all has been read")
            compared = pipeline.must_equal_the_databases(worker)
            pipeline.say("all tables are equal")
            if is_long:
                pipeline.check(worker)
                pipeline.say("the shipped tests pass")
        finally:
            worker.is_gone()
        transactions = sum(workload.transactions for workload in pipeline.workloads.values())
        return compared | {"transactions": transactions, "killed": sum(pipeline.killed.values())}
    finally:
        pipeline.close()


def rounds_of_changes(pipeline: Pipeline, rounds: int, pause: float) -> Worker:
    """Land and run while the databases change; now and then a run or Kafka Connect is killed.

    Return the process that is alive.
    """
    worker = pipeline.start()
    for number in range(rounds):
        if number in (1, 3):
            pipeline.add_column(number // 2)
        if number == 2:
            pipeline.widen_column()
        with pipeline.busy(pause):
            if number and pipeline.connect and pipeline.chance.random() < 0.4:
                pipeline.restart_connect()
                pipeline.say("killed Kafka Connect")
            pipeline.land(worker)
            if number in (0, 2, 4):
                pipeline.generate()
                pipeline.say("wrote models")
            moment = {"seconds": round(pipeline.chance.uniform(1, pipeline.seconds_of_a_run), 1)}
            if number and pipeline.chance.random() < 0.5 and pipeline.kill(worker, "run", APPLY, moment):
                pipeline.say(f"round {number}: killed a run after {moment['seconds']} s")
                worker = pipeline.start()
            else:
                pipeline.apply(worker)
                pipeline.say(f"round {number} is done")
    return worker


if __name__ == "__main__":
    main()
