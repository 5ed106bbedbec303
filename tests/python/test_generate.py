"""`spark-cdc generate`: what it finds in messages, the files that it writes, and what it leaves to the user."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.generate.ddl import Declared, Statement, declared, spark_type
from dbt_spark_cdc.generate.files import project_files
from dbt_spark_cdc.generate.plan import (
    DOES_NOT_FIT,
    MORE_THAN_DOUBLE,
    NO_TYPE,
    OF_HISTORY,
    ONLY_NULLS,
    SCALES_DIFFER,
    SHARDS_DIFFER,
    Column,
    Plan,
    Table,
    matches,
    model_name,
    put_names,
    without_models,
)
from dbt_spark_cdc.generate.reading import JINJA, _not_declarable
from dbt_spark_cdc.generate.routes import load, routed
from dbt_spark_cdc.generate.types import Shapes, guessed, joined
from dbt_spark_cdc.generate.writing import STATE, Outcome, State, merged, outcome, read_state, write
from encoders import dataworks
from jinja2 import Environment
from ruamel.yaml import YAML

CASES = Path(__file__).resolve().parents[1] / "generated"
PAGE = "docs/how-to/generate-models.md"


# ---- types and keys that no message names: no Spark


OF_DOUBLE = ("decimal(20,4)", MORE_THAN_DOUBLE)
OWN_WHOLE, OWN_SCALES = ("decimal(38,0)", SCALES_DIFFER), ("decimal(38,18)", SCALES_DIFFER)


@pytest.mark.parametrize(
    ("counts", "values", "digits", "scale", "expected"),
    [
        ({"bigint": 3}, 3, 2, 0, "bigint"),
        ({"bigint": 2}, 3, 2, 0, "string"),  # one value has another shape
        ({"bigint": 1, "decimal": 2}, 3, 3, 2, "decimal(20,4)"),
        ({"decimal": 1}, 1, 9, 4, "decimal(26,8)"),
        ({"decimal": 1}, 1, 15, 10, "decimal(35,20)"),
        ({"decimal": 1}, 1, 20, 10, "decimal(38,10)"),
        ({"bigint": 1, "decimal": 1}, 2, 20, 0, "decimal(38,0)"),
        ({"decimal": 1}, 1, 30, 20, "string"),
        ({"date": 1, "bigint": 1}, 2, 4, 0, "string"),
        ({"date": 2}, 2, 0, 0, "date"),
        ({"timestamp": 2}, 2, 0, 0, "timestamp"),
        ({"timestamp": 1, "timestamp_ntz": 1}, 2, 0, 0, "string"),
        ({"boolean": 2}, 2, 0, 0, "boolean"),
        ({"decimal(38,0)": 2}, 2, 0, 0, "decimal(38,0)"),
        ({"decimal(38,0)": 1, "decimal(38,18)": 1}, 2, 0, 0, "decimal(38,18)"),
        ({"decimal(38,0)": 1, "bigint": 1}, 2, 0, 0, "string"),
        ({}, 0, 0, 0, "string"),
    ],
)
def test_a_guess_holds_every_value(
    counts: dict[str, int], values: int, digits: int, scale: int, expected: str
) -> None:
    assert guessed(Shapes(values, counts, digits, scale)) == expected


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("bigint", "bigint", "bigint"),
        ("bigint", "decimal(20,4)", "decimal(23,4)"),
        ("decimal(20,4)", "decimal(26,8)", "decimal(26,8)"),
        ("decimal(38,0)", "decimal(20,4)", "string"),
        ("date", "bigint", "string"),
        ("string", "bigint", "string"),
        ("int", "bigint", "bigint"),
        ("int", "decimal(20,4)", "decimal(20,4)"),
        ("bigint", "decimal(12,2)", "decimal(21,2)"),
        ("timestamp_ntz from microseconds", "bigint", "string"),
    ],
)
def test_a_guess_also_holds_the_values_of_the_run_before(before: str, now: str, expected: str) -> None:
    assert joined(before, now) == expected


def read(*texts: str, dialect: str | None = "mysql", table: str | None = None) -> dict[Any, Declared]:
    return declared(Statement("shop", table, text, dialect) for text in texts)


def test_statements_name_types_and_keys() -> None:
    found = read(
        "create table a (id int unsigned, b decimal(12,3), c enum('x','y'), d varchar(9), primary key (id, b))",
        "alter table a add column e datetime(6), modify B bigint, drop column d",
        "create table crm.b (x float primary key, t timestamp, m bit(3), n decimal(60,2), o decimal)",
        "create table c like a",
        "alter table crm.b rename column x to y",
        "this is no statement",
        "create view v as select 1",
    )
    assert found == {
        ("shop", "a"): Declared({"id": "bigint", "b": "bigint", "c": "string", "e": "timestamp_ntz"}, None),
        ("crm", "b"): Declared({"n": "string"}, None),
    }
    assert read("create table k (a int, b int, primary key (b, A))")["shop", "k"].key == ["b", "a"]


def test_a_key_column_of_an_unknown_type_is_of_the_key() -> None:
    text = "create table k (at timestamp, b int, primary key (b, at)) engine=InnoDB partition by hash(b)"
    assert read(text)["shop", "k"] == Declared({"b": "int"}, ["b", "at"])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("alter table k add c int", ["a"]),
        ("alter table k modify a bigint", ["a"]),
        ("alter table k change a z bigint", None),
        ("alter table k drop column b", None),
        ("alter table k add c int, drop primary key, add primary key (c)", None),
        ("alter table k add constraint p unique (b)", None),
    ],
)
def test_a_key_stays_if_a_statement_only_adds_or_changes_columns(text: str, key: list[str] | None) -> None:
    assert read("create table k (a int primary key, b int)", text)["shop", "k"].key == key


def test_what_may_have_done_nothing_is_skipped_and_what_ends_a_table_clears_it() -> None:
    create = "create table k (a int primary key)"
    kept = {("shop", "k"): Declared({"a": "int"}, ["a"])}
    for text in (
        "create table if not exists k (a date)",
        "create temporary table k (a date)",
        "drop temporary table k",
        "drop table if exists k",
        "truncate table k",
        "create index i on k (a)",
    ):
        assert read(create, text, table="k") == kept, text
    for text in (
        "drop table k",
        "rename table k to l",
        "alter table k rename to l",
        "create table k like other",
    ):
        assert read(create, text) == {}, text
    assert read(create, create.replace("k", "l"), "rename table k to l") == {}
    # It says nothing that can be read: of its message's table nothing is certain any more.
    unknown = "alter table k frobnicate a"
    assert (read(create, unknown), read(create, unknown, table="k")) == (kept, {})


@pytest.mark.parametrize(
    ("dialect", "type_", "expected"),
    [
        ("oracle", "date", "timestamp_ntz"),
        ("oracle", "number(10)", "decimal(10,0)"),
        ("oracle", "number(10,2)", "decimal(10,2)"),
        ("oracle", "number", None),
        ("oracle", "integer", "decimal(38,0)"),
        ("oracle", "float", None),
        ("oracle", "double precision", None),
        ("oracle", "long", None),
        ("mysql", "longtext", "string"),
        ("postgres", "serial", "int"),
        ("postgres", "bigserial", "bigint"),
        ("postgres", "text[]", None),
        ("postgres", "timestamp(3) without time zone", "timestamp_ntz"),
        ("mysql", "serial", "decimal(20,0)"),
        ("mysql", "bool", "tinyint"),
        ("tsql", "tinyint", "smallint"),
        ("tsql", "timestamp", None),
        # A date or a time: the dialects that read the statement disagree.
        (None, "date", None),
        (None, "varchar(3)", "string"),
    ],
)
def test_a_type_is_one_of_its_database(dialect: str | None, type_: str, expected: str | None) -> None:
    found = read(f"create table t (a {type_})", dialect=dialect)["shop", "t"]
    assert found.types == ({} if expected is None else {"a": expected})


@pytest.mark.parametrize(
    ("name", "dialect"), [("LONG RAW", "oracle"), ("long varchar", "mysql"), ("long", "mysql")]
)
def test_a_type_that_sqlglot_takes_for_another_one_is_not_known(name: str, dialect: str) -> None:
    assert spark_type(name, dialect) is None


# ---- names


def test_a_name_of_a_message_is_no_file_name() -> None:
    assert model_name("../Etc/pass wd") == "etc_pass_wd"
    assert model_name("汉字") == "table"
    assert (model_name("2024"), model_name("_2024_x"), model_name("on")) == (
        "table_2024",
        "table_2024_x",
        "on",
    )
    assert (
        matches("orders_*", "orders_1") and not matches("orders_*", "returns") and not matches("a.c", "abc")
    )


def table(name: str, database: str | None = "shop", schema: str | None = None, **fields: Any) -> Table:
    columns = [Column(name="id", type="bigint", source_type="bigint"), Column(name="note", type="string")]
    return Table(
        database=database, schema_name=schema, name=name, **{"key": ["id"], "columns": columns, **fields}
    )


def test_tables_of_one_name_are_told_apart() -> None:
    tables = [table("orders"), table("orders", "old"), table("lines"), table("orders", None, "s")]
    put_names(tables, [])
    assert [t.model for t in tables] == ["shop_orders", "old_orders", "lines", "s_orders"]
    assert [(t.needs_database, t.needs_schema) for t in tables] == [
        (True, True),
        (True, True),
        (False, False),
        (True, True),
    ]


def test_a_table_that_gets_no_model_is_not_read_by_another_model() -> None:
    tables = [table("orders")]
    put_names(tables, [table("orders", "old")])
    assert (tables[0].model, tables[0].needs_database) == ("orders", True)


def test_a_table_may_have_the_name_of_another_ones_history() -> None:
    tables = [table("orders"), table("orders_history")]
    put_names(tables, [])
    assert [t.model for t in tables] == ["orders", "shop_orders_history"]


def test_names_that_stay_alike_ask_for_a_route() -> None:
    with pytest.raises(
        UsageError,
        match=r"option --routes must give each table a model name of its own; got `shop_a_b` for shop\.a b and shop\.a\.b\.",
    ):
        put_names([table("a b"), table("a.b")], [])


def test_all_names_that_stay_alike_are_said_at_once() -> None:
    tables = [table("a b"), table("lines"), table("a.b"), table("t_num"), table("T_NUM")]
    with pytest.raises(UsageError) as error:
        put_names(tables, [])
    assert (
        "got `shop_a_b` for shop.a b and shop.a.b; `shop_t_num` for shop.t_num and shop.T_NUM. Write a route"
        in str(error.value)
    )


# ---- routes


def routes(folder: Path, text: str) -> Any:
    file = folder / "routes.yml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def test_routes_choose_rename_merge_and_override(tmp_path: Path, library: Any) -> None:
    tables = [
        table("orders_1"),
        table("orders_2"),
        table("tmp_x"),
        table("customers"),
        table("audit", key=[]),
    ]
    tables[1].columns[1] = Column(name="note", type="int")
    tables[1].columns.append(Column(name="extra", type="date"))
    for shard, types in zip(
        tables, ((OWN_WHOLE, ("string", ONLY_NULLS)), (("bigint", None), OWN_SCALES)), strict=False
    ):
        for name, (type_, guess) in zip(("number", "price"), types, strict=True):
            shard.columns.append(Column(name=name, type=type_, guess=guess))
    found = routes(
        tmp_path,
        r"""
        exclude: ['shop\.tmp_.*']
        route:
          - source-table: shop\.orders_[0-9]+
            sink-table: orders
            description: All shards of the orders.
          - source-table: audit
            key: [note]
            columns: {note: timestamp_ntz from microseconds, id: }
    """,
    )
    audit, customers, orders = routed(found, tables, library)
    assert (orders.name, orders.model, orders.key, orders.is_of_shards) == (
        "orders_*",
        "orders",
        ["id"],
        True,
    )
    assert [(c.name, c.type, c.guess) for c in orders.columns] == [
        ("id", "bigint", None), ("note", "string", "the types of the shards differ"), ("number", *OWN_WHOLE),
        ("price", *OWN_SCALES), ("extra", "date", None),
    ]  # fmt: skip
    assert orders.description == "All shards of the orders."
    assert (customers.name, customers.model) == ("customers", "")
    assert [(c.name, c.type) for c in audit.columns] == [("note", "timestamp_ntz from microseconds")]
    assert audit.key == ["note"]


def test_a_symbol_gives_each_table_of_a_route_a_name_of_its_own(tmp_path: Path, library: Any) -> None:
    tables = [table("orders"), table("Order Lines"), table("orders", "other")]
    found = routes(
        tmp_path,
        r"route: [{source-table: 'shop\..*', sink-table: crm_<>_now, replace-symbol: <>, key: [id]}]",
    )
    names = {one.full_name: one.model for one in routed(found, tables, library)}
    assert names == {
        "shop.Order Lines": "crm_order_lines_now", "shop.orders": "crm_orders_now", "other.orders": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "option --routes must be a YAML file; got "),
        ("tables: []", "routes.yml: tables is not known; known are include, exclude, route"),
        ("include: ['(']", "routes.yml: include: must be a regular expression ("),
        ("route: [{sink-table: a}]", "route.0.source-table: Field required"),
        ("route: [{source-table: a, sink-table: A.b}]", "route.0: sink-table must be the name of a model"),
        ("route: [{source-table: a, sink-table: 'a.<>', replace-symbol: <>}]", "route.0: sink-table must be the name of a model"),
        ("route: [{source-table: a, sink-table: b, replace-symbol: <>}]", "route.0: replace-symbol must stand in sink-table; got '<>' and 'b'"),
        ("route: [{source-table: a, replace-symbol: <>}]", "route.0: replace-symbol must stand in sink-table; got '<>' and None"),
        ("route: [{source-table: none}]", "route.0.source-table must match a table that no route before it takes; got `none`"),
        ("route: [{source-table: orders_1, key: [nr]}]", "must name columns of shop.orders_1 (id, note); got `nr`"),
        ("route: [{source-table: orders_1, columns: {id: number}}]", "the route of `orders_1`: spark_cdc.changes: argument `columns` must be a type of"),
        ("route: [{source-table: orders_1, columns: {id: }}]", "must keep the key and a column of shop.orders_1; got `id` without a type"),
        ("route: [{source-table: 'orders_[12]', sink-table: orders}]", "got `shop.orders_*`, which matches `shop.orders_x` too"),
        ("route: [{source-table: 'orders_1|lines', sink-table: a}]", "got `shop.*`, which matches `shop.orders_2` too"),
        ("route: [{source-table: 'key_.', sink-table: a}]", "must have a key, because its tables have different ones; got id; note."),
    ],
)  # fmt: skip
def test_a_route_that_cannot_be_met_gets_a_sentence(
    tmp_path: Path, library: Any, text: str, sentence: str
) -> None:
    tables = [
        table("orders_1"),
        table("orders_2"),
        table("orders_x"),
        table("lines"),
        table("key_a"),
        table("key_b", key=["note"]),
    ]
    with pytest.raises(UsageError) as error:
        routed(routes(tmp_path, text), tables, library)
    assert sentence in str(error.value)


# ---- files


def plan(*tables: Table, source: str = "shop", **fields: Any) -> Plan:
    put_names(tables, [])
    settings = {"raw_schema": source, "raw_table": "raw", "format": "canal", "dialect": None, **fields}
    return Plan(source=source, tables=list(tables), **settings)


def test_the_files_of_the_tutorial_are_those_that_are_generated(repository: Path) -> None:
    """One table: its SQL is the tutorial's, letter by letter; so are the tests of its YAML."""
    text = (repository / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^(?:--|#) (models/[\w./-]+)[^\n]*\n(.*?)^```", text, re.M | re.S))
    columns = {"id": "bigint", "amount": "decimal(20,4)", "placed_at": "timestamp_ntz"}
    orders = table("orders", columns=[Column(name=name, type=type_) for name, type_ in columns.items()])
    files = project_files({"shop": plan(orders)})
    names = [name for name in shown if name.endswith(".sql")]
    assert len(names) == 7
    for name in names:
        assert files[name] == shown[name]
    yaml = YAML(typ="safe")
    tests = {
        model["name"]: model["data_tests"]
        for name, text in files.items() if name.endswith("models.yml")
        for model in yaml.load(text)["models"] if "data_tests" in model
    }  # fmt: skip
    expected = {
        model["name"]: model["data_tests"]
        for name in shown if name.endswith(".yml") and "sources" not in name
        for model in yaml.load(shown[name])["models"]
    }  # fmt: skip
    assert tests == expected


def test_a_name_of_a_message_is_never_code() -> None:
    names = ["it's", 'a"b', "back\\slash", "q`q", "a, 'b': 'c", "yes", "1", "# no comment", "a: b", "- a"]
    columns = [
        Column(name=name, type="string", source_type="enum('}}', '{{ x }}')", guess="why") for name in names
    ]
    its = plan(table("o'r\\d*ers".replace("*", ""), "da'ta", key=names, columns=columns))
    its.tables[0].needs_database = True
    files = project_files({"shop": its})
    called: dict[str, Any] = {}

    class Package:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **arguments: called.update({name: arguments}) or ""

    environment = Environment(autoescape=False)
    for path, text in files.items():
        if path.endswith(".sql"):
            environment.from_string(text).render(
                spark_cdc=Package(), config=lambda **_: "", ref=lambda name: name, source=lambda *names: names
            )
        else:
            # dbt renders descriptions and arguments of tests as templates.
            assert YAML(typ="safe").load(text) == YAML(typ="safe").load(
                environment.from_string(text).render()
            )
    assert called["changes"]["columns"] == dict.fromkeys(names, "string")
    assert (called["changes"]["table"], called["changes"]["database"], called["changes"]["key"]) == (
        "o'r\\ders",
        "da'ta",
        names,
    )
    (marts,) = [
        YAML(typ="safe").load(text)
        for path, text in files.items()
        if path == "models/marts/shop/_shop__models.yml"
    ]
    assert [column["name"] for column in marts["models"][0]["columns"]] == names


def test_a_line_never_ends_inside_a_name() -> None:
    names = ["Order Number", "Line Number"]
    columns = [Column(name=name, type="bigint") for name in names]
    its = plan(table("Customer Order Details", "Northwind Traders", key=names, columns=columns))
    its.tables[0].needs_database = True
    files = project_files({"shop": its})
    text = files["models/staging/shop/stg_shop__customer_order_details_changes.sql"]
    assert text.splitlines()[1:4] == [
        "{{ spark_cdc.changes(messages=ref('stg_shop__messages'), format='canal', database='Northwind Traders',",
        "       table='Customer Order Details', key=['Order Number', 'Line Number'],",
        "       columns={'Order Number': 'bigint', 'Line Number': 'bigint'}) }}",
    ]


@pytest.mark.parametrize(
    "name",
    ["env_var('X')", " ref ( 'a' ) ", "var(x)", "source('a', 'b')\n", "doc(\n1)", "a {{ b", "{% x", "{# x"],
)
def test_what_dbt_renders_in_a_test_is_no_name(name: str) -> None:
    assert JINJA.search(name)
    assert (
        _not_declarable(("shop", None, name)) == f"dbt would run its name {name!r}" or not name.isprintable()
    )


def test_a_name_with_a_backtick_has_no_contract() -> None:
    odd = table("odd", columns=[Column(name="id", type="bigint"), Column(name="a`b", type="int")])
    text = project_files({"shop": plan(odd, table("orders"))})["models/marts/shop/_shop__models.yml"]
    models = YAML(typ="safe").load(text)["models"]
    assert {its["name"]: its.get("config") for its in models if "columns" in its} == {
        "odd": None, "orders": {"contract": {"enforced": True}},
    }  # fmt: skip


def test_a_word_before_a_bracket_is_a_name() -> None:
    for name in ("price (var)", "ref()", "ref", "a ref('x')", "REF('x')", "refs('x')"):
        assert not JINJA.search(name), name


def test_names_that_yaml_reads_as_values_are_in_quotes() -> None:
    its = plan(table("on"), table("null"), table("2024"))
    for path, text in project_files({"shop": its}).items():
        if path.endswith(".yml"):
            for model in YAML(typ="safe").load(text).get("models", ()):
                assert isinstance(model["name"], str), path
    assert [t.model for t in its.tables] == ["on", "null", "table_2024"]


def test_a_table_without_a_key_has_its_changes_only() -> None:
    files = project_files({"shop": plan(table("views", key=[]))})
    assert not [path for path in files if "marts" in path]
    assert "cdc_reconciliation" not in "".join(files)
    changes = files["models/staging/shop/stg_shop__views_changes.sql"]
    assert "-- no key is known" in changes and "key=[]" in changes


def test_a_column_named_as_one_of_a_history_costs_the_history_only() -> None:
    columns = [Column(name="id", type="bigint"), Column(name="Valid_From", type="date")]
    priced = table("prices", columns=columns)
    files = project_files({"shop": plan(priced, table("orders"))})
    assert "models/marts/shop/prices.sql" in files and "models/marts/shop/orders_history.sql" in files
    assert "prices_history" not in "".join([*files, *files.values()])
    assert without_models(priced) == (
        "shop.prices gets no history, because a history has columns of its own named Valid_From. "
        "A route leaves out columns."
    )
    assert without_models(table("orders")) is None


def test_the_names_of_a_history_are_those_that_it_refuses(repository: Path) -> None:
    text = (repository / "macros/materializations/_target_kind.sql").read_text()
    own = re.findall(r"'(\w+)':", text.split("'stored_columns': {")[-1].split("}")[0])
    assert {name for name in own if not name.startswith("_cdc_")} == set(OF_HISTORY)


# ---- a project that has the files already


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\n")
    return folder


def apply(project: Path, its: Plan, overwrite: bool = False) -> Outcome:
    """As the command does it, after the reading."""
    state = read_state(project)
    its = merged(state.sources.get(its.source), its, [])
    found = outcome(project, state, [its], overwrite)
    write(project, found)
    return found


def paths(found: Outcome) -> dict[str, str]:
    return {path: why for path, why, _ in found.changes}


CHANGES = "models/staging/shop/stg_shop__orders_changes.sql"
STAGING = "models/staging/shop/_shop__models.yml"
MARTS = "models/marts/shop/_shop__models.yml"


def with_note(*more: str) -> Table:
    return table(
        "orders", columns=[*table("orders").columns, *(Column(name=name, type="date") for name in more)]
    )


def test_a_second_run_writes_nothing(project: Path) -> None:
    first = apply(project, plan(table("orders")))
    assert set(paths(first).values()) == {"new"}
    texts = {file: file.read_text() for file in project.rglob("*") if file.is_file()}
    assert apply(project, plan(table("orders"))).changes == []
    assert texts == {file: file.read_text() for file in project.rglob("*") if file.is_file()}


def test_a_new_table_and_a_new_column_change_only_their_files(project: Path) -> None:
    apply(project, plan(table("orders")))
    assert paths(apply(project, plan(with_note("due")))) == {CHANGES: "changed", MARTS: "changed"}
    found = paths(apply(project, plan(with_note("due"), table("lines"))))
    assert found.pop("models/marts/shop/lines.sql") == "new"
    assert CHANGES not in found
    assert {
        found[f"models/quality/cdc_{name}.sql"] for name in ("dead_letters", "reconciliation", "run_summary")
    } == {"changed"}


def test_messages_that_lack_a_table_or_a_column_take_nothing_away(project: Path) -> None:
    apply(project, plan(with_note("due"), table("lines")))
    assert apply(project, plan(table("orders"))).changes == []


def test_a_column_leaves_by_a_route_only(project: Path) -> None:
    apply(project, plan(with_note("due")))
    its = table("orders")
    its.left_out = ["due"]
    assert paths(apply(project, plan(its))) == {CHANGES: "changed", MARTS: "changed"}
    assert "due" not in (project / CHANGES).read_text()


def test_a_guess_becomes_wider_and_a_named_type_stays(project: Path) -> None:
    def its(guess: str | None, type_: str) -> Plan:
        return plan(
            table(
                "orders",
                columns=[Column(name="id", type="bigint"), Column(name="x", type=type_, guess=guess)],
            )
        )

    apply(project, its("why", "bigint"))
    apply(project, its("why", "decimal(20,4)"))
    assert "'x': 'decimal(23,4)'" in (project / CHANGES).read_text()
    # The values seen need not fit an int.
    apply(project, its(None, "int"))
    assert "'x': 'decimal(23,4)'" in (project / CHANGES).read_text()
    apply(project, its(None, "decimal(30,6)"))
    apply(project, its("why", "string"))
    assert "'x': 'decimal(30,6)'" in (project / CHANGES).read_text()


@pytest.mark.parametrize(
    ("old", "new", "expected", "has_notice"),
    [
        (("string", DOES_NOT_FIT), ("date", None), ("string", DOES_NOT_FIT), False),
        (("date", None), ("string", DOES_NOT_FIT), ("string", DOES_NOT_FIT), True),
        (("int", None), ("bigint", DOES_NOT_FIT), ("bigint", DOES_NOT_FIT), False),
        (("bigint", None), ("int", DOES_NOT_FIT), ("bigint", None), False),
        (("string", ONLY_NULLS), ("date", None), ("date", None), False),
        (("date", None), ("string", ONLY_NULLS), ("date", None), False),
        (("date", None), ("string", NO_TYPE), ("date", None), False),
        (("bigint", NO_TYPE), ("int", None), ("bigint", NO_TYPE), False),
        (("bigint", NO_TYPE), ("bigint", None), ("bigint", None), False),
        (("bigint", NO_TYPE), ("decimal(12,2)", None), ("decimal(21,2)", NO_TYPE), False),
        (("bigint", None), ("int", None), ("bigint", None), False),
        (("int", None), ("bigint", None), ("bigint", None), False),
        (("date", None), ("string", None), ("string", None), False),
        (("date", None), ("timestamp_ntz", None), ("date", None), True),
        (("bigint", None), ("decimal(12,2)", None), ("bigint", None), True),
        (("int", None), ("string", SHARDS_DIFFER), ("string", SHARDS_DIFFER), False),
        (OWN_SCALES, OWN_WHOLE, OWN_SCALES, False),
        (OWN_WHOLE, OWN_SCALES, OWN_SCALES, True),
        (OWN_WHOLE, OWN_WHOLE, OWN_WHOLE, False),
        (OWN_WHOLE, ("bigint", None), OWN_WHOLE, False),
        (("bigint", None), OWN_WHOLE, OWN_WHOLE, False),
        (("decimal(38,30)", None), OWN_SCALES, OWN_SCALES, True),
        (OWN_WHOLE, ("decimal(10,2)", None), OWN_SCALES, True),
        (("decimal(10,2)", None), OWN_WHOLE, OWN_SCALES, False),
        (OWN_WHOLE, ("string", None), ("string", None), False),
        (("boolean", NO_TYPE), OWN_WHOLE, ("string", SCALES_DIFFER), True),
        (("double", None), OF_DOUBLE, OF_DOUBLE, True),
        (OF_DOUBLE, ("double", None), OF_DOUBLE, False),
        (("string", SCALES_DIFFER), OWN_WHOLE, ("string", SCALES_DIFFER), False),
        (("string", ONLY_NULLS), OWN_WHOLE, OWN_WHOLE, False),
        (("string", None), OWN_WHOLE, ("string", None), True),
    ],
)
def test_a_type_of_two_runs_holds_the_values_of_both_or_it_is_said(
    old: tuple[str, str | None],
    new: tuple[str, str | None],
    expected: tuple[str, str | None],
    has_notice: bool,
) -> None:
    def its(type_: str, guess: str | None) -> Plan:
        return plan(table("orders", key=["x"], columns=[Column(name="x", type=type_, guess=guess)]))

    notices: list[str] = []
    found = merged(its(*old), its(*new), [], notices)
    (column,) = found.tables[0].columns
    assert ((column.type, column.guess), bool(notices)) == (expected, has_notice)
    # Once more with the same messages: nothing changes.
    assert merged(found, its(*new), []) == found


@pytest.mark.parametrize(
    ("old", "new", "needs", "expected"),
    [
        ("decimal(38,10)", "decimal(22,20)", "decimal(11,10)", "decimal(38,10)"),
        ("decimal(20,4)", "decimal(20,6)", "decimal(4,3)", "decimal(20,4)"),
        ("decimal(20,4)", "decimal(20,10)", "decimal(6,5)", "decimal(26,10)"),
    ],
)
def test_a_guess_stays_if_it_holds_the_new_values(old: str, new: str, needs: str, expected: str) -> None:
    """A guess has room: that the room of two together has no type is no reason for another one."""

    def its(type_: str, needs: str | None) -> Plan:
        column = Column(name="x", type=type_, guess=NO_TYPE, needs=needs)
        return plan(table("orders", key=["id"], columns=[Column(name="id", type="bigint"), column]))

    notices: list[str] = []
    found = merged(its(old, None), its(new, needs), [], notices)
    assert (found.tables[0].columns[1].type, notices) == (expected, [])


def test_the_type_of_a_route_counts(project: Path) -> None:
    def its(type_: str, is_of_route: bool, guess: str | None = None) -> Plan:
        column = Column(name="x", type=type_, guess=guess, is_of_route=is_of_route)
        return plan(table("orders", key=["x"], columns=[column]))

    found = merged(its("string", False, DOES_NOT_FIT), its("date", True), [])
    assert found.tables[0].columns[0].type == "date"
    notices: list[str] = []
    found = merged(found, its("bigint", False), [], notices)
    assert found.tables[0].columns[0].type == "date"
    assert notices == [
        "shop.orders: its column x keeps the type date; these messages ask for bigint. A route gives it another type."
    ]
    assert merged(found, its("string", False, DOES_NOT_FIT), []).tables[0].columns[0].type == "date"


@pytest.mark.spark
def test_the_kafka_key_of_maxwell_names_the_key(project: Path) -> None:
    """By default its messages do not."""
    line = {
        "topic": "clinic", "partition": 0, "offset": 0, "value": maxwell({"visit": 7, "no": 1, "note": "a"}, "lines", primary_key_columns=[]),
        "key": '{"database":"shop","table":"lines","pk.visit":7,"pk.no":1}',
    }  # fmt: skip
    (project / "clinic.jsonl").write_text(json.dumps(line))
    done = run(project, project / "clinic.jsonl", "--source", "clinic")
    assert done.exit_code == 0, done.output
    changes = (project / "models/staging/clinic/stg_clinic__lines_changes.sql").read_text()
    assert "key=['visit', 'no']" in changes


@pytest.mark.spark
def test_decimals_of_debezium_without_a_schema_are_said(project: Path) -> None:
    """Their texts are base64, so they get the type string, and a comment that says what they may be."""
    source = '"source":{"connector":"mysql","db":"erp","table":"invoices","file":"b.1","pos":%s}'
    rows = ['{"id":1,"total":"Jxo=","code":"paid"}', '{"id":2,"total":"AJxA","code":"open"}']
    messages = project / "invoices.jsonl"
    messages.write_text(
        "".join(
            f'{{"before":null,"after":{row},{source % place},"op":"c"}}\n' for place, row in enumerate(rows)
        )
    )
    done = run(project, messages, "--source", "erp", "--format", "debezium")
    assert done.exit_code == 0, done.output
    assert (
        "erp.invoices: the texts of total look like base64. If they are decimals, as Debezium writes them without a "
        "schema, let a route declare them: decimal(20,4) from base64, with the scale of the source."
    ) in done.stderr
    changes = (project / "models/staging/erp/stg_erp__invoices_changes.sql").read_text()
    assert "-- a guess: total (its texts look like base64: bytes, or the decimals of a" in changes
    assert "'total': 'string'" in changes
    routes(
        project, "route: [{source-table: 'erp[.]invoices', columns: {total: 'decimal(20,4) from base64'}}]"
    )
    again = run(
        project, messages, "--source", "erp", "--format", "debezium", "--routes", project / "routes.yml"
    )
    assert again.exit_code == 0 and "base64" not in again.stderr, again.output


@pytest.mark.spark
def test_types_that_a_schema_names(project: Path) -> None:
    """A time of day is read as one, and a date that holds an infinity, so a number, is said."""
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTime"},
        {"field": "on", "type": "int32", "name": "io.debezium.time.Date"},
    ]
    source = {"connector": "mysql", "db": "shop", "table": "shifts", "file": "b.000001"}
    messages = project / "shifts.jsonl"
    lines = []
    for place, day in enumerate([19723, 19724, -2147472692]):
        after = {"id": place, "at": 3_600_000_000 * place, "on": day}
        payload = {"op": "c", "after": after, "source": {**source, "pos": place}}
        schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
        value = json.dumps({"schema": schema, "payload": payload})
        lines.append(json.dumps({"offset": place, "key": json.dumps({"id": place}), "value": value}))
    messages.write_text("\n".join(lines) + "\n")
    done = run(project, messages, "--source", "shop", "--format", "debezium")
    assert done.exit_code == 0, done.output
    assert (
        "shop.shifts: its column on is declared as bigint, because a value does not fit the type that the source names, "
        "io.debezium.time.Date. To reject such rows, let a route declare the type."
    ) in done.stderr
    changes = (project / "models/staging/shop/stg_shop__shifts_changes.sql").read_text()
    assert "'at': 'string'" in changes and "'on': 'bigint'" in changes


@pytest.mark.spark
def test_a_few_values_that_make_a_column_a_text_are_said(project: Path) -> None:
    """One odd value of twenty: the column takes it, and whoever ran the command learns what the others are."""
    text = '{"database":"shop","table":"items","type":"insert","ts":1,"xid":1,"xoffset":%d,"data":%s,"primary_key_columns":["id"]}'
    amounts = ["12.50", "7", *["3.25"] * 17, "n/a"]
    data = [
        json.dumps({"id": place, "amount": amount, "code": f"0{place}"})
        for place, amount in enumerate(amounts)
    ]
    messages = project / "items.jsonl"
    messages.write_text("".join(text % line + "\n" for line in enumerate(data)))
    done = run(project, messages, "--source", "shop", "--format", "maxwell")
    assert done.exit_code == 0, done.output
    assert (
        "shop.items: its column amount is declared as string, because a few of its values are not of the type decimal(20,4). To "
        "reject such rows, let a route declare the type."
    ) in done.stderr
    assert "code" not in done.stderr
    changes = (project / "models/staging/shop/stg_shop__items_changes.sql").read_text()
    assert "-- a guess: amount (a few of its values are not of the type decimal(20,4))" in changes
    assert "'amount': 'string'" in changes
    routes(project, "route: [{source-table: 'shop[.]items', columns: {amount: 'decimal(20,4)'}}]")
    again = run(
        project, messages, "--source", "shop", "--format", "maxwell", "--routes", project / "routes.yml"
    )
    assert again.exit_code == 0 and "amount" not in again.stderr, again.output


def test_names_in_other_letters_are_one_column(tmp_path: Path, library: Any) -> None:
    notices: list[str] = []
    upper = table("orders", key=["ID"], columns=[Column(name=name, type="bigint") for name in ("ID", "new")])
    found = merged(plan(table("orders")), plan(upper), [], notices).tables[0]
    assert ([column.name for column in found.columns], found.key) == (["id", "note", "new"], ["id"])
    sentence = "left out the column ID of shop.{}: a model cannot tell it from id."
    assert notices == [sentence.format("orders")]
    shards = [table("orders_1"), table("orders_2", columns=[Column(name="ID", type="date")])]
    notices = []
    (shard,) = routed(
        routes(tmp_path, "route: [{source-table: 'orders_.', sink-table: o}]"), shards, library, notices
    )
    assert [(column.name, column.type) for column in shard.columns] == [("id", "bigint"), ("note", "string")]
    assert notices == [sentence.format("orders_*")]


def test_shards_of_several_databases(tmp_path: Path, library: Any) -> None:
    found = routes(tmp_path, r"route: [{source-table: '.*\.orders', sink-table: o}]")
    (shard,) = routed(found, [table("orders", "shop_1"), table("orders", "shop_2")], library)
    text = project_files({"shop": plan(shard)})["models/staging/shop/stg_shop__o_changes.sql"]
    assert "database='shop_*', table='orders'" in text and shard.table_key == ["_cdc_source_table", "id"]
    # A star alone reads every database, and `changes` then does not tell the tables apart.
    with pytest.raises(UsageError, match=r"got `\*\.orders`, which matches every database or schema too"):
        routed(found, [table("orders", "a"), table("orders", "b")], library)


def test_a_part_of_a_name_that_was_needed_once_is_kept(project: Path) -> None:
    its = table("orders")
    put_names([its], [table("orders", "old")])
    apply(
        project,
        Plan(source="shop", raw_schema="shop", raw_table="raw", format="canal", dialect=None, tables=[its]),
    )
    assert "database='shop'" in (project / CHANGES).read_text()
    assert apply(project, plan(table("orders"))).changes == []


EDITED = """\
{{ config(materialized='cdc_append', tags=['mine']) }}
-- my comment, with a } and columns={}
{{ spark_cdc.changes(messages=ref('stg_shop__messages'), format='canal', table='orders', key=['id'],
       time_zone='Asia/Shanghai', columns = {'id': 'decimal(20,0)', "it's }": 'string'}) }}
"""


def test_an_edited_model_stays_and_gets_new_columns(project: Path) -> None:
    apply(project, plan(table("orders")))
    edited = EDITED.replace(" and columns={}", "")
    (project / CHANGES).write_text(edited)
    # `note` was there in the last run: the user took it away.
    assert paths(apply(project, plan(table("orders")))) == {}
    found = apply(project, plan(with_note("due", "d'o")))
    assert paths(found)[CHANGES] == "added to"
    assert (project / CHANGES).read_text() == edited.replace(
        "'string'})", r"'string', 'due': 'date', 'd\'o': 'date'})"
    )
    assert apply(project, plan(with_note("due", "d'o"))).changes == []


def test_an_edited_model_of_many_lines_gets_a_line_for_each_column(project: Path) -> None:
    many = [f"c{number}" for number in range(6)]
    apply(project, plan(with_note(*many)))
    file = project / CHANGES
    file.write_text(file.read_text().replace("'c5': 'date',\n", "'c5': 'string'\n"))
    apply(project, plan(with_note(*many, "c6")))
    assert "           'c5': 'string',\n           'c6': 'date',\n       }) }}" in file.read_text()


def test_edited_yaml_stays_and_gets_new_entries(project: Path) -> None:
    apply(project, plan(table("orders")))
    staging, marts = project / STAGING, project / MARTS
    staging.write_text(
        staging.read_text()
        .replace("models:\n", "# mine\nmodels:\n")
        .replace("      - spark_cdc.no_undeclared_columns\n", "")
        .replace("config: {severity: warn}}\n", "config: {severity: error}}  # strict\n", 1)
    )
    marts.write_text(marts.read_text().replace("bigint in the source", "The order's number"))
    apply(project, plan(with_note("due"), table("lines")))
    text = staging.read_text()
    assert text.startswith("# mine\nmodels:\n") and "# strict" in text and "no_undeclared_columns" not in text
    loaded = {model["name"]: model for model in YAML(typ="safe").load(text)["models"]}
    assert list(loaded) == ["stg_shop__messages", "stg_shop__orders_changes", "stg_shop__lines_changes"]
    accounted = loaded["stg_shop__messages"]["data_tests"][0]["spark_cdc.every_message_accounted_for"][
        "arguments"
    ]
    assert accounted["changes"] == ["ref('stg_shop__orders_changes')", "ref('stg_shop__lines_changes')"]
    orders = {model["name"]: model for model in YAML(typ="safe").load(marts.read_text())["models"]}["orders"]
    assert [column["name"] for column in orders["columns"]] == ["id", "note", "due"]
    assert "The order's number" in orders["columns"][0]["description"]
    assert apply(project, plan(with_note("due"), table("lines"))).changes == []


def test_a_deleted_file_stays_deleted(project: Path) -> None:
    apply(project, plan(table("orders")))
    (project / "models/marts/shop/orders_history.sql").unlink()
    for _ in range(2):
        found = apply(project, plan(table("orders")))
        assert found.changes == []
        assert found.notices == [
            "models/marts/shop/orders_history.sql was deleted, and stays so; --overwrite writes it again."
        ]
    assert paths(apply(project, plan(table("orders")), overwrite=True)) == {
        "models/marts/shop/orders_history.sql": "new"
    }


def test_overwrite_writes_edited_files(project: Path) -> None:
    apply(project, plan(table("orders")))
    (project / CHANGES).write_text("select 1")
    assert apply(project, plan(table("orders"))).changes == []
    assert paths(apply(project, plan(table("orders")), overwrite=True)) == {CHANGES: "changed"}


def test_a_file_that_was_there_before_stays(project: Path) -> None:
    (project / CHANGES).parent.mkdir(parents=True)
    (project / CHANGES).write_text(EDITED)
    found = apply(project, plan(table("orders")))
    assert CHANGES not in paths(found)
    assert found.notices == [f"{CHANGES} was there before, and stays as it is; --overwrite replaces it."]
    assert (project / CHANGES).read_text() == EDITED
    found = apply(project, plan(with_note("due")))
    assert CHANGES not in paths(found)
    assert f"{CHANGES} was there before, and stays as it is; --overwrite replaces it." in found.notices
    assert (project / CHANGES).read_text() == EDITED
    assert paths(apply(project, plan(with_note("due")), overwrite=True)) == {CHANGES: "changed"}


def test_a_file_that_was_there_before_stays_also_if_it_was_alike(project: Path) -> None:
    text = project_files({"shop": plan(table("orders"))})[CHANGES]
    (project / CHANGES).parent.mkdir(parents=True)
    (project / CHANGES).write_text(text)
    assert apply(project, plan(table("orders"))).notices == []
    apply(project, plan(with_note("due")))
    assert (project / CHANGES).read_text() == text


def test_what_an_edited_file_does_not_get_is_said(project: Path) -> None:
    apply(project, plan(table("orders"), table("lines")))
    changes, marts = project / CHANGES, project / MARTS
    changes.write_text(changes.read_text() + "-- mine\n")
    marts.write_text("# mine\n" + marts.read_text())
    its = with_note("due")
    its.columns[0].type, its.needs_database = "decimal(20,0)", True
    found = apply(project, plan(its, table("lines")))
    assert paths(found) == {CHANGES: "added to", MARTS: "added to"}
    assert found.notices == [
        f"{MARTS} was edited, and this run does not change there: models.orders.columns.id.data_type: decimal(20,0). "
        "--overwrite replaces the file.",
        f"{CHANGES} was edited, and this run does not change there: database='shop'; 'id': 'decimal(20,0)'. "
        "--overwrite replaces the file.",
    ]
    # Who writes it there gets no notice.
    changes.write_text(
        changes.read_text().replace("'bigint'", '"int"').replace("table=", "database='shop', table=")
    )
    its.columns[0].type = "int"
    its = its.model_copy(
        update={"left_out": ["due"], "columns": [Column(name="id", type="decimal(22,0)"), its.columns[1]]}
    )
    found = apply(project, plan(its))
    assert [notice for notice in found.notices if CHANGES in notice] == [
        f"{CHANGES} was edited, and this run does not change there: 'id': 'decimal(22,0)'; without 'due': 'date'. "
        "--overwrite replaces the file."
    ]


def test_columns_that_cannot_be_put_in_an_edited_model_are_said(project: Path) -> None:
    apply(project, plan(table("orders")))
    (project / CHANGES).write_text("{{ spark_cdc.changes(columns=var('columns')) }}\n")
    found = apply(project, plan(with_note("due")))
    assert (
        f"{CHANGES} was edited, and this run does not change there: 'due': 'date'. --overwrite replaces the file."
        in found.notices
    )


def test_a_table_that_a_route_excludes_leaves_the_lists(project: Path) -> None:
    apply(project, plan(table("orders"), table("lines")))
    state = read_state(project)
    now = merged(state.sources["shop"], plan(table("orders")), [table("lines")])
    found = outcome(project, state, [now], overwrite=False)
    assert paths(found)["models/quality/cdc_dead_letters.sql"] == "changed"
    assert (
        "models/marts/shop/lines.sql is no longer planned: delete it, with its entries in YAML files."
        in found.notices
    )


def test_two_sources_share_the_quality_models(project: Path) -> None:
    apply(project, plan(table("orders")))
    found = paths(apply(project, plan(table("customers"), source="crm", format="maxwell")))
    assert found["models/quality/cdc_dead_letters.sql"] == "changed"
    text = (project / "models/quality/cdc_dead_letters.sql").read_text()
    assert "ref('stg_shop__messages')" in text and "ref('stg_crm__messages')" in text
    assert apply(project, plan(table("orders"))).changes == []


def test_a_source_has_one_format(project: Path) -> None:
    apply(project, plan(table("orders")))
    with pytest.raises(
        UsageError,
        match=r"option --source must be another name than shop: its messages model reads canal, and these messages are maxwell\.",
    ):
        apply(project, plan(table("orders"), format="maxwell"))


def test_a_model_name_that_is_taken_asks_for_a_route(project: Path) -> None:
    own = project / "models" / "core" / "orders.sql"
    own.parent.mkdir(parents=True)
    own.write_text("select 1")
    with pytest.raises(
        UsageError,
        match=r"option --routes must give the model `orders` another name, because models/core/orders\.sql has it",
    ):
        apply(project, plan(table("orders")))


def test_a_table_with_the_name_of_a_file_of_every_plan_asks_for_a_route(project: Path) -> None:
    for name, path in [
        ("cdc_run_summary", "models/quality/cdc_run_summary.sql"),
        ("stg_shop__messages", "models/staging/shop/stg_shop__messages.sql"),
    ]:
        with pytest.raises(UsageError) as error:
            apply(project, plan(table("orders"), table(name)))
        assert str(error.value) == (
            f"option --routes must give the model `{name}` another name, because {path} has it; write a route with "
            f"source-table: 'shop\\.{name}' and sink-table: shop_{name}."
        )


def test_two_sources_with_a_table_of_one_name_ask_for_a_route(project: Path) -> None:
    apply(project, plan(table("orders")))
    with pytest.raises(
        UsageError, match=r"because models/marts/shop/orders\.sql has it.* sink-table: crm_orders\."
    ):
        apply(project, plan(table("orders", "crm"), source="crm", format="maxwell"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_model_that_was_moved_stays_there(project: Path, overwrite: bool) -> None:
    apply(project, plan(table("orders")))
    moved = project / "models" / "core" / "orders.sql"
    moved.parent.mkdir()
    (project / "models/marts/shop/orders.sql").rename(moved)
    for _ in range(2):
        found = apply(project, plan(table("orders")), overwrite)
        assert found.changes == []
        assert found.notices == [
            "models/marts/shop/orders.sql was moved to models/core/orders.sql, and stays there as it is."
        ]


def test_a_source_of_this_name_elsewhere_is_said(project: Path) -> None:
    own = project / "models" / "sources.yml"
    own.parent.mkdir()
    (own.parent / "broken.yml").write_text("a: [")
    own.write_text("sources: [{name: shop, tables: [{name: other}]}]")
    ours = "models/staging/shop/_shop__sources.yml"
    own.write_text("sources: [{name: shop, tables: [{name: raw}]}]")
    for _ in range(2):
        found = apply(project, plan(table("orders")))
        assert ours not in paths(found)
        assert found.notices == [
            "models/sources.yml has a source shop, too.",
            f"{ours} is not written, because models/sources.yml has the table raw of it.",
        ]
    own.write_text("sources: [{name: shop, tables: [{name: other}]}]")
    found = apply(project, plan(table("orders")))
    assert (paths(found), found.notices) == ({ours: "new"}, ["models/sources.yml has a source shop, too."])


def test_a_model_with_the_name_of_a_quality_model_is_to_be_renamed(project: Path) -> None:
    own = project / "models" / "core" / "cdc_dead_letters.sql"
    own.parent.mkdir(parents=True)
    own.write_text("select 1")
    with pytest.raises(UsageError, match=r"got models/core/cdc_dead_letters\.sql\. Rename that file\."):
        apply(project, plan(table("orders")))


def test_a_folder_without_a_project_and_a_broken_plan_are_errors(project: Path) -> None:
    with pytest.raises(
        UsageError, match=r"option --project-dir must be a folder that has a dbt_project\.yml"
    ):
        read_state(project.parent)
    (project / STATE).write_text('{"sources": 7}')
    with pytest.raises(UsageError, match=r"must be as the last run wrote it"):
        read_state(project)
    (project / STATE).unlink()
    assert read_state(project) == State()


# ---- the command, on messages


def run(project: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["generate", *map(str, arguments), "--project-dir", str(project)])


def written(project: Path) -> dict[str, str]:
    return {
        file.relative_to(project).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(project.rglob("models/**/*.*"))
    }


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", ["canal", "debezium", "maxwell"])
def test_the_files_of_a_format_are_as_expected(project: Path, case: str) -> None:
    done = run(project, CASES / case / "messages.jsonl", "--source", "crm")
    assert done.exit_code == 0, done.output
    expected = written(CASES / case / "expected")
    assert written(project) == expected and expected
    notices = (CASES / case / "notices.txt").read_text(encoding="utf-8")
    assert done.stderr == notices
    again = run(project, CASES / case / "messages.jsonl", "--source", "crm", "--check")
    assert (again.exit_code, again.stdout) == (0, "")


def maxwell(row: dict[str, Any], table: str = "orders", **fields: Any) -> str:
    head = {
        "database": "shop",
        "table": table,
        "type": "insert",
        "ts": 1767225600,
        "primary_key_columns": ["id"],
    }
    return json.dumps({**head, "xid": 1, "commit": True, **fields, "data": row})


@pytest.mark.usefixtures("spark")
def test_check_lists_what_is_stale_and_writes_nothing(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "shop.jsonl"
    file.write_text(maxwell({"id": 1, "amount": 1}) + "\n")
    done = run(project, file, "--source", "shop", "--check")
    assert done.exit_code == 1
    assert f"new: {CHANGES}\n" in done.stdout
    assert [path.name for path in project.iterdir()] == ["dbt_project.yml"]
    assert run(project, file, "--source", "shop").exit_code == 0

    routes(tmp_path, "route: [{source-table: orders_.*, sink-table: sharded}]")
    shards = [
        maxwell(
            {"id": 1, "a\n": 1, "_cdc_x": 1, "ID": 2, "{{ a }}": 3, "env_var('X')": 4}, f"orders_{number}"
        )
        for number in (1, 2)
    ]
    file.write_text("\n".join([maxwell({"id": 1, "amount": 1.5}), *shards, "broken", ""]))
    stale = run(project, file, "--source", "shop", "--check", "--routes", tmp_path / "routes.yml")
    assert stale.exit_code == 1
    assert f"changed: {CHANGES}\n" in stale.stdout and "new: models/marts/shop/sharded.sql\n" in stale.stdout
    for sentence in [
        "1 of 4 messages are rejected with the error not_json, of the topic shop; spark-cdc decode shows those of a file, "
        "the dead letters show all.",
        "left out a column of shop.orders_1: no model can declare 'a\\n'.",
        "left out a column of shop.orders_1: no model can declare '_cdc_x'.",
        "left out a column of shop.orders_1: dbt would run '{{ a }}'.",
        "left out a column of shop.orders_1: dbt would run \"env_var('X')\".",
        "left out the column ID of shop.orders_1: a model cannot tell it from id.",
    ]:
        assert sentence in stale.stderr.replace("\\\\", "\\"), stale.stderr
    assert "decimal" not in (project / CHANGES).read_text()


@pytest.mark.usefixtures("spark")
def test_a_double_whose_texts_are_decimals_is_one(project: Path, tmp_path: Path) -> None:
    """DataWorks sends DECIMAL as DOUBLE: no double has 20 digits, or zeros after its fraction."""
    columns = dict.fromkeys(("heat", "price", "many", "whole"), "DOUBLE") | {"id": "LONG"}
    rows = [
        {"id": 1, "heat": 0.1, "price": 77.25, "many": 88.5, "whole": 1.0},
        {"id": 2, "heat": 123456.789, "price": 0.25, "many": 1.0, "whole": 20.0},
    ]
    changes = [dataworks.Change("insert", number, after=row) for number, row in enumerate(rows, 1)]
    text = "\n".join(dataworks.encode(changes, dataworks.Table("orders", columns))) + "\n"
    assert "77.25" in text and "88.5" in text
    file = tmp_path / "shop.jsonl"
    file.write_text(
        text.replace("77.25", "77.50")
        .replace("88.5", "-12345678901234567890.123")
        .replace("0.1,", '"0.100000",')
    )
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    model = (project / CHANGES).read_text()
    for column in (
        "'heat': 'double'",
        "'price': 'decimal(20,4)'",
        "'many': 'decimal(26,6)'",
        "'whole': 'double'",
    ):
        assert column in model, model
    assert MORE_THAN_DOUBLE in model, model


@pytest.mark.usefixtures("spark")
def test_a_type_that_the_format_does_not_list_is_that_of_its_database(project: Path, tmp_path: Path) -> None:
    """Huawei's page has no types of Oracle. The texts of -0.0 would lose the sign in a decimal."""
    types = {
        "NAME": "VARCHAR2", "HEAT": "BINARY_DOUBLE", "AT": "DATE", "LATE": "DATE", "N": "NUMBER", "BYTES": "BLOB", "X": "XMLTYPE",
        "NOTE": "LONG", "WIDE": "DOUBLE PRECISION",
    }  # fmt: skip
    rows = [
        {"NAME": "1.5", "HEAT": "-0.0", "AT": "2026-01-01 10:00:00", "LATE": "noon", "N": "1.5", "BYTES": "0F", "X": "2",
         "NOTE": "007", "WIDE": "0.12345678901234567890123"},
        {"NAME": "2.50", "HEAT": "1.0E10", "AT": None, "LATE": None, "N": "2", "BYTES": None, "X": None, "NOTE": "7", "WIDE": "1"},
    ]  # fmt: skip
    message = {
        "columnType": types, "dbType": "Oracle", "schema": "S", "opType": "INSERT", "id": 1, "es": 1790000000000, "ts": 1790000000001, "database": "",
        "table": "T", "type": "INSERT", "isDdl": False, "sql": "", "sqlType": {}, "data": rows, "old": None, "pkNames": ["NAME"],
    }  # fmt: skip
    file = tmp_path / "drs.jsonl"
    file.write_text(json.dumps(message))
    done = run(project, file, "--source", "shop", "--format", "drs", "--dialect", "oracle")
    assert done.exit_code == 0, done.output
    changes = (project / "models/staging/shop/stg_shop__t_changes.sql").read_text()
    found = dict(re.findall(r"'(\w+)': '([^']+)'", changes))
    assert found == {
        "NAME": "string", "HEAT": "double", "AT": "timestamp_ntz", "LATE": "string", "N": "decimal(20,4)", "BYTES": "string",
        "X": "bigint", "NOTE": "string", "WIDE": "decimal(25,23)",
    }  # fmt: skip
    guesses = re.findall(r"^-- a guess: (.*) \((.*)\)$", changes, re.MULTILINE)
    assert guesses == [
        ("LATE", "a value does not fit the type that the source names"),
        ("N, BYTES, X, NOTE, WIDE", "this package does not know the type that the messages name"),
    ]


@pytest.mark.usefixtures("spark")
def test_a_run_without_routes_reads_the_file_of_the_last_one(project: Path, tmp_path: Path) -> None:
    file, of_routes = tmp_path / "shop.jsonl", project / "conf" / "routes.yml"
    of_routes.parent.mkdir()
    of_routes.write_text("exclude: [secret]\nroute: [{source-table: trees, sink-table: wood, key: [name]}]\n")
    both = "\n".join(maxwell({"id": 1, "name": "a"}, table=table) for table in ("trees", "orders", "secret"))
    file.write_text(both)
    assert run(project, file, "--source", "shop", "--routes", of_routes).exit_code == 0
    state = json.loads((project / "spark_cdc_plan.json").read_text())
    assert state["routes"] == {"shop": "conf/routes.yml"}
    before = written(project)

    done = run(project, file, "--source", "shop", "--check")
    assert (done.exit_code, done.stdout) == (0, ""), (
        "the excluded table has no models, and the key is the route's"
    )
    file.write_text(maxwell({"id": 1, "name": "a"}))
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, "a later batch need not have each table of the routes"
    assert "no table of these messages has the route of `trees`.\n" in done.stderr
    assert written(project) == before

    file.write_text(both)
    # A link to the project, as to its current release.
    (tmp_path / "link").symlink_to(project)
    assert run(tmp_path / "link", file, "--source", "shop", "--check").exit_code == 0
    of_routes.rename(project / "moved.yml")
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 2
    assert (
        "option --routes must name the file again that the last run of shop read, because conf/routes.yml is not "
        "there any more. An empty file has no routes."
    ) in done.stderr
    assert run(project, file, "--source", "shop", "--routes", project / "moved.yml", "--check").exit_code == 0
    (project / "none.yml").write_text("")
    assert run(project, file, "--source", "shop", "--routes", project / "none.yml").exit_code == 0
    assert (project / "models/marts/shop/secret.sql").exists()


@pytest.mark.usefixtures("spark")
def test_a_later_batch_need_not_have_what_the_routes_name(project: Path, tmp_path: Path) -> None:
    """Shards, columns, or the tables that only a route after another one takes."""
    file, of_routes = tmp_path / "shop.jsonl", tmp_path / "routes.yml"
    of_routes.write_text("""
        exclude: [tmp_.*]
        route:
        - {source-table: 'orders_.*', sink-table: orders, columns: {n: string, gone: null}}
        - {source-table: trees}
        - {source-table: 'trees|.*items', key: [id]}
    """)
    rows = {name: {"id": 1, "n": 1, "gone": 2} for name in ("orders_10", "orders_20")}
    rows |= {"trees": {"id": 1}, "items": {"id": 1}}
    file.write_text("\n".join(maxwell(row, table=table) for table, row in rows.items()))
    done = run(project, file, "--source", "shop", "--routes", of_routes)
    assert done.exit_code == 0, done.output
    before = written(project)
    changes = project / "models/staging/shop/stg_shop__orders_changes.sql"
    assert "table='orders_*0', key=['id']," in changes.read_text()

    def batch(tables: dict[str, dict[str, int]], *options: str) -> Result:
        file.write_text("\n".join(maxwell(row, table=table) for table, row in tables.items()))
        done = run(project, file, "--source", "shop", *options)
        assert done.exit_code == 0, (tables, done.output)
        return done

    for later in (
        {"orders_10": {"id": 1}},
        {"orders_10": {"id": 1}, "orders_100": {"id": 1, "gone": 1}},
        {"orders_30": {"id": 1}},
        {"trees": {"id": 1}},
        {"trees": {"id": 1}, "tmp_items": {"id": 1}},
    ):
        assert batch(later, "--check").stdout == ""
        assert batch(later).stdout == ""
    assert written(project) == before
    batch({"orders_41": {"id": 1, "m": 1}})
    found = changes.read_text()
    assert (
        "table='orders_*', key=['id'],\n       columns={'id': 'bigint', 'n': 'string', 'm': 'bigint'}) }}"
        in found
    )


CANAL_MESSAGE = json.dumps({
    "database": "shop", "table": "orders", "type": "INSERT", "isDdl": False, "pkNames": ["id"], "es": 1700000000123, "id": 1,
    "ts": 1, "sql": "", "sqlType": {"id": 4}, "mysqlType": {"id": "int"}, "old": None, "data": [{"id": "1"}],
})  # fmt: skip

DEBEZIUM_MESSAGE = json.dumps({
    "before": None, "after": {"id": 1}, "op": "c", "ts_ms": 1, "transaction": None,
    "source": {"version": "3.5.0.Final", "connector": "mysql", "name": "m", "ts_ms": 1, "snapshot": "false", "db": "shop",
               "sequence": None, "table": "orders", "server_id": 1, "gtid": None, "file": "b.1", "pos": 4, "row": 0,
               "thread": 1, "query": None},
})  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "options", "sentence"),
    [
        ([], [], "FILES or the raw table must hold messages; got none in "),
        (['{"a": 1}'], [], "option --format must be one of canal,"),
        (["{}"], ["--format", "avro"], "option --format must be one of auto, canal,"),
        (["{}"], ["--source", "My Shop"], "option --source must be small letters, digits and underscores; got `My Shop`."),
        (["{}"], ["--raw-table", "a.b-c"], "option --raw-table must be small letters, digits and underscores; got `b-c`."),
        (["{}"], ["--project-dir", "/nowhere"], "option --project-dir must be a folder that has a dbt_project.yml; got /nowhere."),
        (["{}"], ["--routes", "/nowhere"], "Invalid value for '--routes': File '/nowhere' does not exist."),
        (["{}"], ["--landing", "raw_shop"], "option --landing must be a model of the project that lands the messages; got `raw_shop`, and there is no raw_shop.sql under "),
        (["{}"], ["--landing", "a.b"], "option --landing must be small letters, digits and underscores; got `a.b`."),
        (["{}"], ["--topics", "a["], "option --topics must be a topic or a regular expression; got `a[`: unterminated character set"),
        (["{}"], ["--topics", " "], "option --topics must be a topic or a regular expression; got an empty text."),
        (['{"topic": "c", "offset": 0, "value": "{}"}'], ["--topics", "a", "--topics", "b.*"], "option --topics must fit topics of the messages; got a, b.*, and no message in "),
        (["{}"], ["--landing", "raw_shop", "--raw-table", "raw"], "options --landing and --raw-table must not be given together"),
    ],
)  # fmt: skip
def test_a_slip_gets_a_sentence(
    project: Path, tmp_path: Path, lines: list[str], options: list[str], sentence: str
) -> None:
    file = tmp_path / "shop.jsonl"
    file.write_text("".join(line + "\n" for line in lines))
    done = CliRunner().invoke(
        main, ["generate", str(file), "--source", "shop", "--project-dir", str(project), *options]
    )
    assert done.exit_code == 2
    assert sentence in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def landing(project: Path, text: str) -> None:
    (project / "models/landing").mkdir(parents=True, exist_ok=True)
    (project / "models/landing/raw_shop.sql").write_text(text)


def test_a_model_that_lands_nothing_is_no_landing_model(project: Path, tmp_path: Path) -> None:
    landing(project, "select 1")
    (tmp_path / "shop.jsonl").write_text(CANAL_MESSAGE)
    done = run(project, tmp_path / "shop.jsonl", "--source", "shop", "--landing", "raw_shop")
    assert done.exit_code == 2
    assert (
        "must be a model that calls spark_cdc.kafka_messages or spark_cdc.file_messages; got " in done.stderr
    )
    assert "models/landing/raw_shop.sql. To read another table, name it with --raw-table." in done.stderr


def test_the_models_read_a_landing_model_in_place_of_a_source(project: Path) -> None:
    """So dbt builds both in one run; and the files of a source that an earlier run wrote are named."""
    landing(project, "{{ spark_cdc.file_messages(path='captured') }}")
    its = plan(table("orders"), raw_table="raw_shop", is_landed=True)
    found = apply(project, its)
    assert not any("sources" in path for path in paths(found))
    texts = {change.path: change.text for change in found.changes}
    assert (
        "spark_cdc.messages(ref('raw_shop'), format='canal')"
        in texts["models/staging/shop/stg_shop__messages.sql"]
    )
    assert """raw: "ref('raw_shop')\"""" in texts[STAGING]
    assert "source(" not in "".join(texts.values())
    assert apply(project, its).changes == []

    as_source = apply(project, plan(table("orders")))
    assert paths(as_source)["models/staging/shop/_shop__sources.yml"] == "new"
    again = apply(project, its)
    assert set(paths(again)) == {"models/staging/shop/stg_shop__messages.sql", STAGING}
    assert again.notices == [
        "models/staging/shop/_shop__sources.yml is no longer planned: delete it, with its entries in YAML files."
    ]


@pytest.mark.spark
def test_topics_of_several_formats_get_a_messages_model_each(project: Path, tmp_path: Path) -> None:
    """A table that comes in both, as while a source changes its producer, gets models of two names."""
    file = tmp_path / "shop.jsonl"
    debezium = debezium_lines({}, {"id": "1"})

    def land(topic: str, *values: str) -> str:
        return "\n".join(
            json.dumps({"topic": topic, "offset": offset, "value": value})
            for offset, value in enumerate(values)
        )

    def messages(source: str) -> str:
        return (project / f"models/staging/{source}/stg_{source}__messages.sql").read_text()

    routes = tmp_path / "routes.yml"
    routes.write_text("route: [{source-table: 'shop[.]trees', sink-table: wood}]\n")
    its = land("m", maxwell({"id": 1}, table="trees"), maxwell({"id": 1}))
    its += "\n" + land("m+", maxwell({"id": 2}))
    file.write_text(f"{its}\n{debezium}")
    done = run(project, file, "--source", "shop", "--routes", routes)
    assert done.exit_code == 0, done.output
    assert "source('shop_maxwell', 'raw'), format='maxwell', topics=['m', 'm\\\\+'])" in messages(
        "shop_maxwell"
    )
    assert "source('shop_debezium', 'raw'), format='debezium', topics=['m.shop.orders'])" in messages(
        "shop_debezium"
    )
    sources = (project / "models/staging/shop_debezium/_shop_debezium__sources.yml").read_text()
    assert "schema: shop\n" in sources, "both read one raw table"
    for model in ("shop_maxwell/wood", "shop_maxwell/orders", "shop_debezium/shop_debezium_orders"):
        assert (project / f"models/marts/{model}.sql").exists()
    dead_letters = (project / "models/quality/cdc_dead_letters.sql").read_text()
    for source in ("shop_maxwell", "shop_debezium"):
        assert f"ref('stg_{source}__messages')" in dead_letters
    done = run(project, file, "--source", "shop", "--routes", routes, "--check")
    assert (done.exit_code, done.stdout) == (0, "")

    file.write_text(land("n", maxwell({"id": 1}, table="trees")))
    done = run(project, file, "--source", "shop", "--routes", routes)
    assert done.exit_code == 0, done.output
    assert "format='maxwell', topics=['m', 'm\\\\+', 'n'])" in messages("shop_maxwell")
    assert "now reads the topics m, m\\+, n; before it read the topics m, m\\+.\n" in done.stderr
    assert "topics=['m.shop.orders'])" in messages("shop_debezium"), "it is as it was"

    file.write_text(f"{its}\n{debezium}")
    routes.write_text("route: [{source-table: nowhere, sink-table: t}]\n")
    done = run(project, file, "--source", "shop", "--routes", routes)
    assert done.exit_code == 2
    assert "route.0.source-table must match a table" in done.stderr
    # Of both formats, with the names that a route matches.
    assert "and the tables are shop.orders, shop.trees." in done.stderr


def one_of_each(**values: str) -> str:
    """A line for each topic."""
    return "\n".join(
        json.dumps({"topic": topic, "offset": 0, "value": value}) for topic, value in values.items()
    )


@pytest.mark.spark
def test_a_source_of_one_format_gets_a_second_one(project: Path, tmp_path: Path) -> None:
    """Its messages model read all topics; now it reads its own."""
    file = tmp_path / "shop.jsonl"

    file.write_text(one_of_each(m=maxwell({"id": 1})))
    assert run(project, file, "--source", "shop").exit_code == 0
    file.write_text(one_of_each(m=maxwell({"id": 1}), d=DEBEZIUM_MESSAGE))
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    assert "stg_shop__messages now reads the topics m; before it read all topics. --topics" in done.stderr
    assert (project / "models/staging/shop_debezium/stg_shop_debezium__messages.sql").exists()
    assert run(project, file, "--source", "shop", "--check").exit_code == 0


@pytest.mark.spark
def test_broken_lines_of_files_are_read_by_one_of_several_models(project: Path, tmp_path: Path) -> None:
    """Such a line has its file's path in place of a topic."""
    landing(project, "{{ spark_cdc.file_messages(path='captured') }}")
    file = tmp_path / "shop.jsonl"
    file.write_text(one_of_each(m=maxwell({"id": 1}), d=DEBEZIUM_MESSAGE))
    done = run(project, file, "--source", "shop", "--landing", "raw_shop")
    assert done.exit_code == 0, done.output
    read = [
        re.search(r"topics=(\[.*\])", path.read_text())[1]
        for path in sorted(project.glob("models/staging/*/*__messages.sql"))
    ]
    assert sorted(read) == ["['d']", "['m', '.*/.*']"]
    assert run(project, file, "--source", "shop", "--landing", "raw_shop", "--check").exit_code == 0


@pytest.mark.spark
def test_the_topics_of_a_source_are_those_that_were_asked_for(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "shop.jsonl"

    file.write_text(one_of_each(m=maxwell({"id": 1}), d=DEBEZIUM_MESSAGE))
    for source, topics, call in (
        ("shop", ("m",), "format='maxwell', topics=['m'])"),
        ("crm", ("[d-f]", "g"), "format='debezium', topics=['[d-f]', 'g'])"),
    ):
        options = [part for topic in topics for part in ("--topics", topic)]
        for named in (options, ()):  # noted in the plan, so that a second run need not name them
            done = run(project, file, "--source", source, *named)
            assert done.exit_code == 0, done.output
        assert done.stdout == ""
        assert call in (project / f"models/staging/{source}/stg_{source}__messages.sql").read_text()
    done = run(project, file, "--source", "shop", "--topics", "m", "--topics", "n")
    assert done.exit_code == 0, done.output
    assert "stg_shop__messages now reads the topics m, n; before it read the topics m.\n" in done.stderr
    again = run(
        project, file, "--source", "shop", "--topics", "n", "--topics", "m", "--topics", "m", "--check"
    )
    assert (again.exit_code, again.stdout) == (0, "")
    # A line without a topic has none that an option or a model could name.
    bare = tmp_path / "bare.jsonl"
    bare.write_text(maxwell({"id": 1}))
    assert run(project, bare, "--source", "shop").exit_code == 0
    file.write_text(one_of_each(d=DEBEZIUM_MESSAGE))
    done = run(project, bare, file, "--source", "other")
    assert done.exit_code == 2
    assert "FILES must name the topic of each message if they have several formats" in done.stderr
    assert "got --format maxwell --dialect maxwell in bare; --format debezium --dialect" in done.stderr
    # Canal and others write this alike: it may not be left out.
    file.write_text(one_of_each(m=maxwell({"id": 1}), c=CANAL_MESSAGE))
    done = run(project, file, "--source", "new")
    assert done.exit_code == 2
    assert "for c, because these write such messages alike" in done.stderr


def debezium_lines(columns: dict[str, dict[str, Any]], *rows: dict[str, Any]) -> str:
    """Write rows of a table as messages of Debezium with their schemas; each has the key `id`."""
    columns = {"id": {"type": "string"}, **columns}
    fields = [{"field": name, **type_} for name, type_ in columns.items()]
    schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}
    event = json.loads(DEBEZIUM_MESSAGE)
    event["source"]["ts_ms"] = 1700000000123
    return "\n".join(
        json.dumps({
            "topic": "m.shop.orders", "offset": offset, "key": json.dumps({"id": row["id"]}),
            "value": json.dumps({"schema": schema, "payload": {**event, "after": row}}),
        })
        for offset, row in enumerate(rows)
    )  # fmt: skip


def base64_of(number: int) -> str:
    """As Debezium writes the number of a decimal without its point."""
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()


@pytest.mark.usefixtures("spark")
def test_a_key_of_a_guessed_type_tells_its_texts_apart(project: Path, tmp_path: Path) -> None:
    """As numbers the versions 1.1 and 1.10 would be one row; so would two texts of one time."""
    its = [
        maxwell({"version": version, "at": at, "size": "2.50"}, "versions", primary_key_columns=["version"])
        for version, at in [("1.1", "2026-01-01 00:00:00"), ("1.10", "2026-01-01 00:00:00.0")]
    ]
    file = tmp_path / "shop.jsonl"
    file.write_text(
        "\n".join([*its, maxwell({"day": "2026-01-01", "n": 7}, "days", primary_key_columns=["day", "n"])])
    )

    def columns(of: str) -> str:
        return (project / f"models/staging/shop/stg_shop__{of}_changes.sql").read_text().split("columns=")[1]

    assert run(project, file, "--source", "shop").exit_code == 0
    assert "{'version': 'string', 'at': 'timestamp_ntz', 'size': 'decimal(20,4)'}" in columns("versions")
    assert "{'day': 'date', 'n': 'bigint'}" in columns("days"), "one text a value"

    routes = tmp_path / "routes.yml"
    routes.write_text(
        "route: [{source-table: 'shop[.]versions', sink-table: versions, key: [version, at]}]\n"
    )
    assert run(project, file, "--source", "shop", "--routes", routes).exit_code == 0
    assert "'at': 'string'" in columns("versions")


@pytest.mark.usefixtures("spark")
def test_messages_about_a_table_name_its_key_and_types(project: Path, tmp_path: Path) -> None:
    """AWS DMS writes both when it creates the table, and in no row."""
    about = {
        "schema-name": "hr",
        "table-name": "people",
        "transaction-id": 1,
        "timestamp": "2026-01-01T00:00:00.000000Z",
    }
    types = {
        "id": {"type": "INT8"},
        "code": {"type": "WSTRING", "length": 9},
        "paid": {"type": "NUMERIC", "precision": 10},
    }
    control = {
        "control": {"table-def": {"columns": types, "primary-key": ["code"]}},
        "metadata": {**about, "record-type": "control", "operation": "create-table"},
    }
    row = {
        "data": {"id": 1, "code": "7", "paid": 1.5},
        "metadata": {
            **about,
            "record-type": "data",
            "operation": "load",
            "partition-key-type": "primary-key",
        },
    }
    file = tmp_path / "hr.jsonl"
    file.write_text(
        "\n".join(
            map(json.dumps, [control, row, {**row, "metadata": {**row["metadata"], "table-name": "notes"}}])
        )
    )
    done = run(project, file, "--source", "hr")
    assert done.exit_code == 0, done.output
    changes = (project / "models/staging/hr/stg_hr__people_changes.sql").read_text()
    assert "key=['code']" in changes
    assert "{'id': 'bigint', 'code': 'string', 'paid': 'decimal(20,4)'}" in changes
    assert "-- a guess: paid (the messages name no digits of its decimals)\n" in changes
    assert (project / "models/marts/hr/people_history.sql").exists()
    unkeyed = "hr.notes has no key in its messages: it gets a changes model only. A route names a key.\n"
    assert unkeyed in done.stderr

    routes = tmp_path / "routes.yml"
    routes.write_text("route: [{source-table: 'hr[.]notes', sink-table: notes, key: [id]}]\n")
    done = run(project, file, "--source", "hr", "--routes", routes)
    assert done.exit_code == 0 and "has no key" not in done.stderr


@pytest.mark.usefixtures("spark")
def test_a_decimal_without_its_digits_has_those_of_its_values(project: Path, tmp_path: Path) -> None:
    """Of MySQL it has ten digits, but TiCDC leaves the digits of each decimal out. A blank in them does not count."""
    types = {
        "id": "INTEGER", "paid": "decimal", "pieces": "DECIMAL unsigned", "none": "decimal", "price": "decimal(8, 2)",
        "rate": "NUMERIC(9,3)", "said": "decimal", "less": "decimal", "other": "decimal",
    }  # fmt: skip
    row = {
        "id": "1", "paid": "1.2500", "pieces": "12", "none": None, "price": "1.5", "rate": "2.5", "said": "3.5", "less": "123.45",
        "other": "1.5",
    }  # fmt: skip
    message = {
        "data": [row], "old": None, "database": "shop", "table": "t", "type": "INSERT", "isDdl": False, "sql": "", "es": 1790000000000,
        "ts": 1790000000001, "id": 1, "mysqlType": types, "sqlType": dict.fromkeys(types, 3), "pkNames": ["id"],
    }  # fmt: skip
    statement = {
        **message, "data": None, "type": "CREATE", "isDdl": True, "mysqlType": None, "sqlType": None, "pkNames": None,
        "sql": "create table t (id int primary key, said decimal(12,2), less decimal(4,2), other binary(9))",
    }  # fmt: skip
    file = tmp_path / "ticdc.jsonl"
    file.write_text("\n".join(map(json.dumps, [statement, message])))
    done = run(project, file, "--source", "shop", "--format", "canal")
    assert done.exit_code == 0, done.output
    changes = (project / "models/staging/shop/stg_shop__t_changes.sql").read_text()
    assert dict(re.findall(r"'(\w+)': '([^']+)'", changes)) == {
        "id": "int", "paid": "decimal(20,8)", "pieces": "decimal(38,0)", "none": "string", "price": "decimal(8,2)",
        "rate": "decimal(9,3)", "said": "decimal(12,2)", "less": "decimal(20,4)", "other": "decimal(20,4)",
    }  # fmt: skip
    assert re.findall(r"^-- a guess: (.*) \((.*)\)$", changes, re.MULTILINE) == [
        ("paid, pieces, other", "the messages name no digits of its decimals"),
        ("none", "no message has a value"),
        ("less", "a value does not fit the type that the source names"),
    ]


@pytest.mark.usefixtures("spark")
def test_a_decimal_too_long_for_spark_does_not_cost_the_rows(project: Path, tmp_path: Path) -> None:
    """No type reads a column all of whose values are: it is left out. A column with one such value keeps its type."""

    def decimal(scale: int) -> dict[str, Any]:
        parameters = {"scale": str(scale), "connect.decimal.precision": "65"}
        return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters}

    file = tmp_path / "shop.jsonl"
    file.write_text(
        debezium_lines(
            {"huge": decimal(30), "amount": decimal(2)},
            {"id": "a", "huge": base64_of(10**60 + 1), "amount": base64_of(1250)},
            {"id": "b", "huge": base64_of(10**61), "amount": base64_of(10**50)},
        )
    )
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    assert (
        "left out a column of shop.orders: no type reads the values of huge, which the source calls "
        in done.stderr
    )
    assert (
        "shop.orders: rows whose amount does not fit the source's type, decimal(38,2), are rejected."
        in done.stderr
    )
    assert "columns={'id': 'string', 'amount': 'decimal(38,2)'})" in (project / CHANGES).read_text()


@pytest.mark.usefixtures("spark")
def test_a_key_with_a_decimal_too_long_for_spark_keeps_its_type(project: Path, tmp_path: Path) -> None:
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "0"}}
    file = tmp_path / "shop.jsonl"
    file.write_text(debezium_lines({"id": decimal}, {"id": base64_of(10**6)}, {"id": base64_of(10**50)}))
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    assert "rows whose id does not fit the source's type, decimal(38,0), are rejected." in done.stderr
    assert "columns={'id': 'decimal(38,0)'})" in (project / CHANGES).read_text()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["io.debezium.data.VariableScaleDecimal", None])
