"""The dbt plugin: plain dbt commands have the functions, and no dbt command suffers from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dbt_spark_cdc
import pytest
import yaml
from dbt_common.events.contextvars import log_contextvars
from dbt_common.exceptions import DbtRuntimeError
from dbt_spark_cdc import plugin as plugin_module
from dbt_spark_cdc.plugin import SparkCdcPlugin
from dbt_spark_cdc.progress import Progress
from dbt_spark_cdc.registry import SQL_FUNCTIONS

PACKAGE_PATH = str(Path(dbt_spark_cdc.__file__).parents[1])
REGISTERED = f"spark_cdc: {len(SQL_FUNCTIONS)} functions registered in the Spark session"

MODEL = """
select
    cdc_decode_binary('[106, -1, 103]', 'java_bytes') as bytes,
    cdc_type('canal', 'decimal(20,4)').spark_type as spark_type,
    cdc_detect('{"ts_ms": 1}').format as format
"""
SECOND_MODEL = "select count(*) as code_count from {{ ref('canal_types') }}"

# The rows arrive as text, so the model's answer and the seeds' contents are asserted inside Spark itself.
RIGHT_ANSWER = """
select * from {{ ref('decoded') }}
where not (hex(bytes) = '6AFF67' and spark_type = 'decimal(20,4)' and format = 'debezium')
"""
SAME_SEEDS = """
select 1 from (
    select
        count(*) as code_count,
        count(cdc_type(vendor, code)) as known,
        sum(length(note)) as note_length
    from (
        ALL_SEEDS
    )
)
where not (code_count = known and code_count = EXPECTED_COUNT and note_length = EXPECTED_LENGTH)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A dbt project as a user has it: a model that uses a function, and nothing set up for it."""
    folder = tmp_path_factory.mktemp("project")
    # A copy, because dbt writes compiled SQL over seeds whose path is absolute.
    seeds = shutil.copytree(repository / "seeds" / "type_codes", folder / "seeds")
    cells = [
        line.rsplit(",", 1)[1]
        for file in seeds.glob("*.csv")
        for line in file.read_text(encoding="utf-8").splitlines()[1:]
    ]
    all_seeds = " union all ".join(
        f"select * from {{{{ ref('{file.stem}') }}}}" for file in seeds.glob("*.csv")
    )
    same_seeds = SAME_SEEDS.replace("ALL_SEEDS", all_seeds).replace("EXPECTED_COUNT", str(len(cells)))
    files = {
        "dbt_project.yml": yaml.safe_dump(
            {
                "name": "plugin_test",
                "version": "1.0.0",
                "profile": "plugin_test",
                "models": {"+materialized": "table", "+file_format": "parquet"},
                "seeds": {"+file_format": "parquet"},
            }
        ),
        "packages.yml": "packages: []\n",
        "profiles.yml": yaml.safe_dump(
            {"plugin_test": {"target": "test", "outputs": {"test": output(folder)}}}
        ),
        "models/decoded.sql": MODEL,
        "models/counted.sql": SECOND_MODEL,
        "tests/decoded_is_right.sql": RIGHT_ANSWER,
        "tests/seeds_are_the_files.sql": same_seeds.replace("EXPECTED_LENGTH", str(sum(map(len, cells)))),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def output(folder: Path) -> dict[str, Any]:
    metastore = f"jdbc:derby:{folder / 'metastore'};create=true"
    return {
        "type": "spark",
        "method": "session",
        "host": "none",
        "schema": "default",
        "threads": 2,
        "server_side_parameters": {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -Dderby.stream.error.file={folder / 'derby.log'}",
        },
    }


def dbt(project: Path, *arguments: str, **environment: str) -> str:
    """Run a dbt command as a user does, in a process of its own, and return what it printed."""
    # Another python3 stands first on PATH, as it does on many machines: workers must not take it.
    other = project / "bin"
    other.mkdir(exist_ok=True)
    (other / "python3").write_text("#!/bin/sh\nexit 97\n")
    (other / "python3").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "DBT_"))}
    own = {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "PATH": f"{other}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": PACKAGE_PATH,
    }
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments],
        cwd=project,
        env=kept | own | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return printed


@pytest.mark.dbt
def test_plain_dbt_commands_have_the_functions_and_say_so_once(project: Path) -> None:
    printed = dbt(project, "build")
    assert printed.count(REGISTERED) == 1
    assert "could not be registered" not in printed
    seeds = len(list((project / "seeds").glob("*.csv")))
    assert f"PASS={4 + seeds} WARN=0 ERROR=0" in printed


@pytest.mark.dbt
@pytest.mark.parametrize("command", ["parse", "deps", "list"])
def test_a_command_that_needs_no_spark_starts_none(project: Path, command: str) -> None:
    no_java = {"JAVA_HOME": str(project / "no_java")}
    printed = dbt(project, command, **no_java)
    assert "spark_cdc" not in printed


def test_dbt_finds_the_plugin() -> None:
    from dbt.plugins.manager import PluginManager, dbtPlugin

    modules = PluginManager.get_prefixed_modules()
    assert modules["dbt_spark_cdc"].plugins == [SparkCdcPlugin]
    assert issubclass(SparkCdcPlugin, dbtPlugin)


def test_an_unknown_attribute_of_the_package_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plugin_list'"):
        _ = dbt_spark_cdc.plugin_list


class FakeCredentials:
    def __init__(self, method: str) -> None:
        self.method = method


class FakeConnection:
    def __init__(self, method: str) -> None:
        self.credentials = FakeCredentials(method)


class FakeSession:
    """Looks like a session that runs, as far as the plugin looks."""

    version = "4.1.3"

    def __init__(self) -> None:
        self._sc = types.SimpleNamespace(_jsc=object())
        self.settings: dict[str, str] = {}
        self.conf = types.SimpleNamespace(get=self.settings.get, set=self.settings.__setitem__)


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """dbt-spark's classes with fresh wrappers, and what the plugin says and does recorded."""
    from dbt.adapters.spark import connections, session

    recorded = types.SimpleNamespace(said=[], statements=[], sessions=[], registered=[], opened=[])
    recorded.session = FakeSession()

    def open_connection(cls: type, connection: Any) -> Any:
        recorded.opened.append(connection)
        return connection

    def execute(self: Any, sql: str, *parameters: Any) -> None:
        recorded.statements.append((sql, parameters))

    def get_session(parameters: dict[str, str]) -> FakeSession:
        recorded.sessions.append(parameters)
        return recorded.session

    def register(spark: Any) -> list[str]:
        recorded.registered.append(spark)
        return [function.name for function in SQL_FUNCTIONS]

    monkeypatch.setattr(connections.SparkConnectionManager, "open", classmethod(open_connection))
    monkeypatch.setattr(session.Cursor, "execute", execute)
    monkeypatch.setattr(plugin_module._State, "prepared_session", None)
    monkeypatch.setattr(plugin_module, "_session", get_session)
    monkeypatch.setattr(plugin_module, "register", register)
    monkeypatch.setattr(plugin_module, "_say", lambda message, *level: recorded.said.append(message))
    monkeypatch.setenv("PYSPARK_PYTHON", "kept")
    recorded.manager, recorded.cursor = connections.SparkConnectionManager, session.Cursor
    yield recorded


