"""One log of changes gives the same rows in every format; each format has an encoder of its own.

Hypothesis makes the logs: all kinds of value at their limits, null, key changes, reused keys, a snapshot
before and a truncate in between. They are collected first and read in one query per format, because a query
costs seconds and a log nothing. Each log is a topic of its own.
"""

from __future__ import annotations

import importlib
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dbt_spark_cdc import register
from dbt_spark_cdc.macros import MacroLibrary
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from encoders.log import KINDS, Change, Encoder, Message, Row, Table  # noqa: E402

ENCODERS: list[Encoder] = [
    encoder
    for module in sorted((TESTS / "encoders").glob("*.py"))
    if module.stem not in ("__init__", "log")
    for encoder in importlib.import_module(f"encoders.{module.stem}").ENCODERS
]
# No result may depend on the session's zone: one west of UTC with half an hour, UTC, one far to the east.
ZONES = ("America/St_Johns", "UTC", "Pacific/Apia")
# What a zone could change; in the first zone all kinds are read, in the others the key and these.
KINDS_OF_TIME = ("date", "datetime", "instant", "time")
NUMBER_OF_LOGS = 60
RAW_SCHEMA = (
    "topic string, partition int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary"
)

# U+FFFD stands for bytes that a decoder could not read, so a value that holds it is refused as damaged.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd\ufdd0")
TRAPS = [
    '"',
    "\\",
    "\\u0041",
    "a\x01b",
    "\x00",
    "\x7f\x1f",
    "\u2028",
    "'",
    "😀",
    "é",
    "{}",
    "1.50",
    "null",
    "",
    " ",
]
TEXTS = st.one_of(st.sampled_from(TRAPS), st.text(CHARACTERS, max_size=12))
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001, wall clocks


def integers(bits: int, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.one_of(st.sampled_from([low, high, 0]), st.integers(low, high))


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**digits - 1
    # By its digits: decimal arithmetic would round what is longer than its context.
    return st.one_of(st.sampled_from([limit, -limit, 0]), st.integers(-limit, limit)).map(
        lambda unscaled: Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))
    )


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": integers(8),
    "int16": integers(16),
    "int32": integers(32),
    "int64": integers(64),
    "uint64": integers(64, signed=False),
    "decimal": decimals(38, 10),
    "long_decimal": decimals(60, 20),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "text": TEXTS,
    "binary": st.one_of(st.just(bytes(range(256))), st.binary(max_size=20)),
    "date": st.dates(date(1, 1, 2), date(9999, 12, 30)),
    "datetime": MOMENTS,
    "instant": MOMENTS.map(lambda moment: moment.replace(tzinfo=timezone.utc)),
    "time": st.sampled_from(["00:00:00", "23:59:59.999999", "-838:59:59", "-00:00:00.000001", "12:30:00.5"]),
    "json": st.sampled_from(['{"a": 1.50}', '{"n": [1, {"b": null}]}', '{"text": "\\u0041 \\" é"}']),
}
# The key's second part is text, so that separators inside a key are met.
KEY = ("id", "code")
COLUMNS = {"id": "int64", "code": "text", **{f"c_{kind}": kind for kind in KINDS}}


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    keys = draw(st.lists(st.tuples(st.integers(0, 2**40), TEXTS), min_size=3, max_size=3, unique=True))
    rows = [
        {kind: draw(st.one_of(st.none(), values, values)) for kind, values in VALUES.items()}
        for _ in range(4)
    ]
    stored: dict[tuple, Row] = {}
    changes: list[Change] = []

    def row(key: tuple) -> Row:
        values = draw(st.sampled_from(rows))
        return {**dict(zip(KEY, key, strict=True)), **{f"c_{kind}": value for kind, value in values.items()}}

    def add(kind: str, **images: Any) -> None:
        sequence = len(changes) + 1
        committed_at = datetime(2026, 3, 29, 1, tzinfo=timezone.utc) + timedelta(seconds=sequence)
        changes.append(Change(kind, sequence, committed_at=committed_at, **images))

    for key in keys[: draw(st.integers(0, 2))]:
        stored[key] = row(key)
        add("snapshot", after=stored[key])
    for _ in range(draw(st.integers(6, 16))):
        event = draw(
            st.sampled_from(["row"] * 8 + ["delete"] * 3 + ["truncate", "ddl", "heartbeat", "marks"])
        )
        key, other = draw(st.permutations(keys))[:2]
        if event == "truncate":
            stored.clear()
            add("truncate")
        elif event == "ddl":
            add("ddl", ddl="ALTER TABLE orders ADD COLUMN later int")
        elif event == "heartbeat":
            add("heartbeat")
        elif event == "marks":
            add("begin")
            add("commit")
        elif key not in stored:
            stored[key] = row(key)
            add("insert", after=stored[key])
        elif event == "delete":
            add("delete", before=stored.pop(key))
        else:
            new_key = other if other not in stored and draw(st.booleans()) else key
            before = stored.pop(key)
            stored[new_key] = row(new_key)
            add("update", before=before, after=stored[new_key])
    return changes


