"""The page of a report: one HTML file with its own styles, charts and script, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dbt_spark_cdc.explain.advice import advice_of
from dbt_spark_cdc.message_text import printable
from dbt_spark_cdc.report.figures import (
    OPS,
    REJECTED,
    ROWS,
    UNDECLARED,
    Activity,
    Figures,
    PartitionLag,
    Periods,
    Rejected,
    Timing,
)

HERE = Path(__file__).resolve().parent
# A longer text is cut in its middle. Topics have at most 249 characters, names of tables mostly 64.
LONGEST = 120
# Rows of a table of the page; a line says how many there are. Only the table of source tables has all.
SHOWN = 200
# Of those that have a paragraph each, or that another command repairs.
FEW = 50
SLOWEST = 20
# Of a chart, in its own units.
WIDTH, HEIGHT, TALLEST_SPARK = 1000, 200, 16
GOOD_STATUSES = ("success", "pass", "reused", "no-op")
SOME_SECONDS = ((86400, "d"), (3600, "h"), (60, "min"))


class Bar(NamedTuple):
    """A part of a column of a chart."""

    css: str
    x: float
    y: float
    width: float
    height: float
    title: str


class Chart(NamedTuple):
    """Stacked columns, with what the axes say."""

    label: str
    bars: list[Bar]
    lines: list[tuple[float, str]]
    ticks: list[tuple[float, str]]
    legend: list[tuple[str, str, int]]


class Card(NamedTuple):
    """A number at the top, and the section that explains it. The state is good, warn, bad or none."""

    value: str
    label: str
    state: str
    section: str


def page_of(figures: Figures) -> str:
    """Return the page as HTML."""
    routed = [one for one in figures.activities if one.is_routed]
    unrouted = [one for one in figures.activities if not one.is_routed and not one.is_ignored]
    undeclared = [one for one in figures.undeclared if not one.is_ignored]
    failed = [one for one in timings_of(figures) if one.status not in (*GOOD_STATUSES, "warn")]
    anomalies = [one for one in figures.anomalies if not one.is_acknowledged]
    script, styles = _file("page.js"), _file("page.css")
    return (
        _environment()
        .get_template("page.html")
        .render(
            f=figures,
            shown=SHOWN,
            few=FEW,
            summary=summary_of(figures, routed, unrouted, len(undeclared), failed),
            cards=_cards(figures, routed, unrouted, len(undeclared), failed),
            asked=lambda *parts: was_asked(figures, *parts),
            anomalies=anomalies,
            acknowledged_anomalies=len(figures.anomalies) - len(anomalies),
            warned=warned_of(figures),
            ops=[op for op in OPS if any(op in one.by_op for one in figures.activities)]
            + sorted({op for one in figures.activities for op in one.by_op} - set(OPS)),
            activity_chart=activity_chart(figures),
            runs_chart=runs_chart(figures),
            outside=sum(one.outside for one in figures.activities),
            has_topics=len({one.table.topic for one in figures.activities}) > 1,
            tallest=max((one.rows for one in figures.activities), default=0),
            unrouted=unrouted,
            ignored_tables=sum(one.is_ignored and not one.is_routed for one in figures.activities),
            undeclared=undeclared,
            ignored_columns=len(figures.undeclared) - len(undeclared),
            partitions=sorted(figures.partition_lags, key=_longest_lag),
            longest=max((lag.unread_seconds or 0 for lag in figures.partition_lags), default=0),
            codes=_by_code(figures.rejected),
            failed=failed,
            slowest=timings_of(figures)[:SLOWEST],
            script=script,
            styles=styles,
            script_hash=_hash(script),
            styles_hash=_hash(styles),
        )
    )


def timings_of(figures: Figures) -> tuple[Timing, ...]:
    """Return how long the nodes of dbt's last command took."""
    return figures.last_command.timings if figures.last_command else ()


def warned_of(figures: Figures) -> int:
    """Return how many tests of dbt's last command warned."""
    return sum(one.status == "warn" for one in timings_of(figures))


def was_asked(figures: Figures, *parts: str) -> bool:
    """Return whether all of these parts could be asked: a figure of another one is not known."""
    return not {part.what for part in figures.unread} & set(parts)


def lag_of(figures: Figures) -> tuple[str, int | None]:
    """Return the longest lag of a partition in words, and the number of messages that no run has read."""
    lags = figures.partition_lags
    if not lags or any(lag.unread_offsets is None for lag in lags):
        return "not known", None
    unread = sum(lag.unread_offsets or 0 for lag in lags)
    if any(lag.unread_seconds is None and lag.unread_offsets for lag in lags):
        return "not known", unread
    return seconds(max(lag.unread_seconds or 0 for lag in lags)), unread


