"""What a dbt user expects of a materialization: docs, hooks, contracts, schema changes, aliases, clear errors.

One project with many small models and a few runs; the tests look at what each run said and left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from harness import Lake, Project, Run
from source_tables import CanalTable, CanalTopic

SCHEMA = "shop_models"
MODES = ("ignore", "fail", "append_new_columns", "sync_all_columns")
KINDS = ("current", "history")
SELECT = "\nselect * from {{ ref('stg_things_changes') }}\n"
ODD_NAMES = ["order", "a.b", "q`q", "汉字", "T Weird.1", "it's", "code", "rows"]
# name -> (config, what follows it, the whole sentence)
REQUIRED = "spark_cdc.cdc_{kind}: argument `{argument}` must be {allowed}; got {got}. {next_step}"
SPELLING = "Correct the spelling, or leave the argument out where it has a default."
KEY_STEP = "Set config(unique_key=['id']) with the key that the changes model declares."
KEY_OF_CHANGES = {
    "argument": "unique_key", "allowed": "the key of `stg_things_changes`, id",
    "next_step": "Write unique_key=['id'], or correct the key of the changes model.",
}  # fmt: skip
WRONG = {
    "key_missing": ("", SELECT, {
        "argument": "unique_key", "allowed": "a list of column names, such as ['id']", "got": "nothing", "next_step": KEY_STEP,
    }),
    "key_misspelt": ("unique_key=['ID']", SELECT, KEY_OF_CHANGES | {"got": "`ID`"}),
    "other_key": ("unique_key=['id', 'name']", SELECT, KEY_OF_CHANGES | {"got": "`id, name`"}),
    "key_reserved": ("unique_key=['_cdc_op']", "\nselect * from {{ ref('stg_keyless_changes') }}\n", {
        "argument": "unique_key", "allowed": "one of id, name", "got": "`_cdc_op`", "next_step": "Name columns of the changes model.",
    }),
    "config_misspelt": ("unique_key=['id'], on_schema_chang='fail'", SELECT, {
        "argument": "config", "allowed": "made of keys that exist", "got": "`on_schema_chang`",
        "next_step": "Did you mean on_schema_change?",
    }),
    "config_of_letters_changed": ("unique_key=['id'], file_fromat='delta'", SELECT, {
        "argument": "config", "allowed": "made of keys that exist", "got": "`file_fromat`", "next_step": "Did you mean file_format?",
    }),
    "key_twice": ("unique_key=['id', 'id']", SELECT, {
        "argument": "unique_key", "allowed": "a list that names each column once", "got": "`['id', 'id']`",
        "next_step": KEY_STEP,
    }),
    "no_contract_columns": ("unique_key=['id']", "\nselect id, name, _cdc_op from {{ ref('stg_things_changes') }}\n", {
        "argument": "sql", "allowed": "a select of all columns of a model made by spark_cdc.changes",
        "got": "a select without _cdc_sequence, _cdc_committed_at, _cdc_transaction_id, _cdc_before, _cdc_missing_columns, "
        "_cdc_error, _cdc_topic, _cdc_partition, _cdc_offset, _cdc_offsets, _cdc_loaded_at, _cdc_read_positions",
        "next_step": "Write select * from {{ ref('...') }}; a model over this one may leave rows out.",
    }),
    "file_format": ("unique_key=['id'], file_format='parquet'", SELECT, {
        "argument": "file_format", "allowed": "one of iceberg, delta", "got": "`parquet`", "next_step": SPELLING,
    }),
    "on_schema_change": ("unique_key=['id'], on_schema_change='append'", SELECT, {
        "argument": "on_schema_change", "allowed": "one of ignore, fail, evolve, append_new_columns, sync_all_columns",
        "got": "`append`", "next_step": SPELLING,
    }),
}  # fmt: skip


def model(kind: str, config: str = "unique_key=['id']", body: str = SELECT) -> str:
    """Write a model of ours."""
    return "{{ config(" + ", ".join(filter(None, [f"materialized='cdc_{kind}'", config])) + ") }}" + body


def changes(source: str, columns: str, materialized: str = "incremental", key: str = "['id']") -> str:
    """Write a changes model that reads a raw table."""
    return (
        f"{{{{ config(materialized='{materialized}') }}}}\n"
        f"{{{{ spark_cdc.changes(source('raw_models', '{source}'), format='canal', table='{source}', "
        f"key={key}, columns={columns}) }}}}\n"
    )


def files() -> dict[str, str]:
    """All models of this module: path -> text."""
    made = {
        "models/sources.yml": "sources: [{name: raw_models, tables: [{name: things}, {name: eu}, {name: us}, {name: odd}]}]\n",
        "models/stg_things_changes.sql": changes(
            "things", "{'id': 'bigint', 'name': 'string'} if not var('with_note', false) else "
            "{'id': 'bigint', 'name': 'string', 'note': 'string'}",
        ),
        "models/stg_keyless_changes.sql": changes(
            "things", "{'id': 'bigint', 'name': 'string'}", key="[]"
        ),
        "models/odd/stg_odd_changes.sql": changes(
            "odd", str({"id": "bigint"} | dict.fromkeys(ODD_NAMES, "string")), "cdc_append", "['id', 'order']"
        ),
        "models/once/plain_granted.sql": "{{ config(materialized='table', grants={'select': ['someone']}) }} select 1 as id\n",
        "models/once/plain_contract.sql": "{{ config(materialized='table') }} select 1 as id, 'x' as name\n",
    }  # fmt: skip
    for kind in KINDS:
        for mode in MODES:
            made[f"models/modes/{mode}_{kind}.sql"] = model(
                kind, f"unique_key=['id'], on_schema_change='{mode}'"
            )
        made[f"models/odd/odd_{kind}.sql"] = model(
            kind, "unique_key=['id', 'order']", "\nselect * from {{ ref('stg_odd_changes') }}\n"
        )
        made[f"models/once/granted_{kind}.sql"] = model(
            kind, "unique_key=['id'], grants={'select': ['someone']}"
        )
        made[f"models/contract_{kind}.sql"] = model(kind)
        made[f"models/once/short_contract_{kind}.sql"] = model(kind)
        made[f"models/once/wrong_contract_{kind}.sql"] = model(kind)
        made[f"models/documented_{kind}.sql"] = model(
            kind,
            "unique_key='id', file_format='iceberg', persist_docs={'relation': true, 'columns': true}, "
            f'pre_hook=["{audit(kind, "pre 1")}", "{audit(kind, "pre 2")}"], '
            f'post_hook=["{audit(kind, "post 1")}", "{audit(kind, "post 2")}"]',
        )
        made[f"models/once/over_a_view_{kind}.sql"] = model(kind)
        for name, (config, body, _) in WRONG.items():
            made[f"models/once/wrong_{name}_{kind}.sql"] = model(kind, config, body)
        for place in ("eu", "us"):
            made[f"models/places/{place}_things_{kind}.sql"] = model(
                kind, f"unique_key=['id'], schema='{place}', alias='same_{kind}'",
                f"\nselect * from {{{{ ref('stg_{place}_changes') }}}}\n",
            )  # fmt: skip
    made["models/once/wrong_own_name_history.sql"] = model(
        "history", body="\nselect *, name as `Valid_To` from {{ ref('stg_things_changes') }}\n"
    )
    for place in ("eu", "us"):
        made[f"models/places/stg_{place}_changes.sql"] = changes(place, "{'id': 'bigint', 'name': 'string'}")
    made["models/models.yml"] = "models:\n" + "".join(described(kind) for kind in KINDS) + plain_contract()
    return made


def audit(kind: str, text: str) -> str:
    """Write a hook that leaves a row: which hook, and how many rows the table has by then."""
    return (
        f"insert into {SCHEMA}.audit select '{kind}', '{text}', "
        f"(select coalesce(max(number), 0) + 1 from {SCHEMA}.audit where kind = '{kind}')"
    )


def described(kind: str) -> str:
    """Write the YAML of the models with docs and contracts."""
    ours = [*columns_of(kind), *CONTRACT_COLUMNS[kind]]
    wrong = [(name, "int" if name == "name" else data_type) for name, data_type in ours]
    return f"""
  - name: documented_{kind}
    description: "Things, as they're now"
    columns: [{{name: id, description: "The thing's number"}}, {{name: _cdc_op, description: What happened last}}]
  - name: contract_{kind}
    config: {{contract: {{enforced: true}}}}
    columns: [{yaml_columns(ours)}]
  - name: short_contract_{kind}
    config: {{contract: {{enforced: true}}}}
    columns: [{yaml_columns(columns_of(kind)[::-1])}]
  - name: wrong_contract_{kind}
    config: {{contract: {{enforced: true}}}}
    columns: [{yaml_columns(wrong)}]
