"""`cdc_append`: what a dbt user expects of a table that runs append to, and its notes of what it has read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from harness import REPOSITORY, Lake, Project, raw_row
from source_tables import CanalTable, CanalTopic

SCHEMA = "shop_log"
TOPIC = "shop.secret_token"  # words for which Spark hides a property
COLUMNS = "columns={'id': 'bigint', 'name': 'string'}"
CONTRACT = {
    "id": "bigint", "name": "string", "_cdc_op": "string", "_cdc_sequence": "array<decimal(20,0)>",
    "_cdc_committed_at": "timestamp", "_cdc_transaction_id": "string", "_cdc_before": "struct<id:bigint,name:string>",
    "_cdc_missing_columns": "array<string>", "_cdc_error": "struct<code:string,detail:string>", "_cdc_topic": "string",
    "_cdc_partition": "int", "_cdc_offset": "bigint",
    "_cdc_offsets": "array<struct<partition:int,offset:bigint>>", "_cdc_loaded_at": "timestamp", "_cdc_read_positions": "string",
}  # fmt: skip
HISTORY = "{{ config(materialized='cdc_history', unique_key=['id']) }} select * from {{ ref('things') }}\n"
OF_TOPIC = f"format='canal', table='things', key=['id'], {COLUMNS}"
KAFKA = "topic, partition, offset, timestamp, key, value"
# name -> (call, the whole sentence)
WRONG = {
    "a_history_as_current": (
        "spark_cdc.reconciliation(messages=[ref('messages')], changes=[ref('things')], current=[ref('things_history')])",
        "spark_cdc.reconciliation: argument `current` must be models that are cdc_current; got `things_history`, a cdc_history. "
        "Name the model over the same topic that is.",
    ),
    "changes_as_messages": (
        f"spark_cdc.changes(messages=ref('things'), {OF_TOPIC})",
        "spark_cdc.changes: argument `messages` must be models made by spark_cdc.messages; got `things`, made by "
        "spark_cdc.changes. Name the model over the same topic that is.",
    ),
    "wrong_format": (
        "spark_cdc.changes(messages=ref('messages'), format='maxwell', table='things', key=['id'], columns={'id': 'bigint'})",
        f"spark_cdc.changes: argument `format` must be that of the messages in `{SCHEMA}.messages`, canal; got `maxwell`. Write "
        "format='canal', or name other messages.",
    ),
    "other_dialect": (
        f"spark_cdc.changes(messages=ref('messages'), dialect='oms', {OF_TOPIC})",
        f"spark_cdc.changes: argument `dialect` must be that of the messages in `{SCHEMA}.messages`, canal; got `oms`. Write "
        "dialect='canal' in both models, or name other messages.",
    ),
    "other_dialect_through_a_view": (
        f"spark_cdc.changes(messages=ref('some_messages'), dialect='oms', {OF_TOPIC})",
        f"spark_cdc.changes: argument `dialect` must be that of the messages in `{SCHEMA}.some_messages`, canal; got `oms`. ",
    ),
    "raw_as_messages": (
        f"spark_cdc.changes(messages=source('raw_log', 'topic'), {OF_TOPIC})",
        "spark_cdc.changes: argument `messages` must be a model made by spark_cdc.messages; got `raw_log.topic`, which has "
        f"{KAFKA}, headers. A raw table is the first argument, `relation`.",
    ),
    "other_names": (
        f"spark_cdc.changes(source('raw_log', 'renamed'), {OF_TOPIC}, raw_columns={{'offset': 'position'}})",
        "spark_cdc.changes: argument `relation` must be a table with the columns topic, partition, timestamp, key, value; got "
        "`raw_log.renamed`, which has topic, partition, position, timestamp, key, payload, headers. Name those of another "
        "name: raw_columns={'value': 'payload'}.",
    ),
}


def log(table: str = "things", config: str = "") -> str:
    """Write a changes model over the raw table."""
    return (
        f"{{{{ config(materialized='cdc_append'{config}) }}}}\n-- its own comment\n"
        f"{{{{ spark_cdc.changes(source('raw_log', 'topic'), format='canal', table='{table}', key=['id'], {COLUMNS}) }}}}\n"
    )


# name -> (model, the sentence)
WRONG_CONFIG = {
    "parquet": (
        log(config=", file_format='parquet'"),
        "spark_cdc.cdc_append: argument `file_format` must be one of iceberg, delta; got `parquet`.",
    ),
    "unknown_word": (
        log(config=", on_schema_change='x'"),
        "spark_cdc.cdc_append: argument `on_schema_change` must be one of ignore, fail, evolve, append_new_columns, "
        "sync_all_columns; got `x`.",
    ),
    "log_with_a_key": (
        log(config=", unique_key='id'"),
        "spark_cdc.cdc_append: argument `unique_key` must be left out; got `id`. It keeps all rows; cdc_current keeps one of "
        "each key.",
    ),
    "own_query": (
        "{{ config(materialized='cdc_append') }} select 1 as id\n",
        "spark_cdc.cdc_append: argument `sql` must be a call of spark_cdc.messages, spark_cdc.changes, spark_cdc.run_ledger or "
        "spark_cdc.run_summary; got a query of its own. Each run would append all of it again: write materialized='table' or 'incremental'.",
    ),
}


def contract(name: str, columns: dict[str, str]) -> str:
    listed = ", ".join(f'{{name: {column}, data_type: "{kind}"}}' for column, kind in columns.items())
    return f"  - name: {name}\n    config: {{contract: {{enforced: true}}}}\n    columns: [{listed}]\n"


def files() -> dict[str, str]:
    """All models of this module: path -> text."""
    documented = '  - name: documented\n    description: "Things, as they\'re told"\n    columns: [{name: id, description: The number}]\n'
    hook = f"insert into {SCHEMA}.audit select '{{}}'"
    return {
        "models/sources.yml": "sources: [{name: raw_log, tables: [{name: topic}, {name: renamed}, {name: long}]}]\n",
        "models/messages.sql": "{{ config(materialized='cdc_append') }}\n"
        "{{ spark_cdc.messages(source('raw_log', 'topic'), format='canal') }}\n",
        "models/some_messages.sql": "{{ config(materialized='view') }} select * from {{ ref('messages') }} where partition = 0\n",
        "models/some_things.sql": f"{{{{ spark_cdc.changes(messages=ref('some_messages'), dialect='canal', {OF_TOPIC}) }}}}\n",
        "models/things.sql": log(),
        "models/misspelt.sql": log("thinks"),
        "models/documented.sql": log(config=", tblproperties={'write.merge.mode': 'copy-on-write', 'read.split.target-size': '1000000'}, persist_docs={'relation': true, 'columns': true}, "
            f'pre_hook="{hook.format("pre")}", post_hook="{hook.format("post")}"'),
        "models/contracted.sql": log(),
        "models/once/broken_contract.sql": log(),
        "models/once/pieces.sql": "{{ config(materialized='cdc_append') }}\n"
        "{{ spark_cdc.messages(source('raw_log', 'long'), format='canal') }}\n",
        "models/once/things_history.sql": HISTORY,
        **{f"models/once/{name}.sql": f"{{{{ config(materialized='cdc_append') }}}}{{{{ {call} }}}}\n" for name, (call, _) in WRONG.items()},
        **{f"models/once/{name}.sql": text for name, (text, _) in WRONG_CONFIG.items()},
        "models/places/eu.sql": log("things", ", schema='eu', alias='same'"),
        "models/places/us.sql": log("others", ", schema='us', alias='same'"),
        "models/models.yml": "models:\n" + documented + contract("contracted", CONTRACT)
        + contract("broken_contract", CONTRACT | {"name": "int"}),
    }  # fmt: skip


class Source:
    """Two tables in one topic of one partition."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.offset = 0
        topic = CanalTopic()
        self.things, self.others = (CanalTable(topic, name, ["id"]) for name in ("things", "others"))

    def land(self, *events: Any, partition: int = 0) -> None:
        """Append the events' messages."""
        rows = []
        for event in events:
            for message in event.messages:
                rows.append(raw_row(TOPIC, self.offset, replace(message, partition=partition)))
                self.offset += 1
        self.lake.append("raw_log.topic", rows)