def test_decimals_with_scales_of_their_own(name: str | None, project: Path, tmp_path: Path) -> None:
    """So Debezium writes numeric of PostgreSQL, and NUMBER of Oracle, without a scale."""

    def value(number: int, scale: int) -> dict[str, Any]:
        return {"scale": scale, "value": base64_of(number)}

    type_ = {"type": "struct", "name": name}
    json_text = {"type": "string", "name": "io.debezium.data.Json"}
    file = tmp_path / "shop.jsonl"
    file.write_text(
        debezium_lines(
            {"amount": type_, "number": type_, "huge": type_, "empty": type_, "text": json_text},
            {"id": "a", "amount": value(-1250, 2), "number": value(7, 0), "huge": value(10**40, 0)},
            {"id": "b", "amount": value(1, 18), "number": value(7, -3), "huge": value(1, 1), "empty": None},
            {"id": "c", "amount": value(12, 0), "number": None, "text": json.dumps(value(1, 1))},
        )
    )
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    changes = (project / CHANGES).read_text()
    found = dict(re.findall(r"'(\w+)': '([^']+)'", changes))
    assert found == {
        "id": "string", "amount": "decimal(38,18)", "number": "decimal(38,0)", "huge": "string", "empty": "string",
        "text": "string",
    }  # fmt: skip
    assert "amount, number, huge (each value has a scale of its own)" in changes
    assert "empty (no message has a value)" in changes


