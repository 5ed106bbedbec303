"""A short form of `make e2e`: PostgreSQL, Debezium, Kafka, landing, generated models, and all tables compared.

Kafka Connect is killed once; tests/faults kills runs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from end_to_end import end_to_end
from servers import missing


@pytest.mark.slow
@pytest.mark.skipif(bool(missing(["pg"])), reason=f"missing: {missing(['pg'])}")
def test_the_tables_equal_the_database() -> None:
    # Not pytest's folder, which PostgreSQL's own user cannot enter.
    with tempfile.TemporaryDirectory(prefix="spark_cdc_e2e_") as scratch:
        compared = end_to_end(Path(scratch), ["pg"], seed=7, rounds=1, pause=0.5)
    assert compared["current pg"] > 20
    assert compared["history pg"] > 60
    assert compared["killed"] == 1
