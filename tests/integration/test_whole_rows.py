"""Batches in which each change has its whole row, in order: the newest change of a key is its row.

A current table then reads of itself only the sequence of each key, or not even that if its properties show
that each change comes after all its rows. It needs no scratch table. A history takes each change as its
row's state, and knows of each version without a query whether it was stored. The other modules, and the
last runs here, test the general way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import pytest
from harness import QUICK_LAKES_ASKED_FOR, Lake, Message, Project
from reference import Change, Tables, current_rows, fold, versions_of
from source_tables import CanalTable, CanalTopic, Event

LAKES = QUICK_LAKES_ASKED_FOR
SCHEMA = "shop_whole_rows"
COLUMNS = ["name", "size"]
FILES = {
    "models/sources.yml": "sources: [{name: raw_whole_rows, tables: [{name: things}]}]\n",
    "models/changes.sql": """
{{ config(materialized='cdc_append') }}
{{ spark_cdc.changes(source('raw_whole_rows', 'things'), format='canal', table='things', key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'size': 'int'}) }}
""",
    "models/current_things.sql": """
{{ config(materialized='cdc_current', unique_key=['id']) }}
select * from {{ ref('changes') }}
""",
}
HISTORIES: dict[str, dict[str, Any]] = {
    "history": {},
    "history_tracked": {"track_columns": ["size"]},
    "history_unchanged": {"keep_unchanged": True},
    "history_invalidate": {"hard_deletes": "invalidate"},
    "history_ignore": {"hard_deletes": "ignore"},
}
for name, options in HISTORIES.items():
    words = "".join(f", {option}={value!r}" for option, value in options.items())
    FILES[f"models/{name}.sql"] = f"""
{{{{ config(materialized='cdc_history', unique_key=['id']{words}) }}}}
select * from {{{{ ref('changes') }}}}
"""
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


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What dbt sends to Spark."""
    from dbt.adapters.spark.session import Cursor

    statements: list[str] = []
    execute = Cursor.execute

    def noted(cursor: Cursor, sql: str, *parameters: Any) -> None:
        statements.append(sql)
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", noted)
    return statements


def test_the_newest_change_of_a_key_is_its_row(project: Project, lake: Lake, written: list[str]) -> None:
    """After each run, and after a truncate too, once all changes of a run come after it."""
    table = CanalTable(CanalTopic(), "things", ["id"])
    events = statements(Random(20261122), table)
    changes = []

    def run(*batch: Event) -> str:
        for event in batch:
            changes.extend(event.changes)
        # under the offsets that they had in the topic, in whatever order they come
        lake.land_again("things", by_offset(batch), schema="raw_whole_rows")
        written.clear()
        project.run()
        must_be_right(lake, SCHEMA, changes, HISTORIES)
        return "\n".join(written)

    def looks_at_its_rows(sql: str) -> bool:
        return f"from {SCHEMA}.current_things as stored" in sql

    def has_scratch_table(sql: str) -> bool:
        return "current_things__cdc_rows_" in sql

    def asks_for_truncates() -> bool:
        return any(
            "operations_and_truncates" in sql and f"{SCHEMA}.history__cdc_rows_" in sql for sql in written
        )

    def compares_versions() -> bool:
        return any("full outer join" in sql and f"{SCHEMA}.history__cdc_rows_" in sql for sql in written)

    first, *in_order, held_back, ahead = (
        list(itertools.islice(events, length)) for length in (1, 12, 30, 6, 12)
    )
    sql = run(*first)
    assert looks_at_its_rows(sql), "of an empty table nothing is known"
    for batch in (*in_order, ahead):
        sql = run(*batch)
        assert "merge into" in sql
        assert not looks_at_its_rows(sql), "each change comes after all that the table has"
        assert not has_scratch_table(sql)
        assert not keeps_newest_rows(sql)
        assert not asks_for_truncates()
        assert not compares_versions()
    (stored,) = lake.rows(f"select array_join(max(_cdc_sequence), ',') as last from {SCHEMA}.current_things")
    assert last_sequence(lake) == stored["last"]
    for _ in range(3):
        sql = run(*held_back)
        assert looks_at_its_rows(sql), "a change comes before a row of the table"
        assert not has_scratch_table(sql), "all changes are whole, so a late one alters no later row"
        assert not asks_for_truncates(), "there never was one"
        assert compares_versions()
        held_back = list(itertools.islice(events, 6))
        run(*itertools.islice(events, 6))
    assert not looks_at_its_rows(run(*itertools.islice(events, 12))), (
        "it is still known how far the table has come"
    )
    sql = run(
        *itertools.islice(events, 5),
        table.truncate(1000),
        table.insert(1001, {"id": 1, "name": "after", "size": 0}),
    )
    assert has_scratch_table(sql)
    assert asks_for_truncates()
    early = table.insert(1002, {"id": 2, "name": "early", "size": 0})
    late_truncate = table.truncate(1003)
    sql = run(table.insert(1004, {"id": 2, "name": "after", "size": 0}))
    assert not has_scratch_table(sql), "it comes after the truncate"
    assert not asks_for_truncates()
    run(late_truncate)
    assert asks_for_truncates(), "a truncate that comes late"
    run(early)
    assert asks_for_truncates(), "a change from before a truncate"
    sql = run(table.insert(1005, {"id": 3, "name": "after", "size": 0}))
    assert not has_scratch_table(sql)
    lake.spark.sql(f"alter table {SCHEMA}.current_things unset tblproperties ('spark_cdc.last_truncate')")
    assert has_scratch_table(run(table.insert(1006, {"id": 4, "name": "after", "size": 0}))), (
        "where no property says how far truncates have come, there may be a later one"
    )


