"""With any order, batches and duplicates the tables equal those of the reference, in every column.

Hypothesis makes the logs; hundreds of them share a table, so that one dbt run is one batch of each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from change_logs import Log, logs
from hypothesis import assume, given, settings
from reference import fold, versions_of
from results import Results

LAKES = ("iceberg", "delta")
SPELLING = "Correct the spelling, or leave the argument out where it has a default."
WRONG = {
    "wrong_tracked": "spark_cdc.cdc_history: argument `track_columns` must be one of amount, name, note; got `id`. "
    "Name columns that are not part of the key.",
    "wrong_tracked_text": "spark_cdc.cdc_history: argument `track_columns` must be a list of column names, such as ['id']; got `amount`. "
    "Leave it out, and a change of any column makes a version.",
    "wrong_unchanged": "spark_cdc.cdc_history: argument `keep_unchanged` must be one of True, False; got `yes`. "
    + SPELLING,
    "wrong_both": "spark_cdc.cdc_history: argument `track_columns` must be left out where every change makes a version; "
    "got `keep_unchanged` as well. Take one of the two.",
    "wrong_deletes": "spark_cdc.cdc_history: argument `hard_deletes` must be one of new_record, invalidate, ignore; got `close`. "
    + SPELLING,
    "wrong_current": "spark_cdc.cdc_current: argument `hard_deletes` must be left out; got `ignore`. "
    "It is for cdc_history: a current table has no versions.",
    "wrong_source_tables": "spark_cdc.cdc_current: argument `source_tables_share_keys` must be one of True, False; got `yes`. "
    + SPELLING,
}


@pytest.mark.parametrize("table", ["current", "history"])
def test_tables_are_those_of_the_reference(results: Results, table: str) -> None:
    """Any log in any batches, and the same log in one."""
    results.must_be_right(table)


@pytest.mark.parametrize("option", ["tracked", "unchanged", "invalidate", "ignore"])
def test_history_has_the_versions_that_its_options_ask_for(results: Results, option: str) -> None:
    """`track_columns`, `keep_unchanged` and `hard_deletes`, each over any log in any batches."""
    results.must_be_right(f"history_{option}")


def test_truncate_empties_the_whole_table(results: Results) -> None:
    """Without source tables it acts on each key that has a row by then, and on those whose rows come later."""
    results.must_be_right("history_one_table")


def test_shipped_tests_pass(results: Results) -> None:
    """They know what each option makes of a deleted key."""
    results.must_be_played("history_ignore")
    results.lake.dbt("test", "--select", "test_type:data")


def test_wrong_options_are_one_sentence(results: Results) -> None:
    """Where, what is allowed, what was got, what to do."""
    run = results.lake.project.dbt("run", "--select", "wrong", "--target", results.lake.file_format)
    assert {
        name: next((line.strip() for line in run.messages[name].splitlines() if "spark_cdc." in line), "")
        for name in WRONG
    } == WRONG


@settings(max_examples=200, deadline=None, derandomize=True)
@given(logs())
def test_a_message_produced_again_changes_nothing(log: Log) -> None:
    """Under a new offset, but the source's old position: the tables are those of the reference, and that says so."""
    assume(not log.by_offset and not any(message.joins for message in log.messages))
    # Rows that swap their keys and leave values out would swap these back.
    messages = tuple(
        message if len(message.rows) == 1 else replace(message, again=()) for message in log.messages
    )
    once = tuple(replace(message, again=()) for message in messages)
    assert known(replace(log, messages=messages)) == known(replace(log, messages=once))


def known(log: Log) -> dict[Any, Any]:
    """Key -> versions, without what names the copy that was kept."""
    return {
        key: [
            (
                version.last.values,
                version.first.change.op,
                version.first.change.source_position,
                version.valid_from,
                version.valid_to,
            )
            for version in versions_of(states)
        ]
        for key, states in fold(log.changes(0)).states.items()
    }
