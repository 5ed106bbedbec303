"""cdc_ddl: what a DDL statement does, exactly or as `unknown`; tests/python/test_functions.py has what all functions share."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt_spark_cdc.functions.ddl import DIALECTS, UNKNOWN, Column, Ddl, Table, ddl
from dbt_spark_cdc.macros import MacroLibrary
from hypothesis import given, settings
from hypothesis import strategies as st


def add(name: str, type_: str, nullable: bool | None = None) -> Column:
    return Column("add", name, None, type_, nullable)


def change(name: str, type_: str | None, nullable: bool | None = None, old: str | None = None) -> Column:
    return Column("change", name, old, type_, nullable)


def drop(name: str) -> Column:
    return Column("drop", name)


# (dialect, statement, columns)
COLUMNS: list[tuple[str, str, list[Column]]] = [
    ("mysql", "alter table orders add column note varchar(20)", [add("note", "varchar(20)")]),
    ("mysql", "ALTER TABLE orders ADD Note VARCHAR( 20 )  ; ", [add("Note", "varchar(20)")]),
    (
        "mysql",
        "alter table orders add (a int, `b c` bigint(20) unsigned not null default 0 comment 'x, y')",
        [add("a", "int"), add("b c", "bigint(20) unsigned", False)],
    ),
    ("mysql", "alter table orders add column (a int, b int null)", [add("a", "int"), add("b", "int", True)]),
    ("mysql", "alter table orders add a int first, add b int after `a`", [add("a", "int"), add("b", "int")]),
    (
        "mysql",
        "alter table orders change a b varchar(30) not null after c, modify column d decimal(12, 2) null, drop column e, "
        "drop f, rename column g to h, add index ix (a), add unique key u (b), alter column i set default 5, engine=InnoDB",
        [
            change("b", "varchar(30)", False, "a"),
            change("d", "decimal(12,2)", True),
            drop("e"),
            drop("f"),
            Column("rename", "h", "g"),
        ],
    ),
    ("mysql", "alter table t change a a int unsigned", [change("a", "int unsigned")]),
    ("mysql", "alter table t add a enum('X y','b,c') character set utf8mb4", [add("a", "enum('X y','b,c')")]),
    ("mysql", "alter table t add p POINT srid 4326, add point multipolygon, add b geometry", [
        add("p", "point"), add("point", "multipolygon"), add("b", "geometry")]),
    ("mysql", "alter table t add a set('x') not null", [add("a", "set('x')", False)]),
    ("mysql", "alter table t add a double precision, add b int as (a + 1) stored", [add("a", "double precision"), add("b", "int")]),
    ("mysql", "alter table t add a int, algorithm=inplace, lock=none", [add("a", "int")]),
    # ZEROFILL makes it unsigned.
    ("mysql", "alter table t add a int(5) zerofill, add b int unsigned zerofill not null", [
        add("a", "int(5) zerofill"), add("b", "int unsigned zerofill", False)]),
    ("mysql", "alter table t add `null` int, add visible int null", [add("null", "int"), add("visible", "int", True)]),
    ("mysql", "alter table t drop primary key, drop foreign key fk, drop index i, add primary key (id), auto_increment=5", []),
    (
        "mysql",
        "create table orders (id bigint primary key, n varchar(9) collate utf8mb4_bin not null, at timestamp default current_timestamp "
        "on update current_timestamp, g geometry srid 4326, d date, key k (n), fulltext key f (n), constraint c foreign key (d) "
        "references b (a), check (id > 1), primary key (d)) engine=innodb default charset=utf8mb4 comment='as'",
        [
            add("id", "bigint", False),
            add("n", "varchar(9)", False),
            add("at", "timestamp"),
            add("g", "geometry"),
            add("d", "date", False),
        ],
    ),
    (
        "mysql",
        "create table t (a int) partition by range (a) (partition p0 values less than (5))",
        [add("a", "int")],
    ),
    ("oracle", "ALTER TABLE S.T ADD (A NUMBER(10), B VARCHAR2(20 CHAR) NOT NULL ENABLE)",
     [add("A", "number(10)"), add("B", "varchar2(20 char)", False)]),
    ("oracle", "ALTER TABLE S.T ADD A BINARY_DOUBLE", [add("A", "binary_double")]),
    ("oracle", 'ALTER TABLE S.T MODIFY ("a" NUMBER(12,2), B RAW(16))', [change("a", "number(12,2)"), change("B", "raw(16)")]),
    ("oracle", "ALTER TABLE S.T MODIFY A NUMBER(12,2) NOT NULL", [change("A", "number(12,2)", False)]),
    ("oracle", "ALTER TABLE S.T DROP (A, B)", [drop("A"), drop("B")]),
    ("oracle", 'ALTER TABLE T MODIFY A "NULL"', [change("A", '"NULL"')]),
    ("oracle", "ALTER TABLE T MODIFY A VARCHAR2(5) NULL", [change("A", "varchar2(5)", True)]),
    ("oracle", "ALTER TABLE T ADD A S.ADDRESS", [add("A", "s.address")]),
    ("oracle", "ALTER TABLE S.T RENAME COLUMN A TO B", [Column("rename", "B", "A")]),
    (
        "oracle",
        'CREATE TABLE "S"."T" (ID NUMBER(10) NOT NULL, D TIMESTAMP(6) WITH LOCAL TIME ZONE, PRIMARY KEY (ID)) SEGMENT CREATION '
        "IMMEDIATE PCTFREE 10 NOCOMPRESS LOGGING TABLESPACE USERS",
        [add("ID", "number(10)", False), add("D", "timestamp(6) with local time zone")],
    ),
    ("postgres", "alter table only sales.orders add column a int, drop column b", [add("a", "int"), drop("b")]),
    (
        "postgres",
        "alter table t alter column a type numeric(12,2), alter b set data type character varying(9), alter column c set not null",
        [change("a", "numeric(12,2)"), change("b", "character varying(9)"), change("c", None, False)],
    ),
    ("postgres", "alter table t add a int constraint nn not null", [add("a", "int", False)]),
    ("postgres", "create table t (a int[3], b public.mood)", [add("a", "int[3]"), add("b", "public.mood")]),
    ("tsql", "alter table dbo.t add a int null, [b c] nvarchar(max)", [add("a", "int", True), add("b c", "nvarchar(max)")]),
    ("tsql", "alter table dbo.t alter column a bigint not null", [change("a", "bigint", False)]),
    ("tsql", "alter table dbo.t drop column a, b", [drop("a"), drop("b")]),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "columns"), COLUMNS, ids=[text[:60] for _, text, _ in COLUMNS])
def test_the_columns_of_a_statement(dialect: str, text: str, columns: list[Column]) -> None:
    found = ddl(text, dialect)
    assert found is not None
    assert (found.columns, found.is_conditional) == (tuple(columns), False)
    assert found.action == text.split()[0].lower()


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("mysql", "alter table `a.b`.t rename to x.u", Ddl("alter", False, (Table("a.b", "t", "x.u"),), ())),
        ("mysql", "rename table a to b, s.c to s.d /* x */",
         Ddl("rename", False, (Table(None, "a", "b"), Table("s", "c", "s.d")), ())),
        ("mysql", "RENAME TABLE orders_new TO orders;", Ddl("rename", False, (Table(None, "orders_new", "orders"),), ())),
        ("mysql", "DROP TABLE IF EXISTS `orders`, s.t2 /* generated by server */",
         Ddl("drop", True, (Table(None, "orders"), Table("s", "t2")), ())),
        ("mysql", "create table t2 like t1", Ddl("create", False, (Table(None, "t2"),), None)),
        ("mysql", "create table u as select 1", Ddl("create", False, (Table(None, "u"),), None)),
        ("mysql", "create table if not exists u (a int)", Ddl("create", True, (Table(None, "u"),), (add("a", "int"),))),
        ("mysql", "create table u (a int) select 1 as b", Ddl("create", False, (Table(None, "u"),), None)),
        ("postgres", "create table t (like u, a int)", Ddl("create", False, (Table(None, "t"),), None)),
        ("postgres", "create table t (a int) inherits (u)", Ddl("create", False, (Table(None, "t"),), None)),
        ("postgres", "create table t () with (fillfactor=70) inherits (u)", Ddl("create", False, (Table(None, "t"),), None)),
        ("mysql", "alter table t add column if not exists a int", Ddl("alter", True, (Table(None, "t"),), (add("a", "int"),))),
        ("mysql", "truncate table t", Ddl("truncate", False, (Table(None, "t"),), ())),
        ("mysql", "create index ix on t (a)", Ddl("other", False, (), ())),
        ("mysql", "drop index ix on t", Ddl("other", False, (), ())),
        ("mysql", "create database if not exists shop", Ddl("other", True, (), ())),
        ("mysql", "create view v as select 1", Ddl("other", False, (), ())),
    ],
)  # fmt: skip
def test_the_tables_of_a_statement(dialect: str, text: str, expected: Ddl) -> None:
    assert ddl(text, dialect) == expected


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("mysql", ""),
        ("mysql", "-- nothing"),
        ("mysql", "QUERY something"),
        ("mysql", "alter table t add a int; alter table t drop b"),
        ("mysql", "alter table t convert to character set utf8"),
        ("mysql", "alter table t drop partition p0"),
        ("mysql", "alter table t add foo"),
        ("mysql", "alter table t add a int, foo bar"),
        ("mysql", "alter table t add a int /*!50600 , add b int */"),
        ("mysql", "alter ignore table t add a int"),
        ("mysql", "create temporary table t (a int)"),
        ("mysql", "create or replace table t (a int)"),
        ("mysql", "drop temporary table t"),
        ("mysql", "insert into t values (1)"),
        ("mysql", "alter table t rename to u, rename to v"),
        ("mysql", "rename table a"),
        ("mysql", "rename user a to b"),
        ("mysql", "create table t (a int"),
        ("mysql", "create table t (a 'int')"),
        ("oracle", "ALTER TABLE T SET UNUSED (A)"),
        ("oracle", "ALTER TABLE T ADD (A INT) MODIFY (B INT)"),
        ("oracle", "ALTER TABLE T MODIFY A NOT NULL"),
        ("oracle", "ALTER TABLE T ADD MODIFY"),
        *[
            ("oracle", f"ALTER TABLE T {verb}")
            for word in (
                "NULL",
                "INVISIBLE",
                "VISIBLE",
                "ENCRYPT",
                "DECRYPT",
                "SECUREFILE",
                "SUBSTITUTABLE",
                "IDENTITY",
                "SORT",
                "ENABLE",
            )
            for verb in (f"MODIFY A {word}", f"MODIFY (A {word}, B DATE)", f"ADD A {word}")
        ],
        ("oracle", "ALTER TABLE T ADD A INVISIBLE AS (B + 1)"),
        ("oracle", "ALTER TABLE T MODIFY VARRAY V (CACHE)"),
        ("oracle", "ALTER TABLE T MODIFY CLUSTERING YES ON LOAD"),
        ("mysql", "alter table t add a null"),
        ("postgres", "create table t (a null)"),
        ("oracle", "ALTER TABLE S.T ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"),
        ("postgres", "alter table t rename a to b"),
        ("tsql", "exec sp_rename 't.a', 'b', 'COLUMN'"),
        ("tsql", "truncate table t with (partitions (1))"),
        # A temporary table is none of the source's.
        ("tsql", "create table #t (a int)"),
        ("tsql", "create table [#t] (a int)"),
        ("tsql", "create table tempdb..##t (a int)"),
        ("tsql", "create table tempdb.dbo.t (a int)"),
        ("tsql", "alter table #t add a int"),
        ("tsql", "drop table if exists t, #t"),
        ("tsql", "truncate table ##t"),
        ("postgres", "create temp table t (a int)"),
        ("postgres", "drop table pg_temp.t"),
        ("oracle", "CREATE GLOBAL TEMPORARY TABLE T (A NUMBER)"),
        ("db2", "alter table t add a int"),
        (None, '{"table-def": {}}'),
    ],
)
def test_what_is_not_certain_is_unknown(dialect: str | None, text: str) -> None:
    assert ddl(text, dialect) == UNKNOWN


def test_a_command_that_hides_in_a_statement_is_found() -> None:
    """sqlglot 30 reads it as an Alter whose action is a Command."""
    import sqlglot
    from sqlglot import exp

    hidden = sqlglot.parse_one("ALTER TABLE T DROP (A, B)", dialect="tsql")
    assert not isinstance(hidden, exp.Command)
    assert hidden.find(exp.Command)
    assert ddl("ALTER TABLE T DROP (A, B)", "tsql") == UNKNOWN


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_added_is_a_column_for_certain(dialect: str) -> None:
    """sqlglot reads a partition, an index or a log group as a column with a type of the user's."""
    for added in ("PARTITION p0", "PARTITION BY x", "SUPPLEMENTAL LOG", "CONSTRAINT c"):
        assert ddl(f"ALTER TABLE t ADD {added}", dialect) == UNKNOWN, added
    of_key = ddl("ALTER TABLE t ADD KEY ix(a)", dialect)
    assert of_key == UNKNOWN or (dialect == "mysql" and of_key is not None and of_key.columns == ())


