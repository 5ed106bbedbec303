"""The seeds of type codes: complete, alike, and safe for dbt-spark, which pastes seed values into SQL."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml

VENDORS = [
    *("canal", "cloudcanal", "dataworks", "debezium", "dms", "drs", "dts", "kafka_river_canal", "maxwell"),
    *("mongodb", "oms_mysql", "oms_oracle"),
]
COLUMNS = ["vendor", "code", "name", "spark_type", "unit", "note"]

# java.sql.Types numbers and column types seen in real messages of Canal 1.1.7 from MySQL and MariaDB.
CANAL_SEEN = """
-7 -6 -5 1 3 4 5 7 8 12 91 92 93 1111 2004 2005
bigint|bigint unsigned|binary|bit|char|date|datetime|decimal|decimal unsigned|double|enum|float|geometry|int
int unsigned|int unsigned zerofill|json|linestring|longtext|mediumblob|mediumint unsigned|mediumtext|point|set
time|timestamp|tinyint|tinyint unsigned|varbinary|varchar|year
"""
# Some of MySQL's other names of types, which Canal copies from CREATE TABLE and ALTER TABLE (MemoryTableMeta).
CANAL_OF_STATEMENTS = """
integer|integer unsigned|numeric|numeric unsigned|dec|fixed|real|double precision|double precision unsigned zerofill|bool
boolean|serial|nchar|nvarchar
"""
# Names seen in the schema part of real messages of Debezium 3.5 from MySQL, MariaDB and PostgreSQL.
DEBEZIUM_SEEN = """
array boolean bytes double float int16 int32 int64 string struct org.apache.kafka.connect.data.Decimal
io.debezium.data.Bits io.debezium.data.Enum io.debezium.data.EnumSet io.debezium.data.Json
io.debezium.data.Ltree io.debezium.data.Tsvector io.debezium.data.Uuid io.debezium.data.Xml
io.debezium.data.VariableScaleDecimal
io.debezium.data.geometry.Geometry io.debezium.data.geometry.Point io.debezium.time.Date
io.debezium.time.MicroDuration io.debezium.time.MicroTime io.debezium.time.MicroTimestamp
io.debezium.time.Time io.debezium.time.Timestamp io.debezium.time.Year
io.debezium.time.ZonedTime io.debezium.time.ZonedTimestamp
"""
# The vendor's appendix of JDBC types, in its order.
CLOUDCANAL_TABLE = """
10000 2003 -5 -2 -7 2004 16 1 2005 70 91 3 2001 8 6 4 2000 -4 -1 0 2 1111 7 2006 5 2002 92 93 -6 -3 12
"""
# Types in `def` of real DDL messages of Maxwell 1.22.6 and of its page.
MAXWELL_SEEN = "bigint decimal double int timestamp varchar"


# The vendor's tables of both tenants, and the names of types in its samples.
OMS_MYSQL_TABLE = """
TINYINT SMALLINT MEDIUMINT INT INTEGER YEAR BOOL BOOLEAN DECIMAL NUMERIC FLOAT DOUBLE CHAR VARCHAR TINYTEXT
TEXT MEDIUMTEXT LONGTEXT ENUM SET TINYBLOB BLOB MEDIUMBLOB LONGBLOB BINARY VARBINARY BIT DATE TIME
DATETIME TIMESTAMP INT64 BIGINT ZONED_DATETIME INTERVAL_DAY_TO_SECOND INTERVAL_YEAR_TO_MONTH
"""
OMS_ORACLE_TABLE = """
INTEGER|NUMBER|FLOAT|BINARY_FLOAT|BINARY_DOUBLE|VARCHAR2|NVARCHAR2|INTERVAL YEAR TO MONTH
INTERVAL DAY TO SECOND|CLOB|NCLOB|ROWID|UROWID|BLOB|BFILE|RAW|DATE|TIMESTAMP|TIMESTAMP WITH TIME ZONE
TIMESTAMP WITH LOCAL TIME ZONE
"""

# The types and numbers of the examples on the vendor's page.
DRS_SEEN = """
binary|varchar|text|varbinary|blob|int|datetime|timestamp|char|float|double|decimal
mysql -2|mysql 12|mysql -1|mysql -3|mysql 2004|mysql 4|mysql 94|mysql 93|mysql 1|mysql 6|mysql 8|mysql 3
timestamp without time zone|tstzrange|int4range|character|json|boolean|bit|smallint|bytea
gaussdb 16|gaussdb 46|gaussdb 42|gaussdb 9|gaussdb 22|gaussdb 8|gaussdb 20|gaussdb 2|gaussdb 15
"""
KAFKA_RIVER_CANAL_SEEN = "bigint varchar timestamp decimal"
# Names seen in control records of public messages.
DMS_SEEN = "INT32 STRING WSTRING TIMESTAMP"


def rows(repository: Path, vendor: str) -> list[dict[str, str]]:
    path = repository / "seeds" / "type_codes" / f"{vendor}_types.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_there_is_one_seed_per_vendor(repository: Path) -> None:
    files = sorted(file.name for file in (repository / "seeds" / "type_codes").glob("*.csv"))
    assert files == [f"{vendor}_types.csv" for vendor in VENDORS]


@pytest.mark.parametrize("vendor", VENDORS)
def test_all_seeds_have_the_same_columns_and_their_own_vendor(repository: Path, vendor: str) -> None:
    for row in rows(repository, vendor):
        assert list(row) == COLUMNS
        assert row["vendor"] == vendor


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_code_stands_once(repository: Path, vendor: str) -> None:
    codes = [row["code"] for row in rows(repository, vendor)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_cell_can_break_or_bend_a_seed(repository: Path, vendor: str) -> None:
    for row in rows(repository, vendor):
        for cell in row.values():
            assert cell
            assert cell == cell.strip()
            assert cell.isascii()
            assert cell.lower() not in ("null", "none")
            assert not set(cell) & set(",'\"\\{}%\r\n")


@pytest.mark.parametrize(
    ("vendor", "codes"),
    [
        ("canal", [code for line in CANAL_SEEN.strip().split("\n")[1:] for code in line.split("|")]),
        ("canal", CANAL_SEEN.strip().split("\n")[0].split()),
        ("canal", [code for line in CANAL_OF_STATEMENTS.strip().split("\n") for code in line.split("|")]),
        ("debezium", DEBEZIUM_SEEN.split()),
        ("oms_mysql", OMS_MYSQL_TABLE.split()),
        ("oms_oracle", [code for line in OMS_ORACLE_TABLE.strip().split("\n") for code in line.split("|")]),
        ("cloudcanal", CLOUDCANAL_TABLE.split()),
        ("maxwell", MAXWELL_SEEN.split()),
        ("dataworks", ["BOOLEAN", "DOUBLE", "DATE", "BYTES", "LONG", "STRING"]),
        ("drs", [code for line in DRS_SEEN.strip().split("\n") for code in line.split("|")]),
        ("kafka_river_canal", KAFKA_RIVER_CANAL_SEEN.split()),
        ("dms", DMS_SEEN.split()),
        # The numbers that the vendor's reader of MySQL knows.
        ("dts", [str(n) for n in (*range(17), 245, *range(246, 256))]),
        ("mongodb", ["objectId", "string", "date", "decimal", "binData", "object", "array", "long"]),
    ],
)
def test_every_code_seen_in_messages_is_there(repository: Path, vendor: str, codes: list[str]) -> None:
    assert set(codes) <= {row["code"] for row in rows(repository, vendor)}


def test_spark_knows_every_spark_type(repository: Path, spark: Any) -> None:
    types = sorted({row["spark_type"] for vendor in VENDORS for row in rows(repository, vendor)})
    casts = ", ".join(f"cast(null as {spark_type})" for spark_type in types)
    assert len(spark.sql(f"select {casts}").columns) == len(types)


def test_each_seed_and_column_is_described_and_typed(repository: Path) -> None:
    text = (repository / "seeds" / "type_codes" / "_type_codes.yml").read_text(encoding="utf-8")
    seeds = {seed["name"]: seed for seed in yaml.safe_load(text)["seeds"]}
    assert sorted(seeds) == [f"{vendor}_types" for vendor in VENDORS]
    for seed in seeds.values():
        assert seed["description"]
        assert seed["config"]["column_types"] == dict.fromkeys(COLUMNS, "string")
        assert [column["name"] for column in seed["columns"]] == COLUMNS
        assert all(column["description"] for column in seed["columns"])
