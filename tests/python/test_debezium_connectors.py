"""The connectors whose messages are read as Debezium's: code, page and fingerprints have one list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dbt_spark_cdc.functions import fingerprints
from dbt_spark_cdc.inputs import Message
from dbt_spark_cdc.macros import CompilerError, MacroLibrary
from test_golden import REPOSITORY, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(REPOSITORY / "docs" / "formats" / "debezium.md").read_text(encoding="utf-8")
VARIABLE = "spark_cdc__debezium_other_connectors"


def test_the_page_and_the_fingerprints_list_the_connectors_of_the_code(library: MacroLibrary) -> None:
    connectors = set(library.call("_debezium_connectors"))
    cells = set(library.call("_debezium_connectors_of_cells"))
    assert connectors == fingerprints.DEBEZIUM_CONNECTORS
    assert cells == fingerprints.DEBEZIUM_CONNECTORS_OF_CELLS
    assert set(library.call("_debezium_connectors", "cloudcanal")) == fingerprints.CLOUDCANAL_CONNECTORS
    [section] = re.findall(r"^## Connectors\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    listed = {}
    for names, how in re.findall(r"^\| (`.*?) \| (.*?) \|$", section, re.MULTILINE):
        listed.update(dict.fromkeys(re.findall(r"`(\w+)`", names), how))
    assert {name for name, how in listed.items() if how.startswith("the default dialect")} == connectors
    assert {name for name, how in listed.items() if how.startswith("not read")} == cells


def test_the_page_lists_the_operation_columns_of_other_tools(library: MacroLibrary) -> None:
    [table] = re.findall(r"^\| column \| who writes it \|\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"`([^`]+)`", "".join(line.split("|")[1] for line in table.split("\n")))
    assert sorted(name.lower() for name in listed) == sorted(library.call("_debezium_flat_op_columns"))


def _row(connector: str, offset: int, name: str) -> Message:
    source = {"connector": connector, "db": "shop", "table": "orders", "file": "x.9", "pos": 9 - offset}
    value = {"before": None, "after": {"id": 1, "name": name}, "op": "c", "source": source}
    return Message(offset, "t", 0, offset, None, b'{"id":1}', json.dumps(value).encode(), None)


def test_a_connector_that_the_project_allows_is_ordered_by_the_offset(session: SparkSession) -> None:
    """What its fields hold nobody knows, also where they are called as MySQL's."""
    library = MacroLibrary(REPOSITORY, {VARIABLE: ["singlestoredb"]})
    messages = [_row("singlestoredb", 0, "a"), _row("singlestoredb", 1, "b"), _row("ydb", 2, "c")]
    found = [row for _, row in read(session, library, "debezium", "messages", {}, messages)]
    assert [(row["kind"], row["sequence"], row["error"]) for row in found] == [
        ("rows", [], None),
        ("rows", [], None),
        ("unreadable", None, "unsupported_connector"),
    ]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("ydb", "must be a list of texts; got `ydb`. Write --vars '{" + VARIABLE + ": [singlestoredb]}'"),
        (["yugabytedb"], "must be a list of connectors that write rows as Debezium does; got `yugabytedb`."),
        (["mongodb"], "must be a list of connectors that write rows as Debezium does; got `mongodb`."),
    ],
)
def test_a_wrong_list_is_refused(value: Any, sentence: str) -> None:
    library = MacroLibrary(REPOSITORY, {VARIABLE: value})
    with pytest.raises(CompilerError, match=re.escape(f"argument `{VARIABLE}` {sentence}")):
        library.call("decoded", "raw", "debezium")


def test_every_error_of_a_message_has_a_rule() -> None:
    """In the code: the values of `errors` are mappings of what is wrong to the condition on which it is."""
    library = MacroLibrary(REPOSITORY)
    for format_name, dialects in library.formats().items():
        if format_name.startswith("debezium"):
            for dialect in dialects:
                errors = library.call(f"default__{format_name}_header", dialect)["errors"]
                assert {
                    code for code, rules in errors.items() if code != "fault" and isinstance(rules, str)
                } == set()
