"""`spark-cdc explain --project-dir`: where a message goes in a built project, and what it does to its tables."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.dbt_rows import DbtProject
from dbt_spark_cdc.decode import Options
from dbt_spark_cdc.explain import Explainer
from dbt_spark_cdc.explain.project import Destination
from dbt_spark_cdc.explain.show import shown
from dbt_spark_cdc.inputs import read_messages
from dbt_spark_cdc.local_spark import local_spark
from dbt_spark_cdc.macros import MacroLibrary
from harness import REPOSITORY, Lake, Message, Project

# Another process reads its tables.
LAKES = ("iceberg",)
COLUMNS = (
    "{'id': 'bigint', 'amount': 'decimal(20,4)', 'at': 'timestamp from text', 'code': 'binary from hex'}"
)
CHANGES = """{{{{ config(materialized='view') }}}}
{{{{ spark_cdc.changes(messages=ref('stg_shop__messages'), format='canal', database='shop', table='{table}', key=['id'],
       columns={columns}, time_zone='Asia/Shanghai') }}}}
"""
APPLY = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('{changes}') }}}}\n"
PAGE = (REPOSITORY / "docs" / "how-to" / "explain-a-message.md").read_text(encoding="utf-8")
MODELS = {
    "models/sources.yml": "sources: [{name: raw, schema: raw_explain, tables: [{name: shop}, {name: crm}]}]\n",
    "models/stg_shop__messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'shop'), format='canal') }}\n",
    "models/stg_crm__messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'crm'), format='canal') }}\n",
    "models/stg_sea__messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'crm'), format='canal', dialect='seatunnel') }}\n",
    "models/stg_shop__orders_changes.sql": CHANGES.format(table="orders", columns=COLUMNS),
    "models/stg_shop__items_changes.sql": CHANGES.format(
        table="items*", columns="{'id': 'bigint', 'n': 'int'}"
    ),
    "models/seen_orders.sql": "{{ config(materialized='view') }}\nselect * from {{ ref('stg_shop__orders_changes') }}\n",
    "models/orders.sql": APPLY.format(kind="current", changes="seen_orders"),
    "models/orders_history.sql": APPLY.format(kind="history", changes="stg_shop__orders_changes"),
    "models/items.sql": APPLY.format(kind="current", changes="stg_shop__items_changes"),
    "models/unbuilt.sql": APPLY.format(kind="current", changes="stg_shop__orders_changes"),
}
TOPIC = "raw_explain.shop"
AT = "2026-01-01 08:00:00.000001"


def canal(
    kind: str, *rows: dict[str, Any], old: list[dict[str, Any]] | None = None, table: str = "orders"
) -> str:
    envelope = {
        "database": "shop",
        "table": table,
        "type": kind,
        "isDdl": False,
        "es": 1767225600000,
        "gtid": "",
    }
    types = {
        "mysqlType": {"id": "bigint", "amount": "decimal(20,4)"},
        "sqlType": {"id": -5},
        "ts": 1,
        "sql": "",
    }
    body = {"data": list(rows), "old": old, "pkNames": ["id"], "id": 1}
    return json.dumps(envelope | types | body)


ROW = {"id": "1", "amount": "1.50", "at": AT, "code": "00ff"}
BUILT = [
    canal("INSERT", ROW),
    canal("UPDATE", ROW | {"amount": "2.50"}, old=[{"amount": "1.50"}]),
    canal("INSERT", ROW | {"id": "2"}),
    canal("DELETE", ROW | {"id": "2"}),
    canal("INSERT", {"id": "1", "n": "5"}, table="items_a"),
    canal("INSERT", {"id": "1", "n": "6"}, table="items_b"),
]


@dataclass
class Explained:
    """Explains a message of the project, at an offset of its topic, or of no known place."""

    explainer: Explainer
    destination: Destination
    spark: Any
    known: dict[tuple[str, int | None, str], dict[str, Any]] = field(default_factory=dict)

    def __call__(self, value: str, offset: int | None = None, topic: str = TOPIC) -> dict[str, Any]:
        return self.known.get((value, offset, topic)) or self._explained(value, offset, topic)

    def _explained(self, value: str, offset: int | None, topic: str) -> dict[str, Any]:
        line = value
        if offset is not None:
            line = json.dumps({"topic": topic, "partition": 0, "offset": offset, "value": value})
        messages = read_messages("x", line.encode())
        facts = self.explainer.explain(self.spark, messages, 0, "x", "x.jsonl")
        facts |= {"project": self.destination.of(self.spark, facts, messages[0])}
        return self.known.setdefault((value, offset, topic), facts)


@pytest.fixture(scope="module")
def project(lake: Lake, new_project: Callable[..., Project]) -> Project:
    project = new_project("explain", MODELS)
    lake.create_raw("shop", "crm", schema="raw_explain")
    lake.land("shop", map(Message, BUILT), schema="raw_explain")
    lake.land("crm", [Message(canal("INSERT", ROW, table="people"))], schema="raw_explain")
    project.run("--exclude", "unbuilt", "stg_sea__messages", "orders_history")
    return project


@pytest.fixture(scope="module")
def explained(project: Project) -> Iterator[Explained]:
    library = MacroLibrary(REPOSITORY)
    with local_spark(100) as spark, DbtProject(project.folder) as dbt:
        yield Explained(Explainer(library, Options()), Destination(dbt, library), spark)


def effects_on(facts: dict[str, Any], model: str = "orders") -> list[dict[str, Any]]:
    return [effect for effect in facts["project"]["effects"] if effect["model"] == model]


CHANGED = canal(
    "UPDATE",
    ROW | {"amount": "3"},
    ROW | {"amount": "2.50"},
    ROW | {"id": "8", "amount": "2.50"},
    ROW | {"id": "5", "amount": "0.00001"},
    ROW | {"id": "1' or '1'='1"},
    ROW | {"id": "2", "code": None},
    ROW | {"id": "7"},
    old=[{"amount": "2.50"}, {"amount": "9"}, {"id": "1"}, *[{"amount": "9"}] * 4],
)


def test_a_message_reaches_the_models_of_its_topic_and_table(explained: Explained) -> None:
    facts = explained(CHANGED, 9)
    found = facts["project"]
    names = {
        kind: [model["name"] for model in found[kind]]
        for kind in ("messages", "changes", "current", "history")
    }
    assert names == {
        "messages": ["stg_shop__messages"],
        "changes": ["stg_shop__orders_changes"],
        "current": ["orders", "unbuilt"],
        "history": ["orders_history"],
    }
    assert [model["name"] for model in found["of_other_dialects"]] == ["stg_sea__messages"]
    assert found["messages"][0]["read"] is None
    assert found["lines"] == []
    assert effects_on(facts, "unbuilt") == [
        {"model": "unbuilt", "state": "not_known", "note": "it is not built yet"}
    ]


def test_the_effect_of_each_row_of_a_message(explained: Explained) -> None:
    facts = explained(CHANGED, 9)
    effects = effects_on(facts)
    found = [
        (effect["row"], (effect.get("key") or {}).get("id"), effect["state"], effect.get("values"))
        for effect in effects
    ]
    assert found == [
        (0, "1", "newer", [{"name": "amount", "now": "2.5000", "then": "3.0000"}]),
        (1, "1", "newer", []),
        # a key change retracts the old key
        (2, "1", "newer", []),
        (2, "8", "no_row", []),
        (3, None, "rejected", None),
        # a text of the message is no SQL
        (4, None, "rejected", None),
        # deleted, and there again: all values are new
        (5, "2", "newer", [
            {"name": "id", "then": "2"},
            {"name": "amount", "then": "1.5000"},
            {"name": "at", "then": "2026-01-01T00:00:00.000001Z"},
            {"name": "code", "then": None},
        ]),
        (6, "7", "no_row", []),
    ]  # fmt: skip
    errors = [effect["error"] for effect in effects if "error" in effect]
    assert errors == [
        {"code": "invalid_value", "detail": "amount: decimal(20,4)"},
        {"code": "invalid_value", "detail": "id: bigint"},
    ]
    assert [effect["is_delete"] for effect in effects if effect["row"] == 2] == [True, False]
    said = shown("x.jsonl", facts)
    for words in (
        "stg_shop__messages: has not read it yet",
        "row 0, update, id = 1: newer than the table's row\n      amount: 2.5000 -> 3.0000\n",
        "row 1, update, id = 1: newer than the table's row; no value changes\n",
        "row 2, update, id = 1: newer than the table's row; the row is marked as deleted\n",
        "row 3: the changes model rejects it, invalid_value: amount: decimal(20,4)\n",
        "row 5, update, id = 2: newer than the table's row; the row was deleted, and is there again\n      id: (none) -> 2\n",
        "row 6, update, id = 7: no row of this key yet; the row is added\n",
        "Effect on unbuilt\n  not known: it is not built yet",
    ):
        assert words in said, said


def test_a_message_that_was_read_is_not_late(explained: Explained) -> None:
    """tests/python/test_explain.py has all that its place can decide."""
    facts = explained(BUILT[0], 0)
    (effect,) = effects_on(facts)
    values = [{"name": "amount", "now": "2.5000", "then": "1.5000"}]
    assert (effect["state"], effect["values"]) == ("older", values)
    (model,) = facts["project"]["messages"]
    assert (model["read"]["kind"], model["read"]["code"]) == ("rows", None)
    said = "row 0, insert, id = 1: the table's row has a later position; the message was read at "
    assert f"{said}{model['read']['loaded_at']}\n" in shown("x.jsonl", facts)
    (effect,) = effects_on(explained(BUILT[1], 1))
    assert effect["state"] == "same"


def test_a_source_table_is_part_of_the_key(explained: Explained) -> None:
    facts = explained(canal("UPDATE", {"id": "1", "n": "7"}, old=[{"n": "6"}], table="items_b"), 9)
    (effect,) = effects_on(facts, "items")
    assert effect["values"] == [{"name": "n", "now": "6", "then": "7"}]


def test_a_table_that_no_model_reads_gets_its_lines(explained: Explained) -> None:
    facts = explained(canal("INSERT", ROW, table="re'turns"), 9)
    assert facts["project"]["changes"] == facts["project"]["effects"] == []
    assert facts["project"]["lines"] == [
        "{{ config(materialized='cdc_view') }}",
        "{{ spark_cdc.changes(messages=ref('stg_shop__messages'), format='canal', dialect='canal', database='shop', "
        "table='re\\'turns', key=['id'], columns={",
        "    'id': 'bigint',",
        "    'amount': 'decimal(20,4)',",
        "    'at': 'string',",
        "    'code': 'string',",
        "}) }}",
    ]
    assert "No model reads this table. Lines to paste:" in shown("x.jsonl", facts)


def test_a_topic_that_no_model_has_yet_names_all_that_read_the_format(explained: Explained) -> None:
    found = explained(canal("INSERT", ROW), 9, topic="new")["project"]["messages"]
    assert [(model["name"], model["has_topic"]) for model in found] == [
        ("stg_crm__messages", False),
        ("stg_shop__messages", False),
    ]


def test_the_page_says_what_the_command_says(explained: Explained) -> None:
    (block,) = re.findall(r"^```text\n(Where it goes.*?)^```", PAGE, re.M | re.S)
    said = shown("x.jsonl", explained(CHANGED, 9)).split("\n")
    assert [line for line in block.split("\n") if line not in said] == []


def test_the_command_asks_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"^spark-cdc (explain .*--project-dir .*)$", PAGE, re.M)
    monkeypatch.chdir(project.folder)
    file = Path("more_messages.jsonl")
    file.write_text(canal("UPDATE", ROW | {"amount": "3"}, old=[{"amount": "2.50"}]), encoding="utf-8")
    result = CliRunner().invoke(main, [*shlex.split(command), "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)["project"]
    assert [model["name"] for model in found["current"]] == ["orders", "unbuilt"]
    assert [effect["state"] for effect in found["effects"]] == ["offset_not_known", "not_known"]
