"""Messages of real servers through Debezium, Canal and Maxwell: our tables against the databases' rows.

Flink's writers had no server: each of them got the same rows, and must give the same changes.

The captures are in ../shared/captures. If a producer loses something before we see it, GAPS names it with
its reason, and a test asserts the result that GAPS states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dbt_spark_cdc.macros import MacroLibrary
from shared_data import CAPTURES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures of ../shared are not here")


@dataclass
class Table:
    """A source table as the models declare it: the part of it that all its messages carry."""

    schema: str
    name: str
    key: list[str]
    columns: dict[str, str]
    dialects: dict[str, dict[str, str]] = field(default_factory=dict)  # declarations that differ by capture
    rejected: dict[str, dict[str, tuple[str, ...]]] = field(
        default_factory=dict
    )  # capture -> key -> `invalid_value`

    def of(self, capture: str) -> Table:
        return replace(self, columns={**self.columns, **self.dialects.get(capture, {})})


MYSQL = [
    Table("cdc", "t_pk", ["k1"], {"k1": "string", "k2": "int"}),
    Table("cdc2", "t_pk", ["k1"], {"k1": "string", "v": "int"}),
    Table("cdc", "t_par", ["id"], {"id": "int", "v": "int"}),
    Table("cdc", "t_child", ["id"], {"id": "int", "pid": "int"}),
    Table("cdc", "t_uk", ["b"], {"a": "int", "b": "string", "v": "int"}),
    Table(
        "cdc",
        "T Weird.1",
        ["order"],
        {
            "order": "int",
            "Col Case": "string",
            "a.b": "int",
            "汉字": "string",
            "$x": "int",
            "q`q": "int",
            "old": "int",
            "data": "int",
        },
    ),
    Table(
        "cdc",
        "t_all",
        ["id"],
        {
            "id": "bigint",
            "d38": "decimal(38,10)",
            "dun": "decimal(20,0)",
            "bi": "bigint",
            "iu": "bigint",
            "ti1": "int",
            "tu": "int",
            "mu": "bigint",
            "db": "double",
            "vc": "string",
            "tx": "string",
            "vb": "binary",
            "bl": "binary",
        },
        {"flat": {"d38": "double", "dun": "double", "vb": "binary from hex", "bl": "binary from hex"}},
    ),
]
POSTGRESQL = [
    Table("public", "t_pk", ["k2", "k1"], {"k1": "string", "k2": "int"}),
    Table("public", "t_par", ["id"], {"id": "int"}),
    Table("public", "t_child", ["id"], {"id": "int", "pid": "int"}),
    Table("public", "t_pk_full", ["k2", "k1"], {"k1": "string", "k2": "int", "v": "string"}),
    Table("public", "t_none", ["id"], {"id": "int", "v": "int"}),
    Table("public", "t_toast", ["id"], {"id": "int", "small": "string", "big": "string", "n": "int"}),
    Table("public", "t_idx", ["b"], {"a": "int", "b": "string", "v": "int"}),
]
# The table of all types, in parts: a value that does not fit rejects its row, so such a column stands apart.
POSTGRESQL_VALUES = [
    Table(
        "public",
        "t_all",
        ["id"],
        {
            "id": "bigint",
            "n38": "decimal(38,10)",
            "n5": "decimal(5,0)",
            "na": "string",
            "na2": "string",
            "ia": "string",
            "ia2": "string",
            "ta": "string",
            "i2": "smallint",
            "i4": "int",
            "i8": "bigint",
            "r": "float",
            "d": "double",
            "mo": "decimal(19,2)",
            "b": "boolean",
            "ch": "string",
            "vc": "string",
            "tx": "string",
            "by": "binary",
            "js": "string",
            "jb": "string",
            "tm": "string",
            "tm3": "string",
            "tz": "string",
            "tsz0": "timestamp",
            "iv": "bigint",
            "u": "string",
            "hs": "string",
            "xm": "string",
            "ip": "string",
            "ci": "string",
            "ma": "string",
            "bi": "boolean",
            "b5": "bigint",
            "vb": "bigint",
            "en": "string",
            "pt": "string",
            "bx": "string",
            "tsr": "string",
            "i4r": "string",
            "nr": "string",
            "ct": "string",
            "lt": "string",
            "ol": "bigint",
            "tv": "string",
            "dom": "int",
            "comp": "string",
            "ea": "string",
            "ua": "string",
            "tza": "string",
            "jba": "string",
            "bya": "string",
            "gen": "bigint",
            "ser": "int",
        },
        {
            "plain": {
                "n38": "decimal(38,10) from base64",
                "n5": "decimal(5,0) from base64",
                "mo": "decimal(19,2) from base64",
                "tm": "string from time_microseconds",
                "tm3": "string from time_milliseconds",
                "b5": "bigint from bits",
                "vb": "bigint from bits",
            },
            "flat": {
                "n38": "double",
                "n5": "double",
                "mo": "double",
                "tm": "string from time_milliseconds",
                "tm3": "string from time_milliseconds",
                "b5": "bigint from bits",
                "vb": "bigint from bits",
            },
        },
    ),
    Table(
        "public",
        "t_all",
        ["id"],
        {"id": "bigint", "n": "decimal(38,10)"},
        {"flat": {"n": "double"}},
        {capture: dict.fromkeys(["3", "5", "103", "105"], ("n",)) for capture in ["schema", "plain"]},
    ),
    Table(
        "public",
        "t_all",
        ["id"],
        {"id": "bigint", "da": "date", "ts": "timestamp_ntz", "ts3": "timestamp_ntz", "tsz": "timestamp"},
        {
            "plain": {"ts": "timestamp_ntz from microseconds", "ts3": "timestamp_ntz from milliseconds"},
            "flat": {"ts": "timestamp_ntz from milliseconds", "ts3": "timestamp_ntz from milliseconds"},
        },
        {
            # infinity, and years that have no four digits
            capture: dict.fromkeys(
                ["2", "3", "102", "103"],
                ("da", "ts", "ts3", "tsz"),
            )
            for capture in ["schema", "plain", "flat"]
        },
    ),
]
# Maxwell's table of all types: what it loses is in VALUE_GAPS.
MAXWELL_VALUES = [
    Table(
        "cdc",
        "t_all",
        ["id"],
        {
            "id": "bigint",
            "d38": "decimal(38,10)",
            "d65": "string",
            "dun": "decimal(20,0)",
            "bu": "decimal(20,0)",
            "bi": "bigint",
            "iu": "bigint",
            "ti1": "tinyint",
            "tb": "tinyint",
            "tu": "smallint",
            "mu": "int",
            "b1": "int",
            "b10": "int",
            "b64": "decimal(20,0)",
            "fl": "float",
            "db": "double",
            "zf": "string",
            "yr": "string",
            "da": "string",
            "tm": "string",
            "tm6": "string",
            "dt": "string",
            "dt3": "string",
            "dt6": "string",
            "ts": "string",
            "ts6": "string",
            "ch": "string",
            "vc": "string",
            "l1": "string",
            "gb": "string",
            "u16": "string",
            "tx": "string",
            "bn": "binary",
            "vb": "binary",
            "bl": "binary",
            "en": "string",
            "st": "string from set",
            "js": "string",
            "ge": "string",
            "pt": "string",
            "ls": "string",
            "def_ts": "string",
            "gen_v": "bigint",
            "gen_s": "string",
        },
    ),
    Table(
        "cdc",
        "t_all",
        ["id"],
        {"id": "bigint", "da": "date", "dt": "timestamp_ntz"},
        rejected={"mariadb": dict.fromkeys(["105", "106"], ("da", "dt"))},
    ),
]
# Captures of one server share a topic prefix, so that one query reads them all.
SERVERS = {
    "debezium-mysql": MYSQL,
    "debezium-mariadb": MYSQL,
    "debezium-pg": POSTGRESQL,
}
# (folder, file, schema, table) -> why our table rightly differs from the database's
DROPS_TRUNCATE = "ExtractNewRecordState drops truncates"
CASCADE = "MariaDB does not log the child rows of a foreign key cascade"
GAPS = {
    ("debezium-mariadb", "*", "cdc", "t_child"): CASCADE,
    ("debezium-mysql", "flat", "cdc2", "t_pk"): DROPS_TRUNCATE,
    ("debezium-mariadb", "flat", "cdc2", "t_pk"): DROPS_TRUNCATE,
    ("debezium-pg", "flat", "public", "t_par"): DROPS_TRUNCATE,
    ("debezium-pg", "flat", "public", "t_child"): DROPS_TRUNCATE,
    ("debezium-pg", "flat", "public", "t_pk_full"): DROPS_TRUNCATE,
    ("maxwell", "mariadb", "cdc", "t_child"): CASCADE,
    ("maxwell", "mariadb", "cdc2", "t_pk"): "Maxwell sends nothing for a TRUNCATE",
    ("canal", "mysql_hash3", "cdc", "t_pk"): "a key change is in another partition than its key",
    ("canal", "mysql_hash3", "cdc2", "t_pk"): "TRUNCATE is in partition 0, the rows are in others",
}

# The same value in Debezium's spelling: (folder, table, column) -> the database's text -> ours
SPELLED = {
    ("debezium-pg", "t_all", column): texts
    for column, texts in {
        "na": {"{1.50,NULL,2}": '[{"scale":1,"value":"Dw=="},null,{"scale":0,"value":"Ag=="}]'},
        "na2": {"{1.50,2.00}": '["AJY=","AMg="]', "{}": "[]"},
        "ia": {"{1,2,NULL}": "[1,2,null]", "{}": "[]"},
        "ta": {'{a,"b,c",NULL,"NULL",""}': '["a","b,c",null,"NULL",""]', "{}": "[]"},
        "ch": {"ab": "ab   ", "": "     "},  # PostgreSQL's cast to text cuts what pads char(5)
        "hs": {'"a"=>"1", "d"=>"x,\\"y", "b c"=>NULL': '{"a":"1","d":"x,\\"y","b c":null}', "": "{}"},
        "ip": {"::1/128": "::1"},
        "b5": {"10101": "21", "00000": "0"},
        "vb": {"101": "5", "": "0"},
        "pt": {
            "(1,2)": '{"x":1.0,"y":2.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA","srid":null}',
            "(1e+300,-1e-300)": '{"x":1.0E300,"y":-1.0E-300,"wkb":"AQEAAACcdQCIPOQ3flnz+MIfbqWB","srid":null}',
        },
        "ea": {"{sad,ok}": '["sad","ok"]'},
        "ua": {"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}": '["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]'},
        "tza": {'{"2024-02-29 12:34:56+00"}': '["2024-02-29T12:34:56.000000Z"]'},
        "jba": {'{"{\\"a\\": 1}"}': '["{\\"a\\": 1}"]'},
        "bya": {'{"\\\\x00ff"}': '["AP8="]'},
    }.items()
}
FLAT_SPELLED = {"na": {"{1.50,NULL,2}": "[1.5,null,2.0]"}, "na2": {"{1.50,2.00}": "[1.5,2.0]", "{}": "[]"}}
# (folder, captures, table, column) -> why values differ from the database's, and as what each ends, by key
ALL, TYPED = ("schema", "plain", "flat"), ("schema", "plain")
VALUE_GAPS: dict[tuple, tuple[str, dict[str, str | None]]] = {
    ("debezium-pg", TYPED, "t_all", "n"): ("NaN is null", {"2": None, "102": None}),
    ("debezium-pg", ALL, "t_all", "na"): ("a numeric[] with NaN is null", {"2": None, "102": None}),
    ("debezium-pg", ALL, "t_all", "ia2"): (
        "the inner lists of int[][] are null",
        {"1": "[null,null]", "101": "[null,null]"},
    ),
    ("debezium-pg", TYPED, "t_all", "mo"): (
        "a snapshot reads money through a double",
        {"2": "92233720368547760.00", "3": "-92233720368547760.00"},
    ),
    ("debezium-pg", ALL, "t_all", "tz"): (
        "timetz is moved to UTC",
        {
            "1": "07:04:56.123456Z",
            "101": "07:04:56.123456Z",
            "2": "11:59:59.999999Z",
            "102": "11:59:59.999999Z",
            "3": "08:01:00Z",
        },
    ),
    ("debezium-pg", ALL, "t_all", "iv"): (
        "an interval is microseconds, with months of 30.4375 days",
        {
            "1": "37091106000007",
            "101": "37091106000007",
            "2": "-36572706500000",
            "102": "-36572706500000",
            "3": "9223372036854775807",
            "5": "0",
            "105": "0",
        },
    ),
    ("debezium-pg", ALL, "t_all", "bx"): ("box is not sent", {"1": None, "101": None}),
    ("debezium-pg", ALL, "t_all", "comp"): (
        "a composite is not sent",
        {"1": None, "101": None, "2": None, "102": None},
    ),
    ("debezium-pg", ALL, "t_all", "gen"): (
        "a generated column is in the snapshot only",
        {"101": None, "102": None},
    ),
    ("debezium-pg", TYPED, "t_all", "ts"): (
        "a snapshot moves dates before 1582-10-15 to the Gregorian calendar",
        {"5": "1582-10-14 00:00:00"},
    ),
    ("debezium-pg", ("flat",), "t_all", "tm"): (
        "time.precision.mode=connect cuts to milliseconds",
        {"1": "12:34:56", "101": "12:34:56"},
    ),
    ("debezium-pg", ("flat",), "t_all", "ts"): (
        "time.precision.mode=connect cuts to milliseconds; the calendar of a snapshot",
        {"1": "2024-02-29 12:34:56", "101": "2024-02-29 12:34:56", "5": "1582-10-14 00:00:00"},
    ),
}
SECONDS = "Maxwell 1.22.6 cuts fractions of a second on MariaDB"
SPATIAL = "a spatial value is well-known text, without its reference system"
VALUE_GAPS |= {
    ("maxwell", ("mariadb",), "t_all", column): gap
    for column, gap in {
        "zf": ("ZEROFILL is for display only", {"101": "42"}),
        "yr": ("the year 0000 arrives as 1900", {"105": "1900"}),
        "da": ("a date with a zero in it arrives as the zero date", {"106": "0000-00-00"}),
        "dt": ("a date with a zero in it arrives as the zero date", {"106": "0000-00-00 00:00:00"}),
        "tm": ("a TIME beyond a day wraps on MariaDB", {"102": "22:59:59"}),
        "tm6": (SECONDS + "; a TIME beyond a day wraps", {"101": "12:34:56", "102": "22:59:59"}),
        "dt3": (SECONDS, {"101": "2024-02-29 12:34:56", "102": "9999-12-31 23:59:59"}),
        "dt6": (
            SECONDS,
            {"101": "2024-02-29 12:34:56", "102": "9999-12-31 23:59:59", "105": "0000-00-00 00:00:00"},
        ),
        "ts6": (SECONDS, {"101": "2024-02-29 12:34:56", "102": "2038-01-19 03:14:07"}),
        "def_ts": (SECONDS, dict.fromkeys(["101", "102", "105", "106"], "2026-11-21 08:08:13")),
        "bn": ("BINARY(n) lacks zero bytes at its end", {"101": "0102"}),
        "ge": (SPATIAL, {"101": "POINT (1 2)", "102": "POLYGON ((0 0, 0 3, 3 3, 3 0, 0 0))"}),
        "pt": (
            SPATIAL + " or small fractions",
            {"101": "POINT (-1.5 2.25)", "102": f"POINT (1{'0' * 300} -0)"},
        ),
        "ls": (SPATIAL, {"101": "LINESTRING (0 0, 1 1, 2 0)", "102": "LINESTRING (0 0, 10000000000 1)"}),
    }.items()
}


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def raw_rows(file: Path, prefix: str) -> list[tuple]:
    return [
        (
            f"{prefix}/{message['topic']}",
            message["partition"],
            message["offset"],
            message["key"],
            message["value"],
            [(name, text.encode()) for name, text in message.get("headers", [])],
        )
        for message in rows_of(file)
    ]


def land(spark, captures: list[tuple[str, Path]], view: str) -> None:
    rows = [row for prefix, file in captures for row in raw_rows(file, prefix)]
    headers = "array<struct<key:string,value:binary>>"
    schema = f"topic string, partition int, offset bigint, key string, value string, headers {headers}"
    spark.createDataFrame(rows, schema).selectExpr(
        "*", "cast(null as timestamp) as timestamp"
    ).createOrReplaceTempView(view)


@contextmanager
def compiled(spark) -> Iterator[None]:
    """What reads real messages goes through the code that Spark generates, as in a user's session."""
    settings = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        # What holds of each column of a wide table, which Spark works out for minutes
        "spark.sql.constraintPropagation.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.fixture
