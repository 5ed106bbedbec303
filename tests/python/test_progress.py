"""The lines of a long run: what they say, when, and that they never trouble the run."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from typing import Any

import pytest
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.progress import Progress, figures_of, step_of

BEGAN = 1_800_000_000.0


class Clock:
    """Shows what a test sets."""

    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> float:
        return self.now


class Run:
    """A `Progress` without a thread, with a clock of its own, and the lines that it said."""

    def __init__(self, in_thread: bool = False, seconds: float = 20.0) -> None:
        self.lines: list[str] = []
        self.debug: list[str] = []
        self.clock = Clock()
        self.progress = Progress(
            self.say, seconds, self.clock if not in_thread else time.time, in_thread=in_thread
        )

    def say(self, line: str, is_for_debug: bool) -> None:
        (self.debug if is_for_debug else self.lines).append(line)

    def after(self, seconds: float) -> list[str]:
        """What is said when the thread looks that long after the beginning."""
        self.clock.now = BEGAN + seconds
        before = len(self.lines)
        self.progress.say_what_is_due()
        return self.lines[before:]


def node(name: str, began: float = BEGAN) -> dict[str, Any]:
    """What dbt has in its context of a node."""
    started_at = datetime.fromtimestamp(began, timezone.utc).replace(tzinfo=None).isoformat()
    return {"unique_id": f"model.shop.{name}", "node_name": name, "node_started_at": started_at}


def test_a_node_is_said_each_20_seconds_and_not_before() -> None:
    run = Run()
    with run.progress.running(node("orders"), "appending new messages"):
        assert [run.after(seconds) for seconds in (0, 1, 19.9)] == [[], [], []]
        assert run.after(20) == ["orders, 20 s: appending new messages"]
        assert run.after(39.9) == []
        assert run.after(40.5) == ["orders, 40 s: appending new messages"]
        assert run.after(1240) == ["orders, 1,240 s: appending new messages"]
        assert run.after(1241) == []
    assert run.after(1300) == []


def test_the_time_is_that_of_the_node_and_the_step_is_that_of_now() -> None:
    """Many short statements are a long node."""
    run = Run()
    for second in range(45):
        with run.progress.running(node("orders"), f"step {second}") as statement:
            statement.figures = lambda second=second: [f"{second} of 45 tasks", "1,000 rows read"]
            run.after(second)
    assert run.lines == [
        f"orders, {second} s: step {second}, {second} of 45 tasks, 1,000 rows read" for second in (20, 40)
    ]


def test_a_node_of_a_later_command_begins_at_zero() -> None:
    run = Run()
    with run.progress.running(node("orders"), "one"):
        assert len(run.after(41)) == 1
    run.progress.begin()
    with run.progress.running(node("orders", BEGAN + 50), "two"):
        assert run.after(69) == []
        assert run.after(70) == ["orders, 20 s: two"]


def test_a_begin_that_nobody_can_read_is_that_of_the_first_statement() -> None:
    run = Run()
    with run.progress.running(node("orders") | {"node_started_at": "yesterday"}, "one"):
        assert run.after(21) == ["orders, 21 s: one"]


def test_statements_outside_of_nodes_are_said_one_by_one() -> None:
    run = Run()
    with run.progress.running({}, "starting Spark") as statement:
        assert run.after(21) == ["dbt, 21 s: starting Spark"]
        statement.step = "running SQL"
        assert run.after(40) == ["dbt, 40 s: running SQL"]
    with run.progress.running({}, "running SQL"):
        assert run.after(59) == []


def test_each_thread_of_dbt_has_its_own_line() -> None:
    run = Run()
    begun, end = threading.Barrier(4), threading.Event()

    def work(name: str) -> None:
        with run.progress.running(node(name), f"reading {name}"):
            begun.wait()
            end.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    begun.wait()
    assert sorted(run.after(20)) == [f"{name}, 20 s: reading {name}" for name in ("a", "b", "c")]
    end.set()
    for thread in threads:
        thread.join()
    assert run.after(40) == []


def test_a_statement_that_ends_while_spark_is_asked_is_not_said() -> None:
    run = Run()
    with run.progress.running(node("orders"), "merging") as statement:

        def figures() -> list[str]:
            run.progress._running.remove(statement)
            return []

        statement.figures = figures
        assert run.after(20) == []


def test_figures_that_cannot_be_had_are_left_out_and_said_once_to_the_debug_log() -> None:
    run = Run()
    with run.progress.running(node("orders"), "merging") as statement:
        statement.figures = lambda: ["1 of 2 tasks", 1 / 0]
        assert run.after(20) == ["orders, 20 s: merging"]
        assert run.after(40) == ["orders, 40 s: merging"]
    assert run.debug == ["spark_cdc: progress is said without Spark's figures: division by zero"]
    run.progress.begin()
    with run.progress.running(node("orders"), "merging") as statement:
        statement.figures = lambda: ["1 of 2 tasks"]
        assert run.after(60) == ["orders, 60 s: merging, 1 of 2 tasks"]


def test_an_error_ends_the_lines_of_the_command_and_nothing_else() -> None:
    run = Run()
    fails = True
    say = run.say

    def say_or_fail(line: str, is_for_debug: bool) -> None:
        if fails and not is_for_debug:
            raise OSError("no\nspace left")
        say(line, is_for_debug)

    run.progress._say = say_or_fail
    with run.progress.running(node("orders"), "merging"):
        assert [run.after(20), run.after(40)] == [[], []]
    fails = False
    with run.progress.running(node("orders"), "merging"):
        assert run.after(60) == []
    assert run.debug == ["spark_cdc: progress is not said any more: no space left"]
    run.progress.begin()
    with run.progress.running(node("orders"), "merging"):
        assert run.after(80) == ["orders, 80 s: merging"]


def test_an_error_of_the_statement_is_the_statements() -> None:
    run = Run()
    with pytest.raises(ValueError, match="of the statement"), run.progress.running(node("orders"), "merging"):
        raise ValueError("of the statement")
    assert (run.after(60), run.debug) == ([], [])


def test_the_thread_lives_as_long_as_statements_run_and_begins_again() -> None:
    run = Run(in_thread=True, seconds=0.1)
    for _ in range(2):
        assert run.progress._thread is None
        before = len(run.lines)
        with run.progress.running({}, "running SQL"):
            thread = run.progress._thread
            assert thread is not None
            assert thread.daemon
            deadline = time.monotonic() + 20
            while len(run.lines) < before + 2 and time.monotonic() < deadline:
                time.sleep(0.01)
        thread.join(timeout=20)
        assert not thread.is_alive()
    assert set(run.lines) == {"dbt, 0 s: running SQL"}
    assert run.debug == []


def test_a_statement_names_its_step(library: MacroLibrary) -> None:
    step = library.call("_step", "merging", 1234567, "row")
    assert step_of(f'/* {{"app": "dbt"}} */\n    {step}\n merge into orders') == "merging 1,234,567 rows"
    assert step_of("select 1") == "running SQL"
    for count, text in ((1, "merging 1 row"), (0, "merging 0 rows"), (None, "merging rows")):
        assert step_of(library.call("_step", "merging", count, "row")) == text
    assert step_of(library.call("_step", "asking Kafka for its offsets")) == "asking Kafka for its offsets"


@pytest.mark.parametrize("session", [None, object()])
def test_without_a_session_of_this_process_there_are_no_figures(session: Any) -> None:
    """Not yet, or over Spark Connect."""
    assert figures_of(session)() == []
