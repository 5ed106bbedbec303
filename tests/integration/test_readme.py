"""The files and commands of the tutorial, as it shows them, in a project that has nothing else; and those of README.md."""

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
from typing import Any

import yaml
from harness import JARS, REPOSITORY, USER_PROJECT, Lake, Message, Project
from typed_pages import files

TUTORIAL = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
RECREATED_TOPIC = (REPOSITORY / "docs" / "how-to" / "a-recreated-topic.md").read_text(encoding="utf-8")
CHOOSE_FORMAT = (REPOSITORY / "docs" / "how-to" / "choose-format-and-dialect.md").read_text(encoding="utf-8")

LINES = re.compile(r"`(\w+\.jsonl)`[^`]*```jsonl\n(.*?)^```", re.M | re.S)
PRINTED = re.compile(r"^OK created sql \S+ model shop\.(\S+) \[(.*) in [\d.]+s\]$", re.M)
COUNTS = re.compile(r"^Done\. PASS=(\d+) WARN=(\d+) ERROR=0 SKIP=0$", re.M)
REASONS = re.compile(r"^(\d+ x .*, first at \{)", re.M)

PROJECT_FILES = files(TUTORIAL)
MODELS = {name: text for name, text in PROJECT_FILES.items() if name.startswith("models/")}
MESSAGES = {name: text.splitlines() for name, text in LINES.findall(TUTORIAL)}

CHANGES = "models/staging/shop/stg_shop__orders_changes.sql"
VIEW = "stg_shop__orders_changes"
SAYING = ("stg_shop__messages", VIEW, "orders", "orders_history", "cdc_run_summary")
# The same changes as a stored log, which the pages do not show.
STORED = "stored_changes"


def canal(
    kind: str, row: dict[str, str], old: dict[str, str] | None = None, table: str = "orders"
) -> Message:
    """One message of Canal, about the table `orders` mostly."""
    envelope = {"database": "shop", "table": table, "type": kind, "isDdl": False, "es": 1767225600000}
    return Message(json.dumps(envelope | {"data": [row], "old": [old] if old else None}))


def printed_blocks() -> list[str]:
    """What the tutorial says that each `dbt build` prints."""
    return [
        block for block in re.findall(r"^```text\n(.*?)^```", TUTORIAL, re.M | re.S) if "OK created" in block
    ]


def test_the_tutorial_prints_what_dbt_prints(lake: Lake, new_project: Callable[..., Project]) -> None:
    assert len(MODELS) == 10
    project = new_project("tutorial", MODELS)
    lake.create_raw("raw", schema="shop")
    warned = ["spark_cdc_no_errors_stg_shop__messages_", "spark_cdc_no_errors_stg_shop__orders_changes_"]
    assert list(MESSAGES) == ["messages.jsonl", "more_messages.jsonl"]
    blocks = printed_blocks()
    assert len(blocks) == 2
    for lines, block, expected in zip(MESSAGES.values(), blocks, ([], warned), strict=True):
        lake.land("raw", [Message(line) for line in lines], schema="shop")
        run = project.dbt("build")
        statuses = run.statuses
        others = {name: status for name, status in statuses.items() if status not in ("success", "pass")}
        assert set(others.values()) <= {"warn"}, run.messages
        assert sorted(others) == expected
        ((passed, warnings),) = COUNTS.findall(block)
        assert (len(statuses) - len(others), len(others)) == (int(passed), int(warnings))
        shown = dict(PRINTED.findall(block))
        assert shown == {name: run.messages[name] for name in SAYING}
    reasons = REASONS.findall(TUTORIAL)
    assert len(reasons) == 2
    for reason in reasons:
        assert any(reason in line for line in run.logged), run.logged

    (order,) = lake.rows("select id, amount, _cdc_is_deleted from tutorial.orders")
    assert order == {"id": 1, "amount": Decimal("3.5000"), "_cdc_is_deleted": False}
    versions = lake.rows("select amount from tutorial.orders_history order by valid_to nulls last")
    assert [row["amount"] for row in versions] == [Decimal("1.5000"), Decimal("2.5000"), Decimal("3.5000")]
    letters = lake.rows("select offset, code, detail from tutorial.cdc_dead_letters order by offset")
    rows = re.findall(r"^\| (\d) \| `(\w+)` \| `([^`]*)` \|$", TUTORIAL, re.M)
    assert letters == [
        {"offset": int(offset), "code": code, "detail": detail} for offset, code, detail in rows
    ]
    assert len(letters) == 2
    accounts = lake.rows("""
        select sum(applied) as applied, sum(superseded) as superseded, sum(rejected) as rejected, sum(read) as read
        from tutorial.cdc_reconciliation
    """)
    assert accounts == [{"applied": 1, "superseded": 2, "rejected": 2, "read": 5}]
    assert "counts each of the five messages once: 1 applied, 2 superseded, 2 rejected" in TUTORIAL


def test_the_models_of_the_readme_are_those_of_the_tutorial() -> None:
    models = files(README)
    assert len(models) == 4
    for name, text in models.items():
        assert text.strip() == MODELS[name].strip()


