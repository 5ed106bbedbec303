"""cdc_type(vendor, code): the type that a vendor's type code names, and the Spark type to declare for it."""

from __future__ import annotations

import csv
import functools
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dbt_spark_cdc.functions._arrow import texts

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_SPARK_DECIMAL = 38
_ARGUMENTS = re.compile(r"\s*\((.*)\)", re.DOTALL)
# Vendors whose codes may have a length, with the letter case of their seeds.
_WITH_LENGTHS = {
    "canal": str.lower,
    "kafka_river_canal": str.lower,
    "oms_mysql": str.upper,
    "oms_oracle": str.upper,
}
_DECIMALS = ("DECIMAL", "NUMERIC", "NUMBER")
_KAFKA_CONNECT_DECIMAL = re.compile(r"org\.apache\.kafka\.connect\.data\.Decimal\(([0-9]{1,3})\)", re.ASCII)
_PRECISION_AND_SCALE = re.compile(r"\s*([0-9]{1,3})\s*(?:,\s*([0-9]{1,3})\s*)?", re.ASCII)


class TypeName(NamedTuple):
    """The name of a type and the Spark SQL type to declare for a column of it."""

    name: str
    spark_type: str


def type_name(vendor: str | None, code: str | None) -> TypeName | None:
    """Look a vendor's type code up in the seeds `seeds/type_codes/*.csv`, or return None.

    Shape: `vendor` names a seed: canal, cloudcanal, dataworks, debezium, dms, drs, dts, kafka_river_canal,
    maxwell, mongodb, oms_mysql or oms_oracle (OceanBase OMS, by the source's tenant). `code` is the text of
    the code as the message has it:

    canal              a `sqlType` number or a `mysqlType` text
    cloudcanal         a number of `jdbcType`
    drs                a type name, or a `sqlType` number after `mysql` or `gaussdb`, as in `gaussdb 16`
    debezium           a type name of the schema; a Decimal with its scale after it, as column_types has it
    dts                a `dataTypeNumber`; of a source that is not MySQL as in `PostgreSQL:20`
    kafka_river_canal  the text of `t`
    maxwell            the type in `def` of a DDL message

    Where a code may have a length (canal, kafka_river_canal, oms_mysql, oms_oracle) it is dropped, the case
    of letters does not count, and the precision of a decimal is kept: string above 38 digits, as Spark has
    no such decimal. Kafka Connect's Decimal names no precision: it gets all 38 digits.

    Units: how the message writes the value stands in the seed's column `unit`.

    Errors: unknown vendors, unknown codes and NULL give None. FileNotFoundError when the installation has
    lost its type codes.

    Source: the seeds, which dbt loads from the same files.

    >>> type_name("canal", "decimal(20,4) unsigned")
    TypeName(name='DECIMAL UNSIGNED', spark_type='decimal(20,4)')
    """
    if vendor is None or code is None:
        return None
    if vendor == "debezium" and (scaled := _KAFKA_CONNECT_DECIMAL.fullmatch(code)):
        return TypeName("Decimal", _spark_decimal(f"{_LARGEST_SPARK_DECIMAL},{scaled.group(1)}"))
    if vendor not in _WITH_LENGTHS:
        return _type_names().get((vendor, code))
    arguments = _ARGUMENTS.search(code)
    base = code if arguments is None else code[: arguments.start()] + code[arguments.end() :]
    found = _type_names().get((vendor, _WITH_LENGTHS[vendor](base)))
    if found is None or arguments is None or not found.name.startswith(_DECIMALS):
        return found
    return found._replace(spark_type=_spark_decimal(arguments.group(1)))


def _spark_decimal(arguments: str) -> str:
    numbers = _PRECISION_AND_SCALE.fullmatch(arguments)
    if numbers is None:
        return "string"
    precision, scale = int(numbers.group(1)), int(numbers.group(2) or 0)
    is_one_of_spark = scale <= precision and 0 < precision <= _LARGEST_SPARK_DECIMAL
    return f"decimal({precision},{scale})" if is_one_of_spark else "string"


@functools.cache
def _type_names() -> dict[tuple[str, str], TypeName]:
    names = {}
    for file in seed_files():
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
            names[row["vendor"], row["code"]] = TypeName(row["name"], row["spark_type"])
    return names


def seed_files() -> list:
    """Return the files of type codes, also from a zip that Spark sent to a worker."""
    # A wheel carries the dbt project inside the package; an editable install reads the repository's seeds.
    in_package = resources.files("dbt_spark_cdc").joinpath("project", "seeds", "type_codes")
    in_repository = Path(__file__).resolve().parents[3] / "seeds" / "type_codes"
    for folder in (in_package, in_repository):
        if folder.is_dir():
            return [file for file in folder.iterdir() if file.name.endswith(".csv")]
    raise FileNotFoundError(
        "dbt_spark_cdc: the type codes are missing; allowed are project/seeds/type_codes in the installed "
        "package or seeds/type_codes in the repository; got neither. Install dbt-spark-cdc again."
    )


def type_name_arrow(vendor: pa.Array, code: pa.Array) -> pa.Array:
    """Apply `type_name` to Arrow columns."""
    import pyarrow as pa

    found = map(type_name, texts(vendor), texts(code))
    rows = [None if name is None else name._asdict() for name in found]
    return pa.array(rows, type=pa.struct([("name", pa.string()), ("spark_type", pa.string())]))
