"""`make bench`: the worked example's `dbt build` with nothing new, against `dbt run` of as many empty models.

Each is a command of its own, as a scheduled job starts it, so most of either is the start of dbt and Java: the figure is wall
time, taken turn about, and the answer is the ratio of the medians.

    .venv/bin/python tests/bench/build.py --repeats 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/integration"))

from harness import JARS  # noqa: E402

BAR = 1.5
EMPTY = "{{ config(materialized='table', file_format='iceberg') }}\nselect 1 as id where false\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        dbt(folder, "example", REPOSITORY, "build")
        models = built_models(folder / "example" / "target" / "run_results.json")
        empty = folder / "empty_project"
        (empty / "models").mkdir(parents=True)
        (empty / "dbt_project.yml").write_text("{name: empty, version: 1.0.0, profile: spark_cdc_example}\n")
        for number in range(models):
            (empty / "models" / f"empty_{number}.sql").write_text(EMPTY)
        dbt(folder, "empty", empty, "run")
        ours, theirs = [], []
        for _ in range(options.repeats):
            ours.append(dbt(folder, "example", REPOSITORY, "build"))
            theirs.append(dbt(folder, "empty", empty, "run"))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"dbt build of {models} models and their tests, nothing new: {statistics.median(ours):.1f} s")
    print(f"dbt run of {models} empty models: {statistics.median(theirs):.1f} s")
    print(f"ratio {ratio:.2f}, bar {BAR}: {'within' if ratio <= BAR else 'MISSED'}")
    sys.exit(None if ratio <= BAR else "bar missed: build with nothing new")


def dbt(folder: Path, name: str, project: Path, command: str) -> float:
    """Seconds of one dbt command with a lake of its own."""
    own = folder / name
    (own / "lake").mkdir(parents=True, exist_ok=True)
    jars = ",".join(str(REPOSITORY / ".jars" / jar) for jar in JARS["iceberg"])
    environment = os.environ | {
        "SPARK_CDC_LAKE": str(own / "lake"),
        "SPARK_CDC_JARS": jars,
        "SPARK_CDC_LOG4J2": str(REPOSITORY / "profiles/log4j2.properties"),
        "DBT_PROFILES_DIR": str(REPOSITORY / "profiles"),
        "PYSPARK_PYTHON": sys.executable,
    }
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--quiet", command, "--target-path", own / "target", "--log-path", own / "logs"],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"dbt {command} of {project} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return time.monotonic() - started


def built_models(results: Path) -> int:
    nodes = json.loads(results.read_text(encoding="utf-8"))["results"]
    return sum(node["unique_id"].startswith("model.") for node in nodes)


if __name__ == "__main__":
    main()