@pytest.fixture(scope="module")
def source(lake: Lake, project: Project) -> Source:
    """One run over two rows of each table."""
    lake.create_raw("topic", "renamed", schema="raw_log")
    lake.spark.sql("alter table raw_log.renamed rename column value to payload")
    lake.spark.sql("alter table raw_log.renamed rename column offset to position")
    lake.spark.sql(f"create schema if not exists {SCHEMA}")
    lake.spark.sql(f"create or replace table {SCHEMA}.audit (hook string)")
    create_long(lake, "raw_log.long", how_to_properties())
    source = Source(lake)
    source.land(*(table.insert(0, {"id": 1, "name": table.name}) for table in (source.things, source.others)))
    return source


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    project = new_project(SCHEMA, files())
    project.dbt("show", "--inline", "select 1")
    return project


def how_to_properties() -> dict[str, str]:
    """What the how-to page gives a raw table: in a table, in a dbt model and in SQL."""
    page = (REPOSITORY / "docs" / "how-to" / "run-on-a-cluster.md").read_text()
    found = Counter(re.findall(r"([a-z]+[.][a-z.-]+-(?:bytes|size|cost))\W+(\d+)", page))
    assert len(found) == 3 and set(found.values()) == {3}, found
    return dict(found.keys())


def create_long(lake: Lake, table: str, properties: dict[str, str]) -> None:
    """A raw table of 13 MB in one file, as compressed as text of messages is."""
    texts = ", ".join(f"sha2(cast(id * 64 + {part} as string), 512)" for part in range(32))
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    lake.spark.sql(f"""
        create or replace table {table} using iceberg {f"tblproperties ({listed})" if listed else ""} as
        select 'long' as topic, 0 as partition, id as offset, timestamp'2026-01-01' as timestamp,
            cast(null as binary) as key, cast(concat({texts}) as binary) as value,
            cast(null as array<struct<key: string, value: binary>>) as headers
        from range(0, 5800, 1, 1)
    """)
    (files,) = lake.rows(f"select count(*) as n, sum(file_size_in_bytes) as bytes from {table}.files")
    assert files["n"] == 1 and 12_000_000 < files["bytes"] < 14_000_000


