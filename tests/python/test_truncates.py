"""A table that was emptied very often: each of its rows finds the truncate that ended it, without a list of all of them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGES, FIRST, PERIOD, KEYS = 6_000, 10_000, 5, 7


def test_the_first_truncate_after_a_place_is_found_in_lists_of_all_lengths(
    spark: SparkSession, library: MacroLibrary
) -> None:
    lists = [None, *(list(range(0, 3 * length, 3)) for length in range(18))]
    places = range(-1, 55)
    rows = [(places_of, place) for places_of in lists for place in places]
    spark.createDataFrame(rows, "listed array<int>, place int").createOrReplaceTempView("searched")
    events = "transform(listed, each -> named_struct('_cdc_sequence', array(each, 0)))"
    found = spark.sql(
        f"select {library.call('_first_after', 'events', 'array(place, 0)')}._cdc_sequence[0] as found"
        f" from (select {events} as events, place from searched)"
    ).collect()

    def expected(listed: list[int] | None, place: int) -> int | None:
        at = bisect_right(listed or [], place)
        return listed[at] if listed and at < len(listed) else None

    assert [row.found for row in found] == [expected(*row) for row in rows]


def changes(
    spark: SparkSession, view: str, columns: dict[str, str], is_truncate: str, start: int, end: int
) -> None:
    """Make a view of one change for each number `n`, inserts and truncates; `columns` are the source's, as SQL."""
    row = ", ".join(f"{value} as {name}" for name, value in columns.items())
    spark.sql(f"""
        select
            {row},
            if({is_truncate}, 'truncate', 'insert') as _cdc_op,
            array(cast(n as decimal(20,0)), 0BD) as _cdc_sequence,
            timestamp_seconds(n) as _cdc_committed_at,
            cast(null as string) as _cdc_transaction_id,
            'shop' as _cdc_topic,
            0 as _cdc_partition,
            n as _cdc_offset,
            if(false, struct({row}), null) as _cdc_before,
            cast(null as array<string>) as _cdc_missing_columns,
            cast(null as struct<code: string, detail: string>) as _cdc_error
        from range({start}, {end}) as numbers(n)
    """).createOrReplaceTempView(view)


def test_a_table_that_was_emptied_a_thousand_times(spark: SparkSession, library: MacroLibrary) -> None:
    columns = {"id": f"n % {KEYS}", "text": "cast(n as string)"}
    changes(spark, "emptied_changes", columns, f"n % {PERIOD} = 0", FIRST, FIRST + CHANGES)
    # as in a later run: the operations are few, and all changes are many
    spark.sql(
        f"select * from emptied_changes union all {'select * from emptied_changes where id < 0 union all ' * 50}"
        "select * from emptied_changes where id < 0"
    ).createOrReplaceTempView("all_emptied_changes")
    operations = library.call("_key_operations", "emptied_changes", ["id"], ["id", "text"])
    query = library.call(
        "_history_rows_of_operations",
        f"({operations})",
        "all_emptied_changes",
        ["id"],
        ["id", "text"],
        False,
        options={"hard_deletes": "new_record", "track_columns": None, "keep_unchanged": False},
    )
    versions = spark.sql(query)
    # a join that sends all operations to each task would hold the list of truncates once for each of them
    plan = versions._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastNestedLoopJoin BuildRight" in plan and "BuildLeft" not in plan

    expected, open_versions = [], {}
    for number in range(FIRST, FIRST + CHANGES):
        if number % PERIOD == 0:
            expected += [(key, None, number, True) for key in open_versions]
            open_versions.clear()
        else:
            expected.append((number % KEYS, str(number), number, False))
            open_versions[number % KEYS] = number
    found = [(row.id, row.text, int(row._cdc_sequence[0]), row._cdc_is_deleted) for row in versions.collect()]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_a_source_column_may_have_any_name(spark: SparkSession, library: MacroLibrary) -> None:
    columns = {"id": "n", "_cdc_source_table": "if(n = 5, 'right', 'left')"}
    columns |= {name: f"'{name}'" for name in ("truncates", "source_table", "event", "range", "step")}
    changes(spark, "changes_with_names", columns, "n = 3", 1, 6)
    for macro in ("current_rows", "history_rows"):
        query = library.call(
            macro, "changes_with_names", ["_cdc_source_table", "id"], list(columns), carries_over=False
        )
        rows = spark.sql(query).collect()
        assert sorted((row.id, row.range) for row in rows if not row._cdc_is_deleted) == sorted(
            [(4, "range"), (5, "range")] + ([(1, "range"), (2, "range")] if macro == "history_rows" else [])
        )