def store(spark, macros, tmp_path) -> Callable[..., str]:
    """Read a raw view's messages once, as a project's messages model does: gives the view of what is stored."""

    def read(view: str, format_name: str, dialect: str | None = None) -> str:
        sql = macros.call("messages", view, format_name, dialect, {"headers": "headers"})
        with compiled(spark):
            spark.sql(sql).write.parquet(str(tmp_path / view))
        spark.read.parquet(str(tmp_path / view)).createOrReplaceTempView(f"messages_of_{view}")
        # The rows of a partition that is emptied are in no message: such a statement is rejected, and nothing else is.
        names_partition = "value rlike '(?i)truncate partition'"
        errors = spark.table(f"messages_of_{view}").where("error is not null")
        assert errors.where(f"not {names_partition}").selectExpr("offset", "error").collect() == []
        codes = errors.where(names_partition).selectExpr("error.code").distinct().collect()
        assert [row.code for row in codes] in ([], ["unknown_op"])
        return f"messages_of_{view}"

    return read


def text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex().upper()
    return str(value)


def as_database_prints(value: str | None, declared: str) -> Any:
    if value is None:
        return None
    declared = declared.split(" from ")[0]
    if declared in ("float", "double"):
        return repr(float(value.replace("$", "").replace(",", "")))  # NaN equals itself, -0 is not 0
    if declared.startswith("decimal"):
        return Decimal(value.replace("$", "").replace(",", ""))
    if declared == "boolean":
        return {"0": "false", "1": "true"}.get(value, value.lower())
    if declared == "binary":
        return value.removeprefix("\\x").upper()
    if declared == "date":
        return date.fromisoformat(value)
    if declared == "timestamp":
        return datetime.fromisoformat(value).astimezone(UTC)  # what Spark collects is local
    if declared == "timestamp_ntz":
        return datetime.fromisoformat(value)
    return value


