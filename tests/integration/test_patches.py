"""MongoDB's updates of parts of nested values, in any order: the tables are those of the source's log.

One log in two formats. From DRS it arrives in three runs, some of it late, and the tests check the tables
after each; from Debezium in one. A fold over the changes that have arrived, in plain Python, gives the
expected rows: a patch may need a value from changes that have not arrived.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from harness import Lake, Message, Project

SCHEMA = "shop_patches"
RUNS = 3
KEYS = 40
SEED = 20261122
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
COLUMNS = ("n", "doc", "tags")
UNKNOWN = Ellipsis  # a copy of it is itself
INCREMENTAL = "{{ config(materialized='cdc_append', tblproperties={'format-version': '3'}) }}\n"
TYPES = "key=['_id'], columns={'_id': 'string', 'n': 'int', 'doc': 'string', 'tags': 'variant'}"


def files() -> dict[str, str]:
    """All models of this module: path -> text."""
    made = {
        "models/sources.yml": "sources: [{name: raw_patches, tables: [{name: drs_mongodb}, {name: debezium_mongodb}]}]\n"
    }
    for name in ("drs_mongodb", "debezium_mongodb"):
        made[f"models/{name}_changes.sql"] = (
            f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_patches', '{name}'), format='{name}', table='things', {TYPES}) }}}}\n"
        )
        for kind in ("current", "history"):
            made[f"models/{name}_{kind}.sql"] = (
                f"{{{{ config(materialized='cdc_{kind}', unique_key=['_id'], tblproperties={{'format-version': '3'}}) }}}} "
                f"select * from {{{{ ref('{name}_changes') }}}}\n"
            )
    return made


@dataclass(frozen=True)
class Change:
    """What one message says: whole columns, or parts of them as (operator, path, value)."""

    key: str
    sequence: int
    op: str
    columns: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[str, list[str], Any]] = field(default_factory=list)

    @property
    def at(self) -> datetime:
        return BEGIN + timedelta(seconds=self.sequence)


class Source:
    """A collection that is changed at random; it keeps the changes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.documents: dict[str, dict[str, Any]] = {}
        self.changes: list[Change] = []

    def value(self, depth: int = 2) -> Any:
        kind = self.random.choice(["int", "float", "text", "null"] + ["list", "document"] * (depth > 0))
        if kind in ("list", "document"):
            inner = [self.value(depth - 1) for _ in range(self.random.randrange(3))]
            return inner if kind == "list" else dict(zip("ab", inner, strict=False))
        return {"int": self.random.randrange(9), "float": 1.5, "text": 'é "0"', "null": None}[kind]

    def document(self) -> dict[str, Any]:
        whole = {
            "n": self.random.randrange(9),
            "doc": {"a": self.value(), "b": self.value()},
            "tags": [self.value() for _ in range(3)],
        }
        return {name: value for name, value in whole.items() if self.random.random() < 0.8}

    def step(self, key: str) -> None:
        document = self.documents.get(key)
        if document is None:
            self.put(key, "insert", self.document())
            return
        op = self.random.choice(["parts"] * 8 + ["columns", "replace", "delete"])
        if op == "delete":
            self.add(key, "delete")
            del self.documents[key]
        elif op == "replace":
            self.put(key, "replace", self.document())
        elif op == "columns":
            columns = {name: self.document().get(name) for name in self.random.sample(COLUMNS, 2)}
            self.add(key, "update", columns)
            for name, value in columns.items():
                document.pop(name, None)
                if value is not None:
                    document[name] = copy.deepcopy(value)
        else:
            column, path = self.random.choice([("doc", ["doc"]), ("tags", ["tags"])])
            at = document.get(column, {})
            while True:
                name = (
                    self.random.choice("abc")
                    if isinstance(at, dict)
                    else str(self.random.randrange(len(at) + 2))
                )
                path = [*path, name]
                at = child(at, name)
                if not isinstance(at, (dict, list)) or self.random.random() < 0.5:
                    break
            operator, value = self.random.choice(
                [("set", self.value()), ("set", self.value()), ("unset", None)]
            )
            columns = {"n": self.random.randrange(9)} if self.random.random() < 0.3 else {}
            if operator == "unset" and at is None:
                operator, value = "set", 7
            self.add(key, "update", columns, [(operator, path, value)])
            document |= columns
            assert apply(document, operator, path, value)

    def put(self, key: str, op: str, document: dict[str, Any]) -> None:
        self.add(key, op, document)
        self.documents[key] = copy.deepcopy(document)

    def add(self, key: str, op: str, *said: Any) -> None:
        self.changes.append(Change(key, len(self.changes) + 1, op, *copy.deepcopy(said)))


def child(at: Any, name: str) -> Any:
    if isinstance(at, list):
        return at[int(name)] if int(name) < len(at) else None
    return at.get(name)


