"""A log -> messages of CloudCanal: its own JSON and its Debezium envelope.

Written from CloudCanal's page "MQ message formats". Its samples write every value as text; it does not say
how a binary is written, so the encoder writes none. `canal.py` writes its Canal JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from encoders.canal import CANAL, TYPES, image, milliseconds, text
from encoders.log import DECLARATIONS, Change, Encoder, Message, Table, without

CLOUDCANAL = without(DECLARATIONS, "binary")
# A number in quotes may be base64 to a reader of Debezium, so the column says that it is text.
ENVELOPE = {**CLOUDCANAL, "uint64": "decimal(20,0) from text", "decimal": "decimal(38,10) from text"}


def _own(changes: list[Change], table: Table) -> list[Message]:
    """Changes of one kind that follow each other stand in one message, three at most."""
    batches: list[list[Change]] = []
    for change in changes:
        last = batches[-1] if batches else []
        if last and last[0].kind == change.kind in ("insert", "update", "delete") and len(last) < 3:
            last.append(change)
        else:
            batches.append([change])
    return [Message(_batch(batch, table)) for batch in batches if batch[0].kind in OWN_ACTIONS]


OWN_ACTIONS: dict[str, str] = {
    "insert": "INSERT",
    "snapshot": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "ddl": "ALTER",
    "truncate": "TRUNCATE",
    "commit": "",
}


def _batch(batch: list[Change], table: Table) -> str:
    change = batch[0]
    is_ddl = change.kind in ("ddl", "truncate")
    has_rows = change.kind in ("insert", "snapshot", "update", "delete")
    rows = [image(item.after or item.before, table, CANAL) for item in batch if has_rows]
    before = [image(item.before, table, CANAL) for item in batch if change.kind == "update"]
    fields: dict[str, str] = {
        "action": text(OWN_ACTIONS[change.kind]),
        "before": f"[{','.join(before)}]",
        "bid": "0",
        "data": f"[{','.join(rows)}]",
        "db": text(table.database),
        "dbValType": text({name: TYPES[kind] for name, kind in table.columns.items()}),
        "isDdl": text(is_ddl),
        "entryType": text("TRANSACTIONEND" if change.kind == "commit" else "ROWDATA"),
        "execTs": str(milliseconds(change.committed_at)),
        "jdbcType": "{}",
        "pks": text([] if is_ddl else list(table.key)),
        "schema": text(table.database),
        "sendTs": str(milliseconds(change.committed_at) + 377),
        "sql": text(change.ddl or ""),
        "table": text(table.name),
    }
    if is_ddl:
        fields["tableChanges"] = text({"table": {"primaryKeyColumnNames": list(table.key)}, "type": "ALTER"})
    return _object(fields)


def _object(fields: dict[str, str]) -> str:
    return "{" + ",".join(f"{text(name)}:{literal}" for name, literal in fields.items()) + "}"


def _envelope(wrapped: bool) -> Callable[[list[Change], Table], list[Message]]:
    ops: dict[str, str] = {"insert": "i", "update": "u", "delete": "d"}

    def encode(changes: list[Change], table: Table) -> list[Message]:
        messages = []
        for change in changes:
            source: dict[str, Any] = {
                "ts_ms": milliseconds(change.committed_at),
                "db": table.database,
                "table": table.name,
                "connector": "MySQL",
                "gtid": None,
                "file": "mysql-bin.000003",
                "pos": 154,
                "server_id": 223344,
            }
            fields = {"ts_ms": str(milliseconds(change.committed_at) + 1), "source": text(source)}
            if change.kind in ops:
                before, after = (row and image(row, table, CANAL) for row in (change.before, change.after))
                fields |= {"op": text(ops[change.kind]), "before": before or "{}", "after": after or "{}"}
            elif change.kind == "ddl":
                fields |= {
                    "databaseName": text(table.database),
                    "ddl": text(change.ddl),
                    "tableChanges": text({"type": "ALTER", "table": {"columns": []}}),
                }
            else:
                continue
            value = _object(fields)
            messages.append(
                Message(f'{{"schema":{{"type":"struct"}},"payload":{value}}}' if wrapped else value)
            )
        return messages

    return encode


ENCODERS = [
    # A row of the full load is not told from an insert.
    Encoder("cloudcanal", "cloudcanal", CLOUDCANAL, _own, ops={"snapshot": "insert"}),
    Encoder("debezium", "cloudcanal", ENVELOPE, _envelope(wrapped=True)),
    Encoder("debezium", "cloudcanal", ENVELOPE, _envelope(wrapped=False)),
]
