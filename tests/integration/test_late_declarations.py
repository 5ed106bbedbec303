"""Changes that follow their declaration, as a view and as a log that is rebuilt: tables over them equal those over a log that had it all along."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness import Lake, Message, Project, Run

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from encoders import dataworks

SCHEMA = "shop_views"
# An update is two messages; the format sends a key change as one update.
TABLE = dataworks.Table("orders", {"id": "LONG", "name": "STRING", "qty": "LONG"})
MESSAGES = (
    "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw_views', 'topic'), format='dataworks') }}\n"
)
CHANGES = (
    "{{{{ config(materialized='{kind}') }}}}\n"
    "{{{{ spark_cdc.changes(messages=ref('messages'), format='dataworks', table='orders', key=['id'],\n"
    "    columns={columns}) }}}}\n"
)
# The last name would end or begin a comment of SQL.
COLUMNS = {"id": "bigint", "name": "string", "qty": "bigint", "*/late/*": "string"}
# What the others declare at first: a column is missing, and another one has a type that is not wide enough for all values.
FIRST_COLUMNS = {"id": "bigint", "qty": "tinyint"}
TARGET = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('{source}') }}}}\n"
KINDS = {"stored": "cdc_append", "viewed": "cdc_view", "rebuilt": "cdc_append"}
FOLLOW = ("viewed", "rebuilt")
TABLES = ("current", "history")


def files() -> dict[str, str]:
    """One messages model, and the same changes three times, each with its tables."""
    models = {
        "models/sources.yml": "sources: [{name: raw_views, tables: [{name: topic}]}]\n",
        "models/messages.sql": MESSAGES,
    }
    for name, kind in KINDS.items():
        models[f"models/{name}_changes.sql"] = CHANGES.format(
            kind=kind, columns=COLUMNS if name == "stored" else FIRST_COLUMNS
        )
        for table in TABLES:
            models[f"models/{name}_{table}.sql"] = TARGET.format(kind=table, source=f"{name}_changes")
    return models


def log() -> list[Message]:
    """Two hundred changes of a table with few keys: updates of all kinds, keys that change and come back, a truncate."""
    choose = random.Random(7)
    rows: dict[int, dict[str, Any]] = {}
    changes = []
    for sequence in range(1, 201):
        identity = choose.randrange(12)
        row = {"id": identity, "name": choose.choice(["a", "b", None]), "qty": choose.randrange(200)}
        if sequence == 120:
            changes.append(dataworks.Change("truncate", sequence))
            rows.clear()
        elif identity not in rows:
            changes.append(dataworks.Change("insert", sequence, after=row))
            rows[identity] = row
        elif choose.random() < 0.3:
            changes.append(dataworks.Change("delete", sequence, before=rows.pop(identity)))
        else:
            free = [number for number in range(12) if number not in rows]
            if free and choose.random() < 0.3:
                row["id"] = choose.choice(free)
            changes.append(dataworks.Change("update", sequence, before=rows.pop(identity), after=row))
            rows[row["id"]] = row
    return [Message(text) for text in dataworks.encode(changes, TABLE)]


@dataclass
class Runs:
    """Three runs of the project, what the tables held after each, and a run of two tables without their changes."""

    runs: list[Run] = field(default_factory=list)
    found: list[dict[str, list[dict[str, Any]]]] = field(default_factory=list)
    # After a run with --empty, before the second one.
    kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    alone: Run | None = None
    # A run in which the topic brought a message of another table only, and how many messages the tables have read then.
    of_others: Run | None = None
    read: dict[str, tuple[int, int]] = field(default_factory=dict)
    # A run after the key was declared otherwise, and what the tables hold after it and after a first build.
    rekeyed: Run | None = None
    with_other_key: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    first_with_other_key: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def runs(lake: Lake, new_project: Callable[..., Project]) -> Runs:
    """The second run declares a column late and widens a type; the third has late messages and copies."""
    project = new_project(SCHEMA, files())
    lake.create_raw("topic", schema="raw_views")
    messages = log()
    late = {offset: messages[offset] for offset in (41, 97, 98)}
    first, second = len(messages) // 3 | 1, len(messages) * 2 // 3 | 1
    landings: list[dict[int, Message]] = [
        {offset: message for offset, message in enumerate(messages[:first]) if offset not in late},
        {offset: messages[offset] for offset in range(first, second)},
        late | {offset: messages[offset] for offset in [*range(5), *range(second, len(messages))]},
    ]
    done = Runs()

    def declare(columns: dict[str, str]) -> None:
        project.write({
            f"models/{name}_changes.sql": CHANGES.format(kind=KINDS[name], columns=columns) for name in FOLLOW
        })  # fmt: skip

    def rows_of(columns: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
        versions = {"current": "1", "history": "valid_from, valid_to, _cdc_is_deleted"}
        return {
            f"{name}_{table}": lake.rows(
                f"select `{'`, `'.join(columns)}`, {versions[table]} from {SCHEMA}.{name}_{table} order by all"
            )
            for name in KINDS for table in TABLES
        }  # fmt: skip

    for number, landing in enumerate(landings):
        lake.land_again("topic", landing, schema="raw_views")
        if number == 1:
            declare(FIRST_COLUMNS | {"qty": "tinyint from text"})
            done.alone = project.dbt(
                "run", "--select", *(f"{name}_{table}" for name in FOLLOW for table in TABLES)
            )
            declare(COLUMNS)
            project.dbt("run", "--empty", "--exclude", "stored_changes+")
            done.kept = rows_of(FIRST_COLUMNS)
        done.runs.append(project.run())
        done.found.append(rows_of(FIRST_COLUMNS if number == 0 else COLUMNS))
    other = dataworks.Table("others", TABLE.columns)
    insert = dataworks.Change("insert", 1000, after={"id": 1, "name": "other", "qty": 1})
    offsets = range(len(messages), len(messages) + 9)
    landing = dict(zip(offsets, map(Message, dataworks.encode([insert], other)), strict=False))
    lake.land_again("topic", landing, schema="raw_views")
    done.of_others = project.run("--select", "messages", "viewed_changes+")
    [row] = lake.rows(f"select count(*) as messages from {SCHEMA}.messages")
    for table in TABLES:
        properties = {r["key"]: r["value"] for r in lake.rows(f"show tblproperties {SCHEMA}.viewed_{table}")}
        done.read[table] = (int(properties["spark_cdc.read_count"]), row["messages"])
    followers = {
        name: text for name, text in files().items() if name.startswith(tuple(f"models/{n}_" for n in FOLLOW))
    }
    for name in FOLLOW:
        followers[f"models/{name}_changes.sql"] = CHANGES.format(kind=KINDS[name], columns=COLUMNS)
    project.write({name: text.replace("['id']", "['id', 'qty']") for name, text in followers.items()})
    done.rekeyed = project.run("--exclude", "stored_changes+")
    done.with_other_key = rows_of(COLUMNS)
    project.run("--full-refresh", "--select", *(f"{name}_changes+" for name in FOLLOW))
    done.first_with_other_key = rows_of(COLUMNS)
    return done


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", FOLLOW)
def test_tables_are_those_over_the_whole_log(runs: Runs, name: str, table: str) -> None:
    """Also while parts of updates wait for their partners, and after a column was declared late."""
    assert runs.found[0][f"{name}_{table}"] != runs.found[0][f"stored_{table}"]
    for found in runs.found[1:]:
        assert found[f"{name}_{table}"] == found[f"stored_{table}"]
        assert found[f"{name}_{table}"]


@pytest.mark.parametrize(
    "model", [*(f"{name}_{table}" for name in FOLLOW for table in TABLES), "rebuilt_changes"]
)
def test_what_is_declared_late_rebuilds_the_table(runs: Runs, model: str) -> None:
    """The run says what for; the next one goes on."""
    said = [run.messages[model] for run in runs.runs]
    assert said[1].startswith("rebuilt for name, */late/*, qty, ")
    assert "rebuilt" not in said[2]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", FOLLOW)
def test_another_key_rebuilds_the_table(runs: Runs, name: str, table: str) -> None:
    """The key of the changes and the unique_key of the tables are declared together."""
    table = f"{name}_{table}"
    assert runs.rekeyed.messages[table].startswith("rebuilt for key, ")
    assert runs.with_other_key[table] == runs.first_with_other_key[table]
    assert len(runs.with_other_key[table]) > len(runs.found[-1][table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", FOLLOW)
def test_a_table_is_not_rebuilt_without_its_changes(runs: Runs, name: str, table: str) -> None:
    """What is in the lake may still be what was declared before."""
    assert runs.alone.statuses[f"{name}_{table}"] == "error"
    assert (
        f"spark_cdc.cdc_{table}: model {name}_{table} has to be rebuilt for qty, and its changes model is not part of this run. "
        f"Run both: dbt run --select {name}_changes+"
    ) in runs.alone.messages[f"{name}_{table}"]


@pytest.mark.parametrize("table", TABLES)
def test_messages_of_other_tables_are_read_once(runs: Runs, table: str) -> None:
    """A table over a view notes them as read, although no row changes: the next run does not look at them again."""
    assert runs.of_others.messages[f"viewed_{table}"] == "nothing new"
    noted, messages = runs.read[table]
    assert noted == messages


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", FOLLOW)
def test_a_run_without_rows_rebuilds_nothing(runs: Runs, name: str, table: str) -> None:
    """With `--empty` dbt reads no row: a rebuild would leave an empty table."""
    assert runs.kept[f"{name}_{table}"] == runs.found[0][f"{name}_{table}"]