"""


def plain_contract() -> str:
    """Write the YAML of a built-in table whose contract is broken in the same way."""
    return f"""
  - name: plain_contract
    config: {{contract: {{enforced: true}}}}
    columns: [{yaml_columns([("id", "int"), ("name", "int")])}]
"""


def yaml_columns(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f'{{name: {name}, data_type: "{data_type}"}}' for name, data_type in columns)


def columns_of(kind: str) -> list[tuple[str, str]]:
    own = [("id", "bigint"), ("name", "string")]
    return own if kind == "current" else [*own, ("valid_from", "timestamp"), ("valid_to", "timestamp")]


KEY_OPERATION_COLUMNS = [
    ("_cdc_op", "string"), ("_cdc_is_deleted", "boolean"), ("_cdc_sequence", "array<decimal(20,0)>"),
    ("_cdc_committed_at", "timestamp"), ("_cdc_transaction_id", "string"), ("_cdc_missing_columns", "array<string>"),
    ("_cdc_topic", "string"), ("_cdc_partition", "int"), ("_cdc_offset", "bigint"),
]  # fmt: skip
CONTRACT_COLUMNS = {
    "current": KEY_OPERATION_COLUMNS,
    "history": [
        *KEY_OPERATION_COLUMNS,
        ("_cdc_last_sequence", "array<decimal(20,0)>"),
        ("_cdc_resume_state", "string"),
    ],
}


@dataclass
class Stages:
    """What the runs said, and what the tables held after each."""

    runs: dict[str, Run] = field(default_factory=dict)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def stages(lake: Lake, new_project: Callable[..., Project]) -> Stages:
    """Three runs: the first, one with a new column and new rows, and a full refresh."""
    project = new_project(SCHEMA, files())
    # What our materializations need is not a line in dbt_project.yml.
    settings = project.folder / "dbt_project.yml"
    settings.write_text(settings.read_text().split("models:\n")[0])

    stages = Stages()
    things, eu, us, odd = (CanalTable(CanalTopic(), name, ["id"]) for name in ("things", "eu", "us", "odd"))
    lake.create_raw("things", "eu", "us", "odd", schema="raw_models")
    lake.spark.sql(f"create schema if not exists {SCHEMA}")
    lake.spark.sql(
        f"create or replace table {SCHEMA}.audit (kind string, hook string, number int) using iceberg"
    )
    for kind in KINDS:
        lake.spark.sql(f"create or replace view {SCHEMA}.over_a_view_{kind} as select 1 as id")

    def land(table: CanalTable, event: Any) -> None:
        lake.land(table.name, event.messages, schema="raw_models")

    def run(stage: str, *arguments: str) -> None:
        stages.runs[stage] = project.dbt("run", *arguments)
        tables = [*(f"{mode}_{kind}" for mode in MODES for kind in KINDS), *(f"odd_{kind}" for kind in KINDS)]
        places = [f"{SCHEMA}_{place}.same_{kind}" for place in ("eu", "us") for kind in KINDS]
        for table in [*(f"{SCHEMA}.{name}" for name in tables), *places]:
            stages.rows[stage, table.removeprefix(f"{SCHEMA}.")] = lake.rows(
                f"select * from {table} order by id, _cdc_sequence"
            )
        stages.rows[stage, "audit"] = lake.rows(f"select * from {SCHEMA}.audit order by kind, number")
        for kind in KINDS:
            stages.rows[stage, f"describe_{kind}"] = lake.rows(
                f"describe extended {SCHEMA}.documented_{kind}"
            )

    def odd_row(number: int, text: str) -> dict[str, Any]:
        return {"id": number} | dict.fromkeys(ODD_NAMES, text) | {"order": "o"}

    land(
        things,
        things.insert(1, {"id": 1, "name": "one", "note": "n1"}, {"id": 2, "name": "two", "note": "n2"}),
    )
    land(odd, odd.insert(1, odd_row(1, "a"), odd_row(2, "b")))
    land(eu, eu.insert(1, {"id": 1, "name": "eu"}))
    land(us, us.insert(1, {"id": 1, "name": "us"}))
    run("first")

    land(
        things,
        things.update(5, ({"id": 1, "name": "one", "note": "n1"}, {"id": 1, "name": "uno", "note": "new"})),
    )
    land(odd, odd.update(5, (odd_row(1, "a"), odd_row(1, "c"))))
    land(odd, odd.delete(6, odd_row(2, "b")))
    land(eu, eu.update(5, ({"id": 1, "name": "eu"}, {"id": 1, "name": "eu 2"})))
    land(us, us.update(5, ({"id": 1, "name": "us"}, {"id": 1, "name": "us 2"})))
    # A column more in a changes model means to rebuild it from the raw table: `_cdc_before` has it too.
    with_note = ("--vars", "{with_note: true}")
    project.run("--full-refresh", "--select", "stg_things_changes", *with_note)
    run("new column", *with_note, "--exclude", "path:models/once", "stg_things_changes")
    stages.rows["new column", "snapshots"] = lake.rows(f"select * from {SCHEMA}.ignore_current.snapshots")
    run("full refresh", "--full-refresh", *with_note, "--exclude", "path:models/once", "path:models/places")
    stages.rows["full refresh", "snapshots"] = lake.rows(f"select * from {SCHEMA}.ignore_current.snapshots")
    return stages


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_configuration_stops_with_one_sentence(stages: Stages, name: str, kind: str) -> None:
    """The whole sentence: materialization, argument, what is allowed, what was got, what to do."""
    message = stages.runs["first"].messages[f"wrong_{name}_{kind}"]
    assert stages.runs["first"].statuses[f"wrong_{name}_{kind}"] == "error"
    assert REQUIRED.format(kind=kind, **WRONG[name][2]) in message


def test_a_column_has_not_the_name_of_a_version_s_time(stages: Stages) -> None:
    """Spark does not tell the case of letters."""
    assert (
        "spark_cdc.cdc_history: argument `sql` must be a select without the names that a history has itself; got `Valid_To`. "
        "Leave it out of the columns of the changes model."
        in stages.runs["first"].messages["wrong_own_name_history"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_view_of_the_same_name_is_not_touched(stages: Stages, lake: Lake, kind: str) -> None:
    """dbt-spark does not list the views of an Iceberg catalog, so it is the catalog that says it."""
    name = f"{SCHEMA}.over_a_view_{kind}"
    assert stages.runs["first"].statuses[f"over_a_view_{kind}"] == "error"
    assert (
        f"View with same name already exists: {name}" in stages.runs["first"].messages[f"over_a_view_{kind}"]
    )
    assert lake.rows(f"select * from {name}") == [{"id": 1}]


@pytest.mark.parametrize("kind", KINDS)
def test_grants_do_what_they_do_for_a_built_in_table(stages: Stages, kind: str) -> None:
    """An Iceberg JDBC catalog has no grants, and both say so in the same words."""
    ours, built_in = (stages.runs["first"].messages[name] for name in (f"granted_{kind}", "plain_granted"))
    assert stages.runs["first"].statuses[f"granted_{kind}"] == stages.runs["first"].statuses["plain_granted"]
    assert _first_error_line(ours) == _first_error_line(built_in)


def _first_error_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next(
        (line for line in lines if line.startswith("[") or ("Error" in line and "model" not in line)),
        lines[0],
    )


@pytest.mark.parametrize("stage", ["first", "new column", "full refresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_docs_are_persisted(stages: Stages, kind: str, stage: str) -> None:
    """The table's and the columns' descriptions stand in the catalog after each run."""
    described = {row["col_name"]: row for row in stages.rows[stage, f"describe_{kind}"]}
    assert described["id"]["comment"] == "The thing's number"
    assert described["_cdc_op"]["comment"] == "What happened last"
    assert described["Comment"]["data_type"] == "Things, as they're now"


@pytest.mark.parametrize(("stage", "runs"), [("first", 1), ("new column", 2), ("full refresh", 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_hooks_run_once_each_in_order(stages: Stages, kind: str, stage: str, runs: int) -> None:
    """Before and after the table is written, in the order of the configuration."""
    hooks = [row["hook"] for row in stages.rows[stage, "audit"] if row["kind"] == kind]
    assert hooks == ["pre 1", "pre 2", "post 1", "post 2"] * runs


@pytest.mark.parametrize("kind", KINDS)
def test_contract_that_holds_is_accepted(stages: Stages, kind: str) -> None:
    """It names all columns of the table, or those alone that do not begin with `_cdc_`."""
    first = stages.runs["first"]
    for name in (f"contract_{kind}", f"short_contract_{kind}"):
        assert first.statuses[name] == "success", first.messages[name]


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_of_a_contract_come_first(kind: str, lake: Lake) -> None:
    found = [row["col_name"] for row in lake.rows(f"describe {SCHEMA}.short_contract_{kind}")]
    described = [name for name, _ in columns_of(kind)[::-1]]
    assert found[: len(described)] == described
    assert "_cdc_offset" in found[len(described) :]


@pytest.mark.parametrize("kind", KINDS)
def test_broken_contract_fails_with_the_words_of_dbt(stages: Stages, kind: str) -> None:
    """As a built-in table does, before anything is written."""
    ours, built_in = (
        stages.runs["first"].messages[name] for name in (f"wrong_contract_{kind}", "plain_contract")
    )
    sentence = "This model has an enforced contract that failed."
    assert sentence in built_in
    assert sentence in ours
    assert "| name " in ours and "data type mismatch" in ours


@pytest.mark.parametrize("stage", ["new column", "full refresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_contract_is_checked_on_later_runs(stages: Stages, kind: str, stage: str) -> None:
    """A column that came since the first run breaks the contract, which names it."""
    message = stages.runs[stage].messages[f"contract_{kind}"]
    assert "This model has an enforced contract that failed." in message
    assert "| note" in message and "missing in contract" in message


NEW_NOTES = {"current": {1: ["new"], 2: ["n2"]}, "history": {1: ["n1", "new"], 2: ["n2"]}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_new_column(stages: Stages, mode: str, kind: str) -> None:
    """`ignore` goes on without it, `fail` says so; the others take it for each row, as the changes were rebuilt."""
    run = stages.runs["new column"]
    rows = stages.rows["new column", f"{mode}_{kind}"]
    if mode == "fail":
        assert run.statuses[f"{mode}_{kind}"] == "error"
        assert (
            f"the columns of model {mode}_{kind} are not those of its table" in run.messages[f"{mode}_{kind}"]
        )
        assert "note" in run.messages[f"{mode}_{kind}"]
        assert {row["name"] for row in rows} == {"one", "two"}
        return
    assert run.statuses[f"{mode}_{kind}"] == "success", run.messages[f"{mode}_{kind}"]
    assert [row["name"] for row in rows if row["id"] == 1][-1] == "uno"
    if mode == "ignore":
        assert "note" not in rows[0]
    else:
        assert {
            number: [row["note"] for row in rows if row["id"] == number] for number in (1, 2)
        } == NEW_NOTES[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_full_refresh_takes_the_new_column(stages: Stages, mode: str, kind: str) -> None:
    """In each mode, and in place: the table's earlier snapshots are still there."""
    assert stages.runs["full refresh"].statuses[f"{mode}_{kind}"] == "success"
    rows = stages.rows["full refresh", f"{mode}_{kind}"]
    assert [row["note"] for row in rows if row["id"] == 1][-1] == "new"
    assert [row["note"] for row in rows if row["id"] == 2] == ["n2"]
    before, after = (len(stages.rows[stage, "snapshots"]) for stage in ("new column", "full refresh"))
    assert after == before + 1


