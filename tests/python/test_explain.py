"""`spark-cdc explain`: what it finds in one message, and its words; tests/integration has what it says of a project."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner, Result
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.decode import Options, UsageError
from dbt_spark_cdc.decode.texts import RAW_COLUMNS, create_raw
from dbt_spark_cdc.explain import Explainer
from dbt_spark_cdc.explain.advice import advice_of
from dbt_spark_cdc.explain.graph import Graph, moved_place
from dbt_spark_cdc.explain.message import line_of
from dbt_spark_cdc.explain.places import Place, excerpt, place_of, place_of_column
from dbt_spark_cdc.explain.project import Destination, Read, effect_of, place_of_old_key
from dbt_spark_cdc.explain.show import _effect, _of_messages, console, shown, value
from dbt_spark_cdc.inputs import read_messages
from dbt_spark_cdc.local_spark import local_spark
from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "explain-a-message.md").read_text(encoding="utf-8")
ERROR_CODES = Path(__file__).resolve().parents[2] / "docs" / "reference" / "error-codes.md"

CANAL = {
    "database": "shop",
    "table": "orders",
    "type": "UPDATE",
    "isDdl": False,
    "es": 1767225602000,
    "gtid": "",
    "id": 1,
    "pkNames": ["id"],
    "mysqlType": {"id": "bigint", "amount": "decimal(20,4)", "note": "varchar(20)"},
    "sqlType": {"id": -5},
    "sql": "",
    "ts": 1767225602001,
}
DEBEZIUM = {
    "before": None,
    "after": {"id": 1},
    "source": {
        "version": "3.6.1.Final",
        "connector": "mysql",
        "name": "srv",
        "db": "shop",
        "table": "orders",
        "file": "mysql-bin.000009",
        "pos": 400,
    },
    "op": "c",
    "ts_ms": 1767225602000,
}


def canal(rows: list[dict[str, Any]] | None, old: list[dict[str, Any]] | None = None, **fields: Any) -> str:
    return json.dumps(CANAL | {"data": rows, "old": old} | fields, ensure_ascii=False)


def captured(value: str | None, **fields: Any) -> str:
    return json.dumps({"topic": "shop", "partition": 3, "offset": 7, **fields, "value": value})


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with local_spark(100) as session:
        yield session


@pytest.fixture(scope="module")
def explained(session: SparkSession, library: MacroLibrary) -> Callable[..., dict[str, Any]]:
    def explain(*lines: str | bytes, line: int = 0, **options: Any) -> dict[str, Any]:
        data = b"\n".join(text.encode() if isinstance(text, str) else text for text in lines)
        explainer = Explainer(library, Options(**options))
        return explainer.explain(session, read_messages("x", data), line, "x", "x.jsonl")

    return explain


# ---- places and advice: no Spark


@pytest.mark.parametrize(
    ("text", "detail", "expected"),
    [
        ('{"a": "x', "broken off at byte 8", Place(8, 9)),
        ("{} {}", "byte 3: another object follows the message", Place(3, 4)),
        ('{"source": {"pos": "é"}, "pos": 1}', "source.pos: missing or less than 0", Place(19, 23)),
        ('{"payload": {"source": {"pos": -1}}}', "source.pos: missing or less than 0", Place(31, 33)),
        # a column of the row, not the message's field
        ('{"data": {"table": "x"}}', "table: missing", None),
        ('{"columns": [{"n": "a"}, {"v" : [1, {}]}]}', "columns[].v: a value", Place(32, 39)),
        ('{"a\\u0062": true}', "ab: not a text", Place(12, 16)),
        # two fit, or none
        ('{"data": [{"id": 1}, {"id": 2}]}', "data[].id: missing", None),
        ('{"a": 1}', "b: missing", None),
        ('{"a": 1}', "the message has no text", None),
        ('{"a": 1}', None, None),
        ('{"a": "x', "a: int", None),
        ("{}", "byte 3: another object follows the message", None),
        ('{"a": ' * 990 + "1" + "}" * 990, "a: not a text", None),
    ],
)
def test_the_place_that_a_detail_names(text: str, detail: str | None, expected: Place | None) -> None:
    assert place_of(text.encode(), detail) == expected


@pytest.mark.parametrize(
    ("text", "name", "value", "expected"),
    [
        ('{"data": [{"amount": "1.5"}]}', "amount", "1.5", Place(21, 26)),
        ('{"after": {"a.b": 1.50}}', "a.b", "1.50", Place(18, 22)),
        ('{"after": {"a": null}}', "a", None, Place(16, 20)),
        ('{"before": {"a": 1}, "after": {"a": 2}}', "a", "2", None),
        # a field of the message that has the column's name
        ('{"db": "shop", "columns": [{"n": "db", "v": "x"}]}', "db", "x", None),
    ],
)
def test_the_place_of_a_column(text: str, name: str, value: str | None, expected: Place | None) -> None:
    assert place_of_column(text.encode(), name, value) == expected


def test_an_excerpt_is_whole_characters_in_one_line() -> None:
    value = f"{'汉' * 40}\n\x1b[31m{'é' * 40}".encode()
    before, found, after = excerpt(value, Place(120, 121))
    assert (before, found) == ("汉" * 16, r"\n")
    assert after.startswith(r"\x1b[31mé")
    assert all(text.isprintable() for text in (before, found, after))
    assert excerpt(b'{"a":"\xff"}', Place(6, 7)) == ('{"a":"', r"\xff", '"}')


def test_each_code_has_advice() -> None:
    codes = re.findall(r"^\| `(\w+)` \|", ERROR_CODES.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(codes) > 20
    for code in codes:
        advice = advice_of(code)
        assert advice is not None, code
        assert advice.text and "](" not in advice.text
    assert advice_of("no_such") is None
    assert advice_of("not_json").section == "docs/reference/error-codes.md#not_json-not_an_object"
    assert "\n- Debezium: a row of an incremental" in advice_of("missing_position").text


def test_texts_that_look_alike_are_told_apart() -> None:
    texts = [None, "NULL", "", " ", "(missing)", "a\nb", "null"]
    assert list(map(value, texts)) == ["NULL", '"NULL"', '""', '" "', '"(missing)"', r"a\nb", "null"]
    assert value("x" * 61) == f"{'x' * 60}... (61 characters)"
    assert line_of("it's\\", "int") == r"'it\'s\\': 'int',"


ROW = {
    "is_deleted": False,
    "sequence": [5, 7, 0],
    "values": {"id": "1", "amount": "2.50"},
    "topic": "t",
    "partition": 0,
    "offset": 7,
}


PLACE = {"topic": "t", "partition": 0, "offset": 7}
NO_TOPIC = {"topic": None, "partition": 0, "offset": 7}
NO_OFFSET = {"topic": None, "partition": None, "offset": None}


@pytest.mark.parametrize(
    ("sequence", "place", "expected"),
    [
        ([5, 8, 0], PLACE | {"offset": 8}, "newer"),
        ([5, 6, 9], PLACE | {"offset": 6}, "older"),
        ([4, 9, 0], PLACE | {"offset": 9}, "older"),
        ([None, 9, 0], PLACE | {"offset": 9}, "older"),
        # the last row of a message decides: the others were applied, too
        ([5, 7, 0], PLACE, "same"),
        ([5, 7, 9], PLACE, "same"),
        ([5, 7, 0, 0], PLACE, "same"),
        # an old key ends before the rows of its message, or before all messages of its position
        ([5, 7], PLACE, "same"),
        ([5], PLACE, "same"),
        ([5], PLACE | {"offset": 6}, "older"),
        # the source's position identifies a message; an offset does so within one partition of a topic
        ([5, 7, 0], NO_TOPIC, "same"),
        ([5, 7, 0], PLACE | {"partition": 1}, "other_place"),
        ([5, 7, 0], PLACE | {"topic": "u"}, "other_place"),
        # a line's number is no offset: the source's part alone is known
        ([6, 0, 0], NO_OFFSET, "newer"),
        ([4, 9, 0], NO_OFFSET, "older"),
        ([5, 9, 0], NO_OFFSET, "offset_not_known"),
    ],
)
def test_the_place_of_a_change_decides(
    sequence: list[int | None], place: dict[str, Any], expected: str
) -> None:
    change = {"model": "orders", "row": 0, "op": "update", "key": ("1",), "sequence": sequence}
    then = {"id": "1", "amount": "3.00"}
    found = effect_of({**change, "then": then}, ["id"], ROW, 1, place, Read())
    assert found["state"] == expected
    assert found["values"] == [{"name": "amount", "now": "2.50", "then": "3.00"}]
    deleted = effect_of({**change, "op": "delete", "then": None}, ["id"], ROW, 1, place, Read())
    assert (deleted["state"], deleted["is_delete"], deleted["values"]) == (expected, True, [])


@pytest.mark.parametrize(
    ("offset", "place", "expected"),
    [
        (9, NO_OFFSET, "offset_not_known"),
        (9, NO_TOPIC | {"offset": 9}, "newer"),
        (7, NO_TOPIC, "topic_not_known"),
        (7, PLACE, "same"),
        (7, PLACE | {"partition": 1}, "other_place"),
        (6, PLACE | {"offset": 6}, "older"),
    ],
)
def test_without_a_position_of_the_source_an_offset_is_needed(
    offset: int, place: dict[str, Any], expected: str
) -> None:
    change = {
        "model": "orders",
        "row": 0,
        "op": "delete",
        "key": ("1",),
        "sequence": [offset, 0],
        "then": None,
    }
    row = ROW | {"sequence": [7, 0]}
    assert effect_of(change, ["id"], row, 0, place, Read())["state"] == expected
    assert effect_of(change, ["id"], None, 0, place, Read())["state"] == "no_row"


def test_an_old_key_ends_before_the_rows_of_its_message() -> None:
    assert place_of_old_key([5, 7, 2], False) == [5, 7]
    # for a row that continues an earlier row of the message: after that one
    assert place_of_old_key([5, 7, 2, 0], False) == [5, 7, 2]
    # another message deletes the old key, and may be in another partition
    assert place_of_old_key([5, 7, -1], False) == [5]
    assert place_of_old_key([5, 7, -1], True) == [5, 7]
    assert place_of_old_key([7, -1], False) == [7]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (Read(), "the table's row has a later position\n"),
        (
            Read("2026-01-01 10:00:00"),
            "the table's row has a later position; the message was read at 2026-01-01 10:00:00\n",
        ),
        (
            Read(None, True),
            "the table's row has a later position; it is late-arriving: a history table gets a version, the row at most "
            "values that it lacks\n",
        ),
    ],
)
def test_a_message_is_late_only_if_no_run_has_read_it(read: Read, expected: str) -> None:
    assert effect_in_words([5, 6, 0], PLACE | {"offset": 6}, read) == f"row 0, update, id = 1: {expected}"


def test_what_was_applied_changes_nothing() -> None:
    said = effect_in_words([5, 7, 0], PLACE, Read("2026-01-01 10:00:00", False))
    assert said == "row 0, update, id = 1: the table's row is of this very message\n"
    said = effect_in_words([5, 7, 0], PLACE | {"partition": 1}, Read())
    assert "the same position, and is of another topic or partition" in said


def effect_in_words(sequence: list[int | None], place: dict[str, Any], read: Read) -> str:
    """Return the line of an effect, as a terminal shows it."""
    change = {"model": "orders", "row": 0, "op": "update", "key": ("1",), "sequence": sequence}
    effect = effect_of({**change, "then": {"id": "1", "amount": "3.00"}}, ["id"], ROW, 1, place, read)
    out = console()
    with out.capture() as captured:
        _effect(out, effect)
    return " ".join(captured.get().split()) + "\n"


MESSAGES = {"unique_id": "m", "name": "stg_shop__messages", "depends_on": {"nodes": []}}


@pytest.mark.parametrize(
    ("offset", "is_moved"),
    [
        (None, False),
        ("kafka_offset", False),
        ("`the offset`", False),
        ("kafka.offset", False),
        ("offset + case when topic = 'shop' then 1000000000 else 0 end", True),
        ("offset+1", True),
        ("1", True),
    ],
)
def test_an_offset_that_raw_columns_moves_does_not_compare(offset: str | None, is_moved: bool) -> None:
    raw_columns = {} if offset is None else {"offset": offset}
    meta = {"spark_cdc": "messages", "spark_cdc.raw_columns": raw_columns}
    node = {**MESSAGES, "resource_type": "model", "config": {"materialized": "cdc_append", "meta": meta}}
    changes = {
        **node,
        "unique_id": "c",
        "name": "c",
        "depends_on": {"nodes": ["m"]},
        "config": {"materialized": "view", "meta": {"spark_cdc": "changes", "spark_cdc.raw_columns": {}}},
    }
    destination = Destination.__new__(Destination)
    destination.graph = Graph({"nodes": {"m": node, "c": changes}})
    expected = f"raw_columns of stg_shop__messages has 'offset': {offset}, and the line has the place that Kafka gave"
    assert moved_place(node) == (expected if is_moved else None)
    assert moved_place(changes) is None
    if is_moved:
        (effect,) = destination._effects(None, {}, None, changes, [{"name": "orders"}], Read())
        assert effect == {"model": "orders", "state": "not_known", "note": expected}


class OfOneMessage:
    """A project whose messages model has the topic, and this message at offset 7."""

    def rows(self, sql: str) -> list[dict[str, Any]]:
        if "limit 1" in sql:
            return [{"one": 1}]
        return [{"kind": "rows", "code": None, "loaded_at": "x"}] if "offset = 7" in sql else []


@pytest.mark.parametrize(
    ("offset", "raw_columns", "read", "words"),
    [
        (7, {}, {"kind": "rows", "code": None, "loaded_at": "x"}, ": has read this message as rows, at x"),
        (8, {}, None, ": has not read it yet"),
        (None, {}, None, ": not known whether it has read this message: the line names no offset"),
        (7, {"offset": "offset + 1"}, None, ": not known whether it has read this message: raw_columns of"),
    ],
)
def test_a_message_is_looked_up_by_its_place(
    offset: int | None, raw_columns: dict[str, str], read: dict[str, Any] | None, words: str
) -> None:
    destination = Destination.__new__(Destination)
    destination.project = OfOneMessage()
    meta = {"spark_cdc": "messages", "spark_cdc.raw_columns": raw_columns}
    node = {
        **MESSAGES,
        "original_file_path": "",
        "relation_name": "m",
        "config": {"materialized": "view", "meta": meta},
    }
    found = destination._messages(node, {"topic": "t", "partition": 0, "offset": offset})
    assert found["read"] == read
    assert _of_messages(found).startswith(words)


@pytest.mark.parametrize(
    ("found", "offset", "expected"),
    [
        ({"has_topic": True, "read": {"loaded_at": "x"}, "note": None}, 7, Read("x", False)),
        ({"has_topic": True, "read": None, "note": None}, 7, Read(None, True)),
        ({"has_topic": True, "read": None, "note": None}, None, Read()),
        ({"has_topic": True, "read": None, "note": "it is not built yet"}, 7, Read()),
        ({"has_topic": None, "read": None, "note": None}, 7, Read()),
    ],
)
def test_a_message_that_was_not_read_is_one_that_the_model_lacks(
    found: dict[str, Any], offset: int | None, expected: Read
) -> None:
    meta = {"spark_cdc": "messages"}
    node = {**MESSAGES, "resource_type": "model", "config": {"materialized": "cdc_append", "meta": meta}}
    destination = Destination.__new__(Destination)
    destination.graph = Graph({"nodes": {"m": node}})
    for reads, read in ((["m"], expected), ([], Read())):
        changes = {"depends_on": {"nodes": reads}}
        assert destination._read_by(changes, [{"id": "m", **found}], {"offset": offset}) == read


# ---- the command: refusals, no Spark


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, arguments)], input=stdin)


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("", [], ["FILE", "empty"]),
        ("{}\n{}\n{}", [], ["--line", "from 0 to 2", "3 messages"]),
        ("{}\n{}", ["--line", "2"], ["--line", "from 0 to 1", "`2`"]),
        ("{}", ["--format", "cannal"], ["--format", "auto, canal", "`cannal`"]),
        ("{}", ["--target", "prod"], ["--project-dir", "--target"]),
    ],
)
def test_an_error_of_use_is_one_sentence(text: str, arguments: list[str], words: list[str]) -> None:
    result = run(*arguments, stdin=text)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    for word in words:
        assert word in result.stderr


# ---- messages


def test_a_row_change_has_its_columns_side_by_side(explained: Callable[..., dict[str, Any]]) -> None:
    message = canal(
        [{"id": "2", "amount": "2.50", "note": None, "more": "x"}], [{"id": "1", "amount": "1.50"}]
    )
    facts = explained(captured(message))
    assert {
        name: facts[name] for name in ("topic", "partition", "offset", "format", "dialect", "kind", "op")
    } == {
        "topic": "shop",
        "partition": 3,
        "offset": 7,
        "format": "canal",
        "dialect": "canal",
        "kind": "rows",
        "op": "UPDATE",
    }
    assert facts["position"] == [
        {"part": "offset of Kafka", "value": 7},
        {"part": "row in the message", "value": 0},
    ]
    assert facts["committed_at"] == "2026-01-01T00:00:02Z"
    assert facts["why"] == [
        "the message has the keys data, database, es, gtid, id, isDdl, mysqlType, old and 6 more; UPDATE in type"
    ]
    (row,) = facts["rows"]
    assert (row["op"], row["key"], row["old_key"]) == ("update", {"id": "2"}, {"id": "1"})
    columns = {column["name"]: column for column in row["columns"]}
    assert columns["amount"] == {
        "name": "amount",
        "before": "1.50",
        "after": "2.50",
        "changed": True,
        "vendor_type": "decimal(20,4)",
        "type": "decimal(20,4)",
        "line": "'amount': 'decimal(20,4)',",
    }
    assert (columns["note"]["after"], columns["note"]["changed"]) == (None, False)
    assert (columns["more"]["vendor_type"], columns["more"]["line"]) == (None, "'more': 'string',")
    said = shown("x.jsonl", facts)
    assert "Message      x.jsonl, line 0; topic shop; partition 3, offset 7\n" in said
    assert "Row 0: update of id = 2 (was id = 1)\n" in said
    assert re.search(r"^ \* +amount +1\.50 +2\.50 +decimal\(20,4\) +decimal\(20,4\)$", said, re.M)
    assert re.search(r"^ +note +NULL +NULL ", said, re.M)
    assert "\n    'amount': 'decimal(20,4)',\n" in said
    assert said.endswith("The message names no type for more: string keeps every text.\n")
    assert "\x1b" not in said


def test_columns_are_typed_as_declared(explained: Callable[..., dict[str, Any]]) -> None:
    message = canal([{"id": "1", "amount": "1.00001"}, {"id": "2", "amount": "7"}], type="INSERT")
    facts = explained(message, columns={"id": "bigint", "amount": "decimal(20,4)"}, keys={None: ["id"]})
    first, second = facts["rows"]
    assert (first["error"]["code"], first["error"]["detail"]) == ("invalid_value", "amount: decimal(20,4)")
    assert first["error"]["place"] is None, "both rows have the column"
    assert [column["after"] for column in second["columns"]] == ["2", "7.0000"]
    assert second["error"] is None
    assert (facts["topic"], facts["offset"]) == (None, None)
    said = shown("x.jsonl", facts)
    assert "offset of Kafka: not known, because the line does not say it" in said
    assert "Rejected     invalid_value: amount: decimal(20,4)" in said
    assert "See docs/reference/error-codes.md#invalid_value" in said


def test_the_parts_of_a_position_have_names(explained: Callable[..., dict[str, Any]]) -> None:
    facts = explained(json.dumps(DEBEZIUM))
    assert [(part["part"], part["value"]) for part in facts["position"]] == [
        ("source.file (its number)", 9),
        ("source.pos", 400),
        ("snapshot (0) or change (1)", 1),
        ("offset of Kafka", None),
        ("row in the message", 0),
    ]
    assert facts["why"][0].endswith("c in op; mysql in source.connector")


def test_a_rejected_message_shows_the_rule_and_the_bytes(explained: Callable[..., dict[str, Any]]) -> None:
    message = DEBEZIUM | {"source": DEBEZIUM["source"] | {"pos": "汉 x"}}
    facts = explained(json.dumps(message, ensure_ascii=False))
    assert (facts["kind"], facts["rows"], facts["position"]) == ("unreadable", [], [])
    error = facts["error"]
    assert (error["code"], error["detail"]) == ("missing_position", "source.pos: missing or less than 0")
    assert (error["place"]["at"], error["section"]) == (
        '"汉 x"',
        "docs/reference/error-codes.md#missing_position",
    )
    lines = shown("x.jsonl", facts).split("\n")
    (at,) = [number for number, line in enumerate(lines) if "^" in line]
    # A wide character takes two cells of the terminal.
    assert lines[at].index("^") == lines[at - 1].index('"汉')
    assert re.fullmatch(r" +\^{6} byte \d+", lines[at])


@pytest.mark.parametrize(
    ("text", "code", "byte"),
    [
        (b"order 7 changed", "not_json", None),
        (b'{"database":"shop","ty', "broken_json", 22),
        (b'{"a":"\xff"}', "invalid_utf8", 6),
        (b'\0\0\0\0*{"a":1} x', "text_after_message", 8),
        (b"[{}]", "not_an_object", None),
    ],
)
def test_a_text_that_no_format_reads_needs_no_format(
    explained: Callable[..., dict[str, Any]], text: bytes, code: str, byte: int | None
) -> None:
    facts = explained(text)
    assert (facts["format"], facts["error"]["code"]) == (None, code)
    place = facts["error"]["place"]
    assert (place and place["byte"]) == byte
    assert "Format       none: " in shown("x.jsonl", facts)


def test_other_messages_of_the_file_show_the_format(explained: Callable[..., dict[str, Any]]) -> None:
    rows = [canal([{"id": "1"}], type="INSERT") for _ in range(3)]
    facts = explained(*rows, '{"database":"shop","table":"o', line=3)
    assert (facts["format"], facts["error"]["code"], facts["line"]) == ("canal", "broken_json", 3)
    assert facts["why"] == ["most of the first 4 messages of x.jsonl are of this format"]
    assert explained(*rows, "null", line=3)["kind"] == "tombstone"
    # A message that shows its own format is of it.
    assert explained(*rows, json.dumps(DEBEZIUM), line=3)["format"] == "debezium"


def test_a_format_that_is_not_shown_is_a_sentence(explained: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(
        UsageError, match=r"--format must be one of .*, because the message does not show"
    ) as error:
        explained('{"what": 1}')
    assert "a JSON object with the keys what" in str(error.value)
    with pytest.raises(UsageError, match="a tombstone, a message without a value, does not show it"):
        explained("null")


def test_messages_without_rows(explained: Callable[..., dict[str, Any]]) -> None:
    statement = "alter table orders add note text"
    facts = explained(canal(None, type="ALTER", isDdl=True, sql=statement))
    assert (facts["kind"], facts["ddl"], facts["position"]) == ("ddl", statement, [])
    assert f"Statement    {statement}\n" in shown("x.jsonl", facts)


def test_half_of_an_update_waits_for_the_other(explained: Callable[..., dict[str, Any]]) -> None:
    lines = (GOLDEN / "dataworks" / "update_two_messages" / "messages.jsonl").read_text("utf-8").split("\n")
    facts = explained(lines[0], format="dataworks")
    assert facts["kind"] == "pending"
    assert facts["rows"][0]["update_part"] == "before"
    assert "It waits for the other part of the update" in shown("x.jsonl", facts)


def test_the_command_prints_one_object(session: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "orders.jsonl"
    file.write_text(f"{canal([{'id': '1', 'amount': '1', 'note': chr(27)}], type='INSERT')}\n{{}}\n", "utf-8")
    result = run(file, "--line", "0", "--json")
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (0, "", 1)
    assert json.loads(result.stdout)["rows"][0]["columns"][2]["after"] == "\x1b"
    assert result.stdout.isascii()
    result = run(file, "--line", "0")
    assert r"\x1b" in result.stdout
    assert all(line == line.rstrip() for line in result.stdout.split("\n"))
    result = run(file, "--line", "1", "--format", "canal")
    assert (result.exit_code, "wrong_format: type: missing" in result.stdout) == (0, True)
    result = run(file, "--line", "0", "--project-dir", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(r".*option --project-dir: there is no dbt_project\.yml in .*\n", result.stderr)


def test_the_page_shows_what_the_command_prints(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lines,) = re.findall(
        r"`more_messages\.jsonl`[^`]*```jsonl\n(.*?)^```",
        (DOCS / "tutorial.md").read_text("utf-8"),
        re.M | re.S,
    )
    (tmp_path / "more_messages.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(
        r"^```bash\nspark-cdc explain ([^\n]*)\n```.*?^```text\n(.*?)^```", PAGE, re.M | re.S
    )
    assert len(commands) == 3
    outputs = [run(*shlex.split(command)) for command, _ in commands[:2]]
    assert [(output.exit_code, output.stderr) for output in outputs] == [(0, "")] * 2
    assert outputs[0].stdout == commands[0][1]
    assert f"\n{commands[1][1]}" in outputs[1].stdout


# ---- the names of a sequence's parts


def ways() -> list[tuple[str, str | None]]:
    found = set()
    for file in GOLDEN.glob("*/*/case.yml"):
        declared = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not declared.get("vars"):
            found.add((file.parent.parent.name, declared.get("dialect")))
    return sorted(found, key=str)


def test_each_part_of_a_sequence_has_a_name(session: SparkSession, library: MacroLibrary) -> None:
    """Over all golden messages of the formats whose positions have several parts; others have one name."""
    from dbt_spark_cdc.registry import register

    register(session)
    seen = []
    for name, dialect in ways():
        header = library.call("_format", name, dialect)["header"]
        has_own = "array()" not in header["sequence"][:12]
        names = header["sequence_names"]
        assert has_own == bool(names), (name, dialect)
        if not has_own or re.fullmatch(r"array\('[^']*'\)", names):
            continue
        messages = [
            message
            for file in sorted(GOLDEN.glob(f"{name}/*/case.yml"))
            if yaml.safe_load(file.read_text(encoding="utf-8")).get("dialect") == dialect
            for message in read_messages("x", (file.parent / "messages.jsonl").read_bytes())
        ]
        create_raw(session, enumerate(messages))
        fmt = library.call("_format", name, dialect)
        rows = session.sql(
            f"""select sequence, sequence_names from ({library.call("_explained", "raw", fmt, RAW_COLUMNS)})
            where size(sequence) > 0"""
        ).collect()
        assert rows, (name, dialect)
        seen.append(name)
        for row in rows:
            assert len(row.sequence) == len(row.sequence_names), (name, dialect, row)
    assert {"debezium", "debezium_mongodb", "drs_mongodb", "kafka_river_canal", "shareplex"} <= set(seen)