def test_behind_a_commit_of_another_all_is_read_and_looked_for_anew(project: Project, lake: Lake) -> None:
    """What the properties say holds for one commit: here a row is deleted by hand."""
    last = last_sequence(lake)
    lake.spark.sql(f"delete from {SCHEMA}.current_things where id = 2")
    lake.spark.sql(f"alter table {SCHEMA}.current_things set tblproperties ('spark_cdc.last_sequence' = '0')")
    project.run("--select", "changes", "current_things")
    assert last_sequence(lake) == last
    assert lake.rows(f"select id from {SCHEMA}.current_things where id = 2")

    # A property that is missing is no commit, so that the others seem to be valid.
    properties = f"show tblproperties {SCHEMA}.current_things"
    before = lake.rows(properties)
    for name in ("read_loaded_at", "read_count", "read_truncates"):
        lake.spark.sql(f"alter table {SCHEMA}.current_things unset tblproperties ('spark_cdc.{name}')")
        project.run("--select", "changes", "current_things")
        after = lake.rows(properties)
        assert [row["key"] for row in after] == [row["key"] for row in before]


def test_rows_that_are_there_twice_are_there_once_after_a_run(project: Project, lake: Lake) -> None:
    """As two runs at once may leave them: all of a table's rows, or a row and another one in its place.

    And as somebody may leave them who edits by hand: a key without its open version, or a row that no change made.
    """

    def rows(table: str) -> list[Any]:
        found = lake.rows(f"select * from {SCHEMA}.{table}")
        return sorted(found, key=lambda row: (row["id"], row["_cdc_sequence"]))

    tables = ["current_things", *HISTORIES]
    before = {table: rows(table) for table in tables}
    assert all(len(found) > 3 for found in before.values())
    for table in tables:
        lake.spark.sql(f"insert into {SCHEMA}.{table} select * from {SCHEMA}.{table} where id <> 3")
        lake.spark.sql(
            f"insert into {SCHEMA}.{table} select id, 'other', * except (id, name) from {SCHEMA}.{table} where id = 1"
        )
    lake.spark.sql(f"delete from {SCHEMA}.current_things where id = 2")
    for key in (1, 2):
        lake.spark.sql(
            f"insert into {SCHEMA}.current_things (id, name, _cdc_is_deleted) values ({key}, 'by hand', false)"
        )
    lake.spark.sql(f"delete from {SCHEMA}.history where id = 3 and valid_to is null")
    project.run()
    assert {table: rows(table) for table in tables} == before


