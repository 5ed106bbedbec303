"""Messages land late, twice, and in any order: the tables are those of the source's order.

Many small logs, each in its own topic, share the raw tables, so that a few runs test them all. If the
tables differ from the fold, the assertion names the log.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import chain
from random import Random
from typing import Any

import pytest
from harness import Lake, Message, Project, raw_row
from reference import Change, current_rows, fold, history_rows
from source_tables import CanalTable, CanalTopic, DataWorksTable, Event

Row = dict[str, Any]
SCHEMA = "shop_arrival"
RUNS = 3
LOGS = 30
SEED = 20261121
INCREMENTAL = "{{ config(materialized='cdc_append') }}\n"
CANAL = (
    "format='canal', table='things', key=['id'], columns={'id': 'bigint', 'name': 'string', 'size': 'int'}"
)
DATAWORKS = (
    "format='dataworks', table='payments', key=['id'], "
    "columns={'id': 'bigint', 'state': 'string', 'cents': 'bigint'}"
)
COLUMNS = {"canal": ["name", "size"], "dataworks": ["state", "cents"]}
CHANGES = {"canal": ["canal_of_raw", "canal_of_messages"], "dataworks": ["dataworks_of_raw"]}


def files() -> dict[str, str]:
    """All models of this module: path -> text."""
    made = {
        "models/sources.yml": "sources: [{name: raw_arrival, tables: [{name: canal}, {name: dataworks}]}]\n",
        "models/messages.sql": f"{INCREMENTAL}{{{{ spark_cdc.messages(source('raw_arrival', 'canal'), format='canal') }}}}\n",
        "models/canal_of_raw.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_arrival', 'canal'), {CANAL}) }}}}\n",
        "models/canal_of_messages.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(messages=ref('messages'), {CANAL}) }}}}\n",
        "models/dataworks_of_raw.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_arrival', 'dataworks'), {DATAWORKS}) }}}}\n",
    }  # fmt: skip
    for changes in chain.from_iterable(CHANGES.values()):
        for kind in ("current", "history"):
            made[f"models/{changes}_{kind}.sql"] = (
                f"{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}} select * from {{{{ ref('{changes}') }}}}\n"
            )
    return made


class Logs:
    """The logs of one format, and in which run each of their messages lands, some of them more than once."""

    def __init__(self, name: str, make: Callable[[Random, int], list[Event]]) -> None:
        self.name = name
        self.changes: list[Change] = []
        self.landings: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        random = Random(SEED)
        for number in range(LOGS):
            offsets: dict[int, int] = defaultdict(int)
            for event in make(random, number):
                self.changes += event.changes
                for message in event.messages:
                    offset = offsets[message.partition]
                    offsets[message.partition] += 1
                    row = raw_row(f"{name}{number}", offset, message)
                    times = random.choice([1, 1, 1, 2, 3])
                    for run in random.choices(range(RUNS), k=times):
                        self.landings[run].append(row)


def walk(random: Random, number: int, columns: list[str]) -> Iterator[tuple[int, Row | None, Row | None]]:
    """Rows of a few keys come, change and go: a number, the row before and the row after."""
    text, integer = columns
    rows: dict[int, Row] = {}
    for n in range(random.randint(3, 12)):
        key = number * 100 + random.randint(1, 3)
        before = rows.pop(key, None)
        if before is not None and random.random() < 0.3:
            yield n, before, None
            continue
        rows[key] = {"id": key, text: random.choice([None, "a", "b"]), integer: random.randint(0, 2)}
        yield n, before, rows[key]


def canal_log(random: Random, number: int) -> list[Event]:
    """Changes of a few keys; a statement of other tables between them."""
    topic = CanalTopic()
    topic._order = iter((number, n) for n in range(1000))  # type: ignore[assignment]
    table = CanalTable(topic, "things", ["id"])
    table._order = lambda: next(topic._order)  # type: ignore[method-assign]
    events = []
    for minute, before, after in walk(random, number, COLUMNS["canal"]):
        if random.random() < 0.2:
            events.append(Event([], [topic.message("QUERY", "others", [], None, sql="select 1")]))
        if before is None:
            events.append(table.insert(minute, after))
        elif after is None:
            events.append(table.delete(minute, before))
        else:
            events.append(table.update(minute, (before, after)))
    return events


def dataworks_log(random: Random, number: int) -> list[Event]:
    """Updates whose parts may stand in two partitions."""
    table = DataWorksTable("payments")
    events: list[Event] = []
    for n, before, after in walk(random, number, COLUMNS["dataworks"]):
        sequence = number * 100 + n
        if before is None:
            events.append(table.insert(sequence, after))
        elif after is None:
            events.append(table.delete(sequence, before))
        else:
            events += table.update(sequence, before, after)
    return [
        Event(
            event.changes,
            [Message(m.value, m.key, m.headers, random.randint(0, 1)) for m in event.messages],
        )
        for event in events
    ]


@pytest.fixture(scope="module")
def logs() -> list[Logs]:
    """All logs, in one order for every run of the suite."""
    return [Logs("canal", canal_log), Logs("dataworks", dataworks_log)]


@pytest.fixture(scope="module")
def project(lake: Lake, new_project: Callable[..., Project], logs: list[Logs]) -> Project:
    """A project after a few runs, between which the messages landed, and one run with nothing new."""
    project = new_project(SCHEMA, files())
    lake.create_raw("canal", "dataworks", schema="raw_arrival")
    for run in range(RUNS):
        for of_format in logs:
            lake.append(f"raw_arrival.{of_format.name}", of_format.landings[run])
        project.run()
    return project


@pytest.mark.parametrize("name", list(CHANGES))
def test_the_tables_are_those_of_the_source_s_order(
    name: str, project: Project, lake: Lake, logs: list[Logs]
) -> None:
    (of_format,) = (each for each in logs if each.name == name)
    tables = fold(of_format.changes)
    columns = COLUMNS[name]
    for changes in CHANGES[name]:
        found = {
            (row["id"],): (row["_cdc_is_deleted"], *(row[column] for column in columns))
            for row in lake.rows(f"select * from {SCHEMA}.{changes}_current")
        }
        assert found == current_rows(tables, columns)
        versions: dict[tuple[int], list[tuple[Any, ...]]] = defaultdict(list)
        for row in lake.rows(f"select * from {SCHEMA}.{changes}_history order by id, _cdc_sequence"):
            versions[row["id"],].append(
                (
                    row["valid_from"], row["valid_to"], row["_cdc_is_deleted"],
                    *(row[column] for column in columns),
                )
            )  # fmt: skip
        assert versions == history_rows(tables, columns)


def test_every_row_of_raw_is_one_row_of_the_messages_model(project: Project, lake: Lake) -> None:
    """Also what lands twice: the reconciliation names it a duplicate."""
    by_place = "select topic, partition, offset, count(*) as times from {} group by all"
    raw = lake.rows(by_place.format("raw_arrival.canal"))
    read = lake.rows(by_place.format(f"{SCHEMA}.messages"))
    assert any(row["times"] > 1 for row in raw)
    assert sorted(map(str, read)) == sorted(map(str, raw))


def test_a_run_with_nothing_new_commits_nothing(project: Project, lake: Lake) -> None:
    names = ["messages", *chain.from_iterable(CHANGES.values())]
    names += [f"{name}_{kind}" for name in names[1:] for kind in ("current", "history")]

    def commits() -> dict[str, int]:
        return {
            name: lake.rows(f"select count(*) as n from {SCHEMA}.{name}.snapshots")[0]["n"] for name in names
        }

    before = commits()
    project.run()
    assert commits() == before


def test_late_messages_of_a_long_topic(project: Project, lake: Lake) -> None:
    """Only the blocks of 10,000 offsets that lack messages are read again; the whole topic if they are many.

    A message that is gone from the raw table is not looked for, and an unreadable one is read again by a model over raw.
    Each message has an id of its own, its offset negated.
    """
    table = CanalTable(CanalTopic(), "things", ["id"])
    changes = ("canal_of_raw", "canal_of_messages")

    def land(*offsets: int) -> None:
        rows = []
        for offset in offsets:
            (message,) = table.insert(499, {"id": -offset, "name": "long", "size": 1}).messages
            rows.append(raw_row("long", offset, message))
        lake.append("raw_arrival.canal", rows)

    def land_broken(*offsets: int) -> None:
        lake.append("raw_arrival.canal", [raw_row("long", offset, Message("{")) for offset in offsets])

    def read() -> dict[str, str]:
        """Run what reads the topic; return the query of each model."""
        project.run("--select", "messages", *changes)
        return {
            path.stem: path.read_text()
            for path in project.folder.glob("target/run/**/*.sql")
            if path.stem in ("messages", *changes)
        }

    def ranges(sql: str) -> set[tuple[int, ...]]:
        found = re.findall(r"offset as bigint\) between (-?\d+) and (-?\d+)", sql)
        return {tuple(map(int, its)) for its in found}

    def assert_read(offsets: list[int]) -> None:
        """A copy is a row of the messages model, and none of a changes model."""
        of_topic = "from {}.{} where {} = 'long' and {} is null"
        [found] = lake.rows(
            "select array_sort(collect_list(offset)) as offsets "
            + of_topic.format(SCHEMA, "messages", "topic", "error")
        )
        assert found["offsets"] == sorted(offsets)
        for name in changes:
            [found] = lake.rows(
                "select array_sort(collect_list(-id)) as ids "
                + of_topic.format(SCHEMA, name, "_cdc_topic", "_cdc_error")
            )
            assert found["ids"] == sorted(set(offsets)), name

    its = list(range(5_000_000, 10_000_000, 10_000))
    land(*its)
    land_broken(5_705_000)
    read()
    few = [-5, 5_000_001, 5_019_999, 6_990_000]
    land(*few, 10_000_000)
    its += [*few, 10_000_000]
    for sql_of_model in read().values():
        assert ranges(sql_of_model) == {(-10_000, -1), (5_000_000, 5_019_999), (6_990_000, 6_999_999)}
    assert_read(its)

    lake.spark.sql("delete from raw_arrival.canal where topic = 'long' and offset between 0 and 5509999")
    many = list(range(5_600_002, 10_000_000, 20_000))
    assert len(many) > 200
    land(5_000_003, *many)
    its += [5_000_003, *many]
    for sql_of_model in read().values():
        assert not ranges(sql_of_model)
    assert_read(its)

    lake.spark.sql("delete from raw_arrival.canal where topic = 'long' and offset between 0 and 5609999")
    land(10_000_001)
    its.append(10_000_001)
    sql = read()
    for name in ("messages", "canal_of_messages"):
        assert "late_arriving" not in sql[name]
    assert ranges(sql["canal_of_raw"]) == {(6_990_000, 6_999_999)}, "a copy is there"
    assert_read(its)

    # More of them than a condition lists: the model over raw reads all of the topic.
    land_broken(*range(11_000_000, 11_000_501))
    read()
    land(9_000_003)
    its.append(9_000_003)
    sql = read()
    assert ranges(sql["messages"]) == {(9_000_000, 9_009_999)}
    assert not ranges(sql["canal_of_raw"])
    assert_read(its)


def test_a_recreated_topic(project: Project, lake: Lake) -> None:
    """Its messages are errors until the model says since when the topic is the new one; then they are read.

    So are those that come with them at offsets that the old topic left out, as Kafka's transactions and compaction do, or
    after its end, or in a partition that it did not have. A messages model sees them too where raw holds nothing of the old topic any more.
    """
    topic = CanalTopic()
    table = CanalTable(topic, "things", ["id"])
    later = timedelta(days=30)
    highest = "select max(offset) as offset from raw_arrival.canal where topic = 'canal0' and partition = 0"
    left_out = lake.rows(highest)[0]["offset"] + 5
    (message,) = table.insert(499, {"id": 90000, "name": "old", "size": 1}).messages
    lake.append("raw_arrival.canal", [raw_row("canal0", left_out + 5, message)])
    project.run("--select", "messages+", "canal_of_raw+")
    rows = []
    places = [(0, 0), (0, 1), (0, 2), (0, left_out), (0, left_out + 9), (1, 3)]
    for number, (partition, offset) in enumerate(places):
        (message,) = table.insert(500 + number, {"id": 90001 + number, "name": "new", "size": 1}).messages
        row = raw_row("canal0", offset, message)
        rows.append((row[0], partition, offset, row[3] + later, *row[4:]))
    lake.append("raw_arrival.canal", rows)
    old = "from raw_arrival.canal where topic = 'canal1'"
    old_rows = [tuple(row.values()) for row in lake.rows(f"select * {old}")]
    lake.spark.sql(f"delete {old}")
    lake.append("raw_arrival.canal", [(*row[:3], row[3] + later, *row[4:]) for row in old_rows])
    project.run("--select", "messages+", "canal_of_raw+")
    wrong = "select partition, offset from {} where error.code = 'offset_reused' and topic = 'canal0' order by all"
    assert [tuple(row.values()) for row in lake.rows(wrong.format(f"{SCHEMA}.messages"))] == places
    emptied = f"select offset from {SCHEMA}.messages where error.code = 'offset_reused' and topic = 'canal1'"
    assert sorted(row["offset"] for row in lake.rows(emptied)) == sorted(row[2] for row in old_rows)
    of_raw = lake.rows(
        f"select _cdc_partition, _cdc_offset from {SCHEMA}.canal_of_raw where _cdc_error.code = 'offset_reused' order by all"
    )
    assert [tuple(row.values()) for row in of_raw] == places
    new_ids = f"select id from {SCHEMA}.{{}}_current where id > 90000 order by id"
    assert lake.rows(new_ids.format("canal_of_raw")) == []

    since = (rows[0][3] - later / 2).strftime("%Y-%m-%d")
    offset = f"offset + case when topic = 'canal0' and timestamp >= '{since}' then 1000000 else 0 end"
    raw_columns = f'raw_columns={{"offset": "{offset}"}}, format='
    project.write(
        {
            path: text.replace("format=", raw_columns, 1)
            for path, text in files().items()
            if path.endswith(("/messages.sql", "/canal_of_raw.sql"))
        }
    )
    project.run("--select", "messages+", "canal_of_raw+")
    for changes in CHANGES["canal"]:
        assert [row["id"] for row in lake.rows(new_ids.format(changes))] == list(range(90001, 90007))
    project.run("--select", "messages")
    assert len(lake.rows(wrong.format(f"{SCHEMA}.messages"))) == len(places)

    # Messages that were not read stay, though the old topic had others of their number; so does what raw still has.
    project.remove(*[f"models/canal_of_raw{kind}.sql" for kind in ("", "_current", "_history")])
    (message,) = table.insert(600, {"id": 90007, "name": "unread", "size": 1}).messages
    row = raw_row("canal0", 3, message)
    lake.append("raw_arrival.canal", [(*row[:3], row[3] + later, *row[4:])])
    read = lake.rows(f"select count(*) as rows from {SCHEMA}.messages")
    pruned = "{older_than_days: 1, models: [messages], sources: [raw_arrival.canal], dry_run: false}"
    assert project.dbt("run-operation", "spark_cdc.prune", "--args", pruned).result.success
    project.run("--select", "messages+")
    assert 90007 in [row["id"] for row in lake.rows(new_ids.format("canal_of_messages"))]
    assert lake.rows("select count(*) as rows from raw_arrival.canal")[0]["rows"] < read[0]["rows"]
    assert len(lake.rows(wrong.format(f"{SCHEMA}.messages"))) == len(places)