def current_rows(
    spark, macros: MacroLibrary, changes: str, key: list[str], columns: Iterable[str]
) -> DataFrame:
    """As a model asks for them: it follows rows from key to key only where one inherits values."""
    inherits_values = f"_cdc_error is null and {macros.call('_inherits_values', key)}"
    carries_over = not spark.table(changes).where(inherits_values).isEmpty()
    return spark.sql(macros.call("current_rows", changes, key, list(columns), carries_over))


def current(spark, macros: MacroLibrary, changes: str, table: Table) -> list[dict[str, Any]]:
    rows = current_rows(spark, macros, changes, table.key, table.columns)
    live = rows.where("not _cdc_is_deleted").collect()
    return [
        {name: as_database_prints(text(row[name]), declared) for name, declared in table.columns.items()}
        for row in live
    ]


def truth(file: Path, table: Table, folder: str = "", capture: str = "") -> list[dict[str, Any]]:
    """The database's rows, but for what VALUE_GAPS and SPELLED say of the capture, and for rejected rows."""
    spelled = {
        column: texts
        for (where, name, column), texts in SPELLED.items()
        if (where, name) == (folder, table.name)
    }
    spelled |= FLAT_SPELLED if capture == "flat" else {}
    lost = {
        column: values
        for (where, captures, name, column), (_, values) in VALUE_GAPS.items()
        if (where, name) == (folder, table.name) and capture in captures
    }
    rows = []
    for line in rows_of(file):
        if (line["schema"], line["table"]) != (table.schema, table.name):
            continue
        row, key = line["row"], line["row"][table.key[0]]
        if key in table.rejected.get(capture, {}):
            continue
        expected = {}
        for name, declared in table.columns.items():
            if key in lost.get(name, {}):
                expected[name] = as_database_prints(lost[name][key], declared)
                assert lost[name][key] != row[name], f"{name} of {key} is right: take it out of VALUE_GAPS"
            else:
                expected[name] = as_database_prints(spelled.get(name, {}).get(row[name], row[name]), declared)
        rows.append(expected)
    return rows


