"""Logical changes -> messages of Alibaba DataWorks ("synchronise a whole database to Kafka").

Written from the vendor's appendix on message formats alone: the overall format, the heartbeat, the four
examples of row changes, the table of the six types and the table of fields. What real messages do and the
page does not say is an option here, and says so.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

from encoders import log

TYPES = ("BOOLEAN", "DOUBLE", "DATE", "BYTES", "LONG", "STRING")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The column that stands in for a key where the source's table has none.
ROW_ID = "#alibaba_rds_row_id#"

Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """What happened at the source.

    `kind` is insert, update, delete, snapshot, truncate, ddl, begin, commit or heartbeat. `sequence` is the
    place in the source's order; a snapshot row has none.
    """

    kind: str
    sequence: int = -1
    before: Row | None = None
    after: Row | None = None
    ddl: str | None = None
    ddl_op: str = "ALTER"
    event_time: int = 1620457896000
    scn: str | None = None


@dataclass(frozen=True)
class Table:
    """A source table: column -> one of the page's six types, and the key, which a table may lack."""

    name: str
    columns: dict[str, str]
    key: tuple[str, ...] | None = ("id",)
    database: str = "shop"
    schema: str | None = None
    db_type: str = "MySQL"

    def __post_init__(self) -> None:
        unknown = set(self.columns.values()) - set(TYPES)
        if unknown:
            raise ValueError(f"the page knows the types {', '.join(TYPES)}; got {', '.join(sorted(unknown))}")


@dataclass(frozen=True)
class Options:
    """How a task is set up, and how messages were seen to differ from the page."""

    # The page: a task may be told to send one record for one update.
    update_in_one_message: bool = False
    # The page writes UPDATE_BEFOR; a public reader of the format expects UPDATE_BEFORE.
    before_op: str = "UPDATE_BEFOR"
    # The page says JSON number; real messages have "1.100000".
    double_as_text: bool = False
    # The page puts `ddl` into the payload; a public reader looks for it at the root.
    ddl_at_root: bool = False
    version: str = "0.0.1"
    system_delay: int = 977


def encode(changes: list[Change], table: Table, options: Options | None = None) -> list[str]:
    """Return the messages of `changes` in order, as texts."""
    encoder = _Encoder(table, options or Options())
    return [
        json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        for change in changes
        for message in encoder.messages(change)
    ]