def apply(row: dict[str, Any], operator: str, path: list[str], value: Any) -> bool:
    """Change a part of the row in place; false where it has no such part."""
    at: Any = row
    for n, name in enumerate(path):
        if (isinstance(at, list) and not name.isdigit()) or not isinstance(at, (dict, list)):
            return False
        is_there = name in at if isinstance(at, dict) else int(name) < len(at)
        if operator == "unset" and not is_there:
            return True
        if n == len(path) - 1 or not is_there:
            new = {} if n < len(path) - 1 else copy.deepcopy(value)
            if isinstance(at, dict):
                at[name] = new
                if operator == "unset":
                    del at[name]
            else:
                at += [None] * (int(name) + 1 - len(at))
                at[int(name)] = new
        at = at[name if isinstance(at, dict) else int(name)] if n < len(path) - 1 else None
    return True


def fold(changes: Iterable[Change]) -> list[dict[str, Any] | None]:
    """The row after each change of one key; a column that is not known is UNKNOWN, one that is not there missing."""
    states: list[dict[str, Any] | None] = []
    row: dict[str, Any] | None = None
    for change in changes:
        if change.op == "delete":
            row = None
        elif change.op in ("insert", "replace"):
            row = copy.deepcopy(change.columns)
        else:
            row = dict.fromkeys(COLUMNS, UNKNOWN) if row is None else copy.deepcopy(row)
            for name, value in change.columns.items():
                row.pop(name, None)
                if value is not None:
                    row[name] = copy.deepcopy(value)
            for operator, path, value in change.parts:
                if row.get(path[0]) is UNKNOWN or not apply(row, operator, path, value):
                    row[path[0]] = UNKNOWN
        states.append(row)
    return states


def shown(row: dict[str, Any] | None) -> tuple[Any, ...]:
    """A row as the tables are read below."""
    if row is None:
        return (True, None, None, None, None)
    absent = sorted(name for name in COLUMNS if row.get(name) is UNKNOWN)
    known = {name: value for name, value in row.items() if value is not UNKNOWN}
    doc = known.get("doc")
    text = None if doc is None else json.dumps(doc, ensure_ascii=False, separators=(",", ":"))
    return (False, known.get("n"), text, known.get("tags"), absent or None)