def test_changes_that_lack_columns_come_in_order(
    lake: Lake, new_project: Callable[..., Project], written: list[str]
) -> None:
    """Each key continues from its stored row, in one MERGE; but not if an update also changes the key."""
    schema = "shop_lacking"
    histories = {name: HISTORIES[name] for name in ("history", "history_tracked")}
    files = {
        path: text.replace("raw_whole_rows", "raw_lacking")
        for path, text in FILES.items()
        if not path.startswith("models/history")
        or path.removeprefix("models/").removesuffix(".sql") in histories
    }
    project = new_project(schema, files)
    lake.create_raw("things", schema="raw_lacking")
    table = CanalTable(CanalTopic(), "things", ["id"])
    random = Random(20261130)
    names = {key: f"n{key}" for key in KEYS}
    sizes = dict.fromkeys(KEYS, 0)
    changes = []

    def land(*events: Event) -> None:
        for event in events:
            changes.extend(event.changes)
        lake.land_again("things", by_offset(events), schema="raw_lacking")

    def run(*events: Event) -> bool:
        land(*events)
        written.clear()
        project.run()
        must_be_right(lake, schema, changes, histories)
        return any("__cdc_rows_" in sql for sql in written)

    def update(number: int) -> Event:
        pairs = []
        for key in random.sample(sorted(names), k=3):
            before = {"id": key, "name": names[key], "size": sizes[key]}
            names[key], sizes[key] = random.choice("ab"), random.randint(0, 3)
            lacking = random.choice(["name", "size", None])
            after = {"id": key, "name": names[key], "size": sizes[key]}
            if lacking:
                del after[lacking]
                (names if lacking == "name" else sizes)[key] = before[lacking]
            pairs.append(({column: before[column] for column in after}, after))
        return table.update(number, *pairs)

    run(table.insert(0, *({"id": key, "name": names[key], "size": 0} for key in KEYS)))
    for batch in ((1, 2, 3), (4,), (5, 6)):
        assert not run(*(update(number) for number in batch))
    gone = {"id": 1, "name": names.pop(1), "size": sizes.pop(1)}
    assert not run(table.delete(7, gone), update(8), table.insert(9, {"id": 1, "size": 5}))
    moved = {"id": 2, "name": names.pop(2), "size": sizes.pop(2)}
    assert run(
        table.update(10, ({"id": 2, "size": moved["size"]}, {"id": 20, "size": moved["size"]})), update(11)
    )

    # A row with a later sequence than this run knows of is another run's, which wrote meanwhile.
    stopped = {"current_things": "cdc_current", "history": "cdc_history"}
    properties = "alter table {}.{} {} tblproperties ('spark_cdc.last_sequence'{})"
    for model in stopped:
        lake.spark.sql(properties.format(schema, model, "set", " = '0'"))
    land(update(12), update(13))
    messages = project.dbt("run", "--exclude", "history_tracked").messages
    for model, materialization in stopped.items():
        assert (
            f"spark_cdc.{materialization}: another run wrote {schema}.{model} at the same time as this one, which has written "
            "nothing. Run `dbt retry`. Let one run of a model end before the next one starts."
        ) in " ".join(messages[model].split())
        lake.spark.sql(properties.format(schema, model, "unset", ""))
    run(update(14))

    # `restate` reads changes that the table has not read yet.
    land(update(15))
    project.run("--select", "changes")
    for model in ("current_things", "history"):
        arguments = f"{{model: {model}, keys: {sorted(names)}}}"
        assert project.dbt("run-operation", "spark_cdc.restate", "--args", arguments).result.success
    project.run()
    must_be_right(lake, schema, changes, histories)


def test_a_batch_of_more_keys_than_a_merge_lists(
    lake: Lake, new_project: Callable[..., Project], written: list[str]
) -> None:
    files = {
        path: text.replace("raw_whole_rows", "raw_many_keys")
        for path, text in FILES.items()
        if not path.startswith("models/history")
    }
    project = new_project("shop_many_keys", files)
    lake.create_raw("things", schema="raw_many_keys")
    table = CanalTable(CanalTopic(), "things", ["id"])

    def run(*events: Event) -> str:
        lake.land_again("things", by_offset(events), schema="raw_many_keys")
        written.clear()
        project.run()
        return "\n".join(written)

    one, other = ({"id": key, "name": "a", "size": 0} for key in (0, 1))
    run(table.insert(0, one))
    run(table.insert(1, other))
    many = [{"id": key, "name": "b", "size": 1} for key in range(2, 30_002)]
    inserts = [table.insert(3, *many[at : at + 300]) for at in range(0, len(many), 300)]
    sql = run(table.update(2, (one, one | {"size": 2})), *inserts, table.delete(4, other))
    assert "merge into" in sql
    assert "stored.`id` in (" not in sql
    assert not keeps_newest_rows(sql)
    found = lake.rows(
        "select _cdc_is_deleted as is_deleted, count(*) as rows, sum(size) as size from shop_many_keys.current_things group by all"
    )
    assert {row["is_deleted"]: (row["rows"], row["size"]) for row in found} == {
        False: (30_001, 30_002),
        True: (1, None),
    }
    (listed,) = re.findall(
        r"stored\.`id` in \((.*?)\)", run(table.delete(5, many[3]), table.insert(6, other))
    )
    assert set(listed.split(", ")) == {"1", "5"}

    # A run that reads all changes again trusts no stored row: here all have a place after all changes.
    rows = "select id, name, size, _cdc_is_deleted from shop_many_keys.current_things order by id"
    right = lake.rows(rows)
    lake.spark.sql(
        "update shop_many_keys.current_things set name = 'wrong', _cdc_is_deleted = false, "
        "_cdc_sequence = array(cast(1000000000 as decimal(20,0)), cast(0 as decimal(20,0)))"
    )
    project.run()
    assert lake.rows(rows) == right


def by_offset(events: Iterable[Event]) -> dict[int, Message]:
    return {event.changes[0].order[0]: message for event in events for message in event.messages}


def keeps_newest_rows(sql: str) -> bool:
    return "cache table _cdc_newest_" in sql