def summary_of(
    figures: Figures,
    routed: list[Activity],
    unrouted: list[Activity],
    undeclared: int,
    failed: list[Timing],
) -> str:
    """Return the first line of the page: what is there, and what needs a look.

    "12 tables, 3 rejected messages, lag 4 s (17 offsets not read yet). ..."
    """
    has_nothing = not figures.activities and not figures.partition_lags and not figures.rejected
    if has_nothing and not figures.unread:
        return "No messages have been read yet."
    lag, unread = lag_of(figures)
    anomalies = sum(not one.is_acknowledged for one in figures.anomalies)
    parts = [
        counted(len(routed), "table") if was_asked(figures, ROWS) else "tables not known",
        counted(figures.rejected_messages, "rejected message")
        if was_asked(figures, *REJECTED)
        else "rejected messages not known",
        f"lag {lag}" + (f" ({counted(unread, 'offset')} not read yet)" if unread else ""),
    ]
    more = [
        counted(len(unrouted), "table") + " that no model reads" if unrouted else "",
        counted(undeclared, "undeclared column") if undeclared else "",
        "1 anomaly of a topic" if anomalies == 1 else "",
        f"{number(anomalies)} anomalies of topics" if anomalies > 1 else "",
        counted(len(figures.not_built), "model") + " not built" if figures.not_built else "",
        counted(len(failed), "failure") + " in dbt's last command" if failed else "",
        counted(warned_of(figures), "warning") + " in dbt's last command" if warned_of(figures) else "",
    ]
    rest = ", ".join(part for part in more if part)
    return ", ".join(parts) + "." + (f" Also {rest}." if rest else "")


def _cards(
    figures: Figures,
    routed: list[Activity],
    unrouted: list[Activity],
    undeclared: int,
    failed: list[Timing],
) -> list[Card]:
    lag, unread = lag_of(figures)
    anomalies = sum(not one.is_acknowledged for one in figures.anomalies)

    def card(count: int, label: str, state: str, section: str, *parts: str) -> Card:
        if not was_asked(figures, *parts):
            return Card("-", label, "", section)
        return Card(number(count), label, state and _state(count, state), section)

    cards = [
        card(len(routed), "tables", "", "rows", ROWS),
        card(sum(one.rows for one in figures.activities), "row changes", "", "rows", ROWS),
        card(figures.rejected_messages, "rejected messages", "bad", "rejected", *REJECTED),
        Card(lag, "lag", "" if unread is None else _state(unread, "warn"), "lag"),
        card(len(unrouted), "tables not read", "warn", "unrouted", ROWS),
        card(undeclared, "undeclared columns", "warn", "undeclared", UNDECLARED),
    ]
    if anomalies:
        cards.append(Card(number(anomalies), "anomalies", "bad", "anomalies"))
    if figures.last_command:
        cards.append(
            Card(number(len(failed)), "failures of the last command", _state(len(failed), "bad"), "runs")
        )
    return cards


def _state(count: int, state: str) -> str:
    return state if count else "good"


def activity_chart(figures: Figures) -> Chart | None:
    """Return the row changes of all tables by period and op."""
    periods = figures.periods
    if periods is None:
        return None
    of_period: list[Counter[str]] = [Counter() for _ in range(periods.count)]
    for activity in figures.activities:
        for period, ops in activity.by_period.items():
            of_period[period].update(ops)
    columns = [
        (period_text(periods, place), [(op, ops[op]) for op in sorted(ops, key=_place_of_op)])
        for place, ops in enumerate(of_period)
    ]
    return _chart(f"Row changes by op and {periods.unit}", columns)


def runs_chart(figures: Figures) -> Chart | None:
    """Return the messages of the newest runs, the oldest of them first."""
    if not figures.runs:
        return None
    columns = [
        (time(run.began_at)[5:16], [("read", run.messages - run.rejected), ("rejected", run.rejected)])
        for run in reversed(figures.runs)
    ]
    return _chart("Messages by run", columns)


