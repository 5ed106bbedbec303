"""Shards of one table under one key, tables without a key, and keys that replace a missing one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import Lake, Message, Project
from source_tables import CanalTable, CanalTopic

SCHEMA = "shop_keys"
INCREMENTAL = "{{ config(materialized='cdc_append') }}\n"
COLUMNS = "columns={'id': 'bigint', 'name': 'string'}"
OF_SHARDS = f"format='canal', database='shop_*', table='orders_*', key=['id'], {COLUMNS}"
OF_NOTES = f"format='canal', table='notes', key=[], {COLUMNS}"
OF_WEIGHTS = "format='canal', table='weights', key=['weight'], columns={'weight': 'double', 'name': 'string'}"


def marts(name: str, config: str) -> str:
    """Write a current model over the changes model of the name."""
    return f"{{{{ config(materialized='cdc_current', {config}) }}}} select * from {{{{ ref('{name}_changes') }}}}\n"


FILES = {
    "models/sources.yml": "sources: [{name: raw_keys, tables: [{name: shop}]}]\n",
    "models/orders_changes.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_keys', 'shop'), {OF_SHARDS}) }}}}\n",
    "models/orders.sql": marts("orders", "unique_key=['id']"),
    "models/orders_shared.sql": marts("orders", "unique_key=['id'], source_tables_share_keys=true"),
    "models/notes_changes.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_keys', 'shop'), {OF_NOTES}) }}}}\n",
    "models/notes.sql": marts("notes", "unique_key=['name']"),
    "models/weights_changes.sql": f"{INCREMENTAL}{{{{ spark_cdc.changes(source('raw_keys', 'shop'), {OF_WEIGHTS}) }}}}\n",
    "models/weights.sql": marts("weights", "unique_key=['weight']"),
}


@pytest.fixture(scope="module")
def project(lake: Lake, new_project: Callable[..., Project]) -> Project:
    """Two runs over two databases with two shards each, and a table without a key."""
    project = new_project(SCHEMA, FILES)
    lake.create_raw("shop", schema="raw_keys")
    shards = {
        (database, table): CanalTable(CanalTopic(database), table, ["id"])
        for database in ("shop_a", "shop_b")
        for table in ("orders_00", "orders_01", "ordersX02")
    }
    notes = CanalTable(CanalTopic("shop_a"), "notes", [])
    weights = CanalTable(CanalTopic("shop_a"), "weights", ["weight"])
    for number, events in enumerate([
        [shard.insert(0, {"id": 1, "name": f"{database} {table}"}) for (database, table), shard in shards.items()]
        + [
            notes.insert(0, {"id": 7, "name": "first"}),
            notes.insert(0, {"id": 7, "name": None}),
            notes.insert(0, {"id": 9, "name": "left"}),
            weights.insert(0, {"weight": "0.0", "name": "a"}),
        ],
        [
            shards["shop_a", "orders_00"].truncate(1),
            shards["shop_b", "orders_00"].update(1, ({"id": 1, "name": "shop_b orders_00"}, {"id": 2, "name": "moved"})),
            notes.insert(1, {"id": 8, "name": "first"}),
            notes.insert(1, {"id": 7, "name": None}),
            notes.update(1, ({"id": 9, "name": "left"}, {"id": 9, "name": None})),
            weights.update(1, ({"weight": "0.0", "name": "a"}, {"weight": "-0.0", "name": "b"})),
        ],
    ]):  # fmt: skip
        messages: list[Message] = [message for event in events for message in event.messages]
        lake.land("shop", messages, schema="raw_keys")
        project.run()
        assert number < 2
    return project


def test_a_statement_says_how_much_it_writes(project: Project) -> None:
    """Of the second run: the plugin shows it in dbt's log if the run takes long."""
    assert project.step_of("orders_changes") == "appending the row changes of 6 new messages"
    assert project.step_of("orders") == "merging 3 rows"


def test_zero_and_minus_zero_are_one_key(project: Project, lake: Lake) -> None:
    """The row has the value that came last, as in a first build."""
    found = lake.rows(
        f"select cast(weight as string) as weight, name, _cdc_is_deleted as gone from {SCHEMA}.weights"
    )
    assert [tuple(row.values()) for row in found] == [("-0.0", "b", False)]


def test_the_source_table_is_part_of_the_key(project: Project, lake: Lake) -> None:
    rows = lake.rows(
        f"select _cdc_source_table, id, name, _cdc_is_deleted as gone from {SCHEMA}.orders order by _cdc_source_table, id"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("shop_a.orders_00", 1, None, True),  # its own truncate
        ("shop_a.orders_01", 1, "shop_a orders_01", False),
        ("shop_b.orders_00", 1, None, True),
        ("shop_b.orders_00", 2, "moved", False),
        ("shop_b.orders_01", 1, "shop_b orders_01", False),
    ]


def test_source_tables_share_keys_where_the_user_says_so(project: Project, lake: Lake) -> None:
    rows = lake.rows(f"select id, name, _cdc_is_deleted as gone from {SCHEMA}.orders_shared order by id")
    assert [row["id"] for row in rows] == [1, 2]
    assert rows[1] == {"id": 2, "name": "moved", "gone": False}


def test_the_changes_of_a_table_without_a_key_are_kept(project: Project, lake: Lake) -> None:
    rows = lake.rows(f"select id, name, _cdc_error from {SCHEMA}.notes_changes order by _cdc_sequence")
    assert [tuple(row.values()) for row in rows] == [
        (7, "first", None), (7, None, None), (9, "left", None), (8, "first", None), (7, None, None), (9, None, None),
    ]  # fmt: skip


def test_columns_may_stand_in_for_a_key(project: Project, lake: Lake) -> None:
    """A change whose key is null makes no row, and ends that of the key before it; spark_cdc.key_not_null finds it."""
    rows = lake.rows(f"select name, id, _cdc_is_deleted from {SCHEMA}.notes order by name")
    assert [tuple(row.values()) for row in rows] == [("first", 8, False), ("left", None, True)]