def test_without_a_dialect_all_that_read_it_must_agree() -> None:
    text = "alter table orders add note varchar(20)"
    assert ddl(text, None) == ddl(text, "mysql") != UNKNOWN
    assert ddl("ALTER TABLE T MODIFY (A NUMBER(9))", None) == ddl(
        "ALTER TABLE T MODIFY (A NUMBER(9))", "oracle"
    )
    # The dialects disagree: UNSIGNED is part of the type in MySQL alone.
    assert {ddl("ALTER TABLE t ADD a DATE COMMENT 'x'", one) for one in DIALECTS} - {UNKNOWN}
    text = "ALTER TABLE t MODIFY (a INT, b INT)"
    assert ddl(text, None) == ddl(text, "mysql") == ddl(text, "oracle")


def test_null_is_null() -> None:
    assert ddl(None, "mysql") is None
    assert ddl(None, None) is None


@given(text=st.text() | st.lists(st.sampled_from(["alter", "table", "t", "add", "(", ")", ",", "a", "int", "not", "null", "drop", "column", "'x'", ";", ".", "to", "/*"])).map(" ".join),
       dialect=st.sampled_from([*DIALECTS, None]))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_no_text_raises(text: str, dialect: str | None) -> None:
    found: Any = ddl(text, dialect)
    assert found.action in ("create", "alter", "drop", "rename", "truncate", "other", "unknown")
    assert found != UNKNOWN or found.columns is None