def must_be_right(
    lake: Lake, schema: str, changes: Iterable[Change], histories: dict[str, dict[str, Any]]
) -> None:
    """The current table and the histories are those of the reference."""
    found = {
        (row["id"],): (row["_cdc_is_deleted"], *(row[column] for column in COLUMNS))
        for row in lake.rows(f"select * from {schema}.current_things")
    }
    tables = fold(changes)
    assert found == current_rows(tables, COLUMNS)
    for name, options in histories.items():
        assert stored_versions(lake, schema, name) == wanted_versions(tables, options), name


def stored_versions(lake: Lake, schema: str, table: str) -> dict[int, list[tuple[Any, ...]]]:
    """Key -> its versions in order, as a table has them."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in lake.rows(f"select * from {schema}.{table} order by id, _cdc_sequence"):
        found.setdefault(row["id"], []).append(
            (
                row["valid_from"],
                row["valid_to"],
                row["_cdc_is_deleted"],
                *(row[column] for column in COLUMNS),
                *(int(row[name][0]) for name in ("_cdc_sequence", "_cdc_last_sequence")),
            )
        )
    return found


def wanted_versions(tables: Tables, options: dict[str, Any]) -> dict[int, list[tuple[Any, ...]]]:
    """The same by the reference."""
    hides_deletes = options.get("hard_deletes") == "ignore"
    return {
        key: [
            (
                version.valid_from,
                version.valid_to,
                (version.last if hides_deletes else version.first).values is None,
                *((version.shown.values or {}).get(column) for column in COLUMNS),
                version.first.sequence[0],
                version.last.sequence[0],
            )
            for version in versions_of(states, **options)
        ]
        for (key,), states in tables.states.items()
    }


def last_sequence(lake: Lake) -> str:
    """How far the table has come, as its properties say it."""
    properties = lake.rows(f"show tblproperties {SCHEMA}.current_things")
    return next(row["value"] for row in properties if row["key"] == "spark_cdc.last_sequence")


def test_a_run_without_its_views_asks_the_changes_model_itself(
    lake: Lake, new_project: Callable[..., Project], written: list[str]
) -> None:
    """And nothing but the messages, if all new ones are of other tables."""
    files = {
        path: text.replace("raw_whole_rows", "raw_of_views")
        for path, text in FILES.items()
        if not path.startswith("models/history")
    } | {
        "models/messages.sql": """
{{ config(materialized='cdc_append') }}
{{ spark_cdc.messages(source('raw_of_views', 'things'), format='canal') }}
""",
        "models/changes.sql": """
{{ config(materialized='cdc_view') }}
{{ spark_cdc.changes(messages=ref('messages'), format='canal', table='things', key=['id'],
    columns={'id': 'bigint', 'name': 'string', 'size': 'int'}) }}
""",
    }
    schema = "shop_of_views"
    project = new_project(schema, files)
    lake.create_raw("things", schema="raw_of_views")
    topic = CanalTopic()
    things, others = (CanalTable(topic, name, ["id"]) for name in ("things", "others"))
    project.run()

    def run(event: Event) -> list[str]:
        lake.land_again("things", by_offset([event]), schema="raw_of_views")
        written.clear()
        project.run("--exclude", "changes")
        assert not [sql for sql in written if "create or replace temporary view" in sql]
        return [sql for sql in written if f"from {schema}.changes" in sql]

    assert run(things.insert(1, {"id": 1, "name": "a", "size": 1}))
    assert not run(others.insert(2, {"id": 2, "name": "b", "size": 2}))
    assert run(things.update(3, ({"id": 1, "name": "a", "size": 1}, {"id": 1, "name": "c", "size": 1})))
    assert lake.rows(f"select id, name from {schema}.current_things") == [{"id": 1, "name": "c"}]
    (found,) = lake.rows(f"show tblproperties {schema}.current_things ('spark_cdc.read_count')")
    assert found["value"] == "3"

    # Two calls have the rows of two tables, and dbt knows the last one's name alone.
    call = files["models/changes.sql"].partition("\n{{ spark")[2]
    both = f"select * from ({{{{ spark{call}) union all select * from ({{{{ spark{call})"
    both = both.replace("table='things'", "table='others'", 1)
    project.write({"models/changes.sql": "{{ config(materialized='view') }}\n" + both})
    project.run("--full-refresh", "--select", "changes+")
    assert run(others.insert(4, {"id": 4, "name": "d", "size": 4}))
    assert {row["id"] for row in lake.rows(f"select id from {schema}.current_things")} == {1, 2, 4}

    project.write(
        {
            "models/never.sql": files["models/changes.sql"],
            "models/early.sql": FILES["models/current_things.sql"].replace("'changes'", "'never'"),
        }
    )
    (sentence,) = project.dbt("run", "--select", "early").messages.values()
    assert (
        f"must be a select from a model that is built; got {schema}.never, which is not there. "
        "Build it first: dbt run --select +early."
    ) in " ".join(sentence.split())