def in_order(rows: list[dict[str, Any]], table: Table) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in table.key])


def gap(folder: str, capture: str, table: Table) -> str | None:
    return GAPS.get((folder, capture, table.schema, table.name)) or GAPS.get(
        (folder, "*", table.schema, table.name)
    )


@pytest.fixture(scope="module")
def macros() -> MacroLibrary:
    # the `text` captures were made with a placeholder of their own
    placeholders = ["__debezium_unavailable_value", "__gone__"]
    return MacroLibrary(REPOSITORY, {"spark_cdc__debezium_unavailable_values": placeholders})


def compare(
    spark,
    macros,
    messages: str,
    folder: str,
    captures: list[str],
    table: Table,
    options: dict,
    expected: Callable[[str], list[dict[str, Any]]],
) -> None:
    changes = macros.call(
        "changes",
        messages=messages,
        table=table.name,
        key=table.key,
        columns=table.columns,
        **options,
    )
    # Kept once for all captures of the server: planning it costs more than running it.
    with compiled(spark):
        spark.sql(changes).localCheckpoint().createOrReplaceTempView("all_changes")
    for capture in captures:
        spark.sql(
            f"select * from all_changes where startswith(_cdc_topic, '{capture}/')"
        ).createOrReplaceTempView("changes")
        errors = spark.sql(
            f"select cast(`{table.key[0]}` as string) as key, _cdc_error.* from changes"
            " where _cdc_error is not null"
        ).collect()
        rejected = {
            (key, "invalid_value", ", ".join(f"{name}: {table.columns[name]}" for name in names))
            for key, names in table.rejected.get(capture, {}).items()
        }
        found = {(row["key"], row["code"], row["detail"]) for row in errors}
        assert found == rejected, f"{folder}/{capture} {table.name}: {errors[:3]}"
        ours, theirs = current(spark, macros, "changes", table), expected(capture)
        same = in_order(ours, table) == in_order(theirs, table)
        if gap(folder, capture, table):
            assert not same, f"{folder}/{capture} {table.name} is right now: take it out of GAPS"
        else:
            assert in_order(ours, table) == in_order(theirs, table), f"{folder}/{capture} {table.name}"


