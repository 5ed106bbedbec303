"""Speed of the Python functions against a plain loop over the same messages with the same library.

The plain loop only reads: fastavro.schemaless_reader, bson.json_util.loads; it gives no texts and checks
nothing, and of shell text it replaces four calls without a look at where they stand. Without Spark; the
figure is CPU seconds of one core, the best of the turns.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bson import json_util
from dbt_spark_cdc.functions.dts_avro import _reader, dts_avro
from dbt_spark_cdc.functions.mongo_documents import mongo_fields

TESTS = Path(__file__).resolve().parents[1]
BAR = 0.6
COUNT = 3000
TURNS = 15
CALLS = {
    "$oid": "ObjectId",
    "$date": "ISODate",
    "$numberLong": "NumberLong",
    "$numberDecimal": "NumberDecimal",
}

NAMES = {name: field for field, name in CALLS.items()}
CALL = re.compile(r'(ObjectId|ISODate|NumberLong|NumberDecimal)\(("[^"]*")\)')


def main() -> None:
    read, schema = _reader()
    documents = list(map(document, range(COUNT)))
    extended = [json.dumps(json_document, ensure_ascii=False) for json_document in documents]
    missed = [
        name
        for name, ours, plain, messages in (
            ("dts_avro", dts_avro, lambda data: read(io.BytesIO(data), schema), records()),
            ("Extended JSON", mongo_fields, json_util.loads, extended),
            ("shell text", mongo_fields, loads_shell, list(map(shell, extended))),
        )
        if not compare(name, ours, plain, messages)
    ]
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


def compare(name: str, ours: Callable, plain: Callable, messages: list) -> bool:
    turns = [(once(ours, messages), once(plain, messages)) for _ in range(TURNS)]
    seconds, plain_seconds = map(min, zip(*turns, strict=True))
    speed = plain_seconds / seconds
    verdict = "within" if speed >= BAR else "MISSED"
    print(
        f"{name:14s} {seconds / len(messages) * 1e6:5.1f} us a message, plain loop "
        f"{plain_seconds / len(messages) * 1e6:5.1f} us, speed {speed:.2f} of it, bar {BAR}: {verdict}"
    )
    return speed >= BAR


def once(function: Callable[[Any], Any], messages: Iterable[Any]) -> float:
    started = time.process_time()
    for message in messages:
        function(message)
    return time.process_time() - started


def records() -> list[bytes]:
    """The records of the golden cases, over and over: each operation, each type."""
    lines = [
        json.loads(line)
        for name in (
            "insert",
            "update",
            "delete",
            "null_and_absent",
            "typed_mysql_types",
            "transaction_marks",
        )
        for line in (TESTS / "golden" / "dts_avro" / name / "messages.jsonl").read_text().splitlines()
    ]
    data = [base64.b64decode(line["value_base64"]) for line in lines]
    return data * (COUNT // len(data))


def document(number: int) -> dict[str, Any]:
    return {
        "_id": {"$oid": f"{number:024x}"},
        "customer": f"Customer {number} café 数据",
        "amount": {"$numberDecimal": f"{number}.50"},
        "qty": number,
        "at": {"$date": "2024-02-29T12:34:56.789Z"},
        "tags": ["mongodb", "database", "NoSQL"],
        "address": {"city": "Shanghai", "zip": "200000", "geo": {"lat": 31.2304, "lon": 121.4737}},
        "total": {"$numberLong": str(number * 10**9)},
        "state": "paid",
        "flag": True,
        "score": number / 7,
        "note": None,
        "text": "x" * 200,
    }


def loads_shell(text: str) -> Any:
    """What a script does: it replaces the calls that it knows, also inside texts."""
    return json_util.loads(CALL.sub(lambda found: f'{{"{NAMES[found[1]]}": {found[2]}}}', text))


def shell(text: str) -> str:
    return re.sub(r'\{"(\$\w+)": ("[^"]*")\}', lambda found: f"{CALLS[found[1]]}({found[2]})", text)


if __name__ == "__main__":
    main()