class _Encoder:
    def __init__(self, table: Table, options: Options) -> None:
        self.table = table
        self.options = options

    def messages(self, change: Change) -> list[dict[str, Any]]:
        if change.kind == "heartbeat":
            return [self._heartbeat(change)]
        if change.kind == "update":
            if self.options.update_in_one_message:
                return [self._message(change, "UPDATE_AFTER", change.before, change.after)]
            # The page: two records, one with the row before and one with the row after, under one sequenceId.
            return [
                self._message(change, self.options.before_op, change.before, None),
                self._message(change, "UPDATE_AFTER", None, change.after),
            ]
        op = {
            "insert": "INSERT",
            # Seen, not in the page: a row of the full load is an INSERT with -1 for its order and its times.
            "snapshot": "INSERT",
            "delete": "DELETE",
            "truncate": "TRUNCATE",
            "begin": "TRANSACTION_BEGIN",
            "commit": "TRANSACTION_END",
            "ddl": change.ddl_op,
        }[change.kind]
        return [self._message(change, op, change.before, change.after)]

    def _message(self, change: Change, op: str, before: Row | None, after: Row | None) -> dict[str, Any]:
        is_snapshot = change.kind == "snapshot"
        event_time = -1 if is_snapshot else change.event_time
        payload: dict[str, Any] = {
            "before": self._image(before),
            "after": self._image(after),
            "sequenceId": str(-1 if is_snapshot else change.sequence),
        }
        if change.scn is not None:
            payload["scn"] = change.scn
        payload["timestamp"] = {
            "eventTime": event_time,
            "systemTime": change.event_time + self.options.system_delay,
            "checkpointTime": event_time,
        }
        payload["op"] = op
        message = {"schema": self._schema(), "payload": payload, "version": self.options.version}
        (message if self.options.ddl_at_root else payload)["ddl"] = self._ddl(change)
        return message

    def _heartbeat(self, change: Change) -> dict[str, Any]:
        return {
            "schema": {"dataColumn": None, "primaryKey": None, "source": None},
            "payload": {
                "before": None,
                "after": None,
                "sequenceId": None,
                "timestamp": {"eventTime": change.event_time, "checkpointTime": change.event_time},
                "op": "MHEARTBEAT",
                "ddl": None,
            },
            "version": self.options.version,
        }

    def _schema(self) -> dict[str, Any]:
        source = {"dbType": self.table.db_type, "dbName": self.table.database}
        if self.table.schema is not None:
            source["schemaName"] = self.table.schema
        source["tableName"] = self.table.name
        return {
            "dataColumn": [{"name": name, "type": kind} for name, kind in self.table.columns.items()],
            "primaryKey": list(self.table.key) if self.table.key else None,
            "source": source,
        }

    def _ddl(self, change: Change) -> dict[str, str] | None:
        if change.ddl is None:
            return None
        # ddlMeta is a serialized Java object in base64: two bytes of Java's stream mark stand for it.
        return {"text": change.ddl, "ddlMeta": base64.b64encode(b"\xac\xed").decode()}

    def _image(self, row: Row | None) -> dict[str, Any] | None:
        if row is None:
            return None
        return {"dataColumn": {name: self._value(self.table.columns[name], row[name]) for name in row}}

    def _value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        if kind == "BYTES":
            return base64.b64encode(value).decode("ascii")
        if kind == "DATE":
            return _milliseconds(value)
        if kind == "DOUBLE":
            if self.options.double_as_text:
                return f"{value:.6f}"
            return float(value)
        # BOOLEAN, LONG and STRING are the JSON types of the same name.
        expected = {"BOOLEAN": bool, "LONG": int, "STRING": str}[kind]
        if not isinstance(value, expected) or (kind == "LONG" and isinstance(value, bool)):
            raise TypeError(f"{kind} takes {expected.__name__}; got {type(value).__name__}")
        return value


def _milliseconds(value: date | datetime) -> int:
    """13 digits for the times of these years; a date is its midnight, a local time is taken as UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    instant = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (instant - EPOCH) // timedelta(milliseconds=1)


# -- as the common log is written: which of the six types holds a kind, and what a model declares for it

KINDS = {
    "int8": ("LONG", "tinyint"),
    "int16": ("LONG", "smallint"),
    "int32": ("LONG", "int"),
    "int64": ("LONG", "bigint"),
    "uint64": ("LONG", "decimal(20,0)"),
    "double": ("DOUBLE", "double"),
    "boolean": ("BOOLEAN", "boolean"),
    "text": ("STRING", "string"),
    "binary": ("BYTES", "binary"),
    "date": ("DATE", "date"),
    "datetime": ("DATE", "timestamp_ntz"),
    "instant": ("DATE", "timestamp"),
    "time": ("STRING", "string"),
    "json": ("STRING", "string"),
}


def _of_log(options: Options) -> log.Encoder:
    def encode_log(changes: list[log.Change], table: log.Table) -> list[log.Message]:
        columns = {name: KINDS[kind][0] for name, kind in table.columns.items()}
        own_table = Table(table.name, columns, table.key, table.database, table.schema)
        own = [
            Change(
                change.kind,
                7_000_000_000_000_000_000 + change.sequence,
                change.before,
                change.after,
                ddl=change.ddl,
                event_time=_milliseconds(change.committed_at),
            )
            for change in changes
        ]
        return [log.Message(text) for text in encode(own, own_table, options)]

    def to_milliseconds(value: datetime) -> datetime:
        return value.replace(microsecond=value.microsecond // 1000 * 1000)

    return log.Encoder(
        "dataworks",
        "dataworks",
        {kind: declaration for kind, (_, declaration) in KINDS.items()},
        encode_log,
        fits={"datetime": to_milliseconds, "instant": to_milliseconds},
    )


ENCODERS = [_of_log(Options()), _of_log(Options(update_in_one_message=True))]
