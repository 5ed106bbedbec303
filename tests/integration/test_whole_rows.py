"""Batches in which each change says its whole row, in order: the newest change of a key is its row.

A current table then reads no more of itself than how far each key has come, or not even that where its properties say that
each change comes behind all its rows. It needs no scratch table. What the general way does is tried by the other modules,
and here by the last runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from harness import LAKES_ASKED_FOR, Lake, Project
from reference import current_rows, fold
from source_tables import CanalTable, CanalTopic, Event

LAKES = LAKES_ASKED_FOR
SCHEMA = "shop_whole_rows"
COLUMNS = ["name", "size"]
FILES = {
    "models/sources.yml": "sources: [{name: raw_whole_rows, tables: [{name: things}]}]\n",
    "models/changes.sql": """
{{ config(materialized='cdc_log') }}
{{ spark_cdc.changes(source('raw_whole_rows', 'things'), format='canal', table='things', key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'size': 'int'}) }}
""",
    "models/current_things.sql": """
{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('changes') }}
""",
}
KEYS = range(1, 9)

Row = dict[str, Any]


def statements(random: Random, table: CanalTable) -> Iterator[Event]:
    """What a table of a few keys goes through, several rows a statement, without end."""
    rows: dict[int, Row] = {}

    def row(key: int) -> Row:
        return {"id": key, "name": random.choice([None, "a", "b", "é"]), "size": random.randint(0, 3)}

    for number in itertools.count():
        free = [key for key in KEYS if key not in rows]
        some = random.sample(sorted(rows), k=min(len(rows), random.randint(1, 3)))
        what = random.choice(["insert", "update", "delete", "new keys", "swap"])
        if what == "insert" and free:
            new = [row(key) for key in random.sample(free, k=random.randint(1, len(free)))]
            rows |= {each["id"]: each for each in new}
            yield table.insert(number, *new)
        elif what == "update" and some:
            pairs = [(rows[key], row(key)) for key in some]
            rows |= {after["id"]: after for _, after in pairs}
            yield table.update(number, *pairs)
        elif what == "delete" and some:
            yield table.delete(number, *(rows.pop(key) for key in some))
        elif what == "new keys" and some and free:
            before = rows.pop(some[0])
            rows[free[0]] = before | {"id": free[0]}
            yield table.update(number, (before, rows[free[0]]))
        elif what == "swap" and len(some) > 1:
            one, two = (rows[key] for key in some[:2])
            pairs = [(one, one | {"id": two["id"]}), (two, two | {"id": one["id"]})]
            rows |= {after["id"]: after for _, after in pairs}
            yield table.update(number, *pairs)


@pytest.fixture(scope="module")
def project(lake: Lake, new_project: Callable[..., Project]) -> Project:
    """The first build, of no message."""
    project = new_project(SCHEMA, FILES)
    lake.create_raw("things", schema="raw_whole_rows")
    project.run()
    return project


def test_the_newest_change_of_a_key_is_its_row(
    project: Project, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each run, and after a truncate too, behind which the general way is taken for good."""
    from dbt.adapters.spark.session import Cursor

    written: list[str] = []
    execute = Cursor.execute

    def noted(cursor: Cursor, sql: str, *parameters: Any) -> None:
        written.append(sql)
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", noted)
    table = CanalTable(CanalTopic(), "things", ["id"])
    events = statements(Random(20261122), table)
    changes = []

    def run(*batch: Event) -> str:
        for event in batch:
            changes.extend(event.changes)
        # under the offsets that they had in the topic, in whatever order they come
        lake.land_again(
            "things",
            {event.changes[0].order[0]: message for event in batch for message in event.messages},
            schema="raw_whole_rows",
        )
        written.clear()
        project.run()
        found = {
            (row["id"],): (row["_cdc_is_deleted"], *(row[column] for column in COLUMNS))
            for row in lake.rows(f"select * from {SCHEMA}.current_things")
        }
        assert found == current_rows(fold(changes), COLUMNS)
        return "\n".join(written)

    def looks_at_its_rows(sql: str) -> bool:
        return f"from {SCHEMA}.current_things as stored" in sql

    def has_scratch_table(sql: str) -> bool:
        return "__cdc_rows_" in sql

    first, *in_order, held_back, ahead = (
        list(itertools.islice(events, length)) for length in (1, 12, 30, 6, 12)
    )
    sql = run(*first)
    assert looks_at_its_rows(sql), "of an empty table nothing is known"
    for batch in (*in_order, ahead):
        sql = run(*batch)
        assert "merge into" in sql
        assert not looks_at_its_rows(sql), "each change comes behind all that the table has"
        assert not has_scratch_table(sql)
    (stored,) = lake.rows(f"select array_join(max(_cdc_sequence), ',') as last from {SCHEMA}.current_things")
    assert last_sequence(lake) == stored["last"]
    assert looks_at_its_rows(run(*held_back)), "a change comes before a row of the table"
    assert not looks_at_its_rows(run(*itertools.islice(events, 12))), (
        "it is still known how far the table has come"
    )
    sql = run(
        *itertools.islice(events, 5),
        table.truncate(1000),
        table.insert(1001, {"id": 1, "name": "after", "size": 0}),
    )
    assert has_scratch_table(sql)
    assert has_scratch_table(run(table.insert(1002, {"id": 2, "name": "after", "size": 0})))


def test_behind_a_commit_of_another_all_is_read_and_looked_for_anew(project: Project, lake: Lake) -> None:
    """What the properties say holds for one commit: here a row is deleted by hand."""
    last = last_sequence(lake)
    lake.spark.sql(f"delete from {SCHEMA}.current_things where id = 2")
    lake.spark.sql(f"alter table {SCHEMA}.current_things set tblproperties ('spark_cdc.last_sequence' = '0')")
    project.run()
    assert last_sequence(lake) == last
    assert lake.rows(f"select id from {SCHEMA}.current_things where id = 2")


def last_sequence(lake: Lake) -> str:
    """How far the table has come, as its properties say it."""
    properties = lake.rows(f"show tblproperties {SCHEMA}.current_things")
    return next(row["value"] for row in properties if row["key"] == "spark_cdc.last_sequence")
