"""The models of README.md, as they stand there, in a project that has nothing else."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from harness import JARS, REPOSITORY, Lake, Message, Project

MODELS = re.compile(r"^(?:--|#) (models/\S+\.(?:sql|yml))[^\n]*\n(.*?)(?=^-- models/|^```)", re.M | re.S)
PROFILE = re.compile(r"^# profiles\.yml\n(.*?)^```", re.M | re.S)
PROJECT = re.compile(r"^# dbt_project\.yml\n(.*?)^```", re.M | re.S)
MACRO = re.compile(r"^-- (macros/\S+\.sql)\n(.*?)^```", re.M | re.S)
LINES = re.compile(r"^```json\n(.*?)^```", re.M | re.S)

SAYING = ("stg_shop__messages", "stg_shop__orders_changes", "orders", "orders_history", "cdc_run_summary")


def canal(
    kind: str, row: dict[str, str], old: dict[str, str] | None = None, table: str = "orders"
) -> Message:
    """One message of Canal, about the table `orders` mostly."""
    envelope = {"database": "shop", "table": table, "type": kind, "isDdl": False, "es": 1767225600000}
    return Message(json.dumps(envelope | {"data": [row], "old": [old] if old else None}))


def test_the_models_of_the_readme_work(lake: Lake, new_project: Callable[..., Project]) -> None:
    models = dict(MODELS.findall((REPOSITORY / "README.md").read_text()))
    assert len(models) == 10
    project = new_project("readme", models)
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
    assert sorted(warned) == [
        "spark_cdc_no_errors_stg_shop__messages_",
        "spark_cdc_no_errors_stg_shop__orders_changes_",
    ]
    assert any("1 x not_json" in line for line in run.logged)
    assert any("1 x value_does_not_fit: amount: decimal(20,4), first at {" in line for line in run.logged)
    said = run.messages
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
    assert {name: said[name] for name in SAYING} == {
        "stg_shop__messages": "4 read: 3 routed, 1 rejected (not_json 1)",
        "stg_shop__orders_changes": "3 row changes: 1 rejected (value_does_not_fit 1)",
        "orders": "3 row changes: 1 row built",
        "orders_history": "3 row changes: 2 rows built",
        "cdc_run_summary": "4 read: 1 applied, 1 superseded, 2 rejected (not_json, value_does_not_fit)",
    }


def test_each_run_says_what_it_did(lake: Lake, new_project: Callable[..., Project]) -> None:
    """In dbt's line of each model, in words and counts; and in the run summary, by table."""
    models = dict(MODELS.findall((REPOSITORY / "README.md").read_text()))
    project = new_project(
        "readme_runs", {name: text for name, text in models.items() if "letters" not in name}
    )
    lake.create_raw("raw", schema="shop")

    def run(*messages: Message) -> dict[str, str]:
        lake.land("raw", messages, schema="shop")
        return project.run("--select", *SAYING).messages

    placed_at = "2026-01-01 12:00:00"
    row = {"id": "1", "amount": "1.50", "placed_at": placed_at}
    run(canal("INSERT", row), canal("INSERT", row | {"id": "2"}))
    assert set(run().values()) == {"nothing new"}
    assert "where false" not in compiled(project, "stg_shop__messages")

    said = run(
        canal("UPDATE", row | {"amount": "2.50", "note": "a", "colour\n": "b"}, {"amount": "1.50"}),
        canal("INSERT", row | {"id": "3", "amount": "1.00001"}),
        canal("INSERT", {"id": "4"}, table="returns"),
        canal("FROBNICATE", row),
        Message("broken"),
        Message("broken too"),
        Message(None),
    )
    assert said == {
        "stg_shop__messages": "7 read: 2 routed, 1 control, 1 unrouted, 3 rejected (not_json 2, unknown_op 1)",
        "stg_shop__orders_changes": "2 row changes: 1 rejected (value_does_not_fit 1)",
        "orders": "2 row changes: 1 merged, 1 rejected",
        "orders_history": "2 row changes: 2 rows merged, 1 rejected",
        "cdc_run_summary": "7 read: 1 applied, 1 control, 1 unrouted, "
        "4 rejected (not_json, unknown_op, value_does_not_fit), 2 undeclared columns (note)",
    }
    summary = lake.rows("""
        select table_name, read, rejected_codes, undeclared_columns
        from readme_runs.cdc_run_summary
        where batch = (select max(batch) from readme_runs.cdc_run_summary)
        order by table_name
    """)
    assert summary == [
        {"table_name": None, "read": 4, "rejected_codes": {"not_json": 2, "unknown_op": 1}, "undeclared_columns": []},
        {"table_name": "orders", "read": 2, "rejected_codes": {"value_does_not_fit": 1},
         "undeclared_columns": ["colour\n", "note"]},
        {"table_name": "returns", "read": 1, "rejected_codes": {}, "undeclared_columns": []},
    ]  # fmt: skip

    # A copy lands again behind all others; then a change of a row that is there already in this form.
    lake.land_again("raw", {0: canal("INSERT", row)}, schema="shop")
    said = run()
    assert said["stg_shop__messages"] == "1 read: 1 routed"
    assert {said[name] for name in ("stg_shop__orders_changes", "orders", "orders_history")} == {
        "nothing new"
    }

    shown = project.dbt("show", "--select", "stg_shop__orders_changes", "--output", "json").must_succeed()
    assert shown.result.result.results[0].agate_table.rows, "a preview shows rows, also where nothing is new"
    whole, changes = compiled(project, "stg_shop__messages"), compiled(project, "stg_shop__orders_changes")
    lake.land("raw", [canal("DELETE", row)], schema="shop")
    assert "try_cast(offset as bigint) > " in compiled(project, "stg_shop__messages"), (
        "where something is new, what a run reads"
    )
    for query, step in ((whole, "from_json("), (changes, "posexplode(rows)")):
        assert "where false" not in query and step in query
    assert lake.rows(f"select count(*) as n from ({whole})") == [{"n": 11}]
    assert lake.rows(f"select count(*) as n from ({changes}) where _cdc_op is not null") == [{"n": 5}]