@pytest.mark.parametrize("folder", SERVERS)
def test_debezium_tables_equal_the_database(spark, macros, store, folder) -> None:
    captures = ["plain", "text"]
    land(spark, [(capture, CAPTURES / folder / f"{capture}.jsonl") for capture in captures], "debezium_raw")
    messages = store("debezium_raw", "debezium")
    for table in SERVERS[folder]:
        if table.name == "t_all":
            continue
        part = "schema" if folder == "debezium-pg" else "database"
        options = {"format": "debezium", part: table.schema}
        compare(
            spark,
            macros,
            messages,
            folder,
            captures,
            table,
            options,
            lambda _, table=table: truth(CAPTURES / folder / "truth.jsonl", table),
        )


VALUES = {
    ("debezium-mysql", "schema"): [table for table in MYSQL if table.name == "t_all"],
    ("debezium-pg", "schema"): POSTGRESQL_VALUES,
    ("debezium-pg", "plain"): POSTGRESQL_VALUES,
}


@pytest.mark.parametrize(("folder", "capture"), VALUES)
def test_debezium_values_equal_the_database(spark, macros, store, folder, capture) -> None:
    land(spark, [(capture, CAPTURES / folder / f"{capture}.jsonl")], "debezium_raw")
    messages = store("debezium_raw", "debezium")
    for table in (table.of(capture) for table in VALUES[folder, capture]):
        part = "schema" if folder == "debezium-pg" else "database"
        options = {"format": "debezium", part: table.schema}
        rows = truth(CAPTURES / folder / "truth.jsonl", table, folder, capture)
        compare(spark, macros, messages, folder, [capture], table, options, lambda _, rows=rows: rows)