def test_the_functions_are_registered_before_the_first_statement_only(adapter: Any) -> None:
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    assert adapter.registered == []
    adapter.cursor(server_side_parameters={"spark.x": "1"}).execute("select 1")
    adapter.cursor().execute("select %s", 2)
    assert adapter.sessions == [{"spark.x": "1"}]
    assert adapter.registered == [adapter.session]
    assert adapter.statements == [("select 1", ()), ("select %s", (2,))]
    assert adapter.said == [REGISTERED]


@pytest.mark.parametrize(
    ("name", "sparks", "ours"),
    [
        ("spark.sql.codegen.hugeMethodLimit", "65535", "8000"),
        ("spark.sql.analyzer.maxIterations", "100", "200"),
    ],
)
def test_a_session_gets_settings_unless_the_user_chose_them(
    adapter: Any, monkeypatch: pytest.MonkeyPatch, name: str, sparks: str, ours: str
) -> None:
    for given, kept in ((None, ours), (sparks, ours), ("4000", "4000")):
        monkeypatch.setattr(plugin_module._State, "prepared_session", None)
        adapter.session.settings.clear()
        if given:
            adapter.session.settings[name] = given
        SparkCdcPlugin("project")
        adapter.manager.open(FakeConnection("session"))
        adapter.cursor().execute("select 1")
        assert adapter.session.settings[name] == kept


