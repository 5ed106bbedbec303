"""The page of `spark-cdc report`, from figures given by hand; tests/integration/test_report_of_a_project.py has those of a project."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, PATIENCE, browser_tab
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.dbt_rows import DbtError
from dbt_spark_cdc.report import page as page_module
from dbt_spark_cdc.report.figures import (
    Activity,
    Anomaly,
    Figures,
    LastCommand,
    PartitionLag,
    Periods,
    Rejected,
    Run,
    SchemaChange,
    Table,
    TableLag,
    Timing,
    UndeclaredColumn,
    Unread,
)
from dbt_spark_cdc.report.page import SHOWN, page_of
from dbt_spark_cdc.report.reading import Reading, lags_of, last_command, periods_of, time_of

NOW = datetime(2026, 1, 30, 12, tzinfo=timezone.utc)
DAYS = Periods(NOW - timedelta(days=29, hours=12), 86400, 30)
NOTHING = Figures(
    "shop", ("shop",), NOW, {"messages": 1, "changes": 2, "current": 2, "history": 0}, ("orders", "items")
)
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7*7 }}\u202e\x1b[1m"


def activity(name: str, topic: str = "shop", **more: Any) -> Activity:
    by_period = {day: {"insert": day + 1, "update": 7} for day in range(30)}
    by_op = {"insert": sum(range(1, 31)), "update": 210, "delete": 3}
    return replace(
        Activity(Table(topic, name), "shop_messages", True, False, by_op, by_period, NOW), **more
    )  # fmt: skip


def of_many(tables: int, name: Callable[[int], str], topic: Callable[[int], str]) -> Figures:
    """Figures with as many of everything as there are tables."""
    each = [Table(topic(place), name(place)) for place in range(tables)]
    return Figures(
        project="shop",
        schemas_built_in=("shop",),
        asked_at=NOW,
        models={"messages": tables, "changes": tables, "current": tables, "history": tables},
        not_built=tuple(name(place) for place in range(tables)),
        unread=(Unread("schemas", "TABLE_OR_VIEW_NOT_FOUND"),),
        periods=DAYS,
        activities=tuple(
            activity(one.name, one.topic or "", is_routed=bool(n % 2)) for n, one in enumerate(each)
        ),
        partition_lags=tuple(
            PartitionLag(one.topic, partition, 123456789, 123456780, 9, 1234.5, 98765.432)
            for one in each
            for partition in range(6)
        ),
        table_lags=tuple(TableLag(one, 6, 1234.5, 98765.4, 12, NOW) for one in each),
        rejected=tuple(
            Rejected("invalid_value", one, 3, 2, f"{one.name}: decimal(5,2)", one.topic, 0, 123456789, NOW)
            for one in each
        ),
        rejected_messages=3 * tables,
        runs=tuple(Run(NOW - timedelta(hours=place), 1000, 2, 3) for place in range(30)),
        last_command=LastCommand(
            "build", NOW, 123.4, tuple(Timing(one.name, "model", "error", 1.5) for one in each)
        ),
        schemas=tuple(SchemaChange(one, NOW, f"added {one.name} varchar(20)", 2) for one in each[:100]),
        schemas_of=tables,
        statements=tuple(SchemaChange(one, NOW, f"alter {one.name}") for one in each[:100]),
        statements_of=tables,
        anomalies=tuple(Anomaly(one.topic, 0, "offset_gap", "x" * 900) for one in each),
        undeclared=tuple(
            UndeclaredColumn(one, one.name, f"'{one.name}': 'string'", "string, because", 5, one.name, False)
            for one in each
        ),
    )


class Elements(HTMLParser):
    """The elements of a page, and the texts in its body."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def test_500_tables_are_under_a_megabyte() -> None:
    page = page_of(
        of_many(500, lambda n: f"shop_of_the_region.public.orders_of_customers_{n}", lambda n: f"topic.{n}")
    )
    assert len(page.encode()) < 1_000_000
    assert page.count('<td><svg class="spark"') == 500
    left_out = f"The first {SHOWN} are shown; {{}} more are left out."
    # partitions
    assert left_out.format("2,800") in page
    # rejected messages, failures and undeclared columns
    assert page.count(left_out.format(300)) == 3
    assert page.count("The first 50 are shown; 450 more are left out.") == 2
    assert "The newest 100 of 500." in page


