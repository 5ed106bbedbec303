"""One log of changes -> SharePlex JSON of writers other than OMS (encoders/oms.py has that).

dts    Alibaba DTS, page "Data formats in a message queue": every value is a text, `key` is the whole old row
flink  as the comment on updates in Flink's reader of this format shows: `data` whole, `key` has the changes

Neither page has a table of types, so this writes only kinds of values that have one possible text.
"""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal

from encoders.log import DECLARATIONS, Change, Encoder, Message, Row, Table
from encoders.oms import dump

KINDS = ("int8", "int16", "int32", "int64", "uint64", "decimal", "long_decimal", "text", "date", "json")
FIRST_SCN = 14_589_063_118_712
OPS = {"insert": "ins", "snapshot": "ins", "update": "upd", "delete": "del"}


def _texts(row: Row | None) -> Row | None:
    if row is None:
        return None
    return {
        name: f"{value:f}" if isinstance(value, Decimal) else None if value is None else str(value)
        for name, value in row.items()
    }


def _dts(changes: list[Change], table: Table) -> list[Message]:
    messages = []
    for change in changes:
        if change.kind not in OPS and change.kind != "truncate":
            continue
        before, after = _texts(change.before), _texts(change.after)
        # Two changes are one transaction, which has one scn.
        scn, seq = divmod(change.sequence, 2)
        meta = {
            "time": change.committed_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "userid": 9,
            "op": OPS.get(change.kind, "TRUNCATE"),
            "scn": str(FIRST_SCN + scn),
            "rowid": "AAAXYZAABAAAAbcAAA",
            "trans": f"7.0.{scn}",
            "seq": seq + 1,
            "size": 2,
            "table": f"{table.database}.{table.name}",
            "idx": f"{seq + 1}/2",
            "posttime": datetime(2026, 4, 1, tzinfo=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
        }
        message = {"meta": meta, "data": after or before}
        if change.kind == "update":
            message["data"] = {name: after[name] for name in after if after[name] != before[name]}
            message["key"] = before
        messages.append(Message(dump(message)))
    return messages


def _flink(changes: list[Change], table: Table) -> list[Message]:
    messages = []
    for change in changes:
        if change.kind not in OPS:
            continue
        before, after = _texts(change.before), _texts(change.after)
        message = {
            "data": after or before,
            "meta": {"op": OPS[change.kind], "table": f"{table.database}.{table.name}"},
        }
        if change.kind == "update":
            message["key"] = {name: before[name] for name in before if after[name] != before[name]}
        messages.append(Message(dump(message)))
    return messages


_COLUMNS = {kind: DECLARATIONS[kind] for kind in KINDS}
ENCODERS = [
    Encoder("shareplex", "shareplex", _COLUMNS, _dts, ops={"snapshot": "insert"}),
    Encoder("shareplex", "flink", _COLUMNS, _flink, ops={"snapshot": "insert"}),
]
