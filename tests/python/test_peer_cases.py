"""The results of `spark-cdc decode` for the messages of other projects' tests.

One call decodes all cases of a format; `--state` for all of them is one more call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from dbt_spark_cdc.decode import Decoder, Options, Source
from dbt_spark_cdc.local_spark import local_spark
from dbt_spark_cdc.macros import MacroLibrary
from shared_data import PEER_CASES

# The folder of the cases -> our name of the format.
FORMATS = {
    "canal": "canal",
    "debezium": "debezium",
    "dataworks": "dataworks",
    "cloudcanal": "cloudcanal",
    "maxwell": "maxwell",
    "ogg": "goldengate",
    "aws-dms": "dms",
    "debezium-mongodb": "debezium_mongodb",
}
CASES = [f"{name}/{case.name}" for name in FORMATS for case in sorted((PEER_CASES / name).glob("*"))]

pytestmark = pytest.mark.skipif(
    not CASES, reason=f"no peer cases under {PEER_CASES}; name its parent with SPARK_CDC_SHARED"
)

# Cases that are written in another dialect than the format's default.
DIALECTS = {
    "debezium/seatunnel_compatible_flattened": "flat",
    "canal/ticdc_commit_ts_out_of_order": "ticdc",
    "canal/ticdc_composite_key": "ticdc",
    "canal/flinkcdc_sink_20_changes": "flink",
    "canal/paimon_incomplete_json": "flink",
}

Answer = Callable[[Any], Any]


def upsert_is_update(wanted: list[tuple]) -> list[tuple]:
    return [(table, "update" if op == "upsert" else op, *images) for table, op, *images in wanted]


def with_each_image(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Answer:
    """The expected changes with their images changed."""

    def answer(wanted: list[tuple]) -> list[tuple]:
        return [(*entry[:2], *(image and change(image) for image in entry[2:])) for entry in wanted]

    return answer


def _dates(image: dict[str, Any]) -> dict[str, Any]:
    found = {"1739455297970": "2025-02-13T14:01:37.970Z", "1739455397970": "2025-02-13T14:03:17.970Z"}
    return {name: found.get(value, value) for name, value in image.items()}


def _document(image: dict[str, Any]) -> dict[str, Any]:
    return {"_id": image["_id"], **{n: v for n, v in json.loads(image["payload"]).items() if n != "_id"}}


DATES = "A Date of MongoDB is shown as an instant is written, so that a column of type timestamp reads it."
FIELDS = "The fields of the document are columns, not one column with the whole document."

# Where ours is the better answer, and why: (case, what) -> (reason, our answer made from the expected one).
DIFFERS: dict[tuple[str, str], tuple[str, Answer]] = {
    ("debezium/seatunnel_compatible_flattened", "changes"): (
        "A flattened row does not say if it was inserted; an update without a before image is an upsert.",
        upsert_is_update,
    ),
    ("canal/flink_canal_data_with_init", "state"): (
        "The last update of row 101 does not carry `other`: absent is not null, the stored value stays.",
        lambda wanted: {
            table: sorted(sorted([*row, ("other", "val1")]) if ("id", "101") in row else row for row in rows)
            for table, rows in wanted.items()
        },
    ),
    ("canal/paimon_case_insensitive", "state"): (
        "Names are compared as the messages write them: rows whose key column is `K1` have no `k1`; they are "
        "refused as key_missing and said so, not folded in silence.",
        lambda wanted: {table: [[("V1", "50"), ("k1", "5"), ("v0", "five")]] for table in wanted},
    ),
    ("debezium/risingwave_mysql_types", "state"): (
        "The messages stand in another order than their binlog positions (951, 789, 1643, 1168): in the "
        "source's own order the delete is last.",
        lambda wanted: {table: [] for table in wanted},
    ),
    ("debezium/flink_postgres_replica_identity", "changes"): (
        "A delete with neither a row before nor a key names no row: it is an error with this reason.",
        lambda wanted: [entry for entry in wanted if entry[1] != "delete" or entry[2] is not None],
    ),
    ("debezium/flink_postgres_replica_identity", "kinds"): (
        "The same delete.",
        lambda wanted: ["error" if n == 15 else kind for n, kind in enumerate(wanted)],
    ),
    ("debezium-mongodb/paimon_bson_delete", "changes"): (DATES, with_each_image(_dates)),
    ("debezium-mongodb/paimon_bson_insert", "changes"): (DATES, with_each_image(_dates)),
    ("debezium-mongodb/paimon_bson_update", "changes"): (DATES, with_each_image(_dates)),
    ("debezium-mongodb/paimon_bson_types", "kinds"): (
        "A document without an envelope is no message of Debezium.",
        lambda wanted: ["error"],
    ),
    ("debezium-mongodb/risingwave_debezium_mongo_json_customers", "changes"): (
        FIELDS,
        with_each_image(_document),
    ),
    ("debezium-mongodb/risingwave_debezium_mongo_json_customers_no_schema_field", "changes"): (
        FIELDS,
        with_each_image(_document),
    ),
}


def lines_of(file: Path) -> list[str]:
    return file.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def source(case: str, state: bool) -> Source:
    """A case as a file: with its Kafka keys, where it has some."""
    folder = PEER_CASES / case
    keyed = folder / "keyed.jsonl"
    if keyed.is_file():
        messages = [
            json.dumps({"topic": folder.name, "partition": 0, "offset": n, **json.loads(line)})
            for n, line in enumerate(lines_of(keyed))
        ]
        data = "\n".join([*messages, ""]).encode()
    else:
        data = (folder / "messages.jsonl").read_bytes()
    target = expected(case).get("current_state") or {}
    if state and "go to one target table" in target.get("note", ""):
        name = target["table"].split(".")[-1]
        data = re.sub(rb'"table": ?"[^"]*"', f'"table":"{name}"'.encode(), data)
    keys = {table: state["pk"] for table, state in states_of(expected(case)).items()}
    return Source(folder.name, data, keys)


def expected(case: str) -> dict[str, Any]:
    return json.loads((PEER_CASES / case / "expected.json").read_text(encoding="utf-8"))


def states_of(case: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
    states = dict(case.get("current_states") or {})
    if "current_state" in case:
        states[case["current_state"].get("table")] = case["current_state"]
    return states


def decoded(state: bool) -> dict[str, list[dict[str, Any]]]:
    library = MacroLibrary(Path(__file__).resolve().parents[2])
    results: dict[str, list[dict[str, Any]]] = {}
    with local_spark(0) as spark:
        for name in FORMATS:
            for dialect in {DIALECTS.get(case) for case in CASES if case.startswith(name + "/")}:
                cases = [c for c in CASES if c.startswith(name + "/") and DIALECTS.get(c) == dialect]
                decoder = Decoder(library, Options(FORMATS[name], dialect))
                files = decoder.files([source(case, state) for case in cases])
                read = decoder.states if state else decoder.changes
                results.update(zip(cases, read(spark, files), strict=True))
    return results


@pytest.fixture(scope="session")
def changes(spark: Any) -> dict[str, list[dict[str, Any]]]:
    return decoded(state=False)


@pytest.fixture(scope="session")
def states(spark: Any) -> dict[str, list[dict[str, Any]]]:
    return decoded(state=True)


def name_of(entry: dict[str, Any]) -> str | None:
    parts = [entry[part] for part in ("database", "schema", "table") if entry[part] is not None]
    return ".".join(parts) or None


def effects(entries: list[dict[str, Any]], keys: dict[str | None, list[str]]) -> list[tuple]:
    """The rules of compare.py: snapshot is insert, a key change delete and insert, a duplicate is dropped."""
    found: list[tuple] = []
    for entry in entries:
        table, before, after = entry["table"], entry["before"], entry["after"]
        key = keys.get(table) or (next(iter(keys.values())) if len(keys) == 1 else [])
        op = "insert" if entry["op"] == "snapshot" else entry["op"]
        moved = (
            op == "update"
            and before is not None
            and key
            and all(name in before for name in key)
            and [before[name] for name in key] != [after.get(name) for name in key]
        )
        parts = [("delete", before, None), ("insert", None, after)] if moved else [(op, before, after)]
        for part in parts:
            if (table, *part) not in found:
                found.append((table, *part))
    return found


def ours(result: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [{**entry, "table": name_of(entry)} for entry in result if entry["kind"] in kinds]


def plain(rows: list[dict[str, Any]]) -> list[list[tuple[str, str]]]:
    """Rows in any order; in a state a missing column is null, and numbers are compared as numbers."""
    return sorted(
        sorted((name, number(value)) for name, value in row.items() if value is not None) for row in rows
    )


def number(text: str) -> str:
    try:
        value = Decimal(text)
        return f"{value.normalize():f}" if value.is_finite() and len(text) < 60 else text
    except InvalidOperation:
        return text


def check(case: str, what: str, actual: Any, wanted: Any) -> None:
    if (case, what) in DIFFERS:
        reason, answer = DIFFERS[case, what]
        assert reason
        assert answer(wanted) != wanted, f"{case} no longer differs"
        assert actual == answer(wanted)
    else:
        assert actual == wanted


@pytest.mark.parametrize("case", CASES)
def test_changes(case: str, changes: dict[str, list[dict[str, Any]]]) -> None:
    case_of = expected(case)
    if case_of.get("changes") is None:
        pytest.skip("the case gives only a state")
    keys = {table: state["pk"] for table, state in states_of(case_of).items()}
    check(
        case,
        "changes",
        effects(ours(changes[case], "row", "truncate"), keys),
        effects(case_of["changes"], keys),
    )


@pytest.mark.parametrize("case", CASES)
def test_kinds(case: str, changes: dict[str, list[dict[str, Any]]]) -> None:
    kinds: dict[int, str] = {}
    for entry in changes[case]:
        for line in entry["lines"]:
            kinds.setdefault(line, entry["kind"])
    check(case, "kinds", [kinds[line] for line in sorted(kinds)], expected(case)["kinds"])


@pytest.mark.parametrize("case", CASES)
def test_pending(case: str, changes: dict[str, list[dict[str, Any]]]) -> None:
    wanted = [half["lines"] for half in expected(case).get("pending") or []]
    check(case, "pending", [half["lines"] for half in ours(changes[case], "pending")], wanted)


@pytest.mark.parametrize("case", CASES)
def test_state(case: str, states: dict[str, list[dict[str, Any]]]) -> None:
    wanted = states_of(expected(case))
    if not wanted:
        pytest.skip("the case gives no state")
    found = {name_of(table): table for table in states[case]}
    rows = {table: plain(found[table]["rows"]) if table in found else None for table in wanted}
    check(case, "state", rows, {table: plain(state["rows"]) for table, state in wanted.items()})