# Format and its dialect -> the dialects of SQL that it names; formats that are not here name none.
SQL_OF_FORMATS = {
    **dict.fromkeys(
        [("canal", name) for name in ("canal", "ticdc", "tencent", "flink", "seatunnel")], "mysql"
    ),
    **dict.fromkeys([("maxwell", name) for name in ("maxwell", "nulls_left_out")], "mysql"),
    **dict.fromkeys(
        [("debezium", name) for name in ("envelope", "by_offset", "cloudcanal")], "mysql oracle postgres tsql"
    ),
    ("drs", "mysql"): "mysql",
    ("drs", "postgresql"): "postgres",
    ("drs", "oracle"): "oracle",
    ("drs", "sqlserver"): "tsql",
    ("dts_avro", "dts_avro"): "mysql oracle postgres",
}


def test_formats_name_dialects_that_the_function_knows(library: MacroLibrary) -> None:
    found = {}
    for name, dialects in library.formats().items():
        for dialect in dialects:
            expression = library.call("_format", name, dialect)["header"]["sql_dialect"]
            if expression:
                named = re.findall(r"(?:then |^)'(\w+)'", expression.strip())
                found[name, dialect] = " ".join(sorted(set(named)))
    assert found == SQL_OF_FORMATS
    assert set(" ".join(found.values()).split()) == set(DIALECTS)


def test_formats_of_documents_have_types_of_values(library: MacroLibrary) -> None:
    documents = [
        name for name in library.formats() if library.call("_format", name)["header"]["types_of_values"]
    ]
    assert documents == ["drs_mongodb", "debezium_mongodb"]
