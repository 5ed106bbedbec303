"""A log -> Canal JSON (FlatMessage), as Canal itself and the products that write its fields do.

Written from alibaba/canal (FlatMessage, MQMessageUtils, LogEventConvert), TiCDC's page on its Canal-JSON
protocol, Tencent Cloud's "Canal Demo" (the mode that is not fully compatible), Alibaba Cloud DTS' "Data
formats of a Kafka cluster", flink-cdc's Kafka sink, OceanBase OMS' data formats (Canal),
CloudCanal's "MQ message formats" and Huawei DataArts' "Heartbeat data formats".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from functools import partial
from typing import Any

from encoders import oms
from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table, without

DDL_TYPE = "ALTER"
TYPES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "bigint unsigned",
    "decimal": "decimal(38,10)",
    "long_decimal": "decimal(60,20)",
    "double": "double",
    "boolean": "tinyint(1)",
    "text": "longtext",
    "binary": "blob",
    "date": "date",
    "datetime": "datetime(6)",
    "instant": "timestamp(6)",
    "time": "time(6)",
    "json": "json",
}


def text(value: Any) -> str:
    """JSON of a value, as short as it can be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def java_double(value: float) -> str:
    """As Java prints a double: 1.0E7 from ten million on, and below a thousandth."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    mantissa = "".join(map(str, digits))
    power = len(mantissa) - 1 + exponent
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{power}"


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return int(moment.timestamp()) * 1000


def _oms_value(kind: str, value: Any) -> str:
    return oms.dump(oms.VALUES.get(kind, lambda same: same)(value))


# How a value stands in the row, as JSON.
CANAL: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint64"), lambda value: text(str(value))),
    **dict.fromkeys(("decimal", "long_decimal"), lambda value: text(f"{value:f}")),
    "double": lambda value: text(java_double(value)),
    "boolean": lambda value: text(str(int(value))),
    "text": text,
    "binary": lambda value: text(value.decode("latin-1")),
    "date": lambda value: text(value.isoformat()),
    "datetime": lambda value: text(value.isoformat(" ")),
    "instant": lambda value: text(value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(" ")),
    "time": text,
    "json": text,
}
# Go's JSON writer, which TiCDC uses, escapes these three.
TICDC = {**CANAL, "binary": lambda value: _html(text(value.decode("latin-1")))}
TENCENT = {
    **CANAL,
    "binary": lambda value: text(value.hex().upper()),
    "instant": lambda value: CANAL["instant"](value)[:-1] + ' +00:00"',
}
NUMBERS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint64"), str),
    "decimal": str,
    "double": java_double,
    "boolean": lambda value: text(value),
}
FLINK = {
    **CANAL,
    **NUMBERS,
    "binary": lambda value: text(base64.b64encode(value).decode()),
    "instant": lambda value: CANAL["instant"](value)[:-1] + 'Z"',
}
# OceanBase writes values as in all of its serialisations.
OMS = {kind: partial(_oms_value, kind) for kind in TYPES}
DATAARTS = {**CANAL, **{kind: NUMBERS[kind] for kind in ("int8", "int16", "int32", "int64")}}


def _html(literal: str) -> str:
    return literal.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def image(row: Row, table: Table, values: Mapping[str, Callable[[Any], str]]) -> str:
    """A row as a JSON object, or the columns of it that are given."""
    return (
        "{"
        + ",".join(
            f"{text(name)}:{'null' if value is None else values[table.columns[name]](value)}"
            for name, value in row.items()
        )
        + "}"
    )


def changed(change: Change) -> Row:
    """The old values of the columns that an update changed."""
    return {name: value for name, value in change.before.items() if value != change.after[name]}


def _message(fields: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{text(name)}:{literal}" for name, literal in fields.items()) + "}"


def _writer(
    values: Mapping[str, Callable[[Any], str]],
    *,
    full_old: bool = False,
    no_old: str = "null",
    snapshot: str | None = None,
    ddl: bool = True,
    more: Callable[[Change], Mapping[str, str]] = lambda change: {},
    drop: tuple[str, ...] = (),
) -> Callable[[list[Change], Table], list[Message]]:
    ops = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
    if snapshot:
        ops["snapshot"] = snapshot

    def encode(changes: list[Change], table: Table) -> list[Message]:
        messages = []
        for change in changes:
            fields = {
                "database": text(table.database),
                "es": str(milliseconds(change.committed_at)),
                "gtid": text(""),
                "id": "7",
                "isDdl": "false",
                "mysqlType": text({name: TYPES[kind] for name, kind in table.columns.items()}),
                "pkNames": text(list(table.key)),
                "sql": text(""),
                "table": text(table.name),
                "ts": str(milliseconds(change.committed_at) + 321),
                "data": "null",
                "old": no_old,
            }
            if change.kind in ops:
                row = change.before if change.kind == "delete" else change.after
                fields |= {"type": text(ops[change.kind]), "data": f"[{image(row, table, values)}]"}
                if change.kind == "update":
                    old = change.before if full_old else changed(change)
                    fields["old"] = f"[{image(old, table, values)}]"
            elif ddl and change.kind in ("ddl", "truncate"):
                fields |= {
                    "type": text(DDL_TYPE if change.kind == "ddl" else "TRUNCATE"),
                    "isDdl": "true",
                    "pkNames": "null",
                    "mysqlType": "null",
                    "sql": text(change.ddl or f"truncate table {table.name}"),
                }
            elif change.kind == "heartbeat" and "MHEARTBEAT" not in drop:
                fields |= {"type": text("MHEARTBEAT"), "pkNames": "null", "mysqlType": "null"}
            else:
                continue
            fields |= more(change)
            messages.append(Message(_message({k: v for k, v in fields.items() if k not in drop})))
        return messages

    return encode


def _ticdc(change: Change) -> dict[str, str]:
    timestamp = 464043256649875456 + change.sequence
    if change.kind == "heartbeat":
        return {"type": text("TIDB_WATERMARK"), "_tidb": f'{{"watermarkTs":{timestamp}}}'}
    return {"id": "0", "_tidb": f'{{"commitTs":{timestamp}}}'}


def _tencent(change: Change) -> dict[str, str]:
    seconds = str(milliseconds(change.committed_at) // 1000)
    return {"es": seconds, "ts": seconds} if change.kind in ("ddl", "truncate") else {}


def _oms(change: Change) -> dict[str, str]:
    return {"type": text("HEARTBEAT")} if change.kind == "heartbeat" else {}


def _dataarts(change: Change) -> dict[str, str]:
    own = {"serverId": '"1753240249"', "dbType": '"mysql"', "dataSourceName": '"mysql_binlog_source"'}
    if change.kind != "heartbeat":
        return own
    rows = {"data": '[{"dlf_job_id":"1","heartbeat":2}]', "old": '[{"dlf_job_id":"1","heartbeat":1}]'}
    return {**own, **rows, "type": '"UPDATE"', "table": '"heartbeats"', "isHeartbeat": "true"}


ENCODERS = [
    Encoder("canal", "canal", DECLARATIONS, _writer(CANAL)),
    Encoder("canal", "ticdc", DECLARATIONS, _writer(TICDC, full_old=True, more=_ticdc, drop=("gtid",))),
    Encoder(
        "canal",
        "tencent",
        {**DECLARATIONS, "binary": "binary from hex"},
        _writer(TENCENT, full_old=True, snapshot="INIT", more=_tencent, drop=("mysqlType", "MHEARTBEAT")),
    ),
    # The page does not say how a binary is written.
    Encoder(
        "canal",
        "dts",
        without(DECLARATIONS, "binary"),
        _writer(CANAL, more=lambda change: {"serverId": '"7"'}, drop=("MHEARTBEAT",)),
    ),
    # Flink's decimals have at most 38 digits, its times less than a day.
    Encoder(
        "canal",
        "flink",
        without(DECLARATIONS, "long_decimal", "time"),
        _writer(
            FLINK,
            full_old=True,
            ddl=False,
            drop=("es", "gtid", "id", "isDdl", "mysqlType", "sql", "ts", "MHEARTBEAT"),
        ),
    ),
    # The statement of DDL is said to be empty, so a truncate cannot be told.
    Encoder(
        "canal",
        "oms",
        DECLARATIONS,
        _writer(OMS, snapshot="ROW", ddl=False, more=_oms, drop=("gtid", "id")),
    ),
    Encoder(
        "canal",
        "cloudcanal",
        without(DECLARATIONS, "binary"),
        _writer(CANAL, full_old=True, no_old="[]", drop=("gtid", "MHEARTBEAT")),
    ),
    Encoder(
        "canal", "dataarts", without(DECLARATIONS, "binary"), _writer(DATAARTS, full_old=True, more=_dataarts)
    ),
]