@pytest.mark.parametrize("stage", ["new column", "full refresh"])
def test_columns_with_odd_names(stages: Stages, stage: str) -> None:
    """Words of SQL, points, quotes and characters of other scripts are names like any other."""
    for kind in KINDS:
        assert stages.runs[stage].statuses[f"odd_{kind}"] == "success", stages.runs[stage].messages[
            f"odd_{kind}"
        ]
    others = [name for name in ODD_NAMES if name != "order"]
    live = [row for row in stages.rows[stage, "odd_current"] if not row["_cdc_is_deleted"]]
    assert [[row[name] for name in ODD_NAMES] for row in live] == [["o", *("c" for _ in others)]]
    versions = [(row["id"], row["a.b"], row["valid_to"] is None) for row in stages.rows[stage, "odd_history"]]
    assert versions == [(1, "a", False), (1, "c", True), (2, "b", False), (2, None, True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["eu", "us"])
def test_one_alias_in_two_schemas(stages: Stages, place: str, kind: str) -> None:
    """On four threads at once each table gets its own rows: dbt-spark's own incremental models mix them up."""
    names = [row["name"] for row in stages.rows["new column", f"{SCHEMA}_{place}.same_{kind}"]]
    assert names == ([f"{place} 2"] if kind == "current" else [place, f"{place} 2"])


def test_project_needs_no_configuration_of_ours(stages: Stages) -> None:
    """No `file_format` anywhere: first run, later runs and full refresh."""
    for stage in ("first", "new column", "full refresh"):
        assert stages.runs[stage].statuses["ignore_current"] == "success"