def test_the_longest_names_are_cut() -> None:
    page = page_of(of_many(500, lambda n: f"{n}{'名' * 250}{n}", lambda n: f"{n}{'t' * 245}"))
    assert len(page.encode()) < 4_000_000
    assert "名" * 121 not in page and "t" * 121 not in page


def test_a_name_is_text() -> None:
    page = page_of(of_many(3, lambda n: f"{HOSTILE}{n}", lambda n: f"{n}{HOSTILE}"))
    elements = Elements(page)
    tags = [tag for tag, _ in elements.found]
    assert tags.count("script") == 1 and "img" not in tags and "iframe" not in tags
    assert [name for _, attributes in elements.found for name in attributes if name.startswith("on")] == []
    assert (
        "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7*7 }}\\u202e\\x1b[1m"
        in elements.text
    )
    assert "\u202e" not in page and "\x1b" not in page


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = page_of(of_many(3, str, str))
    links = [
        value
        for _, attributes in Elements(page).found
        for name, value in attributes.items()
        if name in ("src", "href", "data", "action", "srcset", "xlink:href")
    ]
    assert links and [link for link in links if not (link or "").startswith(("#", "data:,"))] == []
    assert re.findall(r"https?:|//[a-z]|@import|url\(", page) == []
    ids = {attributes["id"] for _, attributes in Elements(page).found if "id" in attributes}
    assert {link[1:] for link in links if link and link[0] == "#"} <= ids


def test_nothing_is_there_yet() -> None:
    said = Elements(page_of(NOTHING)).text
    for words in (
        "No messages have been read yet.",
        "2 models not built, or not readable. dbt run builds them. names orders , items",
        "No row changes have been read yet.",
        "Not known: no message has landed",
        "No message is rejected.",
        "no command has run in this folder",
    ):
        assert words in said
    assert "<svg" not in page_of(NOTHING)


def test_what_could_not_be_asked_is_not_nothing() -> None:
    parts = (
        "row changes",
        "lag",
        "rejected messages",
        "schemas",
        "anomalies of topics",
        "undeclared columns",
    )
    page = page_of(replace(NOTHING, unread=tuple(Unread(part, "X") for part in parts)))
    said = Elements(page).text
    assert said.count("Could not be asked: see above.") == 7  # of tables that nobody reads, too
    assert 'class="good"' not in page
    for words in (
        "No message is rejected",
        "is read.",
        "declare every",
        "went back",
        "changed its columns",
        "read yet",
    ):
        assert words not in said


READ = PartitionLag("shop", 0, 10, 10, 0, 0.0, 3.0)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"partition_lags": (READ,)}, "1 table, 0 rejected messages, lag 0 s."),
        (
            {"partition_lags": (READ, PartitionLag("shop", 1, 1717, 0, 1717, 4.0, 3.0)), "rejected_messages": 1},
            "1 table, 1 rejected message, lag 4 s (1,717 offsets not read yet).",
        ),
        # never read
        (
            {"partition_lags": (READ, PartitionLag("shop", 1, 5, None, 6, None, None))},
            "1 table, 0 rejected messages, lag not known (6 offsets not read yet).",
        ),
        # the raw table is not known
        ({"partition_lags": (PartitionLag("shop", 0, None, 5, None, None, 1.0),)}, "1 table, 0 rejected messages, lag not known."),
        (
            {
                "activities": (
                    activity("orders"),
                    activity("returns", is_routed=False),
                    activity("tmp", is_routed=False, is_ignored=True),
                ),
                "partition_lags": (READ,),
                "not_built": ("a",),
                "anomalies": (Anomaly("shop", 0, "recreated", ""),),
                "undeclared": tuple(
                    UndeclaredColumn(Table(None, "orders"), name, None, None, 1, "o", name == "b") for name in "ab"
                ),
                "last_command": LastCommand("build", NOW, 1.0, (Timing("a", "test", "fail", 1), Timing("b", "model", "success", 1))),
            },
            "1 table, 0 rejected messages, lag 0 s. Also 1 table that no model reads, 1 undeclared column, "
            "1 anomaly of a topic, 1 model not built, 1 failure in dbt's last command.",
        ),
        # A test of severity warn is no failure, nor is an exposure, which dbt does not run.
        (
            {
                "partition_lags": (READ,),
                "anomalies": (Anomaly("shop", 0, "recreated", "", True),),
                "last_command": LastCommand("build", NOW, 1.0, (Timing("a", "test", "warn", 1), Timing("b", "exposure", "no-op", 0))),
            },
            "1 table, 0 rejected messages, lag 0 s. Also 1 warning in dbt's last command.",
        ),
        # What could not be asked is not nothing.
        (
            {"activities": (), "unread": tuple(Unread(what, "X") for what in ("row changes", "lag", "rejected messages"))},
            "tables not known, rejected messages not known, lag not known.",
        ),
    ],
)  # fmt: skip
def test_the_first_line_says_what_needs_a_look(more: dict[str, Any], expected: str) -> None:
    figures = replace(NOTHING, not_built=(), periods=DAYS, activities=(activity("orders"),))
    page = page_of(replace(figures, **more))
    found = re.search(r'id="summary">([^<]*)<', page)
    assert found and found[1].replace("&#39;", "'") == expected