@pytest.mark.usefixtures("spark")
def test_a_damaged_value_does_not_cost_the_column(project: Path, tmp_path: Path) -> None:
    """A text with U+FFFD is no date and no text: its row is rejected, and the others keep their days."""
    days = {"type": "int32", "name": "io.debezium.time.Date"}
    file = tmp_path / "shop.jsonl"
    file.write_text(debezium_lines({"day": days}, {"id": "a", "day": 19000}, {"id": "a", "day": "\ufffd"}))
    done = run(project, file, "--source", "shop")
    assert done.exit_code == 0, done.output
    assert "left out" not in done.stderr
    assert "columns={'id': 'string', 'day': 'string'})" in (project / CHANGES).read_text()


@pytest.mark.usefixtures("spark")
def test_the_commands_of_the_page_do_what_it_says(
    repository: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (repository / PAGE).read_text(encoding="utf-8")
    (project.parent / "dbt-spark-cdc").symlink_to(repository)
    monkeypatch.chdir(project)
    for name, content in re.findall(r"^# (\w+\.yml)\n(.*?)^```", text, re.M | re.S):
        Path(name).write_text(content)
    commands = re.findall(r"^spark-cdc (.*)$", text, re.M)
    assert len(commands) >= 3
    outputs = []
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command))
        assert done.exit_code == 0, (command, done.output)
        outputs.append(done.output)
    shown = re.findall(r"^```text\n(.*?)^```", text, re.M | re.S)
    assert shown
    for block in shown:
        assert any(block in output for output in outputs), (block, outputs)
