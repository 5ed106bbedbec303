"""Golden cases: messages as the vendors' pages describe them, with the meaning that each page gives them.

A case is a folder tests/golden/<format>/<case>/:

messages.jsonl  one message a line, as `spark-cdc decode` reads them: the value itself, or an object with
                offset, key, value and headers
expected.jsonl  one result row a line, in the order of offset and position
case.yml        `proves` and `source` for people; the macro to `read` with (decoded, changes or messages), its
                arguments, and the `vars` of the project that reads

Cases with equal arguments share a query, each with its own topic. DataWorks pairs update parts by table and
sequenceId alone, so cases of one table use sequenceIds of their own.

The expectations were written from the pages by hand. To change one, name in `source` the page that says so.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.inputs import Message, read_messages
from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "golden"
RAW_SCHEMA = (
    "topic string, partition int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary, "
    "headers array<struct<`key`: string, `value`: binary>>"
)
RAW_COLUMNS = {"headers": "headers"}
ARGUMENTS = {"dialect", "table", "database", "schema", "key", "columns", "time_zone"}
# What a project sets; of such a case the macros are rendered with it.
VARS = "vars"
# Compared in every row: a field that the expectation leaves out must be null.
ALWAYS = {
    "decoded": (
        "offsets",
        "kind",
        "op",
        "database",
        "schema",
        "table",
        "before",
        "after",
        "update_part",
        "error",
    ),
    "changes": ("offset", "op", "columns", "before", "absent", "patches", "error"),
    "messages": ("offset", "kind", "op", "database", "schema", "table", "ddl", "transaction", "error"),
}
# Compared where the expectation names them: the same in most cases, and proven by the cases that name them.
WHERE_NAMED = ("detail", "sequence", "committed_at", "key_columns", "column_types")


@dataclass(frozen=True)
class Case:
    """One folder, read."""

    format: str
    name: str
    read: str
    arguments: dict[str, Any]
    variables: dict[str, Any]
    messages: list[Message]
    expected: list[dict[str, Any]]

    @property
    def group(self) -> str:
        """Cases of one group share a query."""
        return json.dumps([self.format, self.read, self.arguments, self.variables])

    @property
    def way(self) -> str:
        """The way of writing: its messages are read by one query."""
        return json.dumps([self.format, self.arguments.get("dialect"), self.variables])


def _case(folder: Path) -> Case:
    declared = yaml.safe_load((folder / "case.yml").read_text(encoding="utf-8"))
    assert declared.keys() - ARGUMENTS - {VARS} == {"proves", "source", "read"}, folder
    expected = (folder / "expected.jsonl").read_text(encoding="utf-8").split("\n")
    return Case(
        format=folder.parent.name,
        name=folder.name,
        read=declared["read"],
        arguments={name: value for name, value in declared.items() if name in ARGUMENTS},
        variables=declared.get(VARS, {}),
        messages=read_messages(folder.name, (folder / "messages.jsonl").read_bytes()),
        expected=[json.loads(line) for line in expected if line],
    )


CASES = [_case(file.parent) for file in sorted(GOLDEN.glob("*/*/case.yml"))]
FORMATS = sorted({case.format for case in CASES})


Row = dict[str, Any]


@pytest.fixture(scope="module")
def results(
    session: SparkSession, library: MacroLibrary, tmp_path_factory: pytest.TempPathFactory
) -> Results:
    """What the macros say of a case."""
    return Results(session, library, tmp_path_factory.mktemp("messages"))


@pytest.fixture(scope="module")
def ansi_results(
    ansi_session: SparkSession, library: MacroLibrary, tmp_path_factory: pytest.TempPathFactory
) -> Results:
    """What they say where Spark raises an error of what it else makes null."""
    return Results(ansi_session, library, tmp_path_factory.mktemp("messages_with_ansi"))


class Results:
    """Reads the cases as a project does: messages once for each way of writing, changes from what that stored.

    The first case of a group runs the group's query.
    """

    def __init__(self, session: SparkSession, library: MacroLibrary, folder: Path) -> None:
        self._session = session
        self._library = library
        self._folder = folder
        self._stored: dict[str, str] = {}
        self._found: dict[str, dict[str, list[Row]]] = {}

    def of(self, case: Case) -> list[Row]:
        """Rows in the order of offset and position."""
        if case.group not in self._found:
            self._found[case.group] = by_topic = defaultdict(list)
            for topic, row in self._read(case, [member for member in CASES if member.group == case.group]):
                by_topic[topic].append(row)
        return self._found[case.group][case.name]

    def _read(self, case: Case, group: list[Case]) -> list[tuple[str, Row]]:
        macros = self.macros_of(case)
        if case.read == "decoded":
            messages = [message for member in group for message in member.messages]
            return list(read(self._session, macros, case.format, "decoded", case.arguments, messages))
        topics = ", ".join(f"'{member.name}'" for member in group)
        messages = self._session.sql(f"select * from {self.stored(case)} where topic in ({topics})")
        messages.createOrReplaceTempView("messages_of_group")
        rows = messages.toArrow().to_pylist()
        if case.read == "messages":
            found = [_message(row) for row in rows]
        else:
            frame = self._session.sql(self.changes_sql(case, messages="messages_of_group"))
            must_have_declared_types(frame, macros, case.arguments["columns"])
            found = [_changes(row) for row in frame.toArrow().to_pylist()]
            found += [_unreadable(row) for row in rows if row["error"]]
        # An unreadable message has no sequence: its offset tells its place.
        return sorted(found, key=lambda row: (row[0], row[1]["place"], row[1].get("sequence") or []))

    def stored(self, case: Case) -> str:
        """The view of all messages of a way of writing, as a messages model stores them."""
        if case.way not in self._stored:
            land(
                self._session,
                [message for member in CASES if member.way == case.way for message in member.messages],
            )
            macros = self.macros_of(case)
            sql = macros.call("messages", "raw", case.format, case.arguments.get("dialect"), RAW_COLUMNS)
            folder = self._folder / str(len(self._stored))
            self._session.sql(sql).write.parquet(str(folder))
            view = f"stored_{case.format}_{len(self._stored)}"
            self._session.read.parquet(str(folder)).createOrReplaceTempView(view)
            self._stored[case.way] = view
        return self._stored[case.way]

    def macros_of(self, case: Case) -> MacroLibrary:
        """The macros as the case's project has them."""
        return MacroLibrary(REPOSITORY, case.variables) if case.variables else self._library

    def changes_sql(self, case: Case, relation: str | None = None, messages: str | None = None) -> str:
        """The query of the case's changes, over raw or over messages."""
        raw_columns = {"raw_columns": RAW_COLUMNS} if relation else {}
        return self.macros_of(case).call(
            "changes", relation, messages=messages, format=case.format, **raw_columns, **case.arguments
        )