def test_the_command_to_explain_a_message_quotes_the_topic() -> None:
    one = Rejected("broken_json", Table("a b", ""), 1, 1, "d", "a b$(x)", 2, 7, None)
    expected = "kcat -C -b BROKER -t 'a b$(x)' -p 2 -o 7 -c 1 -e | spark-cdc explain --project-dir ."
    assert page_module.explain_command(one) == expected
    assert page_module.explain_command(replace(one, moved="offset + 5")) == ""
    assert page_module.explain_command(replace(one, topic="a\nb")) == ""


def test_periods_are_hours_of_two_days_or_days() -> None:
    newest = int(NOW.timestamp()) + 1800
    hours = periods_of(newest + 60, newest - 46 * 3600, newest)
    assert (hours.unit, hours.count, hours.begin) == ("hour", 48, NOW - timedelta(hours=47))
    days = periods_of(newest + 60, newest - 47 * 3600 - 1, newest)
    assert (days.unit, days.count, days.begin) == ("day", 30, NOW.replace(hour=0) - timedelta(days=29))
    assert periods_of(newest, None, None).begin == hours.begin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-30T12:00:00.000000Z", NOW),
        ("2026-01-30T20:00:00.000000+08:00", NOW),
        ("2026-01-30T12:00:00.000000", NOW),
        ("+10000-01-01T00:00:00.000000Z", None),
        (None, None),
    ],
)
def test_times_of_spark(text: str | None, expected: datetime | None) -> None:
    assert time_of(text) == expected


def lag_row(partition: int, **more: Any) -> dict[str, Any]:
    names = {"topic": "t", "database_name": "shop", "schema_name": None, "table_name": "orders"}
    lags = {"unread_offsets": 3, "unread_seconds": Decimal("1.500"), "silent_seconds": Decimal("2.000")}
    offsets = {"landed_offset": 9, "read_offset": 6, "table_offset": 5}
    times = {
        "table_committed_at": "2026-01-30T12:00:00.000000Z",
        "landing_seconds": Decimal("1"),
        "loading_seconds": None,
    }
    return {"partition": partition, "unapplied_messages": 2} | names | lags | offsets | times | more  # fmt: skip


def test_the_lag_of_a_table_is_of_its_newest_message_and_all_partitions() -> None:
    older = {"table_committed_at": "2026-01-01T00:00:00.000000Z", "landing_seconds": Decimal("99")}
    rows = [
        lag_row(1),
        lag_row(0, **older, unapplied_messages=None),
        lag_row(2, table_offset=None, read_offset=None),
    ]
    partitions, tables = lags_of([*rows, lag_row(1, table_name="items", unapplied_messages=None)])
    assert [(lag.partition, lag.read_offset, lag.unread_seconds) for lag in partitions] == [
        (0, 6, 1.5), (1, 6, 1.5), (2, None, 1.5),
    ]  # fmt: skip
    assert [(lag.table.name, lag.partitions, lag.unapplied_messages, lag.landing_seconds) for lag in tables] == [
        ("shop.orders", 2, 2, 1.0), ("shop.items", 1, None, 1.0),
    ]  # fmt: skip


