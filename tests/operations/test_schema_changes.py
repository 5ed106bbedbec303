"""A model's columns change while its tables exist, and `on_schema_change` says what the tables do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from contents import contents_of
from harness import LAKES_ASKED_FOR, Lake, Project, Run
from source_tables import CanalTable, CanalTopic

LAKES = LAKES_ASKED_FOR
SCHEMA = "shop_schema_changes"
TABLES = ("stg_things_changes", "things", "things_history")
COLUMNS = {
    "first": {"id": "bigint", "amount": "decimal(10,2)", "pieces": "int", "name": "string"},
    "one more": {
        "id": "bigint",
        "amount": "decimal(10,2)",
        "note": "string",
        "pieces": "int",
        "name": "string",
    },
    # In the middle, so that a struct that is matched by place would show it.
    "more": {
        "id": "bigint",
        "note": "string",
        "amount": "decimal(20,2)",
        "pieces": "bigint",
        "name": "string",
    },
    "fewer": {"id": "bigint", "amount": "decimal(20,2)", "pieces": "bigint", "name": "string"},
    "narrower": {"id": "bigint", "amount": "decimal(12,1)", "pieces": "int", "name": "string"},
}
FILES = {
    "models/sources.yml": "sources: [{name: raw, schema: raw_schema, tables: [{name: things}]}]\n",
    "models/stg_messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'things'), format='canal') }}\n",
    "models/stg_things_changes.sql": "{{ config(materialized='cdc_append', on_schema_change=var('policy', 'evolve')) }}\n"
    "{{ spark_cdc.changes(messages=ref('stg_messages'), format='canal', table='things', key=['id'], "
    f"columns={COLUMNS}[var('columns', 'first')]) }}}}\n",
    "models/things.sql": "{{ config(materialized='cdc_current', unique_key=['id'], "
    "on_schema_change=var('policy_of_tables')) }}\n"
    "select * from {{ ref('stg_things_changes') }}\n",
    "models/things_history.sql": "{{ config(materialized='cdc_history', unique_key=['id'], "
    "on_schema_change=var('policy_of_tables')) }}\nselect * from {{ ref('stg_things_changes') }}\n",
}  # fmt: skip


@dataclass
class Stages:
    """What the runs said, and what the tables held after each."""

    runs: dict[str, Run] = field(default_factory=dict)
    contents: dict[tuple[str, str], Any] = field(default_factory=dict)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)


def thing(
    number: int, name: str, amount: str = "1.00", pieces: int = 1, note: str | None = "n"
) -> dict[str, Any]:
    """Give a row of `things`, as the source has it from the start."""
    return {"id": number, "note": note, "amount": amount, "pieces": pieces, "name": name}


@pytest.fixture(scope="module")
def stages(lake: Lake, new_project: Callable[..., Project]) -> Stages:
    """One story on one set of tables."""
    project = new_project(SCHEMA, FILES)
    stages = Stages()
    things = CanalTable(CanalTopic(), "things", ["id"])
    lake.create_raw("things", schema="raw_schema")

    def land(*events: Any) -> None:
        for event in events:
            lake.land("things", event.messages, schema="raw_schema")

    def run(
        stage: str,
        *arguments: str,
        columns: str = "more",
        policy: str = "evolve",
        policy_of_tables: str | None = None,
    ) -> None:
        policies = [f"policy: {policy}", f"policy_of_tables: {policy_of_tables or policy}"]
        variables = "{" + ", ".join([f"columns: {columns}", *policies]) + "}"
        stages.runs[stage] = project.dbt("run", *arguments, "--vars", variables)
        for table in TABLES:
            rows = lake.rows(f"select * from {SCHEMA}.{table} order by id, _cdc_sequence")
            stages.rows[stage, table], stages.contents[stage, table] = rows, contents_of(rows)

    land(
        things.insert(1, thing(1, "one", note="n1"), thing(2, "two", note=None), thing(3, "three", pieces=3_000_000_000)),
        things.update(2, (thing(1, "one", note="n1"), thing(1, "uno", note="n1 new"))),
        things.update(3, (thing(2, "two", note=None), thing(20, "two", note=None))),
        things.insert(4, thing(4, "four")),
        things.delete(5, thing(4, "four")),
    )  # fmt: skip
    run("first", columns="first")
    land(things.insert(8, thing(6, "six")))
    run("ignore", columns="one more", policy="ignore")
    land(
        things.update(6, (thing(1, "uno", note="n1 new"), thing(1, "uno", amount="123456789012.50", note="n1 new"))),
        things.insert(7, thing(5, "five")),
    )  # fmt: skip
    run("fail", policy="fail")
    run("narrower", columns="narrower", policy="ignore")
    run("evolved")
    run("rebuilt", "--full-refresh")
    land(things.update(9, (thing(6, "six"), thing(6, "six", note="not read"))))
    run("fewer", columns="fewer")
    if lake.file_format == "iceberg":
        land(
            things.update(10, (thing(1, "uno", note="n1 new"), thing(1, "eins", note="not read"))),
            things.delete(11, thing(6, "six")),
        )
        run("kept by tables", columns="fewer", policy="sync_all_columns", policy_of_tables="evolve")
        land(things.insert(12, thing(6, "sechs")))
        run("inserted again", columns="fewer", policy="sync_all_columns", policy_of_tables="evolve")
        run("dropped", columns="fewer", policy="sync_all_columns")
    return stages


@pytest.fixture
def drops_columns(lake: Lake) -> None:
    """Only Iceberg's stages are asked: Delta refuses `drop column` without column mapping, which our tables do not set."""
    if lake.file_format == "delta":
        pytest.skip("Delta drops columns of tables with column mapping only")


