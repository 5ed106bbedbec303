"""The dbt plugin: registers the package's functions in dbt's Spark session, with no step by the user.

dbt creates the plugin on every command, before it connects. The plugin then only puts small wrappers around
the Spark adapter: one where dbt opens a connection, which knows the method, and those where dbt runs a
statement of `method: session` or fetches its rows. They register the functions before the first statement,
and have long ones said in dbt's log. Nothing here may break dbt, so every failure ends as one log line. A
statement whose functions do not run on the workers fails with one sentence.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.plugins.manager import dbtPlugin
from dbt_common.events.base_types import EventLevel
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_cdc.kafka import offsets_query, one_sentence, question_in
from dbt_spark_cdc.progress import STARTING, Progress, Statement, figures_of, step_of
from dbt_spark_cdc.registry import OLDEST_SPARK, register, version_of
from dbt_spark_cdc.workers import functions_in, why_not

_CONNECTIONS = "dbt.adapters.spark.connections"
_WRAPPED = "_spark_cdc_wrapped"
# Setting of a session -> Spark's default, and what is set in its place.
_SETTINGS = {
    # Let Spark split a method of more than 8,000 bytes, which HotSpot interprets and never compiles. Spark's
    # documentation names this limit for HotSpot. A model of ten columns exceeds it, and takes twice the time.
    "spark.sql.codegen.hugeMethodLimit": ("65535", "8000"),
    # A changes model over raw needs up to 99 walks of the analyzer, and what a user builds upon it some more.
    "spark.sql.analyzer.maxIterations": ("100", "200"),
}

# The path of a file: `file:` has options of its own, and a database in memory begins with a colon, too.
_CATALOG_FILE = re.compile(r"jdbc:sqlite:(?!file:|:)([^?]+)(?:\?.*)?")

_lock = threading.Lock()


class _State:
    """The state of this process; guarded by `_lock`."""

    prepared_session: Any = None
    is_registered = False
    said_unavailable = False
    # Name of a function that was tried on the workers -> why it does not run there, or None.
    tried: dict[str, str | None]

    @classmethod
    def begin(cls, session: Any) -> None:
        """Remember the session that is prepared now."""
        cls.prepared_session, cls.is_registered, cls.tried = session, False, {}


class SparkCdcPlugin(dbtPlugin):
    """Registers the functions of `dbt_spark_cdc.registry` in the Spark session of `method: session`."""

    def initialize(self) -> None:
        """Wrap the Spark adapter. Starts no Spark, imports no pyspark and never raises."""
        # dbt has read the profile by now. With another adapter, and in `dbt deps`, this module is missing.
        connections = sys.modules.get(_CONNECTIONS)
        if connections is None:
            return
        try:
            with _lock:
                _State.said_unavailable = False
                _progress.begin()
                _wrap_open(connections.SparkConnectionManager)
        except Exception as error:
            _say_failure(error)


def _wrap_open(manager: Any) -> None:
    original = manager.__dict__["open"].__func__
    if getattr(original, _WRAPPED, False):
        return

    @functools.wraps(original)
    def open_connection(cls: Any, connection: Any) -> Any:
        _prepare_connection(connection)
        return original(cls, connection)

    setattr(open_connection, _WRAPPED, True)
    manager.open = classmethod(open_connection)


def _prepare_connection(connection: Any) -> None:
    try:
        method = str(connection.credentials.method)
        with _lock:
            if method == "session":
                from dbt.adapters.spark import session

                _wrap_execute(session.Cursor)
                _wrap_fetch(session.Cursor, "fetchall")
                _wrap_fetch(session.Cursor, "fetchone")
            elif not _State.said_unavailable:
                _State.said_unavailable = True
                _say(
                    "spark_cdc: the Python functions cdc_* exist with method session only, "
                    f"not with {method}; everything else works."
                )
    except Exception as error:
        _say_failure(error)


def _wrap_execute(cursor: Any) -> None:
    original: Callable = cursor.execute
    if getattr(original, _WRAPPED, False):
        return

    @functools.wraps(original)
    def execute(self: Any, sql: str, *parameters: Any) -> None:
        self._spark_cdc_step = step_of(sql)
        is_ready = _is_alive(_State.prepared_session)
        with _progress.running(get_node_info(), self._spark_cdc_step if is_ready else STARTING) as statement:
            _prepare_session(self.server_side_parameters)
            _refuse_what_workers_lack(sql)
            _show_figures(statement, self._spark_cdc_step)
            question = question_in(sql)
            if question is not None:
                sql = offsets_query(_State.prepared_session, question)
            with one_sentence(sql):
                return original(self, sql, *parameters)

    setattr(execute, _WRAPPED, True)
    cursor.execute = execute


def _wrap_fetch(cursor: Any, name: str) -> None:
    """A query runs when its rows are fetched, and not before."""
    original: Callable = getattr(cursor, name)
    if getattr(original, _WRAPPED, False):
        return

    @functools.wraps(original)
    def fetch(self: Any) -> Any:
        step = getattr(self, "_spark_cdc_step", step_of(""))
        with _progress.running(get_node_info(), step) as statement:
            _show_figures(statement, step)
            return original(self)

    setattr(fetch, _WRAPPED, True)
    setattr(cursor, name, fetch)


def _show_figures(statement: Statement, step: str) -> None:
    statement.step = step
    # Without them, the line has the step alone.
    with contextlib.suppress(Exception):
        statement.figures = figures_of(_State.prepared_session)


def _prepare_session(parameters: dict[str, str]) -> None:
    with _lock:
        if _is_alive(_State.prepared_session):
            return
        try:
            _choose_worker_python(parameters)
            _make_folder_of_catalogs(parameters)
            # Before there is a session: Spark sets its settings, and warns about them, when it creates one.
            _quieten_connect()
            session = _session(parameters)
        except Exception:
            # The statement itself will meet the same error, and dbt reports it better than we could.
            return
        _State.begin(session)
        try:
            _choose_settings(session)
            if version_of(session) < OLDEST_SPARK:
                # The models say so themselves, each with one sentence.
                return
            names = register(session)
            _State.is_registered = True
            _say(f"spark_cdc: {len(names)} functions registered in the Spark session")
        except Exception as error:
            _say_failure(error)


def _refuse_what_workers_lack(sql: str) -> None:
    """Try the functions of a statement on a worker first: its tasks would fail again and again."""
    names = functions_in(sql)
    if not names:
        return
    with _lock:
        if not _State.is_registered:
            return
        new = names - _State.tried.keys()
        if new:
            _State.tried |= dict.fromkeys(new, why_not(_State.prepared_session, new))
        reasons = [reason for name, reason in _State.tried.items() if name in names and reason]
    if reasons:
        raise DbtRuntimeError(reasons[0])


def _quieten_connect() -> None:
    """Keep Connect quiet: before each statement dbt-spark sets all its settings, and some cannot be set."""
    warnings.filterwarnings("ignore", module=r"pyspark\.sql\.connect\.")


def _choose_settings(session: Any) -> None:
    """Set what these queries need in place of Spark's defaults. What the user set stays."""
    for name, (sparks, ours) in _SETTINGS.items():
        if session.conf.get(name, sparks) == sparks:
            session.conf.set(name, ours)