def test_each_run_says_what_it_did(lake: Lake, new_project: Callable[..., Project]) -> None:
    """In dbt's line of each model, in words and counts; and in the run summary, by table."""
    models = {name: text for name, text in MODELS.items() if "letters" not in name}
    models[f"models/{STORED}.sql"] = MODELS[CHANGES].replace(
        "materialized='cdc_view'", "materialized='cdc_append'"
    )
    summary = MODELS["models/quality/cdc_run_summary.sql"]
    models["models/stored_summary.sql"] = summary.replace(
        f"changes=[ref('{VIEW}')]", f"changes=[ref('{STORED}')]"
    )
    project = new_project("readme_runs", models)
    lake.create_raw("raw", schema="shop")

    of_views: list[str] = []

    def run(*messages: Message) -> dict[str, str]:
        lake.land("raw", messages, schema="shop")
        said = project.run("--select", *SAYING, STORED, "stored_summary").messages
        of_views.append(said.pop(VIEW))
        assert said.pop("stored_summary") == said["cdc_run_summary"]
        return said

    placed_at = "2026-01-01 12:00:00"
    row = {"id": "1", "amount": "1.50", "placed_at": placed_at}
    run(canal("INSERT", row), canal("INSERT", row | {"id": "2"}))
    commits = lake.commits("readme_runs.cdc_run_summary")
    assert set(run().values()) == {"nothing new"}
    assert lake.commits("readme_runs.cdc_run_summary") == commits
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
        STORED: "2 row changes: 1 rejected (invalid_value 1)",
        "orders": "2 row changes: 1 applied, 1 rejected",
        "orders_history": "2 row changes: 1 applied, 1 rejected",
        "cdc_run_summary": "7 read: 1 applied, 1 control, 1 unrouted, "
        "4 rejected (invalid_value, not_json, unknown_op), 2 undeclared columns (note)",
    }
    summarized = lake.rows("""
        select table_name, read, rejected_codes, undeclared_columns
        from readme_runs.cdc_run_summary
        where loaded_at = (select max(loaded_at) from readme_runs.cdc_run_summary)
        order by table_name
    """)
    assert summarized == [
        {"table_name": None, "read": 4, "rejected_codes": {"not_json": 2, "unknown_op": 1}, "undeclared_columns": []},
        {"table_name": "orders", "read": 2, "rejected_codes": {"invalid_value": 1},
         "undeclared_columns": ["colour\n", "note"]},
        {"table_name": "returns", "read": 1, "rejected_codes": {}, "undeclared_columns": []},
    ]  # fmt: skip

    # A copy lands again after all others; then a change of a row that is there already in this form.
    lake.land_again("raw", {0: canal("INSERT", row)}, schema="shop")
    said = run()
    assert said["stg_shop__messages"] == "1 read: 1 routed"
    assert said[STORED] == "nothing new"
    # The view has the copy as one more row, of which the tables have all already.
    assert {said["orders"], said["orders_history"]} == {"1 row change: nothing to merge"}

    shown = project.dbt("show", "--select", STORED, "--output", "json").must_succeed()
    assert shown.result.result.results[0].agate_table.rows, "a preview shows rows, also where nothing is new"
    whole, changes = compiled(project, "stg_shop__messages"), compiled(project, STORED)
    lake.land("raw", [canal("DELETE", row)], schema="shop")
    assert "try_cast(offset as bigint) > " in compiled(project, "stg_shop__messages"), (
        "where something is new, what a run reads"
    )
    for query, step in ((whole, "from_json("), (changes, "posexplode(rows)")):
        assert "where false" not in query and step in query
    assert lake.rows(f"select count(*) as n from ({whole})") == [{"n": 11}]
    assert lake.rows(f"select count(*) as n from ({changes}) where _cdc_op is not null") == [{"n": 5}]

    # Messages that are built again are of a later run than the stored changes that were made of them.
    project.run("--full-refresh", "--select", "stg_shop__messages")
    run()
    of_view, of_stored = (
        lake.rows(f"""
            select table_name, read, applied, superseded, duplicate, control, unrouted, rejected, rejected_codes
            from readme_runs.{name}
            where loaded_at = (select max(loaded_at) from readme_runs.{name})
            order by table_name
        """)
        for name in ("cdc_run_summary", "stored_summary")
    )
    assert of_stored == of_view
    assert [row["read"] for row in of_view] == [4, 6, 1]
    assert of_views == ["created", *["as before"] * (len(of_views) - 1)]


def compiled(project: Project, model: str) -> str:
    """The query that `dbt compile` shows."""
    run = project.dbt("compile", "--select", model).must_succeed()
    (code,) = [result.node.compiled_code for result in run.result.result.results if result.node.name == model]
    return code