@pytest.mark.parametrize("table", TABLES)
def test_fail_names_every_difference(stages: Stages, table: str) -> None:
    """Model, table, columns and both types, and what to do; nothing is written."""
    if table == TABLES[0]:
        message = stages.runs["fail"].messages[table]
        assert f"the columns of model {table} are not those of its table {SCHEMA}.{table}: " in message
        assert "`amount` is decimal(20,2) in the model and decimal(10,2) in the table; " in message
        assert (
            "`pieces` is bigint in the model and int in the table; `note` (string) is not in the table. "
            in message
        )
        assert f"dbt run --full-refresh --select {table}+" in message
    else:
        assert stages.runs["fail"].statuses[table] == "skipped"
    assert stages.contents["fail", table] == stages.contents["ignore", table]


def test_types_are_not_ignored_and_not_narrowed(stages: Stages) -> None:
    """A column less is what `ignore` ignores: a value of another type would have to be rounded or cut."""
    stages.runs["ignore"].must_succeed()
    assert [row["name"] for row in stages.rows["ignore", "things"] if row["id"] == 6] == ["six"]
    assert all("note" not in row for table in TABLES for row in stages.rows["ignore", table])
    message = stages.runs["narrower"].messages["stg_things_changes"]
    assert "`amount` is decimal(12,1) in the model and decimal(10,2) in the table" in message
    assert "pieces" not in message
    for table in TABLES:
        assert stages.contents["narrower", table] == stages.contents["ignore", table]


def test_added_column_counts_as_absent_in_old_rows(stages: Stages) -> None:
    """Null and not carried: a later partial image does not take it for a null that was sent."""
    stages.runs["evolved"].must_succeed()
    rows = {row["_cdc_offset"]: row for row in stages.rows["evolved", "stg_things_changes"]}
    assert [rows[offset]["note"] for offset in (1, 5, 6, 7)] == [None, None, "n1 new", "n"]
    assert [rows[offset]["_cdc_missing_columns"] for offset in (1, 4, 5, 6, 7)] == [
        ["note"],
        None,
        ["note"],
        None,
        None,
    ]
    current = {row["id"]: row for row in stages.rows["evolved", "things"]}
    assert [current[key]["note"] for key in (1, 5, 6, 20)] == ["n1 new", "n", None, None]
    assert [current[key]["_cdc_missing_columns"] for key in (1, 5, 6, 20)] == [None, None, ["note"], ["note"]]


def test_row_before_keeps_its_fields_apart(stages: Stages) -> None:
    """The struct's new field stands after the others, whatever the order in the model."""
    [row] = [row for row in stages.rows["evolved", "stg_things_changes"] if row["_cdc_offset"] == 6]
    assert (row["_cdc_before"]["name"], row["_cdc_before"]["note"], row["_cdc_before"]["pieces"]) == (
        "uno",
        "n1 new",
        1,
    )


