"""Real servers on this machine, each in a folder and on a port of its own: databases, Kafka Connect, Canal.

They come from Debian's packages and from the jars in .jars; `missing` says what is not there.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broker import JARS as BROKER_JARS
from broker import Broker, free_port, wait_for_port
from harness import REPOSITORY

CONNECT_JARS = REPOSITORY / ".jars" / "debezium"
CANAL_JARS = REPOSITORY / ".jars" / "canal"
CANAL_PROGRAM = Path(__file__).with_name("CanalToKafka.java")
# A newer Debian's MySQL with its own libraries, which `make e2e` unpacks and nobody installs.
MYSQL = REPOSITORY / ".servers" / "mysql" / "usr"
MYSQL_LIBRARIES = MYSQL / "lib" / "x86_64-linux-gnu"
MYSQL_LOADER = MYSQL_LIBRARIES / "ld-linux-x86-64.so.2"
CONNECT_SETTINGS = """
bootstrap.servers={servers}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename={folder}/offsets
offset.flush.interval.ms=3000
listeners=http://127.0.0.1:{port}
plugin.discovery=only_scan
"""
SYSTEM_TABLES = Path("/usr/share/mysql")
# Of every connector. Its topics have three partitions: the order in the topic is not the database's.
CONNECTOR = {
    "tasks.max": "1",
    "skipped.operations": "none",
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "3000",
    "poll.interval.ms": "100",
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "3",
}


class Database(ABC):
    """A database server whose log Debezium or Canal reads; `name` is the prefix of its topics too."""

    name: str
    schema: str
    # What its column types are called after.
    kind: str
    # Whether its reader begins with the rows that are there, and not with the log's first change.
    has_snapshot = True
    end = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.port = free_port()
        self._process: subprocess.Popen | None = None

    @classmethod
    @abstractmethod
    def program(cls) -> Path | None:
        """Give the server's program, if it is installed."""

    @abstractmethod
    def start(self) -> None:
        """Make an empty database, and wait until it answers."""

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection, as Python's DB API has it; it commits nothing by itself."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Quote a name."""

    @abstractmethod
    def connector(self, servers: str) -> dict[str, str]:
        """Give the settings of Debezium's connector."""

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(self.end)
            self._process.wait(timeout=60)

    def _serve(self, command: Sequence[str | Path], user: str | None = None) -> None:
        file = self.folder.parent / f"{self.name}.log"
        log = file.open("a")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user, cwd="/"
        )
        wait_for_port(self.port, self._process, file)


