"""Lines in dbt's log that say what a long run does.

dbt prints a line when a model begins and one when it ends, and nothing between them. For a statement that
runs in a session of this process, `Progress` says each 20 seconds of its node which step it is and how far
Spark is. All figures are Spark's own; what Spark does not know is left out.
"""

from __future__ import annotations

import contextvars
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 20.0
STARTING = "starting Spark"
# As the macro `_step` writes it.
_STEP = re.compile(r"/\* spark_cdc: ([^*]{1,200}) \*/")
# Of statements of others: dbt's own, and those of models and tests that are not of this package.
_NO_STEP = "running SQL"
# The thread looks so often in one interval what is due, and ends after an interval without a statement.
_TICKS = 20
_tags = itertools.count(1)
_tagged = threading.local()


def step_of(sql: str) -> str:
    """Return the step that a statement names in a comment of the macro `_step`."""
    found = _STEP.search(sql)
    return found[1] if found else _NO_STEP


@dataclass
class _Node:
    """A node of dbt while one thread runs it, or a statement of dbt outside of nodes."""

    key: tuple[Any, Any] | None
    name: str
    began: float
    # How many intervals it has been said for.
    said: int = 0


@dataclass(eq=False)
class Statement:
    """A statement that runs now. `step` and `figures` may change while it does."""

    node: _Node
    step: str
    figures: Callable[[], list[str]] = list
    # dbt finds in it what an event belongs to: the command and the node.
    context: contextvars.Context = field(default_factory=contextvars.copy_context)