def run_results(**more: Any) -> str:
    results = [
        {
            "unique_id": "model.shop.orders",
            "status": "success",
            "execution_time": 1.5,
            "message": "secret-value",
        },
        {"unique_id": "test.shop.spark_cdc_no_errors_orders.a1b2", "status": "fail", "execution_time": 2.0},
    ]
    metadata = {"generated_at": "2026-01-30T12:00:00.000000Z"}
    return json.dumps({"metadata": metadata, "args": {"which": "build"}, "elapsed_time": 9.5, "results": results} | more)  # fmt: skip


def test_the_last_command_is_that_of_run_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    assert last_command(tmp_path) is None
    (tmp_path / "dbt_project.yml").write_text("name: shop\ntarget-path: made\n", encoding="utf-8")
    (tmp_path / "made").mkdir()
    file = tmp_path / "made" / "run_results.json"
    file.write_text(run_results(), encoding="utf-8")
    timings = (
        Timing("spark_cdc_no_errors_orders", "test", "fail", 2.0),
        Timing("orders", "model", "success", 1.5),
    )
    assert last_command(tmp_path) == LastCommand("build", NOW, 9.5, timings)
    for text in ("{", "[]", run_results(results=None), run_results(results=[{"unique_id": 5}])):
        file.write_text(text, encoding="utf-8")
        assert last_command(tmp_path) is None


