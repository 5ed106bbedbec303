"""A process that runs dbt, and can be told where to stop: it kills itself and its JVM, or waits for a file.

It is started with a project's folder, reads orders from standard input, one JSON a line, and answers each:
    {"run": ["run"], "stops": [{...}]} one dbt command, and where it stops, place after place: see `Stop`
    {"sql": ["..."]}                   statements, one after the other
    {"produce": 10, "topic": ..., ...} writes so many messages to a Kafka topic, which it creates first
    {"look": "schema", "into": path}   writes the rows of all tables of a schema, pickled
"""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# dbt's own, and what the step is.
COMMENTS = re.compile(r"(?:\s*/\*.*?\*/)*\s*", re.DOTALL)
NODE = re.compile(r'"node_id": "model\.shop\.(\w+)"')


@dataclass
class Stop:
    """A place in a run: a statement of a model, by the beginning of its text, and a moment of it.

    `when` is before, after, or writing: as soon as a file that fits `files` is new, while the statement runs.
    With `number` it is the command's statement of that number, whatever its text; with `seconds`, wherever the
    run is by then. With `wait_for`, a file, it does not die but waits until the file is there. `is_over` becomes
    true after the statement, where nobody need watch for files any more.
    """

    model: str = ""
    statement: str = ""
    when: str = "before"
    files: str = ""
    number: int | None = None
    seconds: float | None = None
    wait_for: str | None = None
    is_over: bool = False

    def happens(self) -> None:
        """Stop here."""
        if self.wait_for is None:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        wait_for = Path(self.wait_for)
        wait_for.with_suffix(".reached").touch()
        while not wait_for.exists():
            time.sleep(0.01)

    def fits(self, sql: str, number: int) -> bool:
        """Whether a statement, with dbt's comment before it, is the one."""
        if self.number is not None:
            return number == self.number
        node = NODE.search(sql)
        return (
            self.seconds is None
            and node is not None
            and node[1] == self.model
            and re.match(self.statement, COMMENTS.sub("", sql, count=1), re.IGNORECASE | re.DOTALL)
            is not None
        )


class Stopper:
    """Stands around dbt-spark's cursor, where every statement passes."""

    def __init__(self) -> None:
        self.expect([])

    def expect(self, stops: list[Stop]) -> None:
        """A new command begins."""
        self.stops = stops
        self.statements = 0

    def around(self, execute: Callable) -> Callable:
        """Wrap the cursor's `execute`."""

        def execute_and_stop(cursor: Any, sql: str, *parameters: Any) -> None:
            self.statements += 1
            if not self.stops or not self.stops[0].fits(sql, self.statements):
                return execute(cursor, sql, *parameters)
            stop = self.stops.pop(0)
            if stop.when == "before":
                stop.happens()
            if stop.when == "writing":
                threading.Thread(
                    target=_watch, args=(stop, set(Path("/").glob(stop.files))), daemon=True
                ).start()
            execute(cursor, sql, *parameters)
            stop.is_over = True
            if stop.when == "after":
                stop.happens()

        return execute_and_stop


def _watch(stop: Stop, before: set[Path]) -> None:
    while not set(Path("/").glob(stop.files)) - before:
        if stop.is_over:
            return
        time.sleep(0.001)
    stop.happens()


def _run(project: str, arguments: list[str]) -> dict[str, Any]:
    from dbt.cli.main import dbtRunner

    command = [
        *arguments, "--quiet", "--no-send-anonymous-usage-stats", "--log-level-file", "none",
        "--project-dir", project, "--profiles-dir", project,
    ]  # fmt: skip
    done = dbtRunner().invoke(command)
    nodes = done.result.results if done.result else ()
    return {
        "success": done.success,
        "failure": str(done.exception or ""),
        "messages": {node.node.name: str(node.message) for node in nodes if str(node.status) != "success"},
    }


def _look(schema: str, into: str) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    # Temporary views are listed too, without a schema.
    names = [row["tableName"] for row in spark.sql(f"show tables in {schema}").collect() if row["namespace"]]
    tables = {
        name: [row.asDict(recursive=True) for row in spark.table(f"{schema}.{name}").collect()]
        for name in names
    }
    Path(into).write_bytes(pickle.dumps(tables))
    return {"success": True}


def _execute(statements: list[str]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    for statement in statements:
        SparkSession.builder.getOrCreate().sql(statement)
    return {"success": True}


def _produce(count: int, topic: str, partitions: int, servers: str, after: int) -> dict[str, Any]:
    from broker import Client
    from pyspark.sql import SparkSession

    client = Client(SparkSession.builder.getOrCreate(), servers)
    if not after:
        client.create(topic, partitions)
    numbers = range(after, after + count)
    for partition in range(1, partitions):
        client.produce(
            topic, [str(number) for number in numbers if number % partitions == partition], partition
        )
    client.transaction(topic, ["aborted"] * 3, is_committed=False)
    client.transaction(topic, [str(number) for number in numbers if number % partitions == 0])
    client.close()
    return {"success": True}


def main() -> None:
    """Serve until standard input ends."""
    # What dbt and Spark print goes to the log; the answers keep the pipe.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    project = sys.argv[1]
    os.chdir(project)

    from dbt.adapters.spark import session

    stopper = Stopper()
    session.Cursor.execute = stopper.around(session.Cursor.execute)
    for line in sys.stdin:
        order = json.loads(line)
        if "look" in order:
            answer = _look(order["look"], order["into"])
        elif "produce" in order:
            answer = _produce(order.pop("produce"), **order)
        elif "sql" in order:
            answer = _execute(order["sql"])
        else:
            stops = [Stop(**stop) for stop in order.get("stops", ())]
            stopper.expect(stops)
            timers = [threading.Timer(stop.seconds, stop.happens) for stop in stops if stop.seconds]
            for timer in timers:
                timer.start()
            started = time.monotonic()
            answer = _run(project, order["run"]) | {
                "seconds": time.monotonic() - started, "statements": stopper.statements,
            }  # fmt: skip
            for timer in timers:
                timer.cancel()
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