def _chart(label: str, columns: list[tuple[str, list[tuple[str, int]]]]) -> Chart:
    top = round_up(max((sum(count for _, count in parts) for _, parts in columns), default=0))
    step = WIDTH / max(len(columns), 8)
    bars, totals = [], Counter[str]()
    for place, (text, parts) in enumerate(columns):
        y = float(HEIGHT)
        for name, count in parts:
            if count:
                totals[name] += count
                height = count / top * HEIGHT
                y -= height
                bars.append(
                    Bar(
                        _css_of(name),
                        round(place * step + step * 0.1, 1),
                        round(y, 1),
                        round(step * 0.8, 1),
                        round(max(height, 0.5), 1),
                        f"{text}: {number(count)} {name}",
                    )
                )
    every = -(-len(columns) // 7)
    ticks = [
        (round((place + 0.5) * step, 1), text)
        for place, (text, _) in enumerate(columns)
        if (len(columns) - 1 - place) % every == 0
    ]
    lines = [
        (round(HEIGHT - HEIGHT * part / 2, 1), number(top * part // 2))
        for part in (0, 1, 2)
        if top * part % 2 == 0
    ]
    legend = [(_css_of(name), name, totals[name]) for name in sorted(totals, key=_place_of_op)]
    return Chart(label, bars, lines, ticks, legend)


def round_up(value: int) -> int:
    """Return the top of an axis: 1, 2 or 5 times a power of ten, not below the value.

    >>> [round_up(value) for value in (0, 1, 3, 51, 1200)]
    [1, 1, 5, 100, 2000]
    """
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= value:
                return factor * power
        power *= 10


def spark(activity: Activity, periods: Periods) -> str:
    """Return the path of a table's steps, one unit wide for a period; equal ones in a row are one."""
    totals = {period: sum(ops.values()) for period, ops in activity.by_period.items()}
    top = max(totals.values(), default=0) or 1
    heights = [
        max(round(totals[period] / top * TALLEST_SPARK), 1) if totals.get(period) else 0
        for period in range(periods.count)
    ]
    steps = ((height, len(list(same))) for height, same in groupby(heights))
    return "M0 0" + "".join(f"V{-height}h{width}" for height, width in steps) + "V0"


def period_text(periods: Periods, place: int) -> str:
    """Return when a period begins."""
    at = periods.begin + timedelta(seconds=periods.seconds * place)
    return at.strftime("%Y-%m-%d %H:00" if periods.unit == "hour" else "%Y-%m-%d")


def explain_command(rejected: Rejected) -> str:
    """Return the line for a shell that explains the newest message; empty if its place is not Kafka's."""
    if rejected.topic is None or rejected.offset is None or rejected.partition is None or rejected.moved:
        return ""
    topic = shlex.quote(rejected.topic)
    if printable(topic) != topic or len(topic) > LONGEST:
        return ""
    place = f"-t {topic} -p {rejected.partition} -o {rejected.offset}"
    return f"kcat -C -b BROKER {place} -c 1 -e | spark-cdc explain --project-dir ."


def advice(code: str) -> str:
    """Return what to do about an error code; empty for one of a format of the project's own."""
    found = advice_of(code)
    return found.text if found else ""


def number(value: int | None) -> str:
    """Return a whole number as people read it.

    >>> number(12345)
    '12,345'
    """
    return "-" if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "table"), counted(2, "table")
    ('1 table', '2 tables')
    """
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def seconds(value: float | None) -> str:
    """Return a duration, the two largest units at most.

    >>> [seconds(value) for value in (None, 0.0412, 4.2, 75, 7260, 90000, -3)]
    ['-', '0.04 s', '4.2 s', '1 min 15 s', '2 h 1 min', '1 d 1 h', '-3 s']
    """
    if value is None:
        return "-"
    if value < 0:
        return f"-{seconds(-value)}"
    if value < 60:
        return f"{value:.2f}".rstrip("0").rstrip(".") + " s" if value < 10 else f"{value:.0f} s"
    units = [*SOME_SECONDS, (1, "s")]
    place = next(place for place, (size, _) in enumerate(units) if value >= size)
    (size, name), (smaller, smaller_name) = units[place : place + 2]
    rest = int(value % size // smaller)
    return f"{int(value // size):,} {name}" + (f" {rest} {smaller_name}" if rest else "")


def time(value: datetime | None) -> str:
    """Return a time in UTC, to the second."""
    return "-" if value is None else value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def text(value: str | None, longest: int = LONGEST) -> str:
    """Return a name or a sentence as a browser can show it: no character turns or hides text, and cut.

    >>> text("a" * 200).count("a")
    119
    """
    shown = printable(value or "")
    if len(shown) > longest:
        half = (longest - 1) // 2
        shown = f"{shown[: longest - 1 - half]}…{shown[-half:]}"
    return shown


def _place_of_op(op: str) -> tuple[int, str]:
    return (OPS.index(op) if op in OPS else len(OPS), op)


def _css_of(name: str) -> str:
    return name if name in (*OPS, "read", "rejected") else "unknown"


def _longest_lag(lag: PartitionLag) -> tuple[bool, float, int]:
    """Order partitions: those that no run has read, then by time, then by offsets."""
    is_never_read = lag.unread_seconds is None and bool(lag.unread_offsets)
    return (not is_never_read, -(lag.unread_seconds or 0), -(lag.unread_offsets or 0))


def _by_code(rejected: Iterable[Rejected]) -> list[tuple[str, int]]:
    codes = Counter[str]()
    for one in rejected:
        codes[one.code] += one.messages
    return codes.most_common()


def _limited(values: Iterable[Any], most: int = SHOWN) -> list[Any]:
    return list(values)[:most]


def _left_out(values: Iterable[Any], most: int = SHOWN) -> Iterator[str]:
    """Yield a sentence about what a list of the page leaves out, if it does."""
    more = len(list(values)) - most
    if more > 0:
        yield f"The first {most} are shown; {number(more)} more are left out."


def _hash(content: str) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(content.encode()).digest()).decode()


@cache
def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    # Every name in it is a text of a message: the template escapes them all.
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "n": number,
        "s": seconds,
        "t": time,
        "x": text,
        "limited": _limited,
        "left_out": _left_out,
        "advice": advice,
        "explain_command": explain_command,
    }
    environment.globals |= {"spark": spark, "counted": counted, "width": WIDTH, "height": HEIGHT}
    return environment