@pytest.mark.parametrize("table", TABLES)
def test_a_full_refresh_fills_what_was_added(stages: Stages, table: str) -> None:
    """Also the row that fits the wider type only."""
    stages.runs["rebuilt"].must_succeed()
    assert stages.contents["rebuilt", table] != stages.contents["evolved", table]
    assert any(row["pieces"] == 3_000_000_000 for row in stages.rows["rebuilt", table])


def test_column_that_is_no_longer_declared_keeps_its_values(stages: Stages) -> None:
    """No message carries it from now on."""
    stages.runs["fewer"].must_succeed()
    [row] = [row for row in stages.rows["fewer", "things"] if row["id"] == 6]
    assert (row["note"], row["_cdc_op"], row["_cdc_missing_columns"]) == ("n", "update", None)
    [change] = [row for row in stages.rows["fewer", "stg_things_changes"] if row["_cdc_offset"] == 8]
    assert (change["note"], change["_cdc_missing_columns"]) == (None, ["note"])


def test_the_text_of_an_open_version_says_what_its_arrays_say(stages: Stages) -> None:
    """Also where a column that was added counts as absent from then on."""
    absent = set()
    for (_, table), rows in stages.rows.items():
        for row in rows if table == "things_history" else []:
            said = json.loads(row["_cdc_resume_state"]) if row["_cdc_resume_state"] else None
            arrays = ("_cdc_sequence", "_cdc_missing_columns", "_cdc_last_sequence")
            is_open = row["valid_to"] is None
            assert said == (
                {name: row[name] for name in arrays if row[name] is not None} if is_open else None
            )
            absent |= set((said or {}).get("_cdc_missing_columns", []))
    assert absent == {"note"}


@pytest.mark.usefixtures("drops_columns")
def test_a_column_of_the_tables_alone_ends_with_its_row(stages: Stages) -> None:
    """What is inserted under a key that was deleted has none of the values of the row before."""
    found = {}
    for stage in ("kept by tables", "inserted again"):
        stages.runs[stage].must_succeed()
        current = {row["id"]: row for row in stages.rows[stage, "things"]}
        history = {row["id"]: row for row in stages.rows[stage, "things_history"] if row["valid_to"] is None}
        for name, rows in (("current", current), ("history", history)):
            found[stage, name] = [(rows[key]["note"], rows[key]["_cdc_missing_columns"]) for key in (1, 6)]
    for name in ("current", "history"):
        assert found["kept by tables", name] == [("n1 new", None), (None, None)]
        assert found["inserted again", name] == [("n1 new", None), (None, ["note"])]


@pytest.mark.usefixtures("drops_columns")
@pytest.mark.parametrize("table", TABLES)
def test_sync_all_columns_drops_it(stages: Stages, table: str) -> None:
    """In the tables over the changes too."""
    stages.runs["dropped"].must_succeed()
    for row in stages.rows["dropped", table]:
        assert "note" not in row
        assert "note" not in (row.get("_cdc_before") or {})


def test_first_column_of_a_type_that_a_lake_has_to_be_told_of(
    lake: Lake, new_project: Callable[..., Project]
) -> None:
    """Delta has `timestamp_ntz` and `variant` in a table that is there only after its properties name them.

    Iceberg 1.12 cannot describe a table between the statement that adds a variant and the first row with one: it is refused.
    """
    added = {"began_at": "timestamp_ntz"} | ({"seen": "variant"} if lake.file_format == "delta" else {})
    columns = "columns={'id': 'bigint'%s})"
    files = {
        "models/sources.yml": "sources: [{name: raw_types, tables: [{name: visits}]}]\n",
        "models/visits_changes.sql": "{{ config(materialized='cdc_append', on_schema_change='evolve') }}\n"
        f"{{{{ spark_cdc.changes(source('raw_types', 'visits'), format='canal', table='visits', key=['id'], {columns} }}}}\n",
        "models/visits.sql": "{{ config(materialized='cdc_current', unique_key=['id'], on_schema_change='evolve') }}\n"
        "select * from {{ ref('visits_changes') }}\n",
        "models/visits_history.sql": "{{ config(materialized='cdc_history', unique_key=['id'], on_schema_change='evolve') }}\n"
        "select * from {{ ref('visits_changes') }}\n",
    }
    changes = "models/visits_changes.sql"
    project = new_project("shop_types", files | {changes: files[changes] % ""})
    visits = CanalTable(CanalTopic(), "visits", ["id"])
    lake.create_raw("visits", schema="raw_types")
    row = {"began_at": "2026-03-29 02:30:00.123456", "seen": '{"pages": [1, 2]}'}
    lake.land("visits", visits.insert(1, {"id": 1} | row).messages, schema="raw_types")
    project.run()
    project.write(
        {changes: files[changes] % "".join(f", '{name}': '{type}'" for name, type in added.items())}
    )
    lake.land("visits", visits.insert(2, {"id": 2} | row).messages, schema="raw_types")
    project.run()
    texts = {"began_at": "cast(began_at as string)", "seen": "to_json(seen)"}
    selected = ", ".join(f"{texts[name]} as {name}" for name in added)
    values = {"began_at": row["began_at"], "seen": '{"pages":[1,2]}'}
    expected = [dict.fromkeys(added), {name: values[name] for name in added}]
    for table in ("visits_changes", "visits", "visits_history"):
        assert lake.rows(f"select {selected} from shop_types.{table} order by id") == expected
    if lake.file_format == "iceberg":
        project.write({changes: files[changes] % ", 'began_at': 'timestamp_ntz', 'seen': 'variant'"})
        message = project.dbt("run", "--select", "visits_changes").messages["visits_changes"]
        assert "table shop_types.visits_changes: `seen` (variant) is not in the table. " in message
        assert "rebuild the tables: dbt run --full-refresh --select visits_changes+" in message


