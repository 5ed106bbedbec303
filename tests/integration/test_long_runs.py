"""A run that takes long says in dbt's own log what it does, with Spark's figures, each model in its own line."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from dbt_spark_cdc import plugin
from dbt_spark_cdc.progress import Progress, figures_of
from harness import Lake, Project
from source_tables import CanalTable, CanalTopic

SCHEMA = "shop_progress"
MESSAGES = 40
# Spark evaluates it once a row.
SLOW = "reflect('java.lang.Thread', 'sleep', {}L) is not null"
FILES = {
    "models/sources.yml": "sources: [{name: raw_progress, tables: [{name: topic}]}]\n",
    "models/slow_topic.sql": "{{ config(materialized='view') }} select * from {{ source('raw_progress', 'topic') }} "
    f"where {SLOW.format(25)}\n",
    "models/messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(ref('slow_topic'), format='canal') }}\n",
    "models/slow_table.sql": "{{ config(materialized='table', file_format='iceberg') }}\n"
    f"select id from range(0, 80, 1, 16) where {SLOW.format(25)}\n",
}
LINE = re.compile(r"(?m)^\d\d:\d\d:\d\d  (\w+), (\d+) s: ([^,\n]+)((?:, [^\n]+)?)$")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, lake: Lake) -> Iterator[Project]:
    made = Project(tmp_path_factory.mktemp("progress") / "shop", SCHEMA, FILES)
    made.start_spark()
    lake.create_raw("topic", schema="raw_progress")
    yield made


def wait_for(found: Callable[[], object], wanted: object) -> None:
    """Spark counts when it hears of its tasks, soon after they end."""
    deadline = time.monotonic() + 20
    while found() != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found() == wanted


def test_long_runs_say_their_steps_and_figures(
    project: Project, lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    progress = Progress(plugin._say_progress, seconds=0.2)
    monkeypatch.setattr(plugin, "_progress", progress)
    things = CanalTable(CanalTopic(), "things", ["id"])
    rows = [things.insert(n, {"id": str(n), "name": "a"}) for n in range(2 * MESSAGES)]
    messages = [message for event in rows for message in event.messages]

    def lines() -> list[tuple[str, str, str, str]]:
        return LINE.findall(capsys.readouterr().out)

    lake.land("topic", messages[:MESSAGES], schema="raw_progress")
    project.run("--no-quiet", "--no-use-colors")
    first = lines()
    assert {(name, step) for name, _, step, _ in first} >= {
        ("messages", "writing all messages"), ("slow_table", "running SQL")
    }  # fmt: skip
    seconds = [int(at) for name, at, _, _ in first if name == "slow_table"]
    assert seconds == sorted(seconds)
    assert seconds[-1] >= 1
    figures = [rest for name, _, _, rest in first if name == "slow_table"]
    assert any(re.fullmatch(r", \d+ of 16 tasks of stage \d+(, \d+ rows read)?", rest) for rest in figures)

    lake.land("topic", messages[MESSAGES:], schema="raw_progress")
    project.run("--no-quiet", "--no-use-colors", "--select", "messages")
    steps = [step for _, _, step, _ in lines()]
    assert set(steps) >= {"finding new messages", f"appending {MESSAGES} new messages"}
    assert lake.rows(f"select count(*) as n from {SCHEMA}.messages") == [{"n": 2 * MESSAGES}]

    project.run("--select", "slow_table")
    assert lines() == []
    if progress._thread is not None:
        progress._thread.join(timeout=20)
    assert progress._thread is None


def test_the_figures_are_of_the_jobs_of_one_thread_from_the_beginning_of_a_statement(
    project: Project, lake: Lake
) -> None:
    """The number of rows is exact once their tasks have ended."""
    table = "lake.raw_progress.counted"
    lake.spark.sql(f"create or replace table {table} using iceberg as select * from range(0, 1234567, 1, 4)")
    figures = figures_of(lake.spark)
    other = threading.Thread(target=lambda: lake.spark.sql(f"select sum(id + 1) from {table}").collect())
    other.start()
    assert lake.rows(f"select sum(id) as n from {table} where id >= 0") == [{"n": 1234566 * 1234567 // 2}]
    other.join()
    wait_for(figures, ["1,234,567 rows read"])
    assert figures_of(lake.spark)() == []
