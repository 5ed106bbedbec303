"""`cdc_view`: a run replaces a view only if its query is another one than the catalog's."""

from __future__ import annotations

from collections.abc import Callable

from harness import Lake, Project

SCHEMA = "shop_of_kept_views"
QUERY = '-- a text with as select 1\nselect 1 as id, "it\'s one" as name'


def model(query: str, **configs: object) -> str:
    return f"{{{{ config(**{ {'materialized': 'cdc_view'} | configs }) }}}}\n{query}\n"


def test_a_view_is_replaced_if_its_query_is_another_one(
    lake: Lake, new_project: Callable[..., Project]
) -> None:
    columns = "columns: [{name: id, data_type: int, description: %s}, {name: name, data_type: string}]"
    documented = f"models: [{{name: described, {columns}}}, {{name: promised, {columns}}}]\n"
    project = new_project(
        SCHEMA,
        {
            "models/same.sql": model(QUERY, grants={}),
            "models/other_query.sql": model(QUERY),
            "models/longer_before.sql": model(f"with it as (select 2 as id) {QUERY}"),
            "models/by_hand.sql": model(QUERY),
            "models/dropped.sql": model(QUERY),
            "models/hooked.sql": model(
                QUERY, post_hook="create or replace view {{ this }}_too as select 1 as id"
            ),
            "models/described.sql": model(QUERY, persist_docs={"columns": True}),
            "models/promised.sql": model(QUERY, contract={"enforced": True}),
            "models/views.yml": documented % ("one", "one"),
        },
    )
    first = project.run().messages
    assert set(first.values()) == {"created"}, first

    project.write(
        {
            "models/other_query.sql": model(QUERY.replace("1 as id", "2 as id")),
            # The text of the view ends with it.
            "models/longer_before.sql": model(QUERY),
            "models/views.yml": documented % ("two", "two"),
        }
    )
    lake.spark.sql(f"create or replace view {SCHEMA}.by_hand as select 3 as id, 'three' as name")
    lake.spark.sql(f"drop view {SCHEMA}.dropped")
    lake.spark.sql(f"drop view {SCHEMA}.hooked_too")
    second = project.run().messages
    assert {name for name, message in second.items() if message == "as before"} == {"same", "hooked"}, second
    assert set(second.values()) == {"created", "as before"}
    for name in ("same", "by_hand", "dropped", "hooked", "longer_before", "described", "promised"):
        assert lake.rows(f"select * from {SCHEMA}.{name}") == [{"id": 1, "name": "it's one"}], name
    assert lake.rows(f"select * from {SCHEMA}.other_query") == [{"id": 2, "name": "it's one"}]
    assert lake.rows(f"select * from {SCHEMA}.hooked_too") == [{"id": 1}]
    (described,) = (r for r in lake.rows(f"describe {SCHEMA}.described") if r["col_name"] == "id")
    assert described["comment"] == "two"

    rebuilt = project.run("--full-refresh", "--select", "same").messages
    assert rebuilt == {"same": "created"}
