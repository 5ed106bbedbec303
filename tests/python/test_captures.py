"""Messages of real servers through Debezium and Canal: our current tables against the databases' rows.

The captures stand in ../shared/captures. What a producer loses before we see it is in GAPS, by name and with
its reason, and is asserted to end as it says there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from dbt_spark_cdc.macros import MacroLibrary

REPOSITORY = Path(__file__).resolve().parents[2]
CAPTURES = Path(os.environ.get("SPARK_CDC_SHARED", REPOSITORY.parent / "shared")) / "captures"

pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures of ../shared are not here")


@dataclass
class Table:
    """A source table as the models declare it: the part of it that all its messages carry."""

    schema: str
    name: str
    key: list[str]
    columns: dict[str, str]
    dialects: dict[str, dict[str, str]] = field(default_factory=dict)  # declarations that differ by format


MYSQL = [
    Table("cdc", "t_pk", ["k1"], {"k1": "string", "k2": "int"}),
    Table("cdc2", "t_pk", ["k1"], {"k1": "string", "v": "int"}),
    Table("cdc", "t_par", ["id"], {"id": "int", "v": "int"}),
    Table("cdc", "t_child", ["id"], {"id": "int", "pid": "int"}),
    Table("cdc", "t_uk", ["b"], {"a": "int", "b": "string", "v": "int"}),
    Table(
        "cdc",
        "T Weird.1",
        ["order"],
        {
            "order": "int",
            "Col Case": "string",
            "a.b": "int",
            "汉字": "string",
            "$x": "int",
            "q`q": "int",
            "old": "int",
            "data": "int",
        },
    ),
    Table(
        "cdc",
        "t_all",
        ["id"],
        {
            "id": "bigint",
            "d38": "decimal(38,10)",
            "dun": "decimal(20,0)",
            "bi": "bigint",
            "iu": "bigint",
            "ti1": "int",
            "tu": "int",
            "mu": "bigint",
            "db": "double",
            "vc": "string",
            "tx": "string",
            "vb": "binary",
            "bl": "binary",
        },
    ),
]
POSTGRESQL = [
    Table("public", "t_pk", ["k2", "k1"], {"k1": "string", "k2": "int"}),
    Table("public", "t_par", ["id"], {"id": "int"}),
    Table("public", "t_child", ["id"], {"id": "int", "pid": "int"}),
    Table("public", "t_pk_full", ["k2", "k1"], {"k1": "string", "k2": "int", "v": "string"}),
    Table("public", "t_none", ["id"], {"id": "int", "v": "int"}),
    Table("public", "t_toast", ["id"], {"id": "int", "small": "string", "big": "string", "n": "int"}),
    Table("public", "t_idx", ["b"], {"a": "int", "b": "string", "v": "int"}),
]
# Captures of one server share a topic prefix, so that one query reads them all.
SERVERS = {
    "debezium-mysql": MYSQL,
    "debezium-mariadb": MYSQL,
    "debezium-pg": POSTGRESQL,
}
# (folder, file, schema, table) -> why our table rightly differs from the database's
CASCADE = "MariaDB does not log the child rows of a foreign key cascade"
GAPS = {
    ("debezium-mariadb", "*", "cdc", "t_child"): CASCADE,
    ("canal", "mysql_hash3", "cdc", "t_pk"): "a key change is in another partition than its key",
    ("canal", "mysql_hash3", "cdc2", "t_pk"): "TRUNCATE is in partition 0, the rows are in others",
}


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def raw_rows(file: Path, prefix: str) -> list[tuple]:
    return [
        (
            f"{prefix}/{message['topic']}",
            message["partition"],
            message["offset"],
            message["key"],
            message["value"],
            [(name, text.encode()) for name, text in message.get("headers", [])],
        )
        for message in rows_of(file)
    ]


def land(spark, captures: list[tuple[str, Path]], view: str) -> None:
    rows = [row for prefix, file in captures for row in raw_rows(file, prefix)]
    headers = "array<struct<key:string,value:binary>>"
    schema = f"topic string, partition int, offset bigint, key string, value string, headers {headers}"
    spark.createDataFrame(rows, schema).selectExpr(
        "*", "cast(null as timestamp) as timestamp"
    ).createOrReplaceTempView(view)


def text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex().upper()
    return str(value)


def as_database_prints(value: str | None, declared: str) -> Any:
    if value is None:
        return None
    if declared == "double":
        return float(value)
    if declared.startswith("decimal"):
        return Decimal(value)
    return value


def current(spark, macros: MacroLibrary, changes: str, table: Table) -> list[dict[str, Any]]:
    query = macros.call("current_rows", changes, table.key, list(table.columns))
    live = spark.sql(query).where("not _cdc_is_deleted").collect()
    return [
        {name: as_database_prints(text(row[name]), declared) for name, declared in table.columns.items()}
        for row in live
    ]


def truth(file: Path, table: Table) -> list[dict[str, Any]]:
    return [
        {name: as_database_prints(row["row"][name], declared) for name, declared in table.columns.items()}
        for row in rows_of(file)
        if (row["schema"], row["table"]) == (table.schema, table.name)
    ]


def in_order(rows: list[dict[str, Any]], table: Table) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in table.key])


def gap(folder: str, capture: str, table: Table) -> str | None:
    return GAPS.get((folder, capture, table.schema, table.name)) or GAPS.get(
        (folder, "*", table.schema, table.name)
    )


@pytest.fixture(scope="module")
def macros() -> MacroLibrary:
    # the `text` captures were made with a placeholder of their own
    placeholders = ["__debezium_unavailable_value", "__gone__"]
    return MacroLibrary(REPOSITORY, {"spark_cdc__debezium_unavailable_values": placeholders})


def compare(
    spark, macros, view: str, folder: str, captures: list[str], table: Table, options: dict, truth_file
) -> None:
    changes = macros.call(
        "changes",
        view,
        table=table.name,
        key=table.key,
        columns=table.columns,
        raw_columns={"headers": "headers"},
        **options,
    )
    # Kept once for all captures of the server: planning it costs more than running it.
    spark.sql(changes).localCheckpoint().createOrReplaceTempView("all_changes")
    for capture in captures:
        spark.sql(
            f"select * from all_changes where startswith(_cdc_topic, '{capture}/')"
        ).createOrReplaceTempView("changes")
        errors = spark.sql(
            "select _cdc_error.code, _cdc_error.detail from changes where _cdc_error is not null"
        ).collect()
        assert not errors, f"{folder}/{capture} {table.name}: {errors[:3]}"
        ours, theirs = current(spark, macros, "changes", table), truth(truth_file(capture), table)
        same = in_order(ours, table) == in_order(theirs, table)
        if gap(folder, capture, table):
            assert not same, f"{folder}/{capture} {table.name} is right now: take it out of GAPS"
        else:
            assert in_order(ours, table) == in_order(theirs, table), f"{folder}/{capture} {table.name}"


@pytest.mark.parametrize("folder", SERVERS)
def test_debezium_tables_equal_the_database(spark, macros, folder) -> None:
    captures = ["plain", "text"]
    land(spark, [(capture, CAPTURES / folder / f"{capture}.jsonl") for capture in captures], "debezium_raw")
    for table in SERVERS[folder]:
        if table.name == "t_all":
            continue
        part = "schema" if folder == "debezium-pg" else "database"
        options = {"format": "debezium", part: table.schema}
        compare(
            spark,
            macros,
            "debezium_raw",
            folder,
            captures,
            table,
            options,
            lambda _: CAPTURES / folder / "truth.jsonl",
        )


@pytest.mark.parametrize("folder", ["debezium-mysql"])
def test_debezium_values_with_their_schema_equal_the_database(spark, macros, folder) -> None:
    land(spark, [("schema", CAPTURES / folder / "schema.jsonl")], "debezium_raw")
    table = next(table for table in SERVERS[folder] if table.name == "t_all")
    options = {"format": "debezium", "database": table.schema}
    compare(
        spark,
        macros,
        "debezium_raw",
        folder,
        ["schema"],
        table,
        options,
        lambda _: CAPTURES / folder / "truth.jsonl",
    )


def test_canal_tables_equal_the_database(spark, macros) -> None:
    captures = ["mysql", "mariadb", "mysql_hash3"]
    files = [(capture, CAPTURES / "canal" / f"{capture}.jsonl") for capture in captures]
    land(spark, files, "canal_raw")
    for table in MYSQL:
        snapshot_free = {  # Canal sends no snapshot: rows that never changed are not in its topic
            capture: untouched(CAPTURES / "canal" / f"{capture}.before.jsonl", file, table)
            for capture, file in files
        }
        changes = macros.call(
            "changes",
            "canal_raw",
            format="canal",
            table=table.name,
            database=table.schema,
            key=table.key,
            columns=table.columns,
        )
        spark.sql(changes).localCheckpoint().createOrReplaceTempView("all_changes")
        for capture in captures:
            spark.sql(
                f"select * from all_changes where startswith(_cdc_topic, '{capture}/')"
            ).createOrReplaceTempView("changes")
            errors = spark.sql("select _cdc_error.* from changes where _cdc_error is not null").collect()
            assert not errors, f"{capture} {table.name}: {errors[:3]}"
            ours = in_order(current(spark, macros, "changes", table), table)
            expected = [
                row
                for row in truth(CAPTURES / "canal" / f"{capture}.truth.jsonl", table)
                if tuple(row[name] for name in table.key) not in snapshot_free[capture]
            ]
            same = ours == in_order(expected, table)
            if gap("canal", capture, table):
                assert not same, f"canal/{capture} {table.name} is right now: take it out of GAPS"
            else:
                assert ours == in_order(expected, table), f"canal/{capture} {table.name}"


def untouched(before: Path, messages: Path, table: Table) -> set[tuple]:
    """Keys that were there before the stream began and that no message names."""
    named = set()
    for message in rows_of(messages):
        value = json.loads(message["value"])
        if (value["database"], value["table"]) == (table.schema, table.name) and not value["isDdl"]:
            for row in value["data"]:
                named.add(tuple(row[name] for name in table.key))
    return {tuple(row[name] for name in table.key) for row in truth(before, table)} - named


def test_a_minimal_row_image_is_rejected_not_applied_as_nulls(spark, macros) -> None:
    land(spark, [("minimal", CAPTURES / "canal" / "mysql_minimal_image.jsonl")], "canal_raw")
    table = next(table for table in MYSQL if table.name == "t_pk" and table.schema == "cdc")
    changes = macros.call(
        "changes",
        "canal_raw",
        format="canal",
        table=table.name,
        database=table.schema,
        key=table.key,
        columns=table.columns,
    )
    found = spark.sql(f"select k1, _cdc_op, _cdc_error.code as code from ({changes})").collect()
    updates = [row for row in found if row["_cdc_op"] == "update"]
    without_key = [row for row in updates if row["k1"] is None]
    assert len(without_key) > 0
    assert {row["code"] for row in without_key} == {"key_missing"}
    # an image that names its key can be applied: what it does not carry keeps its stored value
    assert {row["code"] for row in updates if row["k1"] is not None} == {None}