@pytest.fixture(scope="module")
def truth() -> list[list[Change]]:
    found: list[list[Change]] = []

    @settings(
        max_examples=NUMBER_OF_LOGS,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(logs())
    def collect(changes: list[Change]) -> None:
        found.append(changes)

    collect()
    return found


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: f"{encoder.format}-{encoder.dialect}")
def test_one_truth(
    encoder: Encoder, zone: str, truth: list[list[Change]], spark: SparkSession, library: MacroLibrary
) -> None:
    session = spark.newSession()
    register(session)
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.session.timeZone", zone)
    kinds = KINDS if zone == ZONES[0] else KINDS_OF_TIME
    table = Table(
        {
            name: kind
            for name, kind in COLUMNS.items()
            if kind in encoder.columns and (name in KEY or kind in kinds)
        },
        KEY,
    )
    carried = {
        kind
        for kind in ("insert", "update", "delete", "snapshot", "truncate")
        if encoder.encode([_example(kind, table)], table)
    }
    fitted = [[_fitted(change, encoder, table) for change in log] for log in truth]
    found = _read(session, library, encoder, table, [encoder.encode(log, table) for log in fitted])
    for number, log in enumerate(fitted):
        told = [part for change in log if change.kind in carried for part in _parts(change, encoder)]
        expected = [_expected(change, encoder, table) for change in told]
        actual = found.get(f"log{number}", [])
        assert _flat(actual) == _flat(expected)


def _parts(change: Change, encoder: Encoder) -> list[Change]:
    moved = change.kind == "update" and any(change.before[name] != change.after[name] for name in KEY)
    if not moved or not encoder.splits_key_changes:
        return [change]
    return [
        Change("delete", change.sequence, before=change.before),
        Change("insert", change.sequence, after=change.after),
    ]


def _example(kind: str, table: Table) -> Change:
    row = dict.fromkeys(table.columns) | {"id": 1, "code": "a"}
    return Change(
        kind,
        1,
        before=row if kind in ("update", "delete") else None,
        after=row if kind in ("insert", "update", "snapshot") else None,
        committed_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    )


def _fitted(change: Change, encoder: Encoder, table: Table) -> Change:
    def fit(row: Row | None) -> Row | None:
        if row is None:
            return None
        return {name: _fit(encoder, kind, row[name]) for name, kind in table.columns.items()}

    return Change(
        change.kind, change.sequence, fit(change.before), fit(change.after), change.committed_at, change.ddl
    )


def _fit(encoder: Encoder, kind: str, value: Any) -> Any:
    return value if value is None else encoder.fits.get(kind, lambda same: same)(value)


