"""`make bench`: the files of 500 tables as `spark-cdc generate` writes them, and dbt's parse of them.

The reading of messages is not measured: its queries are those of the models.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dbt_spark_cdc.generate.plan import Column, Plan, Table, put_names
from dbt_spark_cdc.generate.writing import merged, outcome, read_state, write

REPOSITORY = Path(__file__).parents[2]
TABLES, COLUMNS = 500, 12
# Seconds.
BARS = {"write": 10, "again": 10, "parse": 60}
FILES = {
    "dbt_project.yml": "name: bench\nprofile: bench\nflags: {send_anonymous_usage_stats: false}\n",
    "packages.yml": f"packages:\n  - local: {REPOSITORY}\n",
    # dbt asks for a profile; parsing connects to nothing.
    "profiles.yml": "bench: {target: a, outputs: {a: {type: spark, method: session, host: a, schema: a}}}\n",
}


def main() -> None:
    seconds = {}
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "project"
        project.mkdir()
        for name, text in FILES.items():
            (project / name).write_text(text)
        for step in ("write", "again"):
            started = time.perf_counter()
            state = read_state(project)
            plan = merged(state.sources.get("shop"), planned(), [])
            put_names(plan.tables, [])
            found = outcome(project, state, [plan], overwrite=False)
            write(project, found)
            seconds[step] = time.perf_counter() - started
            print(f"{step}: {len(found.changes)} files in {seconds[step]:.1f} s")
        dbt(project, "deps")
        started = time.perf_counter()
        dbt(project, "parse", "--no-partial-parse")
        seconds["parse"] = time.perf_counter() - started
        print(f"parse: {seconds['parse']:.1f} s")
    missed = [step for step, bar in BARS.items() if seconds[step] > bar]
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


def planned() -> Plan:
    types = ["bigint", "string", "decimal(20,4)", "timestamp_ntz"]
    columns = [Column(name=f"column_{n}", type=types[n % 4], source_type="text") for n in range(COLUMNS)]
    tables = [
        Table(database="shop", schema_name=None, name=f"table_{n}", key=["column_0"], columns=columns)
        for n in range(TABLES)
    ]
    return Plan(
        source="shop", raw_schema="shop", raw_table="raw", format="canal", dialect=None, tables=tables
    )


def dbt(project: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "dbt.cli.main", "--quiet", *arguments, "--project-dir", str(project)]
    profiles = ["--profiles-dir", str(project)] if arguments[0] != "deps" else []
    subprocess.run([*command, *profiles], check=True)


if __name__ == "__main__":
    main()