class Postgres(Database):
    name, schema, kind = "pg", "public", "pg"
    end = signal.SIGINT  # it does not wait for connections

    @classmethod
    def program(cls) -> Path | None:
        return max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)

    def start(self) -> None:
        self.folder.mkdir()
        user = None
        if getpass.getuser() == "root":  # which it refuses to be
            user = "postgres"
            shutil.chown(self.folder, user)
        initdb = [
            self.program().with_name("initdb"),
            "-D",
            self.folder,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]
        subprocess.run(initdb, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL)
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder, "wal_level": "logical",
            "shared_buffers": "64MB", "timezone": "UTC", "fsync": "off",
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._serve([self.program(), "-D", self.folder, "-p", str(self.port), *options], user)

    def connect(self) -> Any:
        import psycopg2

        return psycopg2.connect(f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres")

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def connector(self, servers: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": "127.0.0.1", "database.port": str(self.port), "database.user": "postgres",
            "database.password": "x", "database.dbname": "postgres", "plugin.name": "pgoutput",
            "schema.include.list": "public", "topic.prefix": self.name, "slot.name": "e2e",
        }  # fmt: skip


class BinlogDatabase(Database):
    """MariaDB or MySQL."""

    schema = "shop"

    def start(self) -> None:
        self.folder.mkdir()
        self._make_system_tables()
        self._serve([
            *self._command(), "--bind-address=127.0.0.1", f"--port={self.port}", f"--socket={self.folder}/socket",
            f"--pid-file={self.folder}/pid", "--server-id=2", "--log-bin=bin", "--binlog-format=ROW",
            "--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--default-time-zone=+00:00",
            "--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0",
        ])  # fmt: skip
        with self._connection() as connection:
            connection.cursor().execute(f"create database {self.schema}")

    def connect(self) -> Any:
        return self._connection(database=self.schema)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def connector(self, servers: str) -> dict[str, str]:
        return {
            "database.hostname": "127.0.0.1", "database.port": str(self.port), "database.user": "root",
            "database.password": "", "database.include.list": self.schema, "database.server.id": "106",
            "topic.prefix": self.name,
            "schema.history.internal": "io.debezium.storage.kafka.history.KafkaSchemaHistory",
            "schema.history.internal.kafka.bootstrap.servers": servers,
            "schema.history.internal.kafka.topic": f"_history.{self.name}",
            "bigint.unsigned.handling.mode": "precise",  # else the largest ones are sent as negative numbers
        }  # fmt: skip

    @abstractmethod
    def _make_system_tables(self) -> None:
        """Fill the folder of an empty server."""

    @abstractmethod
    def _command(self) -> list[str | Path]:
        """The server's program, with the options that every use of it has."""

    def _connection(self, **options: str) -> Any:
        import pymysql

        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", charset="utf8mb4", **options)


class Mariadb(BinlogDatabase):
    name, kind = "mariadb", "mariadb"

    @classmethod
    def program(cls) -> Path | None:
        found = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")
        return Path(found) if found else None

    def connector(self, servers: str) -> dict[str, str]:
        return super().connector(servers) | {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "database.ssl.mode": "disable",
        }

    def _make_system_tables(self) -> None:
        # What mariadb-install-db does, which needs the package of the client.
        system = "".join(
            (SYSTEM_TABLES / name).read_text()
            for name in ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
        )
        subprocess.run(
            [*self._command(), "--bootstrap", "--skip-networking"], check=True, stderr=subprocess.DEVNULL, text=True,
            input=f"create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=null;\n{system}",
        )  # fmt: skip

    def _command(self) -> list[str | Path]:
        return [self.program(), "--no-defaults", f"--datadir={self.folder}", f"--user={getpass.getuser()}"]


class Mysql(BinlogDatabase):
    name, kind = "mysql", "mysql"

    @classmethod
    def program(cls) -> Path | None:
        found = MYSQL / "sbin" / "mysqld"
        return found if found.exists() and MYSQL_LOADER.exists() else None

    def connector(self, servers: str) -> dict[str, str]:
        return super().connector(servers) | {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "database.ssl.mode": "preferred",
        }

    def _make_system_tables(self) -> None:
        subprocess.run([*self._command(), "--initialize-insecure"], check=True, stderr=subprocess.DEVNULL)

    def _command(self) -> list[str | Path]:
        shared = MYSQL / "share" / "mysql"
        return [
            # The libraries are those of its own Debian, the loader too.
            MYSQL_LOADER, "--library-path", f"{MYSQL_LIBRARIES}:{MYSQL_LIBRARIES}/mysql",
            self.program(), "--no-defaults", f"--datadir={self.folder}/data", f"--user={getpass.getuser()}",
            f"--basedir={MYSQL}", f"--lc-messages-dir={shared}", f"--character-sets-dir={shared}/charsets",
            f"--plugin-dir={MYSQL_LIBRARIES}/mysql/plugin", "--secure-file-priv=", "--mysqlx=OFF",
            "--performance-schema=OFF", "--innodb-buffer-pool-size=64M",
        ]  # fmt: skip


class MysqlForCanal(Mysql):
    """A MySQL server that Canal reads, not Debezium."""

    name, kind = "canal", "canal"
    has_snapshot = False

    def start(self) -> None:
        super().start()
        with self._connection() as connection:
            cursor = connection.cursor()
            cursor.execute("create user canal identified by 'canal'")
            cursor.execute("grant select, replication slave, replication client on *.* to canal")


DATABASES: dict[str, type[Database]] = {kind.name: kind for kind in (Postgres, Mariadb, Mysql, MysqlForCanal)}


class Reader(ABC):
    """A process that reads logs of databases and writes what it reads to Kafka."""

    def __init__(self, folder: Path, servers: str) -> None:
        self.folder, self.servers = folder, servers
        self._process: subprocess.Popen | None = None

    @abstractmethod
    def start(self) -> None:
        """Start it."""

    @abstractmethod
    def waits_for_changes(self, seconds: int = 120) -> None:
        """Wait until each later change of the databases is a message of its own."""

    def stop(self, suddenly: bool = False) -> None:
        """End it; suddenly it notes nothing of what it has sent."""
        if self._process is not None:
            (self._process.kill if suddenly else self._process.terminate)()
            self._process.wait(timeout=60)
            self._process = None

    def __str__(self) -> str:
        return self._printed()[-3000:]

    def _java(self, megabytes: int, jars: Path, *arguments: str) -> None:
        options = [f"-Xmx{megabytes}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        log = self._log.open("a")
        self._process = subprocess.Popen(
            ["java", *options, *arguments], env=os.environ | {"CLASSPATH": f"{jars}/*"}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip

    @property
    def _log(self) -> Path:
        return self.folder / "reader.log"

    def _printed(self) -> str:
        return self._log.read_text()


class Connect(Reader):
    """Kafka Connect in one process, with Debezium: what its offsets file has not noted it sends again."""

    def __init__(self, folder: Path, servers: str, databases: Sequence[Database]) -> None:
        super().__init__(folder, servers)
        self.databases, self.port = databases, free_port()

    def start(self) -> None:
        """Start it, once more if it was stopped."""
        self.folder.mkdir(exist_ok=True)
        settings = self.folder / "worker.properties"
        settings.write_text(CONNECT_SETTINGS.format(servers=self.servers, folder=self.folder, port=self.port))
        files = []
        for database in self.databases:
            files.append(self.folder / f"{database.name}.json")
            config = CONNECTOR | database.connector(self.servers)
            files[-1].write_text(json.dumps({"name": database.name, "config": config}))
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        self._java(768, CONNECT_JARS, main, str(settings), *map(str, files))
        wait_for_port(self.port, self._process, self._log, 120)

    def waits_for_changes(self, seconds: int = 120) -> None:
        """Wait until all snapshots are done."""
        until = time.monotonic() + seconds
        while self._printed().count("Starting streaming") < len(self.databases):
            assert time.monotonic() < until, f"no snapshot: {self}"
            time.sleep(0.5)


class Canal(Reader):
    """Canal in one process: it reads a server's log from its beginning, there is no snapshot."""

    def __init__(self, folder: Path, servers: str, database: Database) -> None:
        super().__init__(folder, servers)
        self.database = database

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        topic = f"{self.database.name}.{self.database.schema}"
        where = [str(self.database.port), self.database.schema, self.servers, topic]
        self._java(384, CANAL_JARS, str(CANAL_PROGRAM), *where)

    def waits_for_changes(self, seconds: int = 120) -> None:
        """Wait until it reads the log."""
        until = time.monotonic() + seconds
        while "Canal reads" not in self._printed():
            assert self._process.poll() is None and time.monotonic() < until, f"Canal did not start: {self}"
            time.sleep(0.5)


def missing(names: Sequence[str]) -> str:
    """Name what has to be installed for these databases; nothing if all is there."""
    lacks = [f"the server of {name}" for name in names if DATABASES[name].program() is None]
    jars = [BROKER_JARS, CONNECT_JARS] + [CANAL_JARS] * ("canal" in names)
    lacks += [f"the jars in {each.name}" for each in jars if not each.is_dir()]
    if "canal" in names and not shutil.which("javac"):
        lacks.append("a Java compiler (a JDK)")
    if not Broker.can_start():
        lacks.append("Java, or Spark's Kafka source")
    return ", ".join(lacks)