def noted(lake: Lake, name: str) -> dict[str, Any]:
    """What a log has noted: the property, and whether it is of the table's latest snapshot."""
    found = {row["key"]: row["value"] for row in lake.rows(f"show tblproperties {SCHEMA}.{name}")}
    holds = found.get("spark_cdc.read_commit") == found["current-snapshot-id"]
    return {"seen": found.get("spark_cdc.read_positions", "").partition(" ")[2], "holds": holds}


def test_a_run_does_what_a_dbt_user_expects(project: Project, lake: Lake, source: Source) -> None:
    """Docs, hooks, contracts, two models of one alias at once, sentences for what cannot be."""
    run = project.dbt("run")
    assert {name for name, status in run.statuses.items() if status != "success"} == {
        "broken_contract",
        *WRONG,
        *WRONG_CONFIG,
    }
    for name, (_, sentence) in (WRONG | WRONG_CONFIG).items():
        assert sentence in run.messages[name]
    assert "This model has an enforced contract that failed." in run.messages["broken_contract"]
    source.land(
        source.things.insert(1, {"id": 2, "name": "more"}), source.others.insert(1, {"id": 9, "name": "o"})
    )
    project.run("--exclude", "path:models/once")
    hooks = [row["hook"] for row in lake.rows(f"select * from {SCHEMA}.audit order by hook")]
    assert hooks == ["post", "post", "pre", "pre"]
    described = {row["col_name"]: row for row in lake.rows(f"describe extended {SCHEMA}.documented")}
    assert (described["id"]["comment"], described["Comment"]["data_type"]) == (
        "The number",
        "Things, as they're told",
    )
    for name in ("things", "documented", "contracted"):
        assert [row["id"] for row in lake.rows(f"select id from {SCHEMA}.{name} order by id")] == [1, 2]
    for place, ids in {"eu": [1, 2], "us": [1, 9]}.items():
        assert [row["id"] for row in lake.rows(f"select id from {SCHEMA}_{place}.same order by id")] == ids


