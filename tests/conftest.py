"""What all folders of tests share: marks, and one JVM for each lake of the tests that run dbt.

A module runs on Iceberg whose files are in memory. One that looks for files, or whose tables another process reads, names
its lakes: `LAKES = ("iceberg", "delta")`. Its projects and schemas are its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

HERE = Path(__file__).resolve().parent
# The harness of a user's project, its source tables and the reference fold serve other folders too.
sys.path.insert(0, str(HERE / "integration"))
from harness import IN_MEMORY, Lake, Project, prepare_environment, stop_jvm  # noqa: E402

# The Makefile sets it for the package's own project. Each project of a test has a profile in its own folder.
os.environ.pop("DBT_PROFILES_DIR", None)
# tools/setup_env.py makes the archive; -Xlog:disable: Java says nothing if it cannot use it.
for archive in (HERE.parent / ".jars").glob("spark-*.jsa"):
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={archive} -Xlog:disable")

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# Folder -> the JVM that its tests share; those of tests/faults and tests/e2e start processes of their own.
JVMS = {
    "integration": "shop",
    "operations": "shop",
    "faults": "faults",
    "e2e": "faults",
    "convergence": "convergence",
    "python": "python",
}


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Where several processes run the tests (`pytest -n 2`), those of one lake stay in one.

    Modules of tests/python ask no lake: they go one by one to the process that is free, and begin last, because they
    are short. Two lakes of one folder may be in two processes.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneProcessForALake(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            jvm = JVMS[Path(module).parent.name]
            if jvm == "python":
                return module
            return f"{jvm} {IN_MEMORY}" if f"[{IN_MEMORY}" in nodeid else jvm

    config.option.loadscopereorder = False
    return OneProcessForALake(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark, so that `-m "not dbt and not spark"` leaves only quick tests."""
    for item in items:
        if _jvm_of(item) != "python":
            item.add_marker("dbt")
        elif "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All tests of one lake run before those of the next one: so pytest orders what a session shares."""
    if "lake" in metafunc.fixturenames:
        lakes = getattr(metafunc.module, "LAKES", (IN_MEMORY,))
        metafunc.parametrize("lake", lakes, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Not a fixture's end: what all modules share ends with the whole session, and others need a JVM of their own.

    Last, because the ends of fixtures may still need theirs.
    """
    if _jvm_of(item) != _jvm_of(nextitem):
        stop_jvm()


def _jvm_of(item: pytest.Item | None) -> str | None:
    return item and JVMS[item.path.parent.name]


@pytest.fixture(scope="session")
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The lake of all projects."""
    in_memory = request.param == IN_MEMORY
    file_format = "iceberg" if in_memory else request.param
    prepare_environment(tmp_path_factory.mktemp(request.param), file_format, in_memory)
    yield Lake(file_format)
    stop_jvm()


@pytest.fixture(scope="session")
def new_project(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Give a fresh copy of the user's project that builds into the named schema, and start its Spark."""

    def make(schema: str, models: dict[str, str] | None = None) -> Project:
        project = Project(tmp_path_factory.mktemp(schema) / "project", schema, models)
        project.start_spark()
        return project

    return make
