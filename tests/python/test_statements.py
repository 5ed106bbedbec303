"""The effect of a statement in a message on rows, by the rules of macros/parse/statements.sql.

A truncate that is read as a mere DDL leaves deleted rows in the tables: each list has statements that look
like those of another list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dbt_spark_cdc.macros import MacroLibrary
    from pyspark.sql import SparkSession

# Of a message that says that the table is orders, in the database shop.
STATEMENTS: dict[str, list[str | None]] = {
    "truncate": [
        "TRUNCATE TABLE orders",
        "truncate orders",
        "Truncate\n\tTable\r\n orders",
        "truncate table orders;",
        "  truncate orders ; ",
        "truncate `orders`",
        "truncate`orders`",
        'truncate table "orders"',
        "TRUNCATE TABLE [orders]",
        "truncate table ORDERS",
        "truncate table shop.orders",
        "truncate SHOP.Orders",
        "TRUNCATE TABLE `shop` . `orders`",
        "truncate table x.shop.orders",
        "/* nightly */ truncate /* it's */ table orders -- done",
        "truncate/**/table/**/orders",
        "-- nightly\ntruncate orders",
        "-- it's\r\ntruncate orders",
        "# nightly\n# it's\ntruncate orders",
        "truncate orders restart identity",
        "TRUNCATE TABLE orders DROP STORAGE",
        "/*+ hint */ truncate table orders",
    ],
    "truncate_of_other_table": [
        "truncate table lines",
        "truncate `Orders`",
        "truncate old.orders",
        "truncate `SHOP`.orders",
        "truncate shop.old.orders",
        "truncate table orders$x",
        "truncate table",
        'truncate table "orders.x"',
        "truncate [dbo].[orders]",
        "truncate table ord\u00e9rs",
    ],
    "truncate_unclear": [
        "truncate table orders, lines",
        "truncate orders cascade",
        "truncate orders partition p0",
        "truncate cluster orders",
        "TRUNCATE ONLY orders",
        "(truncate table orders)",
        "truncate",
        "use shop; truncate table orders",
        "alter table orders add x int; truncate table orders",
        "truncate orders; truncate lines",
        "alter table orders truncate partition p0",
        "drop table truncate",
        "/*!50000 truncate table orders */",
        "truncate /*!50000 table */ orders",
        "truncate /*! x. */ orders",
        "/*M!100100 truncate orders */",
        "/* a /* b */ truncate table orders",
        "/* a /* b */ */ truncate table orders",
        "truncate orders # x, y",
        "--x\ntruncate orders",
        "alter table orders add c varchar(9) default q'[it's]'; truncate table orders; comment on table orders is 'x'",
        "comment on table orders is 'a\\'; truncate table orders; comment on table orders is 'b'",
        'alter table orders add c varchar(9) default "a\\"; truncate table orders; select "',
        "alter table orders add c int # it's\n; truncate table orders; # it's",
        "alter table [it's] add c int; truncate table orders; alter table [it's] add d int",
        "select $$it's$$; truncate orders; select $$it's$$",
        "alter table orders add c int -- it's\r; truncate orders -- it's",
        "alter table orders add c int default 'a'\n# 'b\n; truncate orders",
        "create table event(a int); truncate table orders",
        "create index function on orders(a); truncate table orders",
        "create procedure p() select 1; truncate table orders",
        "create procedure p() begin delete from lines; end; truncate table orders",
        "create table x(id int);/*!50001 truncate table orders*/",
        "truncate orders restart identity cascade",
        "truncate orders; drop table orders",
        '["truncate table orders"]',
        "alter table orders add c int comment 'it\\'s not truncate'",
        "truncate 'orders'",
        "truncate orders wait 5",
        "truncate table if exists orders",
        "lock table orders; truncate orders",
    ],
    "replaces_rows": [
        "alter table orders exchange partition p0 with table `old`",
        "ALTER TABLE orders\n EXCHANGE  SUBPARTITION sp INCLUDING INDEXES",
        "alter table orders import tablespace",
        "alter table orders discard tablespace",
        "alter table orders discard partition p0 tablespace",
        "ALTER TABLE orders IMPORT PARTITION p0, `p1` TABLESPACE",
        "alter table orders import partition all tablespace;",
        "alter table dbo.orders switch partition 2 to dbo.old",
        "alter table orders switch to old",
        "alter table orders convert partition p0 to table old",
        "alter table orders convert table old to partition p1 values less than (10)",
        "create index i on orders (name); alter table orders exchange partition p0 with table old",
        "/*M!100100 alter table orders convert partition p0 to table old */",
        "/* nightly */ alter table orders import /* it's */ tablespace;",
    ],
    "changes_rows": [
        "delete from orders",
        "DELETE orders",
        "insert into notes values ('we\\'ll alter the plan and switch to b')",
        "insert into people values " + "('{\\\"Alter\\\": 30}')," * 20_000,
        " /* nightly */ update orders set v = 1",
        "insert into orders values (1)",
        "replace orders values (1)",
        "load data infile 'f' into table orders",
        "merge into orders using u",
        "with d as (select 1) delete from orders",
        "copy orders from 'f'",
        "(delete from orders)",
        "/*!50000 delete from orders */",
        "/*M!100100 delete from orders */",
        "# nightly\ndelete from orders",
        "/* a */ # b\ndelete from orders",
        "--x\ndelete from orders",
        "/* a /* b */ */ delete from orders",
        "use shop; delete from orders",
        "alter table t add c int /* it's */; delete from t",
        "create table type as select 1 a; delete from orders",
        "create view v as select a event from orders; delete from orders",
        "alter table orders add c varchar(9) default q'[it's]'; delete from orders; comment on table orders is 'x'",
        "begin; delete from orders",
        "alter table t add c int;/*!50001 delete from t*/",
        "create trigger t after insert on orders for each row delete from lines; delete from orders",
        ";delete from orders",
        "alter table [a] add c int; -- x\ndelete from a",
        "\ufeffdelete from orders",
    ],
    "other": [
        "alter table orders add column note varchar(20)",
        "create table orders (id bigint primary key)",
        "DROP TABLE `orders` /* generated by server */",
        "rename table orders_new to orders",
        "create index ix on orders (name)",
        "create database shop",
        "create table u as select 1",
        "create table u select * from truncated",
        "alter table orders add truncated int",
        "alter table orders add `truncate` int",
        "alter table orders add exchange int, drop partition p0",
        "alter table orders comment 'exchange partition'",
        "create tablespace import",
        "alter table exchange partition by hash (id) partitions 4",
        "create table exchange partition of quotes for values in (1)",
        "alter table import tablespace ts1",
        "alter table import tablespace = ts1",
        "alter table import partition by range (id) (partition p0 values less than (9) tablespace = ts1)",
        "alter table orders rename column switch to is_on",
        "comment on table orders is 'we\\'ll alter the plan and switch to b'",
        "alter table orders convert to character set utf8mb4",
        "alter table orders attach partition p1 for values in (1)",
        "create table truncated (id int comment 'truncate it')",
        "create table t (ts timestamp default current_timestamp on update current_timestamp)",
        "create table t (id int references orders (id) on delete cascade on update set null)",
        "create table t (copy int, a varchar(9) default (replace('a', 'b', 'c')), check (a != 0)) with (fillfactor = 70)",
        "create or replace view v as select 1",
        "grant select, insert, update, delete on orders to a",
        "alter table orders comment 'a; truncate table orders'",
        "alter table orders add c int comment 'a; delete from b'",
        "alter table orders add c int comment 'it''s; delete from b'",
        "alter table orders add c int /* ; truncate orders */",
        "alter table orders add c int -- it's ; truncate",
        'alter table orders add c varchar(9) default "; truncate"',
        "alter table orders add c int; alter table orders add d int default '5'",
        "/* truncate */ alter table orders add c int",
        "# truncate\nalter table orders add c int",
        "/*!40000 alter table orders disable keys */",
        "create table t (id int) /*!50100 partition by hash (id) */",
        "alter table [dbo].[orders] add c int",
        "create procedure p() begin delete from t; delete from t; end",
        "create definer = `root`@`%` procedure p() begin delete from orders; truncate table orders; end",
        "CREATE DEFINER=root@localhost TRIGGER t AFTER INSERT ON orders FOR EACH ROW BEGIN UPDATE a SET b = 1; DELETE FROM c; END",
        "create or replace editionable trigger t before insert on orders begin null; delete from orders; end t;",
        "alter event e do begin delete from orders; end",
        "create trigger t after delete on orders for each row insert into log values (1)",
        "create procedure p() begin insert into a values ('it\\'s'); truncate b; end",
        "truncate_log ",
        "ADD COLUMN note",
        "XA COMMIT 'a'",
        "select 1 into outfile 'f'",
        "alter table orders add c int # note",
    ],
    "none": [
        "",
        "  ",
        ";",
        "-- x",
        "/* truncate table orders */",
        "-- truncate\n;",
        "/* c */\n;",
        "5",
        "-5",
        "1e5",
        "true",
        "false",
        '{"a": 1}',
        "[5]",
        "# x",
        "'a'",
        None,
    ],
}


@pytest.fixture(scope="module")
def kinds(session: SparkSession, library: MacroLibrary) -> dict[str | None, str]:
    return read(session, library)


def read(session: SparkSession, library: MacroLibrary) -> dict[str | None, str]:
    """Statements and their kinds, of one query."""
    rows = [(text,) for texts in STATEMENTS.values() for text in texts]
    session.createDataFrame(rows, "text string").createOrReplaceTempView("messages_with_statements")
    statement = {"text": "text", "table": "'orders'", "qualifier": "'shop'"}
    ctes = library.call("_statement_ctes", "messages_with_statements", statement)
    query = f"with {ctes} select text, statement, statement_kind from kinds_of_statements"
    found = session.sql(query).collect()
    assert len(found) == len(rows) == len({row.text for row in found})
    assert all(row.text == row.statement for row in found)
    return {row.text: row.statement_kind for row in found}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_statements_are_of_their_kind(kinds: dict[str | None, str], kind: str) -> None:
    assert {text: kinds[text] for text in STATEMENTS[kind]} == dict.fromkeys(STATEMENTS[kind], kind)


def test_they_are_with_ansi_on_too(
    kinds: dict[str | None, str], ansi_session: SparkSession, library: MacroLibrary
) -> None:
    assert read(ansi_session, library) == kinds


@pytest.mark.parametrize(
    ("table", "qualifier", "text", "kind"),
    [
        ("'Orders'", "'shop'", "truncate `Orders`", "truncate"),
        ("'Orders'", "'shop'", "truncate orders", "truncate"),
        ("'a.b'", "'shop'", 'truncate "a.b"', "truncate"),
        ("'a,b'", "'shop'", "truncate `a,b`", "truncate"),
        ("'v$x'", "'shop'", "truncate table shop.v$x", "truncate"),
        ("'orders'", "cast(null as string)", "truncate orders", "truncate"),
        ("'orders'", "cast(null as string)", "truncate shop.orders", "truncate_of_other_table"),
        ("'orders'", "''", "truncate shop.orders", "truncate_of_other_table"),
        ("'orders'", "'dbo'", "truncate table [shop].[dbo].[orders]", "truncate"),
        ("cast(null as string)", "'shop'", "truncate orders", "truncate_of_other_table"),
        ("''", "'shop'", "truncate orders", "truncate_of_other_table"),
        (None, None, "truncate orders", "truncate_of_other_table"),
    ],
)
def test_a_truncate_is_one_of_the_messages_table(
    session: SparkSession,
    library: MacroLibrary,
    table: str | None,
    qualifier: str | None,
    text: str,
    kind: str,
) -> None:
    names = {"table": table, "qualifier": qualifier} if table else {}
    statement = {"text": f"'{text}'", **names}
    ctes = library.call("_statement_ctes", "(select 1)", statement)
    assert session.sql(f"with {ctes} select statement_kind from kinds_of_statements").first()[0] == kind


def test_a_query_has_each_pattern_once(library: MacroLibrary) -> None:
    """Pasted into each rule they were most of the SQL of a messages model."""
    for name in library.formats():
        query = library.call("messages", "raw", name)
        assert query.count("TRUNCATE\\b\\s*(?:TABLE") <= 1, name
        statements = query.partition("statements as (")[2].partition("checked as (")[0]
        assert max(map(len, statements.split("\n"))) <= 400, name