def compiled(project: Project, model: str) -> str:
    """The query that `dbt compile` shows."""
    run = project.dbt("compile", "--select", model).must_succeed()
    (code,) = [result.node.compiled_code for result in run.result.result.results if result.node.name == model]
    return code


def test_the_profile_of_the_readme_works(new_project: Callable[..., Project], tmp_path: Path) -> None:
    """With its project, macro and messages, in processes as a user starts dbt: only the jars are ours, which a test does not fetch."""
    readme = (REPOSITORY / "README.md").read_text()
    models = {
        name: text
        for name, text in MODELS.findall(readme)
        if "staging" in name or name.endswith("/orders.sql")
    }
    project = new_project("readme_profile", models)
    ((macro, text),) = MACRO.findall(readme)
    (project.folder / macro).parent.mkdir(exist_ok=True)
    (project.folder / macro).write_text(text)
    for name, pattern in {"dbt_project.yml": PROJECT, "messages.jsonl": LINES}.items():
        (content,) = pattern.findall(readme)
        (project.folder / name).write_text(content)
    (profile,) = PROFILE.findall(readme)
    jars = ",".join(str(REPOSITORY / ".jars" / name) for name in JARS["iceberg"])
    profile = re.sub(r"spark\.jars\.packages: .*", f"spark.jars: {jars}", profile)
    (project.folder / "profiles.yml").write_text(profile)
    home = tmp_path / "home"
    home.mkdir()
    users = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "DBT_", "SHOP_"))
    }
    commands = re.findall(r"^dbt (run-operation .*|build)$", readme, re.M)
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "dbt.cli.main",
                "--no-send-anonymous-usage-stats",
                "--no-use-colors",
                *shlex.split(command),
            ],
            cwd=project.folder,
            env=users | {"HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
    assert {path.name for path in (home / "lake" / "shop").iterdir()} >= {"orders", "stg_shop__messages"}
    with closing(sqlite3.connect(home / "lake" / "catalog.db")) as catalog:
        assert catalog.execute("pragma journal_mode").fetchall() == [("wal",)]
    assert "[Stage " not in printed
    assert "Unable to parse" not in printed, "dbt could not write a line of its log"
    said = re.findall(r"OK created sql \S+ model (\S+) \.* ?\[(.*) in [\d.]+s\]", printed)
    assert dict(said) == {
        "shop.stg_shop__messages": "2 read: 2 routed",
        "shop.stg_shop__orders_changes": "2 row changes",
        "shop.orders": "2 row changes: 1 row built",
    }


def test_the_commands_of_the_readme_read_files_that_are_there(
    new_project: Callable[..., Project], tmp_path: Path
) -> None:
    """As they stand, beside a checkout of that name."""
    (tmp_path / "dbt-spark-cdc").symlink_to(REPOSITORY)
    project = tmp_path / "shop"
    project.mkdir()
    commands = re.findall(r"^spark-cdc (decode .*)$", (REPOSITORY / "README.md").read_text(), re.M)
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "dbt_spark_cdc.cli", *shlex.split(command)],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, command
    (orders,) = [line for line in lines if line["table"] == "orders"]
    amounts = {str(row["id"]): str(row["amount"]) for row in orders["rows"]}
    assert amounts == {"1": "21.7500", "4": "8.5000", "20": "120.0000"}, "the live rows of the README's table"


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
    project = new_project("readme_views", models)
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
