"""`cdc_view`: a run replaces a view only if its query is another one than the catalog's."""

from __future__ import annotations

from collections.abc import Callable

from harness import Lake, Project
from source_tables import CanalTable, CanalTopic

SCHEMA = "shop_of_kept_views"
ID_NAME = {"id": "bigint", "it's": "string"}


def call(columns: dict[str, str] = ID_NAME) -> str:
    return (
        "{{ spark_cdc.changes(messages=ref('messages'), format='canal', table='things', key=['id'], "
        f"columns={columns}) }}}}"
    )


def model(query: str, **configs: object) -> str:
    configs = {"materialized": "cdc_view"} | configs
    return f"{{{{ config({', '.join(f'{name}={value!r}' for name, value in configs.items())}) }}}}\n{query}\n"


def test_a_view_is_replaced_if_its_query_is_another_one(
    lake: Lake, new_project: Callable[..., Project]
) -> None:
    columns = "columns: [{name: id, data_type: bigint, description: %s}]"
    documented = f"models: [{{name: described, {columns}}}]\n"
    of_dropped = "drop view if exists {{ this }}"
    project = new_project(
        SCHEMA,
        {
            "models/sources.yml": "sources: [{name: raw_of_kept, tables: [{name: things}]}]\n",
            "models/messages.sql": "{{ config(materialized='cdc_append') }}\n"
            "{{ spark_cdc.messages(source('raw_of_kept', 'things'), format='canal') }}\n",
            "models/same.sql": model(f"-- a guess: as select\n{call()}"),
            "models/MySame.sql": model(call()),
            "models/other_query.sql": model(call()),
            "models/by_hand.sql": model(call()),
            "models/dropped.sql": model(call()),
            "models/hooked.sql": model(call(), post_hook="create or replace view {{ this }}_too as select 1 as id"),
            "models/hooked_before.sql": model(call(), pre_hook=of_dropped),
            "models/described.sql": model(call(), persist_docs={"columns": True}),
            "models/over_same.sql": model("select * from {{ ref('other_query') }}"),
            "models/current.sql": "{{ config(materialized='cdc_current', unique_key=['id']) }}\n"
            "select * from {{ ref('over_same') }}\n",
            "models/letters.sql": model(
                "{{ spark_cdc.dead_letters(messages=[ref('messages')], changes=[ref('other_query'), ref('same')]) }}"
            ),
            "models/views.yml": documented % "one",
        },
    )  # fmt: skip
    lake.create_raw("things", schema="raw_of_kept")
    table = CanalTable(CanalTopic(), "things", ["id"])

    def land(number: int) -> None:
        event = table.insert(number, {"id": number, "it's": f"a{number}", "as": f"b{number}"})
        lake.land("things", event.messages, schema="raw_of_kept")

    views = {
        "same",
        "MySame",
        "other_query",
        "by_hand",
        "dropped",
        "hooked",
        "hooked_before",
        "described",
        "over_same",
        "letters",
    }
    land(1)
    first = project.run().messages
    assert {name for name, message in first.items() if message == "created"} == views, first

    # Its columns change places, and `select *` over it keeps its text.
    turned = {"id": "bigint", "as": "string", "it's": "string"}
    project.write({"models/other_query.sql": model(call(turned)), "models/views.yml": documented % "two"})
    lake.spark.sql(f"create or replace view {SCHEMA}.by_hand as select * from {SCHEMA}.same where id > 5")
    for name in ("dropped", "hooked_too"):
        lake.spark.sql(f"drop view {SCHEMA}.{name}")
    lake.spark.sql("create or replace temporary view dropped as select 1 as id")
    land(2)
    second = project.run().messages
    kept = {name for name, message in second.items() if message == "as before"}
    assert kept == {"same", "MySame", "hooked", "letters"}, second
    assert {second[name] for name in views - kept} == {"created"}, second
    rows = [{"id": 1, "it's": "a1"}, {"id": 2, "it's": "a2"}]
    for name in views - {"over_same", "other_query", "letters"}:
        assert lake.rows(f"select id, `it's` from {SCHEMA}.{name} order by id") == rows, name
    whole = [row | {"as": f"b{row['id']}"} for row in rows]
    for name in ("other_query", "over_same", "current"):
        assert lake.rows(f"select id, `it's`, `as` from {SCHEMA}.{name} order by id") == whole, name
    assert lake.rows(f"select * from {SCHEMA}.hooked_too") == [{"id": 1}]
    (described,) = (r for r in lake.rows(f"describe {SCHEMA}.described") if r["col_name"] == "id")
    assert described["comment"] == "two"

    broken = table.insert(3, {"id": "three", "it's": "a3", "as": "b3"})
    lake.land("things", broken.messages, schema="raw_of_kept")
    third = project.run("--select", "messages", "letters").messages
    assert third["letters"] == "as before", third
    letters = lake.rows(f"select model, code, detail, row_key from {SCHEMA}.letters order by model")
    assert letters == [
        {"model": name, "code": "invalid_value", "detail": "id: bigint", "row_key": '{"id":null}'}
        for name in ("other_query", "same")
    ]

    rebuilt = project.run("--full-refresh", "--select", "same").messages
    assert rebuilt == {"same": "created"}
    built = project.run("--full-refresh", "--select", "current").messages
    assert built == {"current": "3 row changes: 2 rows built, 1 rejected"}