class Answers:
    """Stands for a project whose models are there or not; each question that is not named fails."""

    folder = Path("shop")

    def __init__(self, models: dict[str, str], broken: set[str], answers: dict[str, Any]) -> None:
        self.models, self.broken, self.answers = models, broken, answers

    def manifest(self) -> dict[str, Any]:
        nodes = {}
        for name, kind in self.models.items():
            meta = {"spark_cdc": kind, "spark_cdc.raw_columns": {}}
            config = {"materialized": "view", "meta": meta}
            node = {
                "name": name,
                "unique_id": name,
                "resource_type": "model",
                "schema": "s",
                "package_name": "p",
            }
            nodes[name] = node | {
                "config": config,
                "depends_on": {"nodes": ["shop_messages"] if kind == "changes" else []},
            }
        return {"nodes": nodes, "sources": {}}

    def macro(self, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        part = name.removeprefix("spark_cdc._report_")
        if part == "readable" and not self.broken & set(arguments["models"]):
            return []
        if part in self.answers and not self.broken & set(arguments.get("changes", [])):
            return self.answers[part]
        raise DbtError("dbt: [CAST_INVALID_INPUT] The value 'secret-value' cannot be cast.")


def test_what_cannot_be_asked_is_named_and_the_rest_is_shown() -> None:
    models = {"shop_messages": "messages"} | {f"changes_{n}": "changes" for n in range(9)}
    rejected = [
        {"is_total": False, "code": "empty", "messages": 3, "details": 1, "last_at": None,
         "newest": {"topic": "t", "partition": 0, "offset": 4, "detail": None, "model": "shop_messages"}},
        {"is_total": True, "messages": 3},
    ]  # fmt: skip
    with_errors = [{"name": "changes_3"}]
    answers = {
        "tables_there": [],
        "with_errors": with_errors,
        "rejected": rejected,
        "anomalies": [],
        "undeclared": [],
    }
    reading = Reading(Answers(models, {"changes_2", "changes_7"}, answers))  # type: ignore[arg-type]
    figures = reading.figures(None, NOW)
    assert figures.not_built == ("changes_2", "changes_7")
    assert (figures.rejected_messages, [one.code for one in figures.rejected]) == (3, ["empty"])
    assert [part.what for part in figures.unread] == ["row changes", "lag", "schemas", "DDL", "runs"]
    assert {part.why for part in figures.unread} == {"CAST_INVALID_INPUT"}
    assert len(reading.notices) == 5 and "secret-value" in reading.notices[0]
    assert "secret-value" not in page_of(figures)
    with pytest.raises(DbtError, match=r"made by spark_cdc\.messages or spark_cdc\.changes; write them"):
        Reading(Answers({"other": "run_ledger"}, set(), {})).figures(None, NOW)  # type: ignore[arg-type]


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    output = ["--output", str(tmp_path / "a.html")]
    found = CliRunner().invoke(
        main, ["report", "--project-dir", str(tmp_path), *output], prog_name="spark-cdc"
    )
    said = (
        f"option --project-dir: there is no dbt_project.yml in {tmp_path}; name the folder of a dbt project."
    )
    assert (found.exit_code, found.stderr) == (1, f"spark-cdc: {said}\n")
    found = CliRunner().invoke(main, ["report", "--output", "no/such/file.html"], prog_name="spark-cdc")
    said = "option --output must be a file in a folder that exists; got no/such/file.html."
    assert (found.exit_code, found.stderr) == (2, f"spark-cdc report: {said}\n")
    assert list(tmp_path.iterdir()) == []


# The first cells of a table's rows that are shown.
FIRST_CELLS = "[...document.querySelectorAll('#tables tbody tr:not([hidden])')].map(row => row.cells[0].firstChild.data.trim())"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
def test_a_browser_shows_it_without_a_network(tmp_path: Path) -> None:
    figures = replace(
        of_many(3, lambda n: f"{HOSTILE}{n}", lambda n: f"{n}{HOSTILE}"),
        activities=(
            activity("orders"),
            activity(HOSTILE, by_op={"insert": 5}),
            activity("items", by_op={"insert": 90}),
        ),
    )
    (tmp_path / "report.html").write_text(page_of(figures), encoding="utf-8")
    url = (tmp_path / "report.html").as_uri()
    with browser_tab("about:blank", tmp_path) as tab:
        for domain in ("Network", "Log", "Runtime", "Page"):
            tab.call(f"{domain}.enable")
        tab.call("Page.navigate", url=url)
        give_up = time.monotonic() + PATIENCE
        while not tab.value("document.readyState === 'complete' && !!document.querySelector('th button')"):
            assert time.monotonic() < give_up, "the page is not complete"
            time.sleep(0.1)
        shown = tab.value("document.body.innerText")
        heights = tab.value(
            "[...document.querySelectorAll('.chart')].map(chart => chart.getBoundingClientRect().height)"
        )
        widths = tab.value("[document.documentElement.scrollWidth, window.innerWidth]")
        cells = [tab.value(FIRST_CELLS)]
        backs = []
        for scheme in ("light", "dark"):
            tab.call(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
            )
            backs.append(tab.value("getComputedStyle(document.body).backgroundColor"))
        for _ in range(2):
            tab.value("document.querySelectorAll('#tables th button')[1].click()")
            cells.append(tab.value(FIRST_CELLS))
        tab.value(
            "{const f = document.querySelector('input'); f.value = 'ITEM'; f.dispatchEvent(new Event('input'))}"
        )
        cells.append(tab.value(FIRST_CELLS))
        picture = base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"])
        events = tab.events
    (tmp_path / "report.png").write_bytes(picture)

    requested = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert {one for one in requested if not one.startswith("data:,")} == {url}
    wrong = (
        "Log.entryAdded",
        "Runtime.exceptionThrown",
        "Runtime.consoleAPICalled",
        "Page.javascriptDialogOpening",
    )
    assert [event for event in events if event["method"] in wrong] == []
    assert "3 tables, 9 rejected messages, lag 20 min 34 s (162 offsets not read yet)." in shown
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in shown
    assert len(heights) == 2 and min(heights) > 100
    assert widths[0] <= widths[1]
    # of style, and the dark one is darker
    assert backs == ["rgb(246, 247, 249)", "rgb(18, 22, 29)"]
    hostile = next(cell for cell in cells[0] if "script" in cell)
    assert cells == [
        ["orders", hostile, "items"],
        ["orders", "items", hostile],
        [hostile, "items", "orders"],
        ["items"],
    ]
