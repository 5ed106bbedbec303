"""What a report shows: counts, times, offsets, error codes and names; no value of a row and no key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

# In the order of the legend.
OPS = ("insert", "update", "delete", "snapshot", "truncate", "unknown")


# The parts of a report, as it names those that could not be asked.
ROWS, LAG, RUNS, ANOMALIES, UNDECLARED = (
    "row changes", "lag", "runs", "anomalies of topics", "undeclared columns",
)  # fmt: skip
REJECTED = ("rejected messages", "rejected rows of models over raw tables")
SCHEMAS = ("schemas", "DDL")


@dataclass(frozen=True)
class Table:
    """A source table, as the messages of a topic name it."""

    topic: str | None
    name: str

    @property
    def label(self) -> str:
        """Its name; of messages that name no table, their topic."""
        return self.name or self.topic or "(no name)"


@dataclass(frozen=True)
class Periods:
    """The periods of the charts: `count` of `seconds` each, from `begin` on, in UTC."""

    begin: datetime
    seconds: int
    count: int

    @property
    def unit(self) -> str:
        """A word for one of them."""
        return "hour" if self.seconds == 3600 else "day"


@dataclass(frozen=True)
class Activity:
    """The row changes of a table. `by_period` has its changes of all ops; `outside` those of no period."""

    table: Table
    model: str
    is_routed: bool
    is_ignored: bool
    by_op: dict[str, int]
    by_period: dict[int, dict[str, int]]
    last_at: datetime | None

    @property
    def rows(self) -> int:
        """All of its row changes."""
        return sum(self.by_op.values())

    @property
    def outside(self) -> int:
        """Row changes that are in none of the periods."""
        return self.rows - sum(sum(ops.values()) for ops in self.by_period.values())


@dataclass(frozen=True)
class PartitionLag:
    """How far the runs have read a partition. None is not known."""

    topic: str | None
    partition: int | None
    landed_offset: int | None
    read_offset: int | None
    unread_offsets: int | None
    unread_seconds: float | None
    silent_seconds: float | None


@dataclass(frozen=True)
class TableLag:
    """How far a table has come: the worst of its partitions."""

    table: Table
    partitions: int
    landing_seconds: float | None
    loading_seconds: float | None
    unapplied_messages: int | None
    last_at: datetime | None


@dataclass(frozen=True)
class Rejected:
    """Rejected messages of one code and table, with the detail and the place of the newest."""

    code: str
    table: Table
    messages: int
    details: int
    detail: str
    topic: str | None
    partition: int | None
    offset: int | None
    last_at: datetime | None
    # Why the offset is not Kafka's.
    moved: str | None = None


@dataclass(frozen=True)
class Run:
    """The messages that one run read."""

    began_at: datetime
    messages: int
    topics: int
    rejected: int


@dataclass(frozen=True)
class Timing:
    """How long a node of dbt's last command took."""

    name: str
    kind: str
    status: str
    seconds: float


@dataclass(frozen=True)
class LastCommand:
    """dbt's last command with results."""

    command: str
    ended_at: datetime | None
    seconds: float
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class SchemaChange:
    """A new version of a table's columns, or a statement."""

    table: Table
    at: datetime | None
    what: str
    version: int | None = None


@dataclass(frozen=True)
class Anomaly:
    """An anomaly of a topic."""

    topic: str | None
    partition: int | None
    anomaly: str
    advice: str
    is_acknowledged: bool = False


@dataclass(frozen=True)
class UndeclaredColumn:
    """A column that messages have and no changes model declares."""

    table: Table
    column: str
    line: str | None
    note: str | None
    rows: int
    models: str
    is_ignored: bool


@dataclass(frozen=True)
class Unread:
    """A part of the project that the report could not ask, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Figures:
    """All of one report."""

    project: str
    schemas_built_in: tuple[str, ...]
    asked_at: datetime
    models: dict[str, int]
    not_built: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    periods: Periods | None = None
    activities: tuple[Activity, ...] = ()
    partition_lags: tuple[PartitionLag, ...] = ()
    table_lags: tuple[TableLag, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    rejected_messages: int = 0
    runs: tuple[Run, ...] = ()
    last_command: LastCommand | None = None
    schemas: tuple[SchemaChange, ...] = ()
    schemas_of: int = 0
    statements: tuple[SchemaChange, ...] = ()
    statements_of: int = 0
    anomalies: tuple[Anomaly, ...] = ()
    undeclared: tuple[UndeclaredColumn, ...] = ()