@pytest.mark.parametrize("folder", SERVERS)
def test_flat_tables_equal_the_database(spark, macros, store, folder) -> None:
    land(spark, [("flat", CAPTURES / folder / "flat.jsonl")], "debezium_raw")
    messages = store("debezium_raw", "debezium", "flat")
    tables = SERVERS[folder] + (POSTGRESQL_VALUES if folder == "debezium-pg" else [])
    for table in (table.of("flat") for table in tables):
        options = {"format": "debezium", "dialect": "flat"}
        if folder == "debezium-pg":
            options["schema"] = table.schema
        # without `db` among add.fields only the topic tells two databases' tables of one name apart
        other = "cdc" if table.schema == "cdc2" else "cdc2"
        spark.sql(f"select * from {messages} where not contains(topic, '.{other}.')").createOrReplaceTempView(
            "flat_messages"
        )
        rows = truth(CAPTURES / folder / "truth.jsonl", table, folder, "flat")
        compare(spark, macros, "flat_messages", folder, ["flat"], table, options, lambda _, rows=rows: rows)


def test_canal_tables_equal_the_database(spark, macros, store) -> None:
    captures = ["mysql", "mariadb", "mysql_hash3"]
    files = {capture: CAPTURES / "canal" / f"{capture}.jsonl" for capture in captures}
    land(spark, list(files.items()), "canal_raw")
    stored = store("canal_raw", "canal")
    for table in MYSQL:

        def expected(capture: str, table: Table = table) -> list[dict[str, Any]]:
            # Canal sends no snapshot: rows that never changed are not in its topic
            absent = untouched(CAPTURES / "canal" / f"{capture}.before.jsonl", files[capture], table)
            rows = truth(CAPTURES / "canal" / f"{capture}.truth.jsonl", table)
            return [row for row in rows if tuple(row[name] for name in table.key) not in absent]

        options = {"format": "canal", "database": table.schema}
        compare(spark, macros, stored, "canal", captures, table, options, expected)


