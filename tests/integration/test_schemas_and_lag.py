"""DDL log, schema versions, lag and freshness, as the how-to pages write them, over messages of seven formats in one project."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from harness import Lake, Message, Project, Run, raw_row
from typed_pages import files

REPOSITORY = Path(__file__).resolve().parents[2]
HOW_TO = REPOSITORY / "docs" / "how-to"
FRESHNESS = "dbt source freshness"
SCHEMA = "shop_schemas"
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
MILLISECONDS = int(START.timestamp()) * 1000
# Raw table and topic -> format and dialect; the pages have Canal's.
FORMATS = {
    "debezium": ("debezium", None),
    "maxwell": ("maxwell", None),
    "oms": ("oms", None),
    "dms": ("dms", None),
    "kafka_river_canal": ("kafka_river_canal", None),
    "mongodb": ("debezium_mongodb", None),
    # A table of the same name as one of the pages' topic.
    "twin": ("canal", None),
}
LISTED = ", ".join(f"ref('{name}_messages')" for name in ("stg_shop_", *FORMATS))


def models_of_the_pages() -> dict[str, str]:
    """The models of the two pages: the log and the schemas read the messages of all formats, the lag those of the pages."""
    made = files((HOW_TO / "watch-lag-and-freshness.md").read_text(encoding="utf-8"))
    for name, text in files((HOW_TO / "watch-schema-changes.md").read_text(encoding="utf-8")).items():
        assert "[ref('stg_shop__messages')]" in text
        made[name] = text.replace("ref('stg_shop__messages')", LISTED)
    log = made["models/quality/cdc_ddl_log.sql"]
    made |= {
        "models/cdc_ddl_words.sql": log.replace("'table'", "'view'"),
        "models/lag_of_two.sql": "{{ config(materialized='view') }}\n{{ spark_cdc.lag(messages=[ref('stg_shop__messages'), "
        "ref('twin_messages')], current=[ref('orders')]) }}\n",
        "models/sources.yml": "sources: [{name: raw, schema: raw_schemas, tables: ["
        + ", ".join(f"{{name: {topic}}}" for topic in FORMATS)
        + "]}]\n",
        "models/stg_shop__messages.sql": messages("shop", "raw", "canal", None),
        "models/orders_changes.sql": "{{ config(materialized='view') }}\n{{ spark_cdc.changes(messages=ref('stg_shop__messages'), "
        "format='canal', table='orders', key=['id'], columns={'id': 'bigint'}) }}\n",
        "models/orders.sql": "{{ config(materialized='cdc_current', unique_key=['id']) }}\nselect * from {{ ref('orders_changes') }}\n",
    }  # fmt: skip
    return made | {
        f"models/{topic}_messages.sql": messages("raw", topic, *written) for topic, written in FORMATS.items()
    }


def messages(source: str, table: str, format_: str, dialect: str | None) -> str:
    named = f", dialect='{dialect}'" if dialect else ""
    return (
        "{{ config(materialized='cdc_append') }}\n"
        f"{{{{ spark_cdc.messages(source('{source}', '{table}'), format='{format_}'{named}) }}}}\n"
    )


def canal(
    second: int,
    type_: str,
    columns: dict[str, str] | None = None,
    sql: str = "",
    table: str = "orders",
    identity: int = 1,
) -> str:
    """A message of Canal: a row with these types, or a statement."""
    row = dict.fromkeys(columns or {}, str(identity))
    return json.dumps(
        {"database": "shop", "table": table, "type": type_, "isDdl": bool(sql), "sql": sql, "es": MILLISECONDS + 1000 * second,
         "pkNames": ["id"], "old": None, "data": [row] if columns else None, "mysqlType": columns}
    )  # fmt: skip


FIRST = {"id": "bigint", "amount": "decimal(10,2)"}
SECOND = FIRST | {"amount": "decimal(12,2)", "note": "varchar(20)"}


def debezium(second: int, **event: Any) -> str:
    source = {"db": "shop", "table": "orders", "ts_ms": MILLISECONDS + 1000 * second} | event.pop("source")
    return json.dumps({"source": source, "ts_ms": MILLISECONDS} | event)


def mysql_ddl(second: int, position: int, ddl: str) -> str:
    source = {"connector": "mysql", "file": "binlog.1", "pos": position}
    return debezium(
        second, source=source, databaseName="shop", schemaName=None, ddl=ddl, tableChanges=[{"type": "X"}]
    )


def maxwell(second: int, type_: str, sql: str, table: str = "orders") -> str:
    return json.dumps(
        {
            "type": type_,
            "database": "shop",
            "table": table,
            "ts": MILLISECONDS + 1000 * second,
            "sql": sql,
            "position": "x:1",
        }
    )


def oms(ddl: str) -> str:
    meta = {
        "table_name": "orders",
        "db": "crm.shop",
        "timestamp": "1767225605",
        "storeDataSequence": 1,
        "uniqueId": "u",
    }
    return json.dumps(
        {"prevStruct": None, "postStruct": {"ddl": ddl}, "allMetaData": meta, "recordType": "DDL"}
    )


def dms(operation: str, columns: dict[str, str] | None = None) -> str:
    definition = {"columns": {name: {"type": type_} for name, type_ in (columns or {}).items()}}
    meta = {
        "record-type": "control",
        "operation": operation,
        "schema-name": "public",
        "table-name": "orders",
    }
    return json.dumps({"control": {"table-def": definition} if columns else {}, "metadata": meta})


def river(second: int, columns: dict[str, str]) -> str:
    described = [{"n": name, "t": type_, "v": "1", "null": False} for name, type_ in columns.items()]
    return json.dumps(
        {"binlog": f"{second}@mysql-bin.000070", "time": MILLISECONDS + 1000 * second, "canalTime": 1, "db": "shop", "table": "orders",
         "event": "i", "columns": described, "keys": ["id"]}
    )  # fmt: skip


LANDED = {
    "raw": [
        Message(canal(0, "CREATE", sql="create table orders (id bigint, amount decimal(10,2))")),
        Message(canal(1, "INSERT", FIRST)),
        Message(canal(2, "INSERT", dict(reversed(FIRST.items())))),
        Message(canal(10, "ALTER", sql="alter table orders add note varchar(20), modify amount decimal(12,2)")),
        Message(canal(11, "INSERT", SECOND)),
        # An earlier commit time, as that of a statement which took long: the offset decides.
        Message(canal(3, "INSERT", FIRST)),
        Message(canal(21, "TRUNCATE", sql="truncate table orders")),
        Message("broken"),
        Message(canal(40, "INSERT", {"id": "bigint"}, table="nobodys")),
        Message(canal(5, "INSERT", FIRST, identity=2), partition=1),
        Message(canal(15, "INSERT", SECOND, identity=3), partition=1),
        Message(canal(16, "INSERT", SECOND, identity=2), partition=1),
    ],
    "debezium": [
        Message(mysql_ddl(0, 10, "create table orders (id bigint primary key, `it's` text)")),
        Message(mysql_ddl(2, 30, "ALTER TABLE orders DROP COLUMN `it's`, ADD (n int, m int)")),
        # Sent once more: the position in the log decides.
        Message(mysql_ddl(1, 20, "ALTER TABLE orders ADD INDEX ix (id)")),
        Message(debezium(3, source={"connector": "oracle", "scn": "5", "commit_scn": "5", "schema": "SHOP", "table": "T"},
                         databaseName="ORCL", schemaName="SHOP", ddl="ALTER TABLE SHOP.T MODIFY (A NUMBER(12,2))", tableChanges=[])),
        Message('{"ts_ms":1767225999000}', partition=1),
    ],
    "maxwell": [
        Message(maxwell(0, "table-create", "create table orders (id int primary key, old_name int)")),
        Message(maxwell(1, "table-alter", "alter table orders change old_name name varchar(30)")),
        Message(maxwell(2, "table-alter", "alter table orders convert to character set utf8mb4")),
        Message(maxwell(3, "table-alter", "alter table orders drop name")),
        Message(maxwell(4, "table-drop", "drop table orders")),
        Message(maxwell(5, "database-create", "create database shop", table="")),
        Message(maxwell(6, "table-alter", "RENAME TABLE items TO things", table="items")),
        Message(maxwell(7, "table-create", "create table if not exists twice (id int)", table="twice")),
    ],
    "oms": [Message(oms("ALTER TABLE orders ADD COLUMN n int")), Message(oms("/* c */ drop table orders"))],
    "dms": [
        Message(dms("create-table", {"id": "INT32", "name": "STRING"})),
        Message(dms("add-column")),
        Message(dms("drop-table")),
    ],
    "kafka_river_canal": [Message(river(1, {"id": "bigint(20)"})), Message(river(2, {"id": "bigint(20) unsigned"}))],
    "mongodb": [
        Message(
            debezium(1, op="c", before=None, after='{"_id": 1, "n": "x"}',
                     source={"connector": "mongodb", "collection": "orders", "ord": 1}),
            key='{"id":"1"}',
        )
    ],
    "twin": [Message(canal(99, "INSERT", FIRST))],
}  # fmt: skip


@dataclass
class Story:
    """What the models gave, and what dbt said of the source's freshness."""

    rows: dict[str, list[dict[str, Any]]]
    freshness: dict[str, Run]

    def of(self, model: str, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
        return [
            tuple(row[name] for name in columns)
            for row in self.rows[model]
            if all(row[name] == value for name, value in where.items())
        ]


QUERIES = {
    "log": "select * from {s}.cdc_ddl_log order by topic, partition, offset",
    "words": "select * from {s}.cdc_ddl_words order by topic, partition, offset",
    "schemas": "select * from {s}.cdc_source_schemas order by topic, table_name, version",
    "lag": "select * from {s}.cdc_lag order by topic, partition, table_name",
    "lag of two": "select * from {s}.lag_of_two order by topic, partition, table_name",
    "lag when more landed": "select * from {s}.cdc_lag order by topic, partition, table_name",
}


@pytest.fixture(scope="module")
def story(lake: Lake, new_project: Callable[..., Project]) -> Story:
    """One run, then messages that no run has read."""
    project = new_project(SCHEMA, models_of_the_pages())
    lake.create_raw("raw", schema="shop")
    lake.create_raw(*FORMATS, schema="raw_schemas")
    story = Story({}, {})

    def keep(*names: str) -> None:
        for name in names:
            story.rows[name] = lake.rows(QUERIES[name].format(s=SCHEMA))

    for table, sent in LANDED.items():
        land(lake, table, sent, START + timedelta(minutes=1))
    # Two statements landed twice.
    land(lake, "maxwell", LANDED["maxwell"][:2], START + timedelta(minutes=1))
    project.run()
    keep("log", "words", "schemas", "lag", "lag of two")
    story.freshness["old"] = project.dbt(*FRESHNESS.split()[1:])
    # The limits of the page's test: nothing waits, and the source is silent since the year began.
    story.freshness["test"] = project.dbt("test", "--select", "cdc_is_not_late")
    later = [
        Message(canal(50, "INSERT", SECOND)),
        Message(canal(51, "INSERT", SECOND)),
        Message("{}", partition=7),
    ]
    land(lake, "raw", later, datetime.now(timezone.utc), first={0: 9, 7: 4})
    story.freshness["new"] = project.dbt(*FRESHNESS.split()[1:])
    keep("lag when more landed")
    return story


def land(
    lake: Lake, table: str, sent: list[Message], begin: datetime, first: dict[int, int] | None = None
) -> None:
    """Messages whose timestamps are seconds apart, in the order of their offsets."""
    name = "shop.raw" if table == "raw" else f"raw_schemas.{table}"
    next_offset = dict(first or {})
    rows = []
    for message in sent:
        offset = next_offset.get(message.partition, 0)
        next_offset[message.partition] = offset + 1
        topic, partition, _, _, *rest = raw_row(table, offset, message)
        rows.append((topic, partition, offset, begin + timedelta(seconds=offset), *rest))
    lake.append(name, rows)


def seconds(number: float) -> datetime:
    """That many seconds after the first commit, as Spark gives it in a session in UTC."""
    return (START + timedelta(seconds=number)).replace(tzinfo=None)


# (topic, offset) -> action, columns as (change, name, old_name, type)
ACTIONS = {
    ("raw", 0): ("create", [("add", "id", None, "bigint"), ("add", "amount", None, "decimal(10,2)")]),
    ("raw", 3): ("alter", [("add", "note", None, "varchar(20)"), ("change", "amount", None, "decimal(12,2)")]),
    ("raw", 6): ("truncate", []),
    ("debezium", 0): ("create", [("add", "id", None, "bigint"), ("add", "it's", None, "text")]),
    ("debezium", 1): ("alter", [("drop", "it's", None, None), ("add", "n", None, "int"), ("add", "m", None, "int")]),
    ("debezium", 2): ("alter", []),
    # sqlglot alone reads no MODIFY of Oracle: the connector names the dialect.
    ("debezium", 3): ("alter", [("change", "A", None, "number(12,2)")]),
    ("dms", 0): ("create", None),
    ("dms", 1): ("alter", None),
    ("dms", 2): ("drop", None),
    ("maxwell", 0): ("create", [("add", "id", None, "int"), ("add", "old_name", None, "int")]),
    ("maxwell", 1): ("alter", [("change", "name", "old_name", "varchar(30)")]),
    ("maxwell", 2): ("unknown", None),
    ("maxwell", 3): ("alter", [("drop", "name", None, None)]),
    ("maxwell", 4): ("drop", []),
    ("maxwell", 5): ("other", []),
    ("maxwell", 6): ("rename", []),
    ("maxwell", 7): ("create", [("add", "id", None, "int")]),
    ("oms", 0): ("alter", [("add", "n", None, "int")]),
    ("oms", 1): ("drop", []),
}  # fmt: skip


def test_each_ddl_message_is_a_row_of_the_log(story: Story) -> None:
    found = {}
    for row in story.rows["log"]:
        columns = row["columns"]
        if columns is not None:
            columns = [(c["change"], c["name"], c["old_name"], c["type"]) for c in columns]
        found[row["topic"], row["offset"]] = (row["action"], columns)
    assert found == ACTIONS
    assert len(story.rows["log"]) == len(ACTIONS) == len(story.rows["words"])
    assert story.of("log", "statement", "committed_at", "database_name", "table_name", topic="maxwell", offset=1) == [
        ("alter table orders change old_name name varchar(30)", seconds(1), "shop", "orders")
    ]  # fmt: skip
    [[renamed]] = story.of("log", "tables", topic="maxwell", offset=6)
    assert renamed == [{"qualifier": None, "name": "items", "new_name": "things"}]


def test_a_view_has_the_action_of_the_first_words(story: Story) -> None:
    """No view of Spark can call the function: as on a Thrift server, the rows are there without the parts."""
    found = {(row["topic"], row["offset"]): row["action"] for row in story.rows["words"]}
    expected = {place: action for place, (action, _) in ACTIONS.items()}
    # Its words are plain, and the effect is not; other words; a comment in front.
    expected |= {("maxwell", 2): "alter", ("maxwell", 5): "unknown", ("oms", 1): "unknown"}
    assert found == expected
    assert {(row["tables"], row["columns"], row["is_conditional"]) for row in story.rows["words"]} == {
        (None, None, None)
    }


def versions(story: Story, topic: str, table: str = "orders") -> list[tuple[Any, ...]]:
    columns = ("version", "valid_from", "partition", "offset", "known_from", "columns", "difference")
    return story.of("schemas", *columns, topic=topic, table_name=table)


def test_rows_show_the_versions_of_a_table(story: Story) -> None:
    """Over two partitions, of which each has its own order, and with types that come back."""
    added = "added note varchar(20); amount decimal(10,2) -> decimal(12,2)"
    assert versions(story, "raw") == [
        (1, seconds(1), 0, 1, "rows", FIRST, None),
        (2, seconds(11), 0, 4, "rows", SECOND, added),
        (3, seconds(11), 0, 5, "rows", FIRST, "dropped note; amount decimal(12,2) -> decimal(10,2)"),
        (4, seconds(15), 1, 1, "rows", SECOND, added),
    ]
    assert versions(story, "raw", "nobodys") == [(1, seconds(40), 0, 8, "rows", {"id": "bigint"}, None)]
    assert versions(story, "kafka_river_canal") == [
        (1, seconds(1), 0, 0, "rows", {"id": "bigint(20)"}, None),
        (2, seconds(2), 0, 1, "rows", {"id": "bigint(20) unsigned"}, "id bigint(20) -> bigint(20) unsigned"),
    ]


def test_statements_show_the_versions_of_a_table_whose_rows_name_no_types(story: Story) -> None:
    assert versions(story, "debezium") == [
        (1, seconds(0), 0, 0, "ddl", {"id": "bigint", "it's": "text"}, "created the table"),
        (
            2,
            seconds(2),
            0,
            1,
            "ddl",
            {"id": "bigint", "n": "int", "m": "int"},
            "dropped it's; added n int; added m int",
        ),
    ]
    # Of a table that was there before the log, what changed is known, and the columns are not.
    assert versions(story, "debezium", "T") == [(1, seconds(3), 0, 3, "ddl", None, "changed A number(12,2)")]
    # AWS DMS names the types in its own messages, without a statement.
    assert versions(story, "dms") == [(1, seconds(60), 0, 0, "ddl", {"id": "INT32", "name": "STRING"}, None)]


def test_columns_are_not_known_after_a_statement_that_is_not_certain(story: Story) -> None:
    assert versions(story, "maxwell") == [
        (1, seconds(0), 0, 0, "ddl", {"id": "int", "old_name": "int"}, "created the table"),
        (
            2,
            seconds(1),
            0,
            1,
            "ddl",
            {"id": "int", "name": "varchar(30)"},
            "changed old_name to name varchar(30)",
        ),
        (3, seconds(2), 0, 2, "ddl", None, "not known: the statement is not certain"),
        (4, seconds(3), 0, 3, "ddl", None, "dropped name"),
        (5, seconds(4), 0, 4, "ddl", {}, "dropped the table"),
    ]
    assert versions(story, "maxwell", "items")[0][5:] == ({}, "renamed to things")
    assert versions(story, "maxwell", "things")[0][5:] == (None, "renamed from items")
    conditional = "created the table, or nothing: the statement has IF EXISTS or IF NOT EXISTS"
    assert versions(story, "maxwell", "twice")[0][5:] == (None, conditional)


def test_documents_have_no_schema(story: Story) -> None:
    assert versions(story, "mongodb") == []


LAG = (
    "partition", "table_name", "landed_offset", "read_offset", "unread_offsets", "unread_seconds", "alive_at", "table_offset",
    "table_committed_at", "landing_seconds", "applied_offset", "applied_committed_at", "unapplied_messages",
)  # fmt: skip


def test_the_lag_of_each_partition_and_table(story: Story) -> None:
    """The truncate at offset 6 emptied the rows of both partitions: no message of partition 1 waits, and none is held."""
    none = Decimal("0.000")
    assert story.of("lag", *LAG) == [
        (0, "nobodys", 8, 8, 0, none, seconds(67), 8, seconds(40), Decimal("28.000"), None, None, None),
        (0, "orders", 8, 8, 0, none, seconds(67), 5, seconds(3), Decimal("62.000"), 6, seconds(21), 0),
        (1, "orders", 2, 2, 0, none, seconds(16), 2, seconds(16), Decimal("46.000"), None, None, 0),
    ]
    assert all(row["silent_seconds"] > 0 and row["loading_seconds"] > 0 for row in story.rows["lag"])


def test_a_table_of_another_topic_is_not_that_of_the_reader(story: Story) -> None:
    """`orders` reads the pages' topic: it holds nothing of the other topic's table of this name, and nothing of it waits."""
    applied = ("partition", "applied_offset", "unapplied_messages")
    assert story.of("lag of two", *applied, topic="twin", table_name="orders") == [(0, None, None)]
    assert story.of("lag of two", *applied, topic="raw", table_name="orders") == [(0, 6, 0), (1, None, 0)]


def test_what_landed_since_is_unread(story: Story) -> None:
    found = story.of(
        "lag when more landed", "partition", "table_name", "landed_offset", "read_offset", "unread_offsets"
    )
    assert found == [
        (0, "nobodys", 10, 8, 2),
        (0, "orders", 10, 8, 2),
        (1, "orders", 2, 2, 0),
        # A partition that no run has read.
        (7, None, 4, None, 1),
    ]
    assert all(
        (row["unread_seconds"] or 0) > 1000
        for row in story.rows["lag when more landed"]
        if row["partition"] == 0
    )


def test_freshness_of_the_source(story: Story) -> None:
    assert f"```bash\n{FRESHNESS}\n```" in (HOW_TO / "watch-lag-and-freshness.md").read_text(encoding="utf-8")
    assert story.freshness["old"].statuses == {"raw": "error"}
    assert not story.freshness["old"].result.success
    assert story.freshness["new"].statuses == {"raw": "pass"}
    assert story.freshness["new"].result.success


def test_the_test_of_the_page_fails_for_a_silent_source(story: Story) -> None:
    assert story.freshness["test"].statuses == {"cdc_is_not_late": "fail"}
    assert story.freshness["test"].messages == {
        "cdc_is_not_late": "Got 3 results, configured to fail if != 0"
    }