def _session(parameters: dict[str, str]) -> Any:
    """Get the very session that dbt-spark is about to use: same settings, same order."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.enableHiveSupport()
    for parameter, value in parameters.items():
        builder = builder.config(parameter, value)
    return builder.getOrCreate()


def _choose_worker_python(parameters: dict[str, str]) -> None:
    """Let local workers run this interpreter: Spark's default is the first `python3` on PATH.

    On a cluster this interpreter's path need not exist, so there the cluster's own setting stays.
    """
    chosen = parameters.get("spark.pyspark.python")
    if chosen is None and parameters.get("spark.master", "local").startswith("local"):
        chosen = sys.executable
    if chosen:
        os.environ.setdefault("PYSPARK_PYTHON", chosen)


def _make_folder_of_catalogs(parameters: dict[str, str]) -> None:
    """Create the folder of an Iceberg catalog that is a file: SQLite creates the file, but not its folder.

    If that fails, SQLite reports the same for the same path.
    """
    for name, value in parameters.items():
        found = _CATALOG_FILE.fullmatch(str(value)) if name.startswith("spark.sql.catalog.") else None
        folder = Path(found[1]).parent if found else None
        if folder is not None and not folder.exists():
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True)
                _say(f"spark_cdc: made the folder {folder} of the catalog that {name} names")


def _is_alive(session: Any) -> bool:
    if session is None:
        return False
    try:
        # No public method shows whether a classic session was stopped; a Spark Connect session has one.
        return session._sc._jsc is not None
    except Exception:
        return not getattr(session, "is_stopped", False)


def _say(message: str, level: EventLevel = EventLevel.INFO) -> None:
    fire_event(Note(msg=message), level)


def _say_progress(line: str, is_for_debug: bool) -> None:
    _say(line, EventLevel.DEBUG if is_for_debug else EventLevel.INFO)


_progress = Progress(_say_progress)


def _say_failure(error: Exception) -> None:
    reason = " ".join(str(error).split())
    _say(
        f"spark_cdc: the Python functions cdc_* could not be registered: {reason or type(error).__name__}; "
        "everything else works.",
        EventLevel.WARN,
    )
