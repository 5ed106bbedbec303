"""Whatever the order, the batches and the duplicates: the tables are those of the reference, in every column.

Hypothesis makes the logs; hundreds of them share a table, so that one dbt run is one batch of each. Of a log that
fails, simpler ones are tried, again all in one table, until none of them fails.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pprint import pformat

from hypothesis import HealthCheck, Phase, given, seed, settings
from tables import Kind, Lake, play

from logs import Log, logs, smaller

COUNT = int(os.environ.get("SPARK_CDC_LOGS", "300"))
SEED = int(os.environ.get("SPARK_CDC_SEED", "1"))
KINDS = [Kind("current"), Kind("history")]
OPTIONS = [
    Kind("history_tracked", {"track_columns": ["amount"]}),
    Kind("history_unchanged", {"keep_unchanged": True}),
    Kind("history_invalidate", {"hard_deletes": "invalidate"}),
    Kind("history_ignore", {"hard_deletes": "ignore"}),
]
ONE_TABLE = [Kind("current_one_table", one_table=True), Kind("history_one_table", one_table=True)]


def many_logs(count: int) -> list[Log]:
    """Logs that differ from each other; the same ones for the same seed."""
    found: dict[Log, None] = {}

    @seed(SEED)
    @settings(
        max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(logs())
    def take(log: Log) -> None:
        found[log] = None

    take()
    return list(found)


def assert_converges(lake: Lake, all_logs: Sequence[Log], kinds: Sequence[Kind]) -> None:
    """Play the logs; of those that fail show the simplest."""
    bad = play(lake, all_logs, kinds)
    if not bad:
        return
    count = len(bad)
    log = min((all_logs[number] for number in bad), key=lambda log: len(log.messages))
    reason = bad[all_logs.index(log)]
    while True:
        candidates = smaller(log)
        still_bad = play(lake, candidates, kinds) if candidates else {}
        if not still_bad:
            break
        number = min(still_bad, key=lambda number: len(candidates[number].messages))
        log, reason = candidates[number], still_bad[number]
    raise AssertionError(f"{count} of {len(all_logs)} logs differ; the simplest:\n{pformat(log)}\n{reason}")


def test_tables_are_those_of_the_reference(lake: Lake) -> None:
    """Any log in any batches, and the same log in one."""
    assert_converges(lake, many_logs(COUNT), KINDS)


def test_history_has_the_versions_that_its_options_ask_for(lake: Lake) -> None:
    """`track_columns`, `keep_unchanged` and `hard_deletes`, each over any log in any batches."""
    assert_converges(lake, many_logs(COUNT // 3), OPTIONS)


def test_truncate_empties_the_whole_table(lake: Lake) -> None:
    """Without origins it acts on each key that has a row by then, and on those whose rows come later."""
    assert_converges(lake, many_logs(COUNT // 3), ONE_TABLE)
