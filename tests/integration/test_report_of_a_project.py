"""`spark-cdc report` of a built project: its figures are those of the messages that were landed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.report import page as page_module
from dbt_spark_cdc.report.figures import Activity, Figures, Table
from harness import REPOSITORY, Lake, Message, Project, raw_row

# Another process reads its tables.
LAKES = ("iceberg",)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
COLUMNS = "{'id': 'bigint', 'amount': 'decimal(10,2)'}"
APPLY = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('{changes}') }}}}\n"
CHANGES = (
    "{{{{ config(materialized='view') }}}}\n{{{{ spark_cdc.changes({of}, format='canal', table='{table}', "
    "key=['id'], columns={columns}) }}}}\n"
)
OVER_MESSAGES = "messages=ref('shop_messages')"
MODELS = {
    "models/sources.yml": "sources: [{name: raw, schema: raw_report, tables: [{name: shop}, {name: crm}]}]\n",
    "models/shop_messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'shop'), format='canal') }}\n",
    "models/models.yml": "models:\n  - name: shop_messages\n    data_tests:\n      - spark_cdc.no_unread_tables:\n"
    "          arguments: {changes: [\"ref('orders_changes')\", \"ref('items_changes')\"], ignored_tables: ['shop.tmp_*']}\n"
    "      - spark_cdc.no_undeclared_columns:\n          arguments: {ignored: {'shop.items': [old]}}\n",
    "models/orders_changes.sql": CHANGES.format(of=OVER_MESSAGES, table="orders", columns=COLUMNS),
    "models/items_changes.sql": CHANGES.format(of=OVER_MESSAGES, table="items", columns=COLUMNS),
    "models/people_changes.sql": CHANGES.format(
        of="relation=source('raw', 'crm')", table="people", columns=COLUMNS
    ),
    "models/unbuilt_changes.sql": CHANGES.format(of=OVER_MESSAGES, table="orders", columns=COLUMNS),
    "models/orders.sql": APPLY.format(kind="current", changes="orders_changes"),
    "models/orders_history.sql": APPLY.format(kind="history", changes="orders_changes"),
    "models/unbuilt.sql": APPLY.format(kind="current", changes="items_changes"),
}
# So many digits that no time, offset or coordinate of a page has them by chance.
UNREADABLE = "70411993.625"
HIDDEN, HOSTILE, TOPIC = "hidden-value", "<script>alert(1)</script>", "raw_report.shop"
PAGE = (REPOSITORY / "docs" / "how-to" / "report.md").read_text(encoding="utf-8")
BUILT = {"shop_messages", "orders_changes", "items_changes", "people_changes", "orders", "orders_history"}


def canal(
    day: int,
    kind: str,
    *rows: dict[str, Any],
    table: str = "orders",
    sql: str = "",
    types: dict[str, str] | None = None,
) -> str:
    at = int((START + timedelta(days=day)).timestamp() * 1000)
    types = types or {"id": "bigint", "amount": "decimal(10,2)"}
    old = [{"amount": "0"} for _ in rows] if kind == "UPDATE" else None
    return json.dumps(
        {"database": "shop", "table": table, "type": kind, "isDdl": bool(sql), "sql": sql, "es": at, "ts": at, "old": old,
         "data": list(rows) or None, "pkNames": ["id"], "mysqlType": types, "id": 1, "gtid": "", "sqlType": {}}
    )  # fmt: skip


def row(identity: int, amount: str = "1.00", **more: str) -> dict[str, str]:
    return {"id": str(identity), "amount": amount} | more


FIRST = [
    canal(0, "INSERT", row(1), row(2)),
    canal(1, "UPDATE", row(1, "2.00")),
    canal(1, "DELETE", row(2)),
    canal(1, "INSERT", row(1, note=HIDDEN), table="items", types={"id": "bigint", "note": "varchar(20)"}),
    canal(2, "INSERT", row(1, old="x"), table="items"),
    canal(2, "INSERT", row(7), row(8), row(9), table=HOSTILE),
    canal(2, "INSERT", row(7), table="tmp_1"),
    canal(3, "ALTER", sql=f"alter table orders add note varchar(20) default '{HIDDEN}'"),
]
SECOND = [
    canal(
        4,
        "INSERT",
        row(3, UNREADABLE, note=HIDDEN),
        types={"id": "bigint", "amount": "decimal(12,3)", "note": "varchar(20)"},
    ),
    '{"database": "shop", "cut',
]
PEOPLE = [canal(1, "INSERT", row(1), table="people"), canal(1, "INSERT", row(2, HIDDEN), table="people")]


@pytest.fixture(scope="module")
def project(lake: Lake, new_project: Callable[..., Project]) -> Project:
    project = new_project("report", MODELS)
    lake.create_raw("shop", "crm", schema="raw_report")
    lake.land("shop", map(Message, FIRST), schema="raw_report")
    lake.land("crm", map(Message, PEOPLE), schema="raw_report")
    left_out = ("--exclude", "unbuilt_changes", "unbuilt")
    project.writes_json = True  # the report reads the results of the last command
    project.run(*left_out)
    lake.land("shop", map(Message, SECOND), schema="raw_report")
    lake.land_again("shop", {0: Message(FIRST[0])}, schema="raw_report")
    project.run(*left_out)
    # No run reads this one.
    at = datetime(2026, 1, 1, 0, 0, 5, tzinfo=timezone.utc)
    topic, partition, offset, _, *rest = raw_row(
        "raw_report.shop", len(FIRST) + len(SECOND), Message(FIRST[0])
    )
    lake.append("raw_report.shop", [(topic, partition, offset, at, *rest)])
    return project


@dataclass
class Reported:
    """What one call of the command found, wrote and said."""

    figures: Figures
    page: str
    result: Result


@pytest.fixture(scope="module")
def reported(project: Project) -> Reported:
    (command,) = re.findall(r"^spark-cdc (report.*)$", PAGE, re.M)
    found: list[Figures] = []
    written = page_module.page_of

    def page_of(figures: Figures) -> str:
        found.append(figures)
        return written(figures)

    results = project.folder / "target" / "run_results.json"
    before = results.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.folder)
        patch.setattr(page_module, "page_of", page_of)
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
        page = Path("spark-cdc-report.html").read_text(encoding="utf-8")
    # The user's next `dbt retry` needs the results of the user's last command.
    assert results.read_bytes() == before
    return Reported(found[0], page, result)


ORDERS, ITEMS = Table(TOPIC, "shop.orders"), Table(TOPIC, "shop.items")


def test_the_command_says_where_the_page_is(reported: Reported) -> None:
    assert re.fullmatch(r"spark-cdc-report\.html: \d\d kB\n", reported.result.stdout)
    assert reported.result.stderr == ""
    assert reported.figures.unread == ()
    assert reported.figures.not_built == ("unbuilt", "unbuilt_changes")


def test_the_page_says_what_the_how_to_says(reported: Reported) -> None:
    (summary,) = re.findall(r'id="summary">([^<]*)<', reported.page)
    assert f"```text\n{summary}\n```" in PAGE


def test_no_value_and_no_key_is_in_the_page(reported: Reported) -> None:
    assert HIDDEN not in reported.page
    assert UNREADABLE not in reported.page
    assert "alter table" not in reported.page


def of_days(activity: Activity, first: int) -> dict[int, dict[str, int]]:
    return {day - first: ops for day, ops in sorted(activity.by_period.items())}


def test_row_changes_by_table_op_and_day(reported: Reported) -> None:
    periods = reported.figures.periods
    assert periods is not None and periods.unit == "day"
    first = (START - periods.begin).days
    found = [
        (one.table, one.model, one.is_routed, one.is_ignored, one.by_op, one.outside, of_days(one, first))
        for one in reported.figures.activities
    ]
    model = "shop_messages"
    assert found == [
        (ORDERS, model, True, False, {"insert": 3, "update": 1, "delete": 1}, 0,
         {0: {"insert": 2}, 1: {"update": 1, "delete": 1}, 4: {"insert": 1}}),
        (Table(TOPIC, f"shop.{HOSTILE}"), model, False, False, {"insert": 3}, 0, {2: {"insert": 3}}),
        # over a raw table, without a messages model
        (Table("raw_report.crm", "people"), "people_changes", True, False, {"insert": 2}, 0, {1: {"insert": 2}}),
        (ITEMS, model, True, False, {"insert": 2}, 0, {1: {"insert": 1}, 2: {"insert": 1}}),
        (Table(TOPIC, "shop.tmp_1"), model, False, True, {"insert": 1}, 0, {2: {"insert": 1}}),
    ]  # fmt: skip


def test_a_message_that_lands_twice_counts_once(reported: Reported) -> None:
    (lag,) = reported.figures.partition_lags
    assert sum(run.messages for run in reported.figures.runs) == len(FIRST) + len(SECOND) + 1
    assert lag.read_offset == len(FIRST) + len(SECOND) - 1


def test_lag(reported: Reported) -> None:
    (lag,) = reported.figures.partition_lags
    assert (lag.topic, lag.partition, lag.read_offset, lag.landed_offset) == (TOPIC, 0, 9, 10)
    assert (lag.unread_offsets, lag.unread_seconds) == (1, 5.0)
    of_tables = {one.table: (one.partitions, one.unapplied_messages) for one in reported.figures.table_lags}
    # the rejected row of orders is not applied; of the others there is no current table
    assert (of_tables[ORDERS], of_tables[ITEMS]) == ((1, 1), (1, None))


def test_rejected_messages_by_code_and_table(reported: Reported) -> None:
    assert reported.figures.rejected_messages == 3
    found = [
        (one.code, one.table, one.messages, one.detail, one.topic, one.partition, one.offset)
        for one in reported.figures.rejected
    ]
    assert sorted(found, key=str) == [
        ("broken_json", Table(TOPIC, ""), 1, "broken off at byte 25", TOPIC, 0, 9),
        (
            "invalid_value",
            Table("raw_report.crm", "people"),
            1,
            "amount: decimal(10,2)",
            "raw_report.crm",
            0,
            1,
        ),
        ("invalid_value", ORDERS, 1, "amount: decimal(10,2)", TOPIC, 0, 8),
    ]
    assert (
        f"kcat -C -b BROKER -t {TOPIC} -p 0 -o 8 -c 1 -e | spark-cdc explain --project-dir ." in reported.page
    )
    assert "Declare a wider type" in reported.page


def test_runs_and_the_last_command(reported: Reported) -> None:
    newest, first = reported.figures.runs
    assert newest.began_at > first.began_at
    assert (first.messages, first.rejected, newest.messages, newest.rejected) == (8, 0, 3, 1)
    command = reported.figures.last_command
    assert command is not None and command.command == "run"
    assert {timing.name for timing in command.timings} == BUILT
    assert all(timing.status == "success" and timing.seconds > 0 for timing in command.timings)


def test_schema_changes_unread_tables_and_undeclared_columns(reported: Reported) -> None:
    figures = reported.figures
    assert {(one.table, one.version, one.what) for one in figures.schemas} == {
        (ORDERS, 2, "added note varchar(20); amount decimal(10,2) -> decimal(12,3)"),
        (ITEMS, 2, "added amount decimal(10,2); dropped note"),
    }
    (statement,) = figures.statements
    assert (statement.table, statement.at) == (ORDERS, START + timedelta(days=3))
    assert statement.what == "alter orders: added note varchar(20)"
    assert (figures.schemas_of, figures.statements_of) == (2, 1)
    found = [(one.table.name, one.column, one.line, one.rows, one.is_ignored) for one in figures.undeclared]
    assert found == [
        ("shop.items", "note", "'note': 'string'", 1, False),
        ("shop.items", "old", "'old': 'string'", 1, True),
        ("shop.orders", "note", "'note': 'string'", 1, False),
    ]
    assert figures.anomalies == ()