def _expected(change: Change, encoder: Encoder, table: Table) -> dict[str, Any]:
    """What `_read` gives of a change: the row after it, or of a delete the row that went, as texts."""
    op = encoder.ops.get(change.kind, change.kind)
    row = change.before if change.kind == "delete" else change.after
    only_key = {"delete": encoder.deletes == "key"}.get(change.kind, False)
    before = None
    if change.kind == "update" and encoder.before != "none":
        before = _texts(change.before, table, encoder, encoder.before == "key")
    return {"op": op, "row": _texts(row, table, encoder, only_key), "before": before, "error": None}


def _flat(changes: list[dict[str, Any]]) -> dict[tuple, Any]:
    """A value a line, so that pytest shows the few that differ."""
    return {
        (number, part, name): value
        for number, change in enumerate(changes)
        for part, values in change.items()
        for name, value in (values if isinstance(values, dict) else {None: values}).items()
    }


def _texts(row: Row | None, table: Table, encoder: Encoder, only_key: bool) -> dict[str, str] | None:
    if row is None:
        return None
    return {
        name: _text(row[name], table.columns[name], encoder.columns[table.columns[name]])
        for name in table.columns
        if row[name] is not None and (not only_key or name in table.key)
    }


def _text(value: Any, kind: str, declaration: str) -> str:
    """As `_column` writes the value of the declared type."""
    family = declaration.split("(")[0].split(" ")[0]
    if family == "timestamp":
        return str((value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1))
    if family == "timestamp_ntz":
        text = value.replace(tzinfo=None).isoformat(" ")
        return text.rstrip("0") if "." in text else text
    if family in ("double", "float"):
        return repr(float(value))
    if family == "binary":
        return value.hex()
    if family == "decimal":
        return _plain(Decimal(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _column(path: str, declaration: str) -> str:
    family = declaration.split("(")[0].split(" ")[0]
    if family == "timestamp":
        return f"cast(unix_micros({path}) as string)"
    if family == "binary":
        return f"lower(hex({path}))"
    return path if family in ("double", "float", "decimal") else f"cast({path} as string)"


def _read(
    session: SparkSession, library: MacroLibrary, encoder: Encoder, table: Table, logs: list[list[Message]]
) -> dict[str, list[dict[str, Any]]]:
    raw = [
        (f"log{number}", 0, offset, None, _bytes(message.key), _bytes(message.value))
        for number, messages in enumerate(logs)
        for offset, message in enumerate(messages)
    ]
    session.createDataFrame(raw, RAW_SCHEMA).createOrReplaceTempView("raw")
    declarations = {name: encoder.columns[kind] for name, kind in table.columns.items()}
    arguments = {"format": encoder.format, "dialect": encoder.dialect, "table": table.name, "key": list(KEY)}
    changes = library.call("changes", "raw", columns=declarations, **arguments)
    columns = ", ".join(
        f"{_column(f'{side}{name}', declaration)} as {prefix}{name}"
        for prefix, side in (("row_", ""), ("before_", "_cdc_before."))
        for name, declaration in declarations.items()
    )
    rows = session.sql(
        f"select _cdc_topic, _cdc_op, _cdc_error, _cdc_before is not null as has_before, {columns} "
        f"from ({changes}) order by _cdc_topic, _cdc_sequence"
    ).collect()
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        values = row.asDict()
        images = {
            prefix: {
                name: _plain(value) for name in table.columns if (value := values[prefix + name]) is not None
            }
            for prefix in ("row_", "before_")
        }
        op = values["_cdc_op"]
        told = op == "update" and encoder.before != "none"
        before = images["before_"] if told and values["has_before"] else None
        if before is not None and encoder.before == "key":
            before = {name: before[name] for name in table.key}
        if op == "delete" and encoder.deletes == "key":
            images["row_"] = {name: images["row_"][name] for name in table.key}
        found.setdefault(values["_cdc_topic"], []).append(
            {
                "op": op,
                "row": images["row_"] if op != "truncate" else None,
                "before": before,
                "error": values["_cdc_error"],
            }
        )
    return found


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        # Spark hands small ones over with zeros at their end.
        return f"{Context(prec=60).normalize(value):f}"
    return repr(value) if isinstance(value, float) else value


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