def test_what_was_read_is_noted(project: Project, lake: Lake, source: Source) -> None:
    """Also of a partition of which the log has no row."""
    source.land(source.others.insert(2, {"id": 10, "name": "o"}), partition=1)
    project.run("--select", "things", "messages")
    for name in ("things", "messages"):
        places = [text.split(":")[:3] for text in noted(lake, name)["seen"].split()]
        assert places == [[TOPIC.encode().hex().upper(), "0", "3"], [TOPIC.encode().hex().upper(), "1", "4"]]
        assert noted(lake, name)["holds"]
    commits = lake.commits(f"{SCHEMA}.things")
    project.run("--select", "things")
    assert lake.commits(f"{SCHEMA}.things") == commits


def test_a_source_that_is_as_it_was_is_not_read(project: Project, lake: Lake, source: Source) -> None:
    """Seen by a note that says so of a table to which rows were added."""
    properties = f"show tblproperties {SCHEMA}.things ('spark_cdc.read_at_commit')"
    latest = "show tblproperties raw_log.topic ('current-snapshot-id')"
    ids = f"select id from {SCHEMA}.things order by id"
    assert lake.rows(properties)[0]["value"] == lake.rows(latest)[0]["value"]
    source.land(source.things.insert(2, {"id": 3, "name": "unread"}))
    snapshot = lake.rows(latest)[0]["value"]
    lake.spark.sql(
        f"alter table {SCHEMA}.things set tblproperties ('spark_cdc.read_at_commit' = '{snapshot}')"
    )
    project.run("--select", "things")
    assert [row["id"] for row in lake.rows(ids)] == [1, 2]
    source.land(source.others.insert(2, {"id": 11, "name": "o"}))
    project.run("--select", "things")
    assert [row["id"] for row in lake.rows(ids)] == [1, 2, 3]


def test_what_is_noted_holds_for_one_commit(project: Project, lake: Lake, source: Source) -> None:
    """Rows that somebody took away are read again where no other row tells that they were read."""
    lake.spark.sql(f"delete from {SCHEMA}.things")
    assert not noted(lake, "things")["holds"]
    project.run("--select", "things")
    assert [row["id"] for row in lake.rows(f"select id from {SCHEMA}.things order by id")] == [1, 2, 3]
    assert noted(lake, "things")["holds"]


def test_what_is_noted_holds_for_one_table(project: Project, lake: Lake, source: Source) -> None:
    """A name that was put right finds the messages that its log has passed by."""
    source.land(source.things.insert(3, {"id": 4, "name": "last"}))
    project.run("--select", "misspelt")
    assert lake.rows(f"select id from {SCHEMA}.misspelt") == []
    assert noted(lake, "misspelt")["holds"]
    project.write({"models/misspelt.sql": log("things")})
    project.run("--select", "misspelt")
    assert [row["id"] for row in lake.rows(f"select id from {SCHEMA}.misspelt order by id")] == [1, 2, 3, 4]


def test_merges_mark_rows_unless_the_model_says_otherwise(
    lake: Lake, project: Project, source: Source
) -> None:
    for name, mode in {"things": "merge-on-read", "documented": "copy-on-write"}.items():
        found = {row["key"]: row["value"] for row in lake.rows(f"show tblproperties {SCHEMA}.{name}")}
        assert found["write.merge.mode"] == mode


def test_a_log_is_stored_in_pieces_that_one_task_reads_soon(
    lake: Lake, project: Project, source: Source
) -> None:
    """Other tables keep the lake's own sizes, and a model may say its own."""
    pieces = {
        "write.parquet.row-group-size-bytes": "2097152",
        "read.split.target-size": "2097152",
        "read.split.open-file-cost": "65536",
    }
    wanted = {
        "messages": pieces,
        "things": pieces,
        "documented": pieces | {"read.split.target-size": "1000000"},
    }
    for name, sizes in (wanted | {"things_history": {}}).items():
        found = {row["key"]: row["value"] for row in lake.rows(f"show tblproperties {SCHEMA}.{name}")}
        assert {key: found[key] for key in pieces if key in found} == sizes, name


