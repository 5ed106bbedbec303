"""Changes as views over their messages: current and history tables over them equal those over a stored log, in each run."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import Lake, Message, Project

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from encoders import dataworks

SCHEMA = "shop_views"
# An update is two messages; the format sends a key change as one update.
TABLE = dataworks.Table("orders", {"id": "LONG", "name": "STRING", "qty": "LONG"})
MESSAGES = (
    "{{ config(materialized='cdc_log') }}\n"
    "{{ spark_cdc.messages(source('raw_views', 'topic'), format='dataworks') }}\n"
)
CHANGES = (
    "{{{{ config(materialized='{kind}') }}}}\n"
    "{{{{ spark_cdc.changes(messages=ref('messages'), format='dataworks', table='orders', key=['id'],\n"
    "    columns={{'id': 'bigint', 'name': 'string', 'qty': 'int'}}) }}}}\n"
)
TARGET = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('{source}') }}}}\n"
KINDS = {"stored": "cdc_log", "viewed": "view"}
TABLES = ("current", "history")


def files() -> dict[str, str]:
    """One messages model, and the same changes twice, each with its tables."""
    models = {
        "models/sources.yml": "sources: [{name: raw_views, tables: [{name: topic}]}]\n",
        "models/messages.sql": MESSAGES,
    }
    for name, kind in KINDS.items():
        models[f"models/{name}_changes.sql"] = CHANGES.format(kind=kind)
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
        row = {"id": identity, "name": choose.choice(["a", "b", None]), "qty": choose.randrange(100)}
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


@pytest.fixture(scope="module")
def tables(lake: Lake, new_project: Callable[..., Project]) -> list[dict[str, list[dict[str, Any]]]]:
    """What the four tables held after each of three runs; the last has late messages and copies."""
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
    found = []
    for landing in landings:
        lake.land_again("topic", landing, schema="raw_views")
        project.run()
        found.append({
            f"{name}_{table}": lake.rows(
                f"select id, name, qty, {'valid_from, valid_to, _cdc_is_deleted' if table == 'history' else '1'} "
                f"from {SCHEMA}.{name}_{table} order by all"
            )
            for name in KINDS for table in TABLES
        })  # fmt: skip
    return found


@pytest.mark.parametrize("table", TABLES)
def test_tables_over_views_are_those_over_logs(tables: list[dict[str, Any]], table: str) -> None:
    """Also while halves of updates still wait for their partners."""
    for number, found in enumerate(tables):
        assert found[f"viewed_{table}"] == found[f"stored_{table}"], f"run {number}"
        assert found[f"viewed_{table}"]
