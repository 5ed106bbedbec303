"""dbt runs that are killed and repaired: the processes, where they die, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import REPOSITORY, Project, environment
from reference import current_rows, history_rows
from test_days import Target, current_of, differences, history_of
from workload import Workload

HERE = Path(__file__).resolve().parent
SCHEMA = "shop"
PROFILES = Target("raw_profiles", "stg_profiles_changes", ["id"], ["name", "bio"])
TABLES = {"raw_profiles", "stg_messages", "stg_profiles_changes", "profiles", "profiles_history"}
PLAIN_RUN = ["run"]
FULL_REFRESH = ["run", "--full-refresh", "--exclude", "raw_profiles"]
APPEND = r"insert into|create or replace table"


def _steps() -> dict[str, dict[str, str]]:
    """Name -> where a run stops, as `worker.Stop` has it."""

    def at(model: str, statement: str, when: str) -> dict[str, str]:
        return {"model": model, "statement": statement, "when": when}

    landing, messages, changes = "raw_profiles", "stg_messages", "stg_profiles_changes"
    steps = {
        "while landing is written": at(landing, APPEND, "writing"),
        "after landing": at(landing, APPEND, "after"),
        "between landing and messages": at(messages, "", "before"),
        "while messages are written": at(messages, APPEND, "writing"),
        "after messages": at(messages, APPEND, "after"),
        "between messages and changes": at(changes, "", "before"),
        "while changes are written": at(changes, APPEND, "writing"),
        "after changes": at(changes, APPEND, "after"),
        "after what the changes have read is noted": at(changes, "alter table", "after"),
    }
    for kind, model in {"current": "profiles", "history": "profiles_history"}.items():
        scratch = "create or replace table .*__cdc_"
        of_kind = {
            "while a scratch table is written": at(model, scratch, "writing"),
            "operations stand in a scratch table": at(model, scratch + "operations", "after"),
            "rows stand in a scratch table": at(model, scratch + "rows", "after"),
            "before the MERGE": at(model, "merge into", "before"),
            "files written, MERGE not committed": at(model, "merge into", "writing"),
            "after the MERGE, before the table properties": at(model, "merge into", "after"),
            "after the table properties": at(model, "alter table", "after"),
            "between the drops of scratch tables": at(model, "drop table", "after"),
        }
        steps |= {f"{kind}: {name}": step for name, step in of_kind.items()}
    return steps


STEPS = _steps()
FIRST_BUILD = {
    f"first build of {model}: {when}": {"model": model, "statement": "create or replace table", "when": when}
    for model in ("raw_profiles", "stg_profiles_changes", "profiles", "profiles_history")
    for when in ("writing", "after")
}


@dataclass
class Siege:
    """A project, its lake and its source; processes run dbt on them, one after the other or two at a time."""

    folder: Path
    lake: str
    seed: int
    project: Project = field(init=False)
    workload: Workload = field(init=False)
    killed: Counter[str] = field(init=False, default_factory=Counter)
    seconds_of_a_run: float = 30.0

    def __post_init__(self) -> None:
        models = {str(path.relative_to(HERE)): path.read_text() for path in (HERE / "models").iterdir()}
        self.project = Project(self.folder / "project", SCHEMA, models)
        self.workload = Workload(self.waiting, self.seed)

    @property
    def waiting(self) -> Path:
        """The file of the workload's messages, which the project's model lands."""
        return self.folder / "broker.json"

    def start(self) -> Worker:
        """Start a process, which does nothing yet."""
        return Worker(self)

    def kill(self, worker: Worker, name: str, arguments: list[str], stop: dict[str, Any]) -> bool:
        """Let a run die; False where it never came to the place."""
        warehouse = self.folder.relative_to("/") / "warehouse"
        # A scratch table lies beside its model's table.
        stop = stop | {"files": f"{warehouse}/{SCHEMA}*/{stop.get('model', '')}*/**/*.parquet"}
        answer = worker.ask(run=arguments, stops=[stop])
        if answer is not None:
            assert answer["success"], answer
            return False
        worker.is_gone()
        self.killed[name] += 1
        return True

    def repair(self, worker: Worker) -> None:
        """A plain run, after which all is as if nothing had happened."""
        answer = worker.must_run()
        self.seconds_of_a_run = answer["seconds"]
        self.must_be_right(worker.tables())

    def must_be_right(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        """The tables hold what the source's log says, each message is there once, nothing else is left."""
        assert tables.keys() == TABLES, f"left behind: {tables.keys() ^ TABLES}"
        self.must_equal_the_reference(tables)
        offsets = set(range(self.workload.messages))
        for name in ("raw_profiles", "stg_messages"):
            assert sorted(row["offset"] for row in tables[name]) == sorted(offsets), name

    def must_equal_the_reference(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        """Row for row and column for column."""
        wanted = self.workload.tables()
        columns = PROFILES.columns
        current = current_of(tables["profiles"], PROFILES)
        assert differences(current, current_rows(wanted, columns)) == {}
        history = history_of(tables["profiles_history"], PROFILES)
        assert differences(history, history_rows(wanted, columns)) == {}


class Worker:
    """A process that runs dbt, with its JVM: both are in one process group."""

    def __init__(self, siege: Siege) -> None:
        self._siege = siege
        self._log = (siege.folder / "worker.log").open("a")
        paths = os.pathsep.join([str(HERE.parent / "integration"), str(REPOSITORY / "python_udfs")])
        variables = {
            "SHOP_SCHEMA": SCHEMA, "SHOP_BROKER": str(siege.waiting),
            "PYTHONPATH": paths,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), str(siege.project.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=os.environ | environment(siege.folder, siege.lake) | variables, start_new_session=True,
        )  # fmt: skip

    def tell(self, **order: Any) -> None:
        """Give an order, and do not wait."""
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """What it says to the last order; None where it died."""
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, **order: Any) -> dict[str, Any] | None:
        """Give an order and wait."""
        self.tell(**order)
        return self.answer()

    def must_run(self, arguments: list[str] = PLAIN_RUN) -> dict[str, Any]:
        """A run that has to succeed."""
        answer = self.ask(run=arguments)
        assert answer is not None, f"the process died by itself: {self._siege.folder / 'worker.log'}"
        assert answer["success"], json.dumps(answer, indent=2)[:5000]
        return answer

    def tables(self, schema: str = SCHEMA) -> dict[str, list[dict[str, Any]]]:
        """All rows of all tables."""
        into = self._siege.folder / "tables.pickle"
        assert self.ask(look=schema, into=str(into))
        return pickle.loads(into.read_bytes())  # noqa: S301 - written by our own process

    def is_gone(self) -> None:
        """End it, if it is not dead, and wait for its JVM too: it may hold what the next one needs."""
        group = str(self._process.pid)
        if group in _living_groups():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
        while group in _living_groups():
            time.sleep(0.05)


def _living_groups() -> set[str]:
    processes = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in processes.stdout.splitlines() if line.split()[1][0] not in "ZX"}


@contextmanager
def running(siege: Siege) -> Iterator[Worker]:
    """Start a process that is gone at the end, whatever happened."""
    worker = siege.start()
    try:
        yield worker
    finally:
        worker.is_gone()
