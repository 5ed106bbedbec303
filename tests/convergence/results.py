"""What many logs left in the tables, and the simplest log that fails."""

from __future__ import annotations

import os
from pprint import pformat

import pytest
from change_logs import Log, Message, Row, logs, smaller
from hypothesis import HealthCheck, Phase, given, seed, settings
from tables import Kind, Lake, play

# Set for the long run: more logs, other ones each time, and on Delta too all that `make test` has on Iceberg only.
LONG_RUN = "SPARK_CDC_LOGS" in os.environ
COUNT = int(os.environ.get("SPARK_CDC_LOGS", "100"))
SEED = int(os.environ.get("SPARK_CDC_SEED", "1"))
KINDS = {
    kind.name: kind
    for kind in (
        Kind("current"),
        Kind("history"),
        Kind("history_tracked", {"track_columns": ["amount"]}),
        Kind("history_unchanged", {"keep_unchanged": True}),
        Kind("history_invalidate", {"hard_deletes": "invalidate"}),
        Kind("history_ignore", {"hard_deletes": "ignore"}),
        Kind("history_one_table", one_table=True),
    )
}


# A row that moves twice in one message, which is produced again.
MOVED_AGAIN = Log(
    (
        Message("update", (Row(2, (), 1),), 0, 0),
        Message(
            "update", (Row(4, (), 2), Row(3, (("note", "n"),), 4, goes_on=True)), 0, 0, again=((2, False),)
        ),
    )
)


def many_logs(count: int) -> list[Log]:
    """Logs that differ from each other, and those that failed once; the same ones for the same seed."""
    found: dict[Log, None] = {MOVED_AGAIN: None}

    @seed(SEED)
    @settings(
        max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(logs())
    def take(log: Log) -> None:
        found[log] = None

    take()
    return list(found)


class Results:
    """All logs played once into all tables of a lake; of a log that fails the simplest form is looked for."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.logs = many_logs(COUNT)
        names = list(KINDS) if LONG_RUN or lake.file_format == "iceberg" else ["history"]
        self.bad = play(lake, self.logs, [KINDS[name] for name in names])

    def must_be_played(self, name: str) -> None:
        """Skip the test where only the long run has this table."""
        if name not in self.bad:
            pytest.skip("make converge has it on this lake too")

    def must_be_right(self, name: str) -> None:
        """Fail with the simplest log whose rows in this table are wrong."""
        self.must_be_played(name)
        bad = self.bad[name]
        if not bad:
            return
        number = min(bad, key=lambda number: len(self.logs[number].messages))
        log, reason = self.logs[number], bad[number]
        while candidates := smaller(log):
            # All candidates are tried at once, in one table.
            worse = play(self.lake, candidates, [KINDS[name]])[name]
            if not worse:
                break
            number = min(worse, key=lambda number: len(candidates[number].messages))
            log, reason = candidates[number], worse[number]
        raise AssertionError(
            f"{len(bad)} of {len(self.logs)} logs of seed {SEED} fail; the simplest:\n{pformat(log)}\n{reason}"
        )