def test_messages_are_work_for_many_tasks(lake: Lake, project: Project, source: Source) -> None:
    """Of raw that has what the how-to page gives, and of the log: with Iceberg's own sizes one task parses all."""
    create_long(lake, "raw_log.usual", {})
    tables = {
        "usual": "raw_log.usual",
        "raw": "raw_log.long",
        "log": f"{SCHEMA}.pieces",
    }
    tasks = {name: lake.spark.table(table).rdd.getNumPartitions() for name, table in tables.items()}
    assert tasks["usual"] == 1
    assert 6 <= tasks["raw"] <= 10 and 6 <= tasks["log"] <= 10, tasks


def test_a_full_refresh_replaces_the_table_in_place(project: Project, lake: Lake, source: Source) -> None:
    """Its earlier snapshots stay."""
    before = lake.rows(f"select snapshot_id from {SCHEMA}.contracted.snapshots")
    project.run("--full-refresh", "--select", "contracted")
    after = lake.rows(f"select snapshot_id from {SCHEMA}.contracted.snapshots")
    assert [row for row in after if row in before] == before
    assert len(after) == len(before) + 1
    assert [row["id"] for row in lake.rows(f"select id from {SCHEMA}.contracted order by id")] == [1, 2, 3, 4]


def test_a_full_refresh_without_rows_is_refused(project: Project, source: Source) -> None:
    run = project.dbt("run", "--full-refresh", "--empty", "--select", "contracted")
    assert (
        "spark_cdc.changes: a full refresh of contracted would lose what raw_log.topic no longer holds: topic shop.secret_token"
        in run.messages["contracted"]
    )


def test_a_table_of_another_format_is_not_written(project: Project, lake: Lake, source: Source) -> None:
    project.write({"models/things.sql": log(config=", file_format='delta'")})
    run = project.dbt("run", "--select", "things")
    assert (
        f"spark_cdc.cdc_append: {SCHEMA}.things is stored as iceberg, and this model has file_format='delta'. Set the format "
        "that it has, or rebuild it: dbt run --full-refresh --select things+" in run.messages["things"]
    )


def test_two_messages_of_one_run_at_one_offset(project: Project, lake: Lake, source: Source) -> None:
    """The later one is an error; one that landed twice is a row once or twice, and no error."""
    (old,) = source.things.insert(4, {"id": 5, "name": "old"}).messages
    (new,) = source.things.insert(4, {"id": 6, "name": "new"}).messages
    (row, other) = (raw_row(TOPIC, source.offset, message) for message in (old, new))
    later = (*other[:3], other[3] + timedelta(days=1), *other[4:])
    source.offset += 1
    (twice,) = source.things.insert(5, {"id": 7, "name": "twice"}).messages
    lake.append("raw_log.topic", [row, later, *[raw_row(TOPIC, source.offset, twice)] * 2])
    source.offset += 1
    project.run("--select", "contracted")
    found = lake.rows(
        f"select id, _cdc_error.code from {SCHEMA}.contracted where id > 4 or _cdc_error is not null"
    )
    assert {tuple(row.values()) for row in found} == {(5, None), (None, "offset_reused"), (7, None)}


def test_rows_of_another_version_are_not_mixed(project: Project, lake: Lake, source: Source) -> None:
    """A run with nothing new says it, too: the views over the messages would fail."""
    lake.spark.sql(f"alter table {SCHEMA}.messages drop column rows.element.readings")
    for _ in range(2):
        run = project.dbt("run", "--select", "messages")
        assert (
            f"spark_cdc.messages: the rows in {SCHEMA}.messages are of another version of this package and have other fields. "
            "Rebuild it and all that is downstream: dbt run --full-refresh --select messages+"
        ) in run.messages["messages"]
        source.land(source.things.insert(6, {"id": 8, "name": "unread"}))
    project.run("--full-refresh", "--select", "messages")
    project.run("--select", "messages")
