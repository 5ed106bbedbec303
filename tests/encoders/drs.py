"""A log -> messages of Huawei DRS ("JSON" of the Kafka message formats), of MySQL and the other sources.

Written from the two tables and examples of the vendor's page: the deleted row is in `old`, a full-load row
is an INIT, binaries of MySQL are texts of Java byte lists, its TIMESTAMP is seconds with a fraction, bytea
of GaussDB is hexadecimal, `database` of Oracle is empty. A truncate is a DDL message with a statement.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

TYPES = {"snapshot": "INIT", "truncate": "DDL", "ddl": "DDL"}
# MySQL's TIMESTAMP: from 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999.
FIRST = datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
MOMENTS_OF_TIMESTAMP = timedelta(seconds=2**31 - 1)


def _seconds(moment: datetime) -> str:
    micros = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
    fraction = f"{micros % 1_000_000:06}".rstrip("0")
    return f"{micros // 1_000_000}" + (f".{fraction}" if fraction else "")


def _in_timestamp(moment: datetime) -> datetime:
    first = datetime(1, 1, 1, tzinfo=timezone.utc)
    return FIRST + (moment - first) % MOMENTS_OF_TIMESTAMP


def _java_bytes(value: bytes) -> str:
    return "[" + ", ".join(str(byte - 256 if byte > 127 else byte) for byte in value) + "]"


def _java_double(value: float) -> str:
    return repr(value).replace("e+", "E").replace("e", "E")


def _value(kind: str, value: Any, dialect: str) -> str | None:
    if value is None:
        return None
    if kind == "binary":
        return _java_bytes(value) if dialect == "mysql" else value.hex()
    if kind == "double":
        return _java_double(value)
    if kind == "instant":
        # The page's example of a zoned value, inside a range: 2010-01-01 14:30:00+08
        return _seconds(value) if dialect == "mysql" else value.replace(tzinfo=None).isoformat(" ") + "+00"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _encode(changes: list[Change], table: Table, dialect: str) -> list[Message]:
    def image(row: Row | None) -> list[Row] | None:
        if row is None:
            return None
        return [{name: _value(kind, row[name], dialect) for name, kind in table.columns.items()}]

    messages = []
    for change in changes:
        if change.kind in ("heartbeat", "begin", "commit"):
            continue
        is_ddl = change.kind in ("ddl", "truncate")
        op = TYPES.get(change.kind, change.kind.upper())
        types = None if is_ddl else dict(table.columns)
        message = {"mysqlType": types}
        if dialect != "mysql":
            source = {"postgresql": "PostgreSQL", "oracle": "Oracle", "sqlserver": "Microsoft SQL Server"}
            message = {"columnType": types, "dbType": source[dialect], "schema": table.schema, "opType": op}
        message |= {
            "id": 27000 + change.sequence,
            "es": int(change.committed_at.timestamp() * 1000),
            "ts": 1625058726990,
            "database": "" if dialect == "oracle" else table.database,
            "table": table.name,
            "type": op,
            "isDdl": is_ddl,
            "sql": (change.ddl or f"TRUNCATE TABLE {table.name}") if is_ddl else "",
            "sqlType": None,
            "data": image(change.after),
            "old": image(change.before),
            "pkNames": None if is_ddl else list(table.key),
        }
        messages.append(Message(json.dumps(message, ensure_ascii=False, separators=(",", ":"))))
    return messages


def _of(dialect: str) -> Encoder:
    is_mysql = dialect == "mysql"
    # MySQL has no boolean; the page's boolean is GaussDB's, and so is its binary.
    columns = without(DECLARATIONS, "boolean") if is_mysql else dict(DECLARATIONS)
    if dialect in ("oracle", "sqlserver"):
        columns["binary"] = "binary from hex"
    return Encoder(
        "drs",
        dialect,
        columns,
        lambda changes, table: _encode(changes, table, dialect),
        fits={"instant": _in_timestamp} if is_mysql else {},
    )


ENCODERS = [_of(dialect) for dialect in ("mysql", "postgresql", "oracle", "sqlserver")]
