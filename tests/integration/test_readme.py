"""The models of README.md, as they stand there, in a project that has nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal

from harness import REPOSITORY, Lake, Message, Project

MODELS = re.compile(r"^(?:--|#) (models/\S+\.(?:sql|yml))[^\n]*\n(.*?)(?=^-- models/|^```)", re.M | re.S)
SOURCES = "sources: [{name: shop, tables: [{name: raw}]}]\n"


def canal(kind: str, row: dict[str, str], old: dict[str, str] | None = None) -> Message:
    """One message of Canal about the table `orders`."""
    envelope = {"database": "shop", "table": "orders", "type": kind, "isDdl": False, "es": 1767225600000}
    return Message(json.dumps(envelope | {"data": [row], "old": [old] if old else None}))


def test_the_models_of_the_readme_work(lake: Lake, new_project: Callable[..., Project]) -> None:
    models = dict(MODELS.findall((REPOSITORY / "README.md").read_text()))
    assert len(models) == 7
    project = new_project("readme", models | {"models/sources.yml": SOURCES})
    lake.create_raw("raw", schema="shop")
    placed_at = "2026-01-01 12:00:00.5"
    lake.land(
        "raw",
        [
            canal("INSERT", {"id": "1", "amount": "1.50", "placed_at": placed_at}),
            canal("UPDATE", {"id": "1", "amount": "2.50", "placed_at": placed_at}, {"amount": "1.50"}),
            canal("INSERT", {"id": "2", "amount": "1.00001", "placed_at": placed_at}),
            Message("broken"),
        ],
        schema="shop",
    )
    project.dbt("build").must_succeed()
    (order,) = lake.rows("select id, amount, _cdc_is_deleted from readme.orders")
    assert order == {"id": 1, "amount": Decimal("2.5000"), "_cdc_is_deleted": False}
    versions = lake.rows("select amount from readme.orders_history order by valid_to nulls last")
    assert [row["amount"] for row in versions] == [Decimal("1.5000"), Decimal("2.5000")]
    letters = lake.rows("select offset, code from readme.cdc_dead_letters order by offset")
    assert letters == [
        {"offset": 2, "code": "value_does_not_fit"},
        {"offset": 3, "code": "not_json"},
    ]
    accounts = lake.rows(
        "select sum(read) as read, sum(applied) as applied, sum(rejected) as rejected from readme.cdc_accounts"
    )
    assert accounts == [{"read": 4, "applied": 1, "rejected": 2}]