def test_the_tutorial_works_as_a_user_types_it(new_project: Callable[..., Project], tmp_path: Path) -> None:
    """All its dbt commands, in processes as a user starts dbt: only the jars are ours, which a test does not fetch."""
    models = {
        name: text
        for name, text in MODELS.items()
        if name.split("/")[1] != "quality" and "shop.yml" not in name
    }
    project = new_project("readme_profile", models)
    others = {name: text for name, text in PROJECT_FILES.items() if name not in MODELS}
    assert sorted(others) == ["dbt_project.yml", "macros/land_file.sql", "packages.yml", "profiles.yml"]
    packages, installed = (
        yaml.safe_load(text)
        for text in (others.pop("packages.yml"), (USER_PROJECT / "packages.yml").read_text())
    )
    assert [list(package) for package in packages["packages"]] == [
        list(package) for package in installed["packages"]
    ], "the project of the tests installs the package in the same way"
    for name, lines in MESSAGES.items():
        others[name] = "".join(line + "\n" for line in lines)
    jars = ",".join(str(REPOSITORY / ".jars" / name) for name in JARS["iceberg"])
    others["profiles.yml"], replaced = re.subn(
        r"spark\.jars\.packages: .*", f"spark.jars: {jars}", others["profiles.yml"]
    )
    assert replaced == 1
    for name, text in others.items():
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).write_text(text)
    home = tmp_path / "home"
    home.mkdir()
    users = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "DBT_", "SHOP_"))
    }
    commands = [
        command
        for block in re.findall(r"^```bash\n(.*?)^```", TUTORIAL, re.M | re.S)
        for command in re.findall(r"^dbt (.*)$", block, re.M)
    ]
    assert [command.split()[0] for command in commands] == [
        "deps", "run-operation", "build", "show", "run-operation", "build",
    ]  # fmt: skip
    said: list[dict[str, str]] = []
    shown = ""
    for command in commands[1:]:  # the harness has installed the package
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
            # Processes of a few seconds: what Java compiles further is not run often enough to pay.
            env=users
            | {
                "HOME": str(home),
                "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
                + os.environ.get("SPARK_SUBMIT_OPTS", ""),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        assert "[Stage " not in printed
        assert "Unable to parse" not in printed, "dbt could not write a line of its log"
        if command == "build":
            said.append(
                dict(re.findall(r"OK created sql \S+ model shop\.(\S+) \.* ?\[(.*) in [\d.]+s\]", printed))
            )
        elif command.startswith("show"):
            shown = printed
    assert {path.name for path in (home / "lake" / "shop").iterdir()} >= {"orders", "stg_shop__messages"}
    with closing(sqlite3.connect(home / "lake" / "catalog.db")) as catalog:
        assert catalog.execute("pragma journal_mode").fetchall() == [("wal",)]
    assert said == [
        {name: message for name, message in PRINTED.findall(block) if name != "cdc_run_summary"}
        for block in printed_blocks()
    ]
    (table,) = re.findall(r"^```text\n(\| id .*?)^```", TUTORIAL, re.M | re.S)
    assert table in shown


def decoded(command: str, folder: Path) -> list[dict[str, Any]]:
    """The lines that `spark-cdc` prints in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "dbt_spark_cdc.cli", *shlex.split(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, command
    return lines


def test_the_commands_of_the_pages_read_files_that_are_there(
    new_project: Callable[..., Project], tmp_path: Path
) -> None:
    """As they are typed, in a folder next to a checkout of that name."""
    (tmp_path / "dbt-spark-cdc").symlink_to(REPOSITORY)
    project = tmp_path / "shop"
    project.mkdir()
    commands = re.findall(r"^spark-cdc (decode .*)$", CHOOSE_FORMAT, re.M)
    assert len(commands) == 2
    for command in commands:
        lines = decoded(command, project)
    (orders,) = [line for line in lines if line["table"] == "orders"]
    amounts = {str(row["id"]): str(row["amount"]) for row in orders["rows"]}
    assert amounts == {"1": "21.7500", "4": "8.5000", "20": "120.0000"}, "the live rows of the README's table"
    rows = re.findall(r"^\| (\d+) \|[^|]*\| ([\d.]+) \| \w+ \| false \|", README, re.M)
    assert amounts == dict(rows)

    (project / "messages.jsonl").write_text("".join(line + "\n" for line in MESSAGES["messages.jsonl"]))
    (command,) = re.findall(r"^spark-cdc (decode .*)$", TUTORIAL, re.M)
    (expected,) = re.findall(r"^```json\n(.*?)^```", TUTORIAL, re.M | re.S)
    assert decoded(command, project) == [json.loads(expected)]


def test_what_is_plain_sql_can_be_a_view(lake: Lake, new_project: Callable[..., Project]) -> None:
    """A lake's views lose named windows and Python functions; nothing of the kind may be in these macros."""
    models = {name: text for name, text in MODELS.items() if "/staging/" in name}
    changes = "ref('stg_shop__orders_changes'), ['id'], ['id', 'amount']"
    models |= files(RECREATED_TOPIC)
    views = {
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
    assert lake.rows("select * from readme_views.cdc_topic_anomalies") == []
    assert lake.rows("select amount from readme_views.current") == [{"amount": Decimal("2.5000")}]
    versions = lake.rows("select amount from readme_views.history order by valid_to nulls last")
    assert [row["amount"] for row in versions] == [Decimal("1.5000"), Decimal("2.5000")]
