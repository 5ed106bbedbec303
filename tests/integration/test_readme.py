"""The models of README.md, as they stand there, in a project that has nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from harness import JARS, REPOSITORY, Lake, Message, Project

MODELS = re.compile(r"^(?:--|#) (models/\S+\.(?:sql|yml))[^\n]*\n(.*?)(?=^-- models/|^```)", re.M | re.S)
PROFILE = re.compile(r"^# profiles\.yml\n(.*?)^```", re.M | re.S)
SOURCES = "sources: [{name: shop, tables: [{name: raw}]}]\n"


def canal(kind: str, row: dict[str, str], old: dict[str, str] | None = None) -> Message:
    """One message of Canal about the table `orders`."""
    envelope = {"database": "shop", "table": "orders", "type": kind, "isDdl": False, "es": 1767225600000}
    return Message(json.dumps(envelope | {"data": [row], "old": [old] if old else None}))


def test_the_models_of_the_readme_work(lake: Lake, new_project: Callable[..., Project]) -> None:
    models = dict(MODELS.findall((REPOSITORY / "README.md").read_text()))
    assert len(models) == 8
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
    run = project.dbt("build")
    warned = {name: status for name, status in run.statuses.items() if status not in ("success", "pass")}
    assert set(warned.values()) == {"warn"}, run.messages
    assert sorted(warned) == ["spark_cdc_no_errors_stg_shop__messages_", "spark_cdc_no_errors_stg_shop__orders_changes_"]
    assert any("1 x not_json" in line for line in run.logged)
    assert any("1 x value_does_not_fit: amount: decimal(20,4), first at {" in line for line in run.logged)
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


def test_the_profile_of_the_readme_works(new_project: Callable[..., Project], tmp_path: Path) -> None:
    """In a process of its own, as a user starts dbt: only the jars, which a test does not fetch, and the folder are ours."""
    readme = (REPOSITORY / "README.md").read_text()
    models = {
        name: text
        for name, text in MODELS.findall(readme)
        if "staging" in name or name.endswith("/orders.sql")
    }
    project = new_project("readme_profile", models | {"models/sources.yml": SOURCES})
    message = canal("INSERT", {"id": "1", "amount": "1.50", "placed_at": "2026-01-01 12:00:00"})
    (project.folder / "dbt_project.yml").write_text(f"""
name: shop
profile: shop
on-run-start: >
  create table shop.raw as select 'shop' as topic, 0 as partition, 0 as offset, timestamp'2026-01-01' as timestamp,
  cast(null as string) as key, r'{message.value}' as value
""")
    (profile,) = PROFILE.findall(readme)
    jars = ",".join(str(REPOSITORY / ".jars" / name) for name in JARS["iceberg"])
    profile = re.sub(r"spark\.jars\.packages: .*", f"spark.jars: {jars}", profile)
    (project.folder / "profiles.yml").write_text(profile.replace("/data/lake", str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--no-send-anonymous-usage-stats", "build"],
        cwd=project.folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "DBT_", "SHOP_"))},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in (tmp_path / "shop").iterdir()} >= {"orders", "stg_shop__messages"}


def test_what_is_plain_sql_can_be_a_view(lake: Lake, new_project: Callable[..., Project]) -> None:
    """A lake's views lose named windows and Python functions; nothing of the kind may stand in these macros."""
    models = {
        name: text
        for name, text in MODELS.findall((REPOSITORY / "README.md").read_text())
        if "/staging/" in name
    }
    changes = "ref('stg_shop__orders_changes'), ['id'], ['id', 'amount']"
    views = {
        "faults": "spark_cdc.topic_faults(messages=[ref('stg_shop__messages')])",
        "current": f"spark_cdc.current_rows({changes})",
        "history": f"spark_cdc.history_rows({changes})",
    }
    for name, call in views.items():
        models[f"models/{name}.sql"] = "{{ config(materialized='view') }}{{ " + call + " }}"
    project = new_project("readme_views", models | {"models/sources.yml": SOURCES})
    lake.create_raw("raw", schema="shop")
    old, new = (
        {"id": "1", "amount": amount, "placed_at": "2026-01-01 12:00:00"} for amount in ("1.50", "2.50")
    )
    lake.land("raw", [canal("INSERT", old), canal("UPDATE", new, {"amount": "1.50"})], schema="shop")
    project.dbt("run").must_succeed()
    assert lake.rows("select * from readme_views.faults") == []
    assert lake.rows("select amount from readme_views.current") == [{"amount": Decimal("2.5000")}]
    versions = lake.rows("select amount from readme_views.history order by valid_to nulls last")
    assert [row["amount"] for row in versions] == [Decimal("1.5000"), Decimal("2.5000")]