def test_maxwell_tables_equal_the_database(spark, macros, store) -> None:
    file = CAPTURES / "maxwell" / "mariadb.jsonl"
    land(spark, [("mariadb", file)], "maxwell_raw")
    stored = store("maxwell_raw", "maxwell")
    messages = [json.loads(message["value"], parse_float=str, parse_int=str) for message in rows_of(file)]
    for table in [*(table for table in MYSQL if table.name != "t_all"), *MAXWELL_VALUES]:
        # Only two tables were bootstrapped: of the others, rows that never changed are not in the topic.
        named = {
            str(message["data"][table.key[0]])
            for message in messages
            if (message["database"], message.get("table")) == (table.schema, table.name)
            and message.get("data")
        }
        rows = {
            moment: {
                line["row"][table.key[0]]: line["row"]
                for line in rows_of(CAPTURES / "maxwell" / f"mariadb.{moment}.jsonl")
                if (line["schema"], line["table"]) == (table.schema, table.name)
            }
            for moment in ("before", "truth")
        }
        untold = {
            key for key, row in rows["truth"].items() if key not in named and row == rows["before"].get(key)
        }
        rejected = table.rejected.get("mariadb", {})
        told = replace(table, rejected={"mariadb": {**rejected, **dict.fromkeys(untold, ())}})
        expected = truth(CAPTURES / "maxwell" / "mariadb.truth.jsonl", told, "maxwell", "mariadb")
        options = {"format": "maxwell", "database": table.schema}
        compare(
            spark,
            macros,
            stored,
            "maxwell",
            ["mariadb"],
            table,
            options,
            lambda _, rows=expected: rows,
        )


# What went into Flink's writers (FlinkEmit.java), as Spark prints it; `tz` in microseconds.
FLINK_COLUMNS = {
    "id": "bigint",
    "d38": "decimal(38,10)",
    "d5": "decimal(5,2)",
    "db": "double",
    "fl": "float",
    "b": "boolean",
    "ti": "tinyint",
    "s": "string",
    "by": "binary",
    "da": "date",
    "tm": "string",
    "ts": "timestamp_ntz",
    "ts9": "string",
    "tz": "timestamp",
    "ar": "string",
    "mp": "string",
    "ro": "string",
}
FLINK_SAME = {
    "d5": "1.50",
    "b": "true",
    "ti": "-128",
    "ar": "[1,null]",
    "mp": '{"k":"v"}',
    "ro": '{"a":1,"x y":"y"}',
}
FLINK_NULLS = {"id": "4"}
FLINK_FIRST = {
    **FLINK_SAME,
    "id": "1",
    "d38": "1.5000000000",
    "db": "0.1",
    "fl": "1.5",
    "s": 'O\'Brien "q" \\ / 汉字 😀',
    "by": bytes(range(256)).hex().upper(),
    "da": "2024-02-29",
    "tm": "12:34:56.789",
    "ts": "2024-02-29 12:34:56.000001",
    "ts9": "2024-02-29 12:34:56.000001001",
    "tz": "1709210096000001",
}
FLINK_CHANGED = {**FLINK_FIRST, "s": "changed", "d38": None}
FLINK_HIGH = {
    **FLINK_SAME,
    "id": "9223372036854775807",
    "d38": "9999999999999999999999999999.9999999999",
    "db": "1.7976931348623157E308",
    "fl": "1.4E-45",
    "s": "\x00\x01\u2028",
    "by": "",
    "da": "9999-12-31",
    "tm": "23:59:59",
    "ts": "9999-12-31 23:59:59.999999",
    "ts9": "9999-12-31 23:59:59.999999001",
    "tz": "253402300799999999",
}
FLINK_LOW = {
    **FLINK_SAME,
    "id": "-9223372036854775808",
    "d38": "-1E-10",
    "db": "-1.0E-7",
    "fl": "1.6777216E7",
    "s": "",
    "by": "00",
    "da": "0001-01-01",
    "tm": "00:00:00",
    "ts": "1969-12-31 23:59:59",
    "ts9": "1969-12-31 23:59:59.000000001",
    "tz": "-1000000",
}
FLINK_NAN = {
    **FLINK_SAME,
    "id": "5",
    "d38": "0E-10",
    "db": "NaN",
    "fl": "Infinity",
    "s": "nan",
    "da": "1970-01-01",
    "tm": "12:00:00",
    "ts": "1970-01-01 00:00:00",
    "ts9": "1970-01-01 00:00:00.000000001",
    "tz": "0",
}
# Flink has no update: it writes a delete and an insert.
FLINK_CHANGES = [
    ("insert", FLINK_FIRST),
    ("insert", FLINK_HIGH),
    ("insert", FLINK_LOW),
    ("insert", FLINK_NULLS),
    ("insert", FLINK_NAN),
    ("delete", FLINK_FIRST),
    ("insert", FLINK_CHANGED),
    ("delete", FLINK_CHANGED),
    ("insert", FLINK_FIRST),
    ("delete", FLINK_HIGH),
    ("delete", FLINK_NULLS),
]