def land(session: SparkSession, messages: list[Message]) -> None:
    """Put messages into the view `raw`."""
    raw_rows = [
        (
            m.topic,
            m.partition,
            m.offset,
            m.timestamp and datetime.fromtimestamp(m.timestamp / 1000, timezone.utc),
            m.key,
            m.value,
            [(h["key"], h["value"]) for h in m.headers or []],
        )
        for m in messages
    ]
    # One task, because each reads the whole plan again.
    session.createDataFrame(raw_rows, RAW_SCHEMA).coalesce(1).createOrReplaceTempView("raw")


def read(
    session: SparkSession,
    library: MacroLibrary,
    format_name: str,
    macro: str,
    arguments: dict[str, Any],
    messages: list[Message],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run one of the three macros; gives (topic, row) in the order of offset and position."""
    land(session, messages)
    if macro == "changes":
        sql = library.call(macro, "raw", format=format_name, raw_columns=RAW_COLUMNS, **arguments)
        frame = session.sql(sql)
        must_have_declared_types(frame, library, arguments["columns"])
    else:
        frame = session.sql(library.call(macro, "raw", format_name, arguments.get("dialect"), RAW_COLUMNS))
    as_row = {"decoded": _decoded, "changes": _changes, "messages": _message}[macro]
    found = [as_row(row) for row in frame.toArrow().to_pylist()]
    # An unreadable message has no sequence: its offset tells its place.
    yield from sorted(found, key=lambda row: (row[0], row[1]["place"], row[1].get("sequence") or []))


def must_have_declared_types(changes: DataFrame, library: MacroLibrary, columns: dict[str, str]) -> None:
    types = dict(changes.dtypes)
    for column in library.call("_columns", columns, "changes"):
        assert types[column["name"]] == column["type"], f"the column {column['name']} has its declared type"


def _decoded(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row["topic"], {
        "place": row["offsets"][-1]["offset"],
        "offsets": [message["offset"] for message in row["offsets"]],
        "kind": row["kind"],
        "op": row["op"],
        "update_part": row["update_part"],
        "before": _image(row["before"]),
        "after": _image(row["after"]),
        "error": (row["error"] or {}).get("code"),
        "detail": (row["error"] or {}).get("detail"),
        **_common(row),
    }


def _changes(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    error = row["_cdc_error"] or {}
    return row["_cdc_topic"], {
        "place": row["_cdc_offset"],
        "offset": row["_cdc_offset"],
        "op": row["_cdc_op"],
        "columns": {name: text(value) for name, value in row.items() if not name.startswith("_cdc_")},
        "before": row["_cdc_before"] and {name: text(value) for name, value in row["_cdc_before"].items()},
        "absent": row["_cdc_missing_columns"],
        "patches": _patches(row.get("_cdc_patches")),
        "error": error.get("code"),
        "detail": error.get("detail"),
        "sequence": row["_cdc_sequence"] and [int(part) for part in row["_cdc_sequence"]],
        "committed_at": text(row["_cdc_committed_at"]),
        "transaction": row["_cdc_transaction_id"],
    }


def _unreadable(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A message that has no row change, because it could not be read, in the place of one."""
    return row["topic"], {
        **dict.fromkeys(ALWAYS["changes"]),
        "place": row["offset"],
        "offset": row["offset"],
        "error": row["error"]["code"],
        "detail": row["error"]["detail"],
    }


def _message(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row["topic"], {
        "place": row["offset"],
        "offset": row["offset"],
        "kind": row["kind"],
        "op": row["op"],
        "ddl": row["ddl"],
        "transaction": row["transaction_id"],
        "error": (row["error"] or {}).get("code"),
        "detail": (row["error"] or {}).get("detail"),
        "column_types": _image(row["column_types"]),
        **_common(row),
    }


def _common(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "database": row["database_name"],
        "schema": row["schema_name"],
        "table": row["table_name"],
        "sequence": row["sequence"] and [int(part) for part in row["sequence"]],
        "committed_at": text(row["committed_at"]),
        "key_columns": row["key_columns"],
    }


def _image(pairs: list[tuple[str, str | None]] | None) -> dict[str, str | None] | None:
    return None if pairs is None else dict(pairs)


def _patches(pairs: list[tuple[str, str]] | None) -> dict[str, Any] | None:
    """What is done to parts of each column: of an operation its name, its path and its value."""
    return pairs and {
        column: [list(operation.values()) for operation in json.loads(patch)] for column, patch in pairs
    }


def text(value: Any) -> str | None:
    """Show a value exactly: instants in UTC with a Z, binaries in hexadecimal, decimals with all digits."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value.astimezone(timezone.utc).replace(tzinfo=None)}Z"
    return str(value)


def shown(case: Case, row: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result that its expectation speaks of."""
    fields = [*ALWAYS[case.read], *(name for name in WHERE_NAMED if name in expected)]
    if expected.get("error") and case.read == "changes":
        # such a row is not applied: what its columns hold is no promise
        fields = ["offset", "error", *(["detail"] if "detail" in expected else [])]
    return {name: row[name] for name in fields if row[name] is not None}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.format}-{case.name}")
def test_golden(case: Case, results: Results) -> None:
    must_be_as_expected(case, results.of(case))


FIRST_WAYS = {case.way for case in {case.format: case for case in reversed(CASES)}.values()}
OF_FIRST_WAYS = [case for case in CASES if case.way in FIRST_WAYS]


@pytest.mark.parametrize("case", OF_FIRST_WAYS, ids=lambda case: f"{case.format}-{case.name}")
def test_golden_with_ansi(case: Case, ansi_results: Results) -> None:
    """One way of writing of each format; `make ansi` has all."""
    must_be_as_expected(case, ansi_results.of(case))


ONE_GROUP_OF_EACH_WAY = list({case.way: case for case in CASES if case.read == "changes"}.values())


@pytest.mark.parametrize("case", ONE_GROUP_OF_EACH_WAY, ids=lambda case: f"{case.format}-{case.name}")
def test_changes_over_raw_are_those_over_messages(
    case: Case, results: Results, session: SparkSession
) -> None:
    group = [member for member in CASES if member.group == case.group]
    expected = {member.name: results.of(member) for member in group}
    land(session, [message for member in group for message in member.messages])
    found: dict[str, list[Row]] = defaultdict(list)
    for row in session.sql(results.changes_sql(case, relation="raw")).toArrow().to_pylist():
        topic, change = _changes(row)
        found[topic].append(change)
    for member in group:
        rows = sorted(found[member.name], key=lambda row: (row["place"], row["sequence"] or []))
        told = [row if row["op"] else _without_place_in_order(row) for row in rows]
        assert told == [row if row["op"] else _without_place_in_order(row) for row in expected[member.name]]


def _without_place_in_order(row: Row) -> Row:
    """What is known of a message that could not be read."""
    return {name: row[name] for name in ("offset", "error", "detail")}


def must_be_as_expected(case: Case, found: list[Row]) -> None:
    """Row for row, each field that its expectation speaks of."""
    expected = [{name: value for name, value in row.items() if value is not None} for row in case.expected]
    padded = expected + [{}] * (len(found) - len(expected))
    assert [shown(case, row, want) for row, want in zip(found, padded, strict=False)] == expected
    assert [row["place"] for row in found if row["error"] and not row["detail"]] == []


@pytest.mark.parametrize("ansi", [False, True])
def test_a_position_that_is_no_number_stops_no_batch(
    ansi: bool, session: SparkSession, ansi_session: SparkSession, library: MacroLibrary
) -> None:
    of_mode = ansi_session if ansi else session
    of_mode.sql(
        """
        select 't' as topic, partition, offset, timestamp'2026-01-01' as timestamp, cast(null as binary) as key, '{}' as value
        from values ('0', '7'), ('first', '8'), ('0', 'last') as positions(partition, offset)
        """
    ).createOrReplaceTempView("raw_of_texts")
    rows = of_mode.sql(library.call("messages", "raw_of_texts", "canal")).collect()
    assert {(row["partition"], row["offset"]) for row in rows} == {(0, 7), (None, 8), (0, None)}


# -- the encoder of DataWorks: what it is given comes back


def test_dataworks_encoder(
    session: SparkSession, library: MacroLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "tests")
    from encoders.dataworks import ROW_ID, Change, Options, Table, encode

    columns = {
        "id": "LONG",
        "flag": "BOOLEAN",
        "num": "DOUBLE",
        "at": "DATE",
        "bin": "BYTES",
        "txt": "STRING",
    }
    old = {
        "id": 1,
        "flag": True,
        "num": 1.5,
        "at": datetime(2020, 5, 24, tzinfo=timezone.utc),
        "bin": b"\x00\xff",
        "txt": "a",
    }
    new = {**old, "id": 2, "flag": None, "txt": '"汉字"\n'}
    changes = [
        Change("begin", 1),
        Change("insert", 2, after=old),
        Change("update", 3, old, new),
        Change("delete", 4, new),
        Change("snapshot", after=old),
        Change("ddl", 5, ddl="ADD COLUMN n", ddl_op="ALTER"),
        Change("truncate", 6),
        Change("commit", 7),
        Change("heartbeat"),
    ]
    variants = {
        "page": (Options(), {}),
        "one_message": (Options(update_in_one_message=True), {}),
        "other_spelling": (Options(before_op="UPDATE_BEFORE"), {}),
        "double_as_text": (Options(double_as_text=True), {}),
        "ddl_at_root": (Options(ddl_at_root=True), {}),
        "oracle": (Options(), {"db_type": "Oracle", "schema": "APP"}),
        "no_key": (Options(), {"key": None, "columns": {**columns, ROW_ID: "LONG"}}),
    }
    messages = []
    for name, (options, table) in variants.items():
        texts = encode(changes, Table(name, **{"columns": columns, **table}), options)
        messages += [
            Message(n, name, 0, n, None, None, value.encode(), None) for n, value in enumerate(texts)
        ]
    found = defaultdict(list)
    for topic, row in read(session, library, "dataworks", "decoded", {}, messages):
        found[topic].append(row)
    for name, (options, table) in variants.items():
        number = "1.500000" if options.double_as_text else "1.5"
        before = {"id": "1", "flag": "true", "num": number, "at": "1590278400000", "bin": "AP8=", "txt": "a"}
        after = {**before, "id": "2", "flag": None, "txt": '"汉字"\n'}
        rows = [row for row in found[name] if row["kind"] == "rows"]
        assert [
            (row["op"], row["before"], row["after"], row["update_part"], row["error"]) for row in rows
        ] == [
            ("insert", None, before, None, None),
            ("update", before, after, None, None),
            ("delete", after, None, None, None),
            ("snapshot", None, before, None, None),
        ]
        assert len(rows[1]["offsets"]) == (1 if options.update_in_one_message else 2)
        kinds = [row["kind"] for row in found[name] if row["kind"] != "rows"]
        assert kinds == ["begin", "ddl", "truncate", "commit", "heartbeat"]
        of_table = [row for row in found[name] if row["kind"] != "heartbeat"]
        assert {(row["table"], row["schema"]) for row in of_table} == {(name, table.get("schema"))}


# -- the pages


def given_codes() -> set[str]:
    """Every reason code that the macros can give, from the SQL that they write."""
    library, made, codes = MacroLibrary(REPOSITORY), set(), set()

    def recording(make: Callable[..., str]) -> Callable[..., str]:
        def record(code: str, detail: str | None = None) -> str:
            made.add(code)
            return make(code, detail)

        return record

    for name in ("_error", "_error_of"):
        setattr(library, name, recording(library[name]))
    for format_name, dialects in library.formats().items():
        for dialect in dialects:
            sql = library.call(
                "changes",
                "raw",
                format=format_name,
                dialect=dialect,
                table="*",
                key=["id"],
                columns={"id": "int"},
            )
            sql += library.call("decoded", "raw", format_name, dialect)
            codes.update(code for code in made if re.search(rf"'{code}[:']", sql))
    return codes


def test_every_code_is_explained_and_every_explained_code_exists() -> None:
    page = (REPOSITORY / "docs" / "reference" / "error-codes.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z0-9_]+)` \|", page, re.MULTILINE)
    assert len(explained) == len(set(explained))
    assert set(explained) == given_codes()


def test_every_code_has_a_case_or_a_bad_message() -> None:
    """A code that no test has seen may be one that cannot come."""
    page = (REPOSITORY / "docs" / "reference" / "error-codes.md").read_text(encoding="utf-8")
    seen = {row["error"] for case in CASES for row in case.expected if row.get("error")}
    bad_input = (REPOSITORY / "tests" / "python" / "test_bad_input.py").read_text(encoding="utf-8")
    seen.update(re.findall(r'"([a-z0-9_]+)"', bad_input))
    assert set(re.findall(r"^\| `([a-z0-9_]+)` \|", page, re.MULTILINE)) <= seen


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_example_of_a_format_page_runs(format_name: str, spark: SparkSession) -> None:
    page = (REPOSITORY / "docs" / "formats" / f"{format_name}.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```sh\nspark-cdc (.*)\n```", page)
    arguments = [
        str(REPOSITORY / word) if word.startswith("tests/") else word for word in shlex.split(example)
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    kinds = {json.loads(line)["kind"] for line in result.stdout.splitlines()}
    assert "row" in kinds and "error" not in kinds


KINDS = {
    *("insert", "update", "delete", "key_change", "null_and_absent", "types|six_types|typed_values"),
    *("ddl", "truncate", "heartbeat", "transaction_marks", "snapshot", "unknown_op", "damaged"),
}
# Messages that a format does not have, as its page says.
NOT_WRITTEN = {
    "cloudcanal": {"heartbeat", "snapshot"},
    # The _id of a document cannot change; a collection is dropped and not truncated.
    "debezium_mongodb": {"key_change", "truncate", "ddl"},
    "drs_mongodb": {"key_change", "truncate", "heartbeat", "transaction_marks", "snapshot"},
    "dms": {"truncate", "heartbeat", "transaction_marks"},
    "drs": {"heartbeat", "transaction_marks"},
    "goldengate": {"ddl", "heartbeat", "transaction_marks", "snapshot"},
    "kafka_river_canal": {"ddl", "truncate", "heartbeat", "transaction_marks", "snapshot"},
    "maxwell": {"truncate", "heartbeat"},
    "oms": {"transaction_marks"},
    "shareplex": {"heartbeat", "transaction_marks", "snapshot"},
}


@pytest.mark.parametrize("format_name", FORMATS)
def test_each_format_has_a_case_for_each_kind_of_change(format_name: str) -> None:
    names = " ".join(case.name for case in CASES if case.format == format_name)
    for kind in KINDS - NOT_WRITTEN.get(format_name, set()):
        assert re.search(kind, names), kind
    for kind in NOT_WRITTEN.get(format_name, set()):
        assert not re.search(kind, names), f"{format_name} has a case of {kind}"