def test_a_column_that_a_dead_run_has_half_added(lake: Lake, new_project: Callable[..., Project]) -> None:
    """A run that is killed between its two statements leaves the column in `_cdc_before` alone."""
    path, schema = "models/visits_changes.sql", "shop_half_added"
    model = (
        "{{{{ config(materialized='cdc_append', on_schema_change='{}') }}}}\n{{{{ spark_cdc.changes(source('raw_half_added', "
        "'visits'), format='canal', table='visits', key=['id'], columns={}) }}}}\n"
    )
    columns = {"id": "bigint", "name": "string"}
    sources = "sources: [{name: raw_half_added, tables: [{name: visits}]}]\n"
    project = new_project(schema, {"models/sources.yml": sources, path: model.format("evolve", columns)})
    visits = CanalTable(CanalTopic(), "visits", ["id"])
    first, second = ({"id": 1, "name": name, "note": "n", "more": "m"} for name in ("a", "b"))
    lake.create_raw("visits", schema="raw_half_added")
    lake.land("visits", visits.insert(1, first).messages, schema="raw_half_added")
    project.run()
    lake.spark.sql(f"alter table {schema}.visits_changes add columns (_cdc_before.note string)")

    lake.land("visits", visits.update(2, (first, second)).messages, schema="raw_half_added")
    project.write({path: model.format("evolve", columns | {"more": "string"})})
    project.run()
    [row] = lake.rows(f"select name, more, _cdc_before from {schema}.visits_changes where _cdc_op = 'update'")
    assert (row["name"], row["more"], row["_cdc_before"]["name"], row["_cdc_before"]["note"]) == (
        "b",
        "m",
        "a",
        None,
    )

    project.write({path: model.format("evolve", columns | {"more": "string", "note": "bigint"})})
    assert (
        f"model visits_changes declares `note` as bigint, and a run that was killed has added it to `_cdc_before` of "
        f"{schema}.visits_changes as string. Declare that type, or drop the field: alter table {schema}.visits_changes drop "
        "column _cdc_before.`note`" in project.dbt("run").messages["visits_changes"]
    )
    if lake.file_format == "delta":
        project.write(
            {path: model.format("sync_all_columns", {"id": "bigint", "more": "string", "size": "int"})}
        )
        message = project.dbt("run").messages["visits_changes"]
        assert "no longer has the columns name, and Delta drops none from" in message
        assert "set tblproperties ('delta.columnMapping.mode' = 'name')" in message
        assert "size" not in lake.spark.table(f"{schema}.visits_changes").columns
    project.write({path: model.format("evolve", columns | {"more": "string", "note": "string"})})
    lake.land("visits", visits.update(3, (second, first)).messages, schema="raw_half_added")
    project.run()
    rows = lake.rows(
        f"select note, _cdc_before.note as before from {schema}.visits_changes where name = 'a' order by 1"
    )
    assert rows[-1] == {"note": "n", "before": "n"}