def expected(changes: Iterable[Change]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of the current and the history table."""
    of_key: dict[str, list[Change]] = {}
    for change in sorted(changes, key=lambda change: change.sequence):
        of_key.setdefault(change.key, []).append(change)
    current, history = {}, {}
    for key, made in of_key.items():
        states = [shown(state) for state in fold(made)]
        current[key] = states[-1]
        versions: list[tuple[datetime, tuple[Any, ...]]] = []
        for change, state in zip(made, states, strict=True):
            if versions and versions[-1][1][:-1] == state[:-1]:
                versions[-1] = (versions[-1][0], state)
            else:
                versions.append((change.at, state))
        ends = [at for at, _ in versions[1:]] + [None]
        history[key] = [(at, end, *state) for (at, state), end in zip(versions, ends, strict=True)]
    return current, history


def drs(change: Change) -> Message:
    """Write the change as Huawei DRS does, operators and paths in MongoDB's own words."""
    document: dict[str, Any] = {"_id": change.key, **change.columns}
    if change.op == "update":
        set_ = {name: value for name, value in change.columns.items() if value is not None}
        set_ |= {".".join(path): value for operator, path, value in change.parts if operator == "set"}
        unset = [name for name, value in change.columns.items() if value is None]
        unset += [".".join(path) for operator, path, _ in change.parts if operator == "unset"]
        document = {"$set": set_, "$unset": dict.fromkeys(unset, True)}
    op, kind = {
        "insert": ("INSERT", "insert"), "replace": ("UPDATE", "replace"),
        "update": ("UPDATE", "update"), "delete": ("DELETE", "doc"),
    }[change.op]  # fmt: skip
    value = {
        "id": 7, "op": op, "dbType": "MongoDB", "db": "shop", "coll": "things", "value": json.dumps(document),
        "where": json.dumps({"_id": change.key}), "recordType": kind, "extra": kind,
        "es": round(change.at.timestamp() * 1000), "ts": 1, "clusterTime": f"1684344064:{change.sequence}",
    }  # fmt: skip
    return Message(json.dumps(value))


def debezium(change: Change) -> Message:
    """Write the change as Debezium does with `change_streams`: updates by their description."""
    whole = json.dumps({"_id": change.key, **change.columns}) if change.op in ("insert", "replace") else None
    described = None
    if change.op == "update":
        updated = {name: value for name, value in change.columns.items() if value is not None}
        updated |= {".".join(path): value for operator, path, value in change.parts if operator == "set"}
        removed = [name for name, value in change.columns.items() if value is None]
        removed += [".".join(path) for operator, path, _ in change.parts if operator == "unset"]
        described = {"updatedFields": json.dumps(updated), "removedFields": removed, "truncatedArrays": []}
    at = round(change.at.timestamp())
    source = {
        "version": "3.5.0.Final", "connector": "mongodb", "name": "s", "ts_ms": at * 1000, "snapshot": "false",
        "db": "shop", "collection": "things", "ord": change.sequence,
    }  # fmt: skip
    value = {
        "before": None, "after": whole, "updateDescription": described, "source": source,
        "op": {"insert": "c", "replace": "u", "update": "u", "delete": "d"}[change.op], "ts_ms": at * 1000,
    }  # fmt: skip
    return Message(json.dumps(value), key=json.dumps({"id": json.dumps(change.key)}))


def tables(lake: Lake, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of the current and the history table, as `expected` has them."""

    def row(found: dict[str, Any]) -> tuple[Any, ...]:
        tags = None if found["tags"] is None else json.loads(found["tags"])
        absent = sorted(found["_cdc_missing_columns"]) if found["_cdc_missing_columns"] else None
        return (found["_cdc_is_deleted"], found["n"], found["doc"], tags, absent)

    columns = "_id, n, doc, to_json(tags) as tags, _cdc_missing_columns, _cdc_is_deleted"
    current = {
        found["_id"]: row(found)
        for found in lake.rows(f"select {columns} from {SCHEMA}.{name}_current order by _id")
    }
    history: dict[str, Any] = {}
    query = (
        f"select {columns}, unix_seconds(valid_from) as valid_from, unix_seconds(valid_to) as valid_to "
        f"from {SCHEMA}.{name}_history order by _cdc_sequence"
    )
    for found in lake.rows(query):
        times = [
            None if found[end] is None else datetime.fromtimestamp(found[end], timezone.utc)
            for end in ("valid_from", "valid_to")
        ]
        history.setdefault(found["_id"], []).append((*times, *row(found)))
    return current, history


@pytest.fixture(scope="module")
def log() -> list[Change]:
    """Many short logs, and one of a key with hundreds of patches."""
    random = Random(SEED)
    source = Source(random)
    for _ in range(KEYS * 8):
        source.step(str(random.randrange(KEYS)))
    source.put("hot", "insert", {"n": 0, "doc": {"visits": 0}, "tags": []})
    for number in range(230):
        source.add("hot", "update", {}, [
            ("set", ["doc", "visits"], number), ("set", ["tags", str(number % 40)], number),
        ])  # fmt: skip
    return source.changes


@pytest.fixture(scope="module")
def after_each_run(
    log: list[Change], lake: Lake, new_project: Callable[..., Project]
) -> list[tuple[Any, Any]]:
    """What was to be expected and was found: after each of three runs, of Debezium in one, after `restate`."""
    random = Random(SEED)
    project = new_project(SCHEMA, files())
    lake.create_raw("drs_mongodb", "debezium_mongodb", schema="raw_patches")
    come = {change.sequence: random.choice([0, 0, 1, 1, 1, 2, 2, 2]) for change in log}
    # The long run is patched in the first run, from its own beginning, and again in the second.
    come |= {change.sequence: int(n >= 215) for n, change in enumerate(c for c in log if c.key == "hot")}
    found = []
    for run in range(RUNS):
        landed = [change for change in log if come[change.sequence] == run]
        random.shuffle(landed)
        lake.land("drs_mongodb", [drs(change) for change in landed], schema="raw_patches")
        if run == RUNS - 1:
            lake.land("debezium_mongodb", [debezium(change) for change in log], schema="raw_patches")
        project.run(*([] if run == RUNS - 1 else ["--select", "drs_mongodb_changes+"]))
        so_far = [change for change in log if come[change.sequence] <= run]
        found.append((expected(so_far), tables(lake, "drs_mongodb")))
    found.append((expected(log), tables(lake, "debezium_mongodb")))
    # By hand, as nobody should.
    lake.spark.sql(
        f"update {SCHEMA}.drs_mongodb_history set doc = 'edited', n = 99 where _id in ('hot', '1', '2')"
    )
    restated = "{model: drs_mongodb_history, keys: [hot, '1', '2']}"
    assert project.dbt("run-operation", "spark_cdc.restate", "--args", restated).result.success
    found.append((expected(log), tables(lake, "drs_mongodb")))
    return found


@pytest.mark.parametrize("number", range(RUNS + 2), ids=[*map(str, range(RUNS)), "in_one_run", "restated"])
def test_patched_values_are_those_of_the_source(after_each_run: list[Any], number: int) -> None:
    (current, history), (found_current, found_history) = after_each_run[number]
    assert (found_current.keys(), found_history.keys()) == (current.keys(), history.keys())
    assert [(key, row, current[key]) for key, row in found_current.items() if row != current[key]] == []
    assert [(key, rows, history[key]) for key, rows in found_history.items() if rows != history[key]] == []


def test_all_is_known_once_all_has_come(after_each_run: list[Any], log: list[Change], lake: Lake) -> None:
    """And it was not, before: the log tries what the fold says of it."""
    unknown = [sum(row[-1] is not None for row in current.values()) for (current, _), _ in after_each_run]
    assert unknown[0] > 3 and unknown[-2:] == [0, 0]
    assert sum(bool(change.parts) for change in log) > 300
    assert (
        lake.rows(f"select _cdc_error from {SCHEMA}.drs_mongodb_changes where _cdc_error is not null") == []
    )
