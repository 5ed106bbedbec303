"""A value is a cast of its text, once no text is left that a cast would bend: the two readings of a value give the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = (
    "tinyint", "smallint", "int", "bigint", "decimal(20,4)", "decimal(38,0)", "decimal(5,5)", "float", "double", "date",
    "timestamp_ntz",
)  # fmt: skip
NUMBERS = (
    "", " ", "0", "-0", "+0", "007", "1", " 1", "1 ", "\t1", "1\n", "1\x00", "+1", "--1", "+", "-", ".", "1.", ".5", "-.5", "1.50",
    "1.23456", "1.23450", "1,5", "1|2", "|", "12|", "|12", "1d", "1D", "1f", "0x10", "0x1p3", "1e", "e5", "1e5", "1E+5", "1.5e-3",
    "1e-400", "1e400", "-1e400", "0e400", "0.0e-999", "1e38", "1e39", "3.4028236e38", "1e-46", "1.17549435E-38", "NaN", "nan",
    "Infinity", "-Infinity", "+Infinity", "Inf", "127", "128", "-129", "32768", "2147483648", "-2147483648", "9223372036854775807",
    "9223372036854775808", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "16777217", "16777216",
    "33554434", "1152921504606846976", "1152921504606846977", "12345678901234567000", "12345678901234567890", "1.2345678901234567E19",
    "9007199254740993e0", "9007199254740993.0", "900719925474099.3e1", "123456789012345678", "0.30000000000000004", "\uff11", "\u0661",
    "1_000", "true", "null", "\ufffd", "99999999999999999999999999999999999999", "999999999999999999999999999999999999999",
    "0.99999", "0.999999", "1.00000", "1.0000000000000000000000000000000000000000000000000001", "5e-1|3", "00000000000000000000000001",
)  # fmt: skip
TIMES = (
    "2026-01-02", "2026-1-2", "2026-01-02 noon", "2026-01-02T", "2026-13-01", "0000-00-00", "0000-01-01", "0001-01-01", "9999-12-31",
    "10000-01-01", "+2026-01-02", "-2026-01-02", "2026-01-02|2026-01-02", "2026-01-02 03:04:05", "2026-01-02T03:04:05",
    "2026-01-02t03:04:05", "2026-01-02 03:04", "2026-01-02 3:4:5", "2026-01-02 24:00:00", "2026-01-02 03:04:60",
    "2026-01-02 03:04:05.", "2026-01-02 03:04:05.1", "2026-01-02 03:04:05.123456", "2026-01-02 03:04:05.1234567",
    "2026-01-02 03:04:05.1234560", "2026-01-02 03:04:05.123456000", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05.5Z",
    "2026-01-02 03:04:05z", "2026-01-02 03:04:05 Z", "2026-01-02 03:04:05+08:00", "2026-01-02 03:04:05-0330",
    "2026-01-02 03:04:05+08", "2026-01-02 03:04:05+19:00", "2026-01-02 03:04:05 UTC", "0001-01-01T00:00:00+01:00",
    "0000-01-01T00:00:00+10:00", "9999-12-31T23:59:59.999999-10:00", "9999-12-31T23:59:59Z", "0000-00-00 00:00:00",
    "2026-02-30 00:00:00", "2024-02-29 00:00:00Z", "2026-03-29 02:30:00", "1883-11-18 12:03:58", "03:04:05", "T03:04:05",
    "2026-01-02 03:04:05|2026-01-02 03:04:05", "1582-10-10 00:00:00",
)  # fmt: skip


def texts() -> list[str]:
    """Texts that people have tripped over, and as many numbers by chance."""
    chance = random.Random(11)
    made = []
    for _ in range(3000):
        digits = "".join(
            chance.choices("0123456789", k=chance.choice((1, 2, 5, 7, 8, 9, 15, 16, 17, 18, 19, 20, 38)))
        )
        at = chance.randrange(len(digits) + 1)
        fraction = chance.choice(("", "", "." + digits[at:]))
        exponent = chance.choice(
            ("", "", f"{chance.choice('eE')}{chance.choice(('', '+', '-'))}{chance.randrange(40)}")
        )
        made.append(
            chance.choice(("", "-", "+")) + (digits[:at] if fraction else digits) + fraction + exponent
        )
    return [*NUMBERS, *TIMES, *made]


@pytest.mark.parametrize("time_zone", ["UTC", "Asia/Shanghai"])
def test_a_cast_gives_what_the_value_of_a_text_is(
    spark: SparkSession, library: MacroLibrary, time_zone: str
) -> None:
    """Each text in the row and, shifted by one, in the row before; alone and between others."""
    columns = [library.call("_column", f"c{number}", kind, "changes") for number, kind in enumerate(TYPES)]
    corpus = texts()
    spark.createDataFrame(
        [(n, text, corpus[n - 1]) for n, text in enumerate(corpus)], "n int, own string, other string"
    ).createOrReplaceTempView("texts_to_cast")
    made = library.call("_castable_text", columns, time_zone)
    for column in columns:
        name, kind = column["literal"], column["type"]
        wanted, wanted_before = (library.call("value", text, column, time_zone) for text in ("own", "other"))
        fits = library.call("_all_are_castable", [column], time_zone)
        rows = spark.sql(f"""
            with texts as (
                select n, own, other, map({name}, own) as image, map({name}, other) as before from texts_to_cast
            ),
            castable as (
                select
                    *,
                    transform(array(image, before), row -> case
                        when {fits} then row
                        else transform_values(row, (name, text) -> {made})
                    end) as castable
                from texts
            )
            select own, other, try_cast(castable[0][{name}] as {kind}) as found, {wanted} as wanted,
                try_cast(castable[1][{name}] as {kind}) as found_before, {wanted_before} as wanted_before
            from castable
        """)
        differ = rows.where("not (found <=> wanted and found_before <=> wanted_before)").collect()
        assert not differ, (kind, differ[:5])
        assert rows.where("wanted is not null").count() > 3, kind


def test_a_text_of_another_column_stays(spark: SparkSession, library: MacroLibrary) -> None:
    columns = [library.call("_column", "n", "int", "changes")]
    made = library.call("_castable_text", columns, "UTC")
    found = spark.sql(
        f"select transform_values(map('n', ' 1', 'm', ' 1', 'k', null), (name, text) -> {made}) as found"
    ).first()
    assert found is not None and found.found == {"n": "\ufffd", "m": " 1", "k": None}


def test_a_long_text_that_is_no_number_is_read_in_one_go(spark: SparkSession, library: MacroLibrary) -> None:
    """A million digits with a letter at the end: a pattern that tries each place would stop the batch for hours."""
    columns = [library.call("_column", f"c{n}", kind, "changes") for n, kind in enumerate(TYPES)]
    fits, made = (library.call(name, columns, "UTC") for name in ("_all_are_castable", "_castable_text"))
    values = ", ".join(library.call("value", "image['c0']", column, "UTC") for column in columns)
    names = ", ".join(f"'{column['name']}', text" for column in columns)
    for text in ("concat(repeat('0', 1000000), 'x')", "concat('1.', repeat('0', 1000000), 'e')"):
        found = spark.sql(f"""
            with texts as (select {text} as text), rows as (select map({names}) as image, map({names}) as before from texts)
            select
                {fits} as fits, array_distinct(map_values(transform_values(image, (name, text) -> {made}))) as made,
                struct({values}) as typed
            from rows
        """).first()
        assert found is not None
        assert (found.fits, found.made, set(found.typed)) == (False, ["\ufffd"], {None})