class Progress:
    """Says what runs, from a thread of its own that exists only while statements do.

    `say` takes a line, and True if it is for the debug log only. Nothing here may break a run: an error is
    one line in the debug log. What failed is not tried again until `begin`: Spark's figures, or any line.
    """

    def __init__(
        self,
        say: Callable[[str, bool], None],
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.time,
        in_thread: bool = True,
    ) -> None:
        self._say, self._seconds, self._clock, self._in_thread = say, seconds, clock, in_thread
        self._lock = threading.Lock()
        self._running: list[Statement] = []
        self._thread: threading.Thread | None = None
        self._of_thread = threading.local()
        self._is_broken = self._is_without_figures = False

    def begin(self) -> None:
        """A command of dbt begins; an error of an earlier one does not count."""
        self._is_broken = self._is_without_figures = False

    @contextmanager
    def running(self, node_info: Mapping[str, Any], step: str) -> Iterator[Statement]:
        """Have the statement said that runs inside. `node_info` is dbt's, empty outside of nodes."""
        statement = Statement(self._node(node_info), step)
        try:
            with self._lock:
                if not self._is_broken:
                    self._running.append(statement)
                    self._keep_thread()
        except Exception as error:
            self._break(statement, error)
        try:
            yield statement
        finally:
            with self._lock, suppress(ValueError):
                self._running.remove(statement)

    def say_what_is_due(self) -> None:
        """Say each statement whose node has run for a further interval."""
        with self._lock:
            running = list(self._running)
        for statement in running:
            node = statement.node
            seconds = self._clock() - node.began
            intervals = int(seconds // self._seconds)
            if intervals <= node.said:
                continue
            node.said = intervals
            parts = [statement.step, *self._figures(statement)]
            try:
                # It may have ended while Spark was asked, and dbt's own line of the node follows.
                if statement in self._running:
                    line = f"{node.name}, {int(seconds):,} s: {', '.join(parts)}"
                    statement.context.run(self._say, line, False)
            except Exception as error:
                self._break(statement, error)

    def _figures(self, statement: Statement) -> list[str]:
        if self._is_without_figures:
            return []
        try:
            return statement.figures()
        except Exception as error:
            self._is_without_figures = True
            self._say_error(statement, "progress is said without Spark's figures", error)
            return []

    def _node(self, node_info: Mapping[str, Any]) -> _Node:
        key = (node_info.get("unique_id"), node_info.get("node_started_at")) if node_info else None
        node = getattr(self._of_thread, "node", None)
        if node is None or key is None or node.key != key:
            began = _as_seconds(node_info.get("node_started_at"))
            name = str(node_info.get("node_name") or "dbt")
            node = self._of_thread.node = _Node(key, name, self._clock() if began is None else began)
        return node

    def _keep_thread(self) -> None:
        if self._in_thread and self._thread is None:
            # A daemon: dbt's process ends when dbt does.
            thread = threading.Thread(target=self._work, name="spark_cdc progress", daemon=True)
            thread.start()
            self._thread = thread

    def _work(self) -> None:
        idle = 0
        while True:
            time.sleep(self._seconds / _TICKS)
            with self._lock:
                idle = 0 if self._running else idle + 1
                if idle > _TICKS:
                    self._thread = None
                    return
            self.say_what_is_due()

    def _break(self, statement: Statement, error: Exception) -> None:
        with self._lock:
            was_broken, self._is_broken = self._is_broken, True
            self._running.clear()
        if not was_broken:
            self._say_error(statement, "progress is not said any more", error)

    def _say_error(self, statement: Statement, words: str, error: Exception) -> None:
        reason = " ".join(str(error).split())[:500] or type(error).__name__
        with suppress(Exception):
            statement.context.run(self._say, f"spark_cdc: {words}: {reason}", True)


def _as_seconds(started_at: str | None) -> float | None:
    """Return when a node began. dbt has it as a text in UTC without an offset; None for another text."""
    try:
        return datetime.fromisoformat(started_at or "").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def figures_of(session: SparkSession | None) -> Callable[[], list[str]]:
    """Return what gives the figures of the jobs that this thread starts from now on in this session.

    It has none over Spark Connect, whose server alone knows them, and where a thread of Python is not one of
    the JVM (PYSPARK_PIN_THREAD=false): Spark does not show there which model a job belongs to.
    """
    context = getattr(session, "_sc", None)
    if context is None or type(context._gateway).__name__ != "ClientServer":
        return list
    if getattr(_tagged, "session", None) is not session:
        # One tag a thread costs one call a model. A thread runs one statement at a time.
        _tagged.session, _tagged.tag = session, f"spark_cdc_{next(_tags)}"
        context.addJobTag(_tagged.tag)
    tag, since = _tagged.tag, int(time.time() * 1000)
    return lambda: _figures(context, tag, since)


def _figures(context: Any, tag: str, since: int) -> list[str]:
    store = context._jsc.sc().statusStore()
    stages = [_stage(store, number) for number in sorted(_stages_since(context, store, tag, since))]
    parts = []
    active = [stage for stage in stages if stage is not None and str(stage.status().toString()) == "ACTIVE"]
    if active:
        done = sum(int(stage.numCompleteTasks()) for stage in active)
        of = sum(int(stage.numTasks()) for stage in active)
        names = " and ".join(str(stage.stageId()) for stage in active)
        where = f"stage {names}" if len(active) == 1 else f"stages {names}"
        parts.append(f"{done:,} of {of:,} tasks of {where if len(active) <= 4 else f'{len(active)} stages'}")
    # Spark forgets old stages, and then the sum would be too low.
    rows = sum(int(stage.inputRecords()) for stage in stages) if None not in stages else 0
    if rows:
        parts.append(f"{rows:,} rows read")
    return parts


def _stages_since(context: Any, store: Any, tag: str, since: int) -> set[int]:
    # One call for all numbers: each element of a Java array would be one.
    ids = str(context._jvm.java.util.Arrays.toString(context._jsc.sc().statusTracker().getJobIdsForTag(tag)))
    found: set[int] = set()
    for job_id in sorted(map(int, re.findall(r"\d+", ids)), reverse=True):
        job = store.job(job_id)
        submitted = job.submissionTime()
        if submitted.isDefined() and int(submitted.get().getTime()) < since:
            break
        found |= set(map(int, re.findall(r"\d+", str(job.stageIds().mkString(",")))))
    return found


def _stage(store: Any, number: int) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return store.lastStageAttempt(number)
    except Py4JJavaError as error:
        if "NoSuchElementException" in str(error.java_exception.getClass().getName()):
            return None
        raise