@pytest.mark.parametrize(
    ("writer", "format_name", "dialect", "own_columns"),
    [
        ("canal", "canal", "flink", {}),
        ("debezium", "debezium", None, {}),
        ("maxwell", "maxwell", None, {}),
        ("ogg", "goldengate", None, {"by": "binary from base64"}),
    ],
)
def test_flinks_writers_tell_the_same_changes(
    spark, macros, writer, format_name, dialect, own_columns
) -> None:
    files = sorted((CAPTURES / "flink").glob(f"{writer}-*.jsonl"))
    assert len(files) == 4
    rows = [
        (file.stem, 0, message["offset"], None, message["value"])
        for file in files
        for message in rows_of(file)
    ]
    schema = "topic string, partition int, offset bigint, key string, value string"
    spark.createDataFrame(rows, schema).selectExpr(
        "*", "cast(null as timestamp) as timestamp"
    ).createOrReplaceTempView("flink_raw")
    shown = {
        name: {"binary": f"hex({name})", "timestamp": f"cast(unix_micros({name}) as string)"}.get(
            declared, f"cast({name} as string)"
        )
        for name, declared in FLINK_COLUMNS.items()
    }
    texts = [f"{shown[name]} as {name}" for name in FLINK_COLUMNS]
    changes = macros.call(
        "changes",
        "flink_raw",
        format=format_name,
        dialect=dialect,
        table="*",
        key=["id"],
        columns={**FLINK_COLUMNS, **own_columns},
    )
    with compiled(spark):
        spark.sql(changes).localCheckpoint().createOrReplaceTempView("flink_changes")
    told = spark.sql(
        f"select _cdc_topic, _cdc_op, _cdc_error, {', '.join(texts)} from flink_changes "
        "order by _cdc_topic, _cdc_sequence"
    ).collect()
    for file in files:
        found = [row.asDict() for row in told if row["_cdc_topic"] == file.stem]
        assert {row["_cdc_error"] for row in found} == {None}
        expected = [(op, flink_row(row, file)) for op, row in FLINK_CHANGES]
        assert [(row["_cdc_op"], {name: row[name] for name in FLINK_COLUMNS}) for row in found] == expected
        # A row that is inserted again has nothing of the one that went, also where nulls are left out.
        for length, rows_left in {
            7: [FLINK_LOW, FLINK_CHANGED, FLINK_NULLS, FLINK_NAN, FLINK_HIGH],
            11: [FLINK_LOW, FLINK_FIRST, FLINK_NAN],
        }.items():
            spark.sql(
                f"select * from flink_changes where _cdc_topic = '{file.stem}' and _cdc_offset < {length}"
            ).createOrReplaceTempView("flink_file")
            rows = current_rows(spark, macros, "flink_file", ["id"], FLINK_COLUMNS)
            live = rows.where("not _cdc_is_deleted").selectExpr(*texts).collect()
            left = sorted((row.asDict() for row in live), key=lambda row: int(row["id"]))
            assert left == [flink_row(row, file) for row in rows_left]


def flink_row(row: dict[str, Any], file: Path) -> dict[str, Any]:
    """The row with all columns; the text that is kept of nanoseconds is in the file's own form."""
    values = {name: row.get(name) for name in FLINK_COLUMNS}
    if values["ts9"] and "iso_8601" in file.stem:
        values["ts9"] = values["ts9"].replace(" ", "T")
    return values


def untouched(before: Path, messages: Path, table: Table) -> set[tuple]:
    """Keys that were there before the stream began and that no message names."""
    named = set()
    for message in rows_of(messages):
        value = json.loads(message["value"])
        if (value["database"], value["table"]) == (table.schema, table.name) and not value["isDdl"]:
            for row in value["data"]:
                named.add(tuple(row[name] for name in table.key))
    return {tuple(row[name] for name in table.key) for row in truth(before, table)} - named


def test_a_minimal_row_image_is_rejected_not_applied_as_nulls(spark, macros) -> None:
    land(spark, [("minimal", CAPTURES / "canal" / "mysql_minimal_image.jsonl")], "canal_raw")
    table = next(table for table in MYSQL if table.name == "t_pk" and table.schema == "cdc")
    changes = macros.call(
        "changes",
        "canal_raw",
        format="canal",
        table=table.name,
        database=table.schema,
        key=table.key,
        columns=table.columns,
    )
    found = spark.sql(f"select k1, _cdc_op, _cdc_error.code as code from ({changes})").collect()
    updates = [row for row in found if row["_cdc_op"] == "update"]
    without_key = [row for row in updates if row["k1"] is None]
    assert len(without_key) > 0
    assert {row["code"] for row in without_key} == {"key_missing"}
    # an image that names its key can be applied: what it does not carry keeps its stored value
    assert {row["code"] for row in updates if row["k1"] is not None} == {None}