def test_functions_are_tried_on_a_worker_before_the_first_statement_that_calls_them(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def why_not(spark: Any, names: set[str]) -> str | None:
        tried.append((spark, names))
        return "Spark's workers cannot" if "cdc_dts_avro" in names else None

    monkeypatch.setattr(plugin_module, "why_not", why_not)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    cursor = adapter.cursor()
    cursor.execute("select cdc_type, _cdc_op from cdc_typed(1)")
    assert tried == []
    for _ in range(2):
        cursor.execute("select cdc_mongo_fields(a), cdc_mongo_fields(b)")
    assert tried == [(adapter.session, {"cdc_mongo_fields"})]
    for _ in range(2):
        with pytest.raises(DbtRuntimeError, match="Spark's workers cannot"):
            cursor.execute("select cdc_dts_avro(value), cdc_mongo_fields(b)")
    cursor.execute("select cdc_mongo_fields(a)")
    assert tried[1:] == [(adapter.session, {"cdc_dts_avro"})]
    assert len(adapter.statements) == 4


def test_long_statements_are_said_from_their_beginning_until_their_rows_are_fetched(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, lines = [0.0], []
    progress = Progress(lambda line, _: lines.append(line), clock=lambda: now[0], in_thread=False)
    monkeypatch.setattr(plugin_module, "_progress", progress)

    def wait(*_: Any) -> Any:
        now[0] += 20
        progress.say_what_is_due()
        return adapter.session

    monkeypatch.setattr(plugin_module, "_session", wait)
    for name in ("execute", "fetchall", "fetchone"):
        monkeypatch.setattr(adapter.cursor, name, wait)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    started_at = "1970-01-01T00:00:00"
    with log_contextvars(node_info={"unique_id": "a", "node_name": "orders", "node_started_at": started_at}):
        cursor = adapter.cursor()
        cursor.execute("/* dbt's own */ /* spark_cdc: merging 2 rows */ merge into orders")
        cursor.fetchall()
        cursor.fetchone()
    adapter.cursor().execute("select 1")
    assert lines == [
        "orders, 20 s: starting Spark", "orders, 40 s: merging 2 rows", "orders, 60 s: merging 2 rows",
        "orders, 80 s: merging 2 rows", "dbt, 20 s: running SQL",
    ]  # fmt: skip
    assert progress._running == []


def test_functions_that_were_not_registered_are_not_tried(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_module, "register", lambda spark: 1 / 0)
    monkeypatch.setattr(plugin_module, "why_not", lambda spark, names: pytest.fail("tried"))
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    adapter.cursor().execute("select cdc_dts_avro(value)")
    assert len(adapter.statements) == 1


def test_in_a_spark_that_is_not_supported_nothing_is_registered(adapter: Any) -> None:
    """The models say what to do."""
    adapter.session.version = "3.5.8"
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    adapter.cursor().execute("select 1")
    assert (adapter.registered, adapter.said) == ([], [])


def test_warnings_of_spark_connect_are_quiet_and_no_others(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the settings with which the session is made."""

    def warn(module: str) -> None:
        warnings.warn_explicit(f"from {module}", UserWarning, "file.py", 1, module=module)

    def get_session(parameters: dict[str, str]) -> FakeSession:
        warn("pyspark.sql.connect.conf")
        return adapter.session

    monkeypatch.setattr(plugin_module, "_session", get_session)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        adapter.cursor().execute("select 1")
        for module in ("pyspark.sql.connect.conf", "somewhere.else"):
            warn(module)
    assert [str(warning.message) for warning in shown] == ["from somewhere.else"]


def test_initialising_twice_wraps_once(adapter: Any) -> None:
    for _ in range(2):
        SparkCdcPlugin("project")
        adapter.manager.open(FakeConnection("session"))
        wrapped = (adapter.manager.__dict__["open"], adapter.cursor.execute)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    assert (adapter.manager.__dict__["open"], adapter.cursor.execute) == wrapped
    adapter.opened.clear()
    adapter.manager.open(FakeConnection("session"))
    adapter.cursor().execute("select 1")
    assert len(adapter.opened) == 1
    assert adapter.statements == [("select 1", ())]


def test_a_session_that_was_stopped_is_followed_by_a_new_registration(adapter: Any) -> None:
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    adapter.cursor().execute("select 1")
    adapter.session._sc._jsc = None
    adapter.session = FakeSession()
    adapter.cursor().execute("select 1")
    assert len(adapter.registered) == 2


@pytest.mark.parametrize("method", ["thrift", "http", "odbc", "livy"])
def test_another_method_is_told_once_that_it_has_no_functions(adapter: Any, method: str) -> None:
    SparkCdcPlugin("project")
    for _ in range(2):
        adapter.manager.open(FakeConnection(method))
    assert len(adapter.opened) == 2
    assert adapter.said == [
        f"spark_cdc: the Python functions cdc_* exist with method session only, not with {method}; "
        "everything else works."
    ]


def test_a_failed_registration_is_one_line_and_the_statements_run(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def register(spark: Any) -> list[str]:
        raise RuntimeError("no pyarrow\nhere")

    monkeypatch.setattr(plugin_module, "register", register)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    for _ in range(2):
        adapter.cursor().execute("select 1")
    assert len(adapter.statements) == 2
    assert adapter.said == [
        "spark_cdc: the Python functions cdc_* could not be registered: no pyarrow here; "
        "everything else works."
    ]


def test_a_spark_that_does_not_start_is_left_to_dbt_to_report(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_session(parameters: dict[str, str]) -> None:
        raise RuntimeError("no Java")

    monkeypatch.setattr(plugin_module, "_session", get_session)
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    adapter.cursor().execute("select 1")
    assert adapter.statements == [("select 1", ())]
    assert adapter.said == []


def test_an_adapter_of_another_shape_is_one_line_and_no_error(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, plugin_module._CONNECTIONS, types.ModuleType("connections"))
    SparkCdcPlugin("project")
    assert len(adapter.said) == 1
    assert "could not be registered" in adapter.said[0]


def test_without_dbt_spark_nothing_happens(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, plugin_module._CONNECTIONS)
    before = adapter.manager.__dict__["open"]
    SparkCdcPlugin("project")
    assert adapter.manager.__dict__["open"] is before
    assert adapter.said == []


def test_the_folder_of_a_catalog_file_is_made_before_spark_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adapter: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    SparkCdcPlugin("project")
    adapter.manager.open(FakeConnection("session"))
    uris = {
        "spark.sql.catalog.one.uri": f"jdbc:sqlite:{tmp_path}/one/lake/catalog.db?journal_mode=WAL",
        "spark.sql.catalog.two.uri": "jdbc:sqlite:two/catalog.db",
        "spark.sql.catalog.three.uri": "jdbc:sqlite:file:three/catalog.db",
        "spark.sql.catalog.four.uri": "jdbc:sqlite::memory:",
        "spark.sql.catalog.five.uri": "jdbc:sqlite:file/five/catalog.db",
        "spark.sql.catalog.six.uri": "jdbc:postgresql://six/catalog",
        "spark.other": "jdbc:sqlite:seven/catalog.db",
    }
    adapter.cursor(server_side_parameters=uris).execute("select 1")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "file",
        "one",
        "one/lake",
        "two",
    ]
    assert adapter.said == [
        f"spark_cdc: made the folder {tmp_path}/one/lake of the catalog that spark.sql.catalog.one.uri names",
        "spark_cdc: made the folder two of the catalog that spark.sql.catalog.two.uri names",
        REGISTERED,
    ]


@pytest.mark.parametrize(
    ("parameters", "set_before", "expected"),
    [
        ({}, None, sys.executable),
        ({"spark.master": "local[4]"}, None, sys.executable),
        ({"spark.master": "yarn"}, None, None),
        ({"spark.master": "yarn", "spark.pyspark.python": "/opt/python"}, None, "/opt/python"),
        ({}, "/opt/other", "/opt/other"),
    ],
)
def test_local_workers_run_the_interpreter_that_runs_dbt(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, str], set_before: str | None, expected: str | None
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "to be restored")
    if set_before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = set_before
    choose: Callable = plugin_module._choose_worker_python
    choose(parameters)
    assert os.environ.get("PYSPARK_PYTHON") == expected
