"""Bad input: each message ends as an exactly right row, as a control kind or as an error with a code.

Nothing raises, and the good message before each bad one is read as if the bad one were not there. The list
follows the test suites for JSON readers (structure, numbers, text) and messages from real topics.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from dbt_spark_cdc.inputs import Message
from dbt_spark_cdc.macros import MacroLibrary
from test_golden import read

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from encoders.dts_avro import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ColumnList(str):
    """A template whose row is a list of columns: `"id":"1"` goes into it as `{"n":"id","v":"1"}`."""

    __slots__ = ()

    def __mod__(self, image: str) -> str:
        columns, at = [], 0
        while member := re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:', re.DOTALL).match(image, at):
            end, depth, in_text = member.end(), 0, False
            while end < len(image) and (in_text or depth or image[end] != ","):
                if in_text and image[end] == "\\":
                    end += 1
                elif image[end] == '"':
                    in_text = not in_text
                elif not in_text:
                    depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(image[end], 0)
                end += 1
            columns.append(f'{{"n":{member[1]},"v":{image[member.end() : end]}}}')
            at = end + 1
        # What is no member stays as it stands, to be refused.
        rest = [image[at:]] if at <= len(image) else []
        return self.replace("%s", ",".join(columns + rest))


# One row change, into whose row image `%s` goes: the shortest message of each format.
TEMPLATES = {
    "canal": '{"database":"shop","table":"orders","type":"INSERT","es":0,"data":[{%s}],"old":null}',
    "debezium": '{"before":null,"after":{%s},"source":{"db":"shop","table":"orders"},"op":"c"}',
    "dataworks": '{"schema":{"source":{"dbName":"shop","tableName":"orders"}},"payload":{"before":null,'
    '"after":{"dataColumn":{%s}},"sequenceId":"1","op":"INSERT"}}',
    "oms": '{"prevStruct":null,"postStruct":{%s},"allMetaData":{"dbType":"OB_MYSQL","storeDataSequence":1,'
    '"table_name":"orders","db":"crm.shop"},"recordType":"INSERT"}',
    "shareplex": '{"data":{%s},"meta":{"op":"ins","table":"shop.orders","scn":"1"}}',
    "cloudcanal": '{"action":"INSERT","entryType":"ROWDATA","db":"shop","schema":"shop","table":"orders",'
    '"execTs":0,"before":[],"data":[{%s}]}',
    "maxwell": '{"database":"shop","table":"orders","type":"insert","ts":1,"data":{%s}}',
    "drs": '{"database":"shop","table":"orders","type":"INSERT","id":1,"es":0,"data":[{%s}],"old":null}',
    "kafka_river_canal": ColumnList(
        '{"binlog":"4@mysql-bin.000001","time":0,"db":"shop","table":"orders","event":"i","columns":[%s]}'
    ),
    "goldengate": '{"table":"shop.orders","op_type":"I","pos":"1","before":null,"after":{%s}}',
    "dms": '{"data":{%s},"metadata":{"record-type":"data","operation":"insert","schema-name":"shop",'
    '"table-name":"orders"}}',
}
IMAGES_OF_JSON = list(TEMPLATES)


class InsideText(str):
    """A template into whose text of a document `%s` goes, as JSON writes a text."""

    __slots__ = ()

    def __mod__(self, image: str) -> str:
        return self.replace("%s", json.dumps(image, ensure_ascii=False)[1:-1])


TEMPLATES["drs_mongodb"] = InsideText(
    '{"op":"INSERT","db":"shop","coll":"orders","value":"{%s}","recordType":"insert","clusterTime":"1:1"}'
)
TEMPLATES["debezium_mongodb"] = InsideText(
    '{"before":null,"after":"{%s}","source":{"db":"shop","collection":"orders"},"op":"c"}'
)
FORMATS = [*TEMPLATES, "dts_avro"]
GOOD_IMAGE = '"id":"1","name":"Ann","note":null'
GOOD = {"kind": "rows", "op": "insert", "after": {"id": "1", "name": "Ann", "note": None}}

MAXWELL = '{"database":"shop","table":"orders","type":"insert","ts":1700000000,"xid":9,"data":{"id":1}}'
OCEANBASE = (
    '{"prevStruct":null,"postStruct":{"id":1},"allMetaData":{"table_name":"orders"},"recordType":"INSERT"}'
)
CLOUDCANAL = (
    '{"action":"INSERT","bid":1,"before":[],"data":[{"id":"1"}],"db":"shop","dbValType":{"id":"INT"},"ddl":false,'
    '"entryType":"ROWDATA","execTs":0,"jdbcType":{"id":4},"pks":["id"],"schema":"shop","sendTs":1,"sql":"",'
    '"table":"orders","tableChanges":[]}'
)


class Bad(NamedTuple):
    """A message's name, its bytes (None: no value) and what its row must say."""

    name: str
    value: bytes | None
    expected: dict[str, Any]


# Spark's reader goes on after some damage, and then it is the row that is missing: an error all the same.
NO_ROW = {
    "canal": "missing_rows",
    "debezium": "missing_after",
    "dataworks": "missing_row",
    "oms": "missing_row",
    "shareplex": "missing_row",
    "cloudcanal": "missing_rows",
    "maxwell": "missing_row",
    "drs": "missing_rows",
    "kafka_river_canal": "missing_row",
    "goldengate": "missing_row",
    "dms": "missing_row",
    "drs_mongodb": "missing_row",
    "debezium_mongodb": "missing_after",
}
# In a list of columns a name is a text.
NOT_IN_FORMAT = {("kafka_river_canal", "name over the limit")}


def error(*codes: str) -> dict[str, Any]:
    return {"kind": "unreadable", "error": codes}


def row(**columns: str | None) -> dict[str, Any]:
    return {"kind": "rows", "op": "insert", "after": columns}


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


OTHERS = {
    "Maxwell": MAXWELL,
    "OceanBase": OCEANBASE,
    "CloudCanal": CLOUDCANAL,
    "Canal": TEMPLATES["canal"] % GOOD_IMAGE,
    "Debezium": TEMPLATES["debezium"] % GOOD_IMAGE,
    "DataWorks": TEMPLATES["dataworks"] % GOOD_IMAGE,
}


def of_others(*names: str, **codes: str | tuple[str, ...]) -> Iterator[Bad]:
    """Messages of other vendors, which are of another format if no code is given."""
    for name, code in (dict.fromkeys(names, "wrong_format") | codes).items():
        yield Bad(name, utf8(OTHERS[name]), error(*((code,) if isinstance(code, str) else code)))


def of_any_format(format_name: str) -> Iterator[Bad]:
    """Messages that are bad for the same reason in each format."""
    template = TEMPLATES[format_name]
    good = template % GOOD_IMAGE

    yield Bad("no value", None, {"kind": "tombstone"})
    yield Bad("empty", b"", error("empty"))
    yield Bad("blank", b" \t\r\n ", error("empty"))
    for length in range(1, len(good), 7):
        yield Bad(f"cut at {length}", utf8(good[:length]), error("broken_json", NO_ROW[format_name]))
    yield Bad("not JSON", b"order 7 was changed", error("not_json"))
    yield Bad("byte order mark", utf8("\ufeff" + good), error("not_json"))
    for text in ("null", "7", "-0", "1.50", '"text"', "true", "[]", "[{}]", f"[{good}]"):
        yield Bad(f"no object: {text[:9]}", utf8(text), error("not_an_object"))
    for text in (
        "}",
        "]",
        " x",
        ",",
        "{",
        "{}",
        "[]",
        '"',
        " null",
        "\n" + good,
        "," + good,
        # Fields of the object that the reader puts around a message, or of a list in it.
        ',"a":{}',
        ',"a":0',
        ',"message":' + good,
        ',"numbers_quoted":true',
        '],"a":[0',
        '],"a":[{}',
        '],"message":[' + good,
    ):
        yield Bad(f"text after: {text[:9]}", utf8(good + text), error("text_after_message"))
    # The mark that the reader puts in front of the last bracket.
    for mark in ("spark_cdc: the object ends here", r"spark_cdc: the object ends her\u0065"):
        marked = f'{good[:-1]},"{mark}":0}}'
        yield Bad(f"{mark} in it", utf8(marked + '],"a":[{}'), error("text_after_message"))
        yield Bad(f"{mark} in it alone", utf8(marked), error("text_after_message"))
    for end in ("]", "x", '"', "1", ","):
        yield Bad(
            f"{end} for the last bracket", utf8(good[:-1] + end), error("broken_json", NO_ROW[format_name])
        )
    for text in ("{}}", "{}{}", "{},{}", "{} }"):
        yield Bad(f"after an empty object: {text}", utf8(text), error("text_after_message"))
    yield Bad("an empty object and blanks", b"\t{ \r\n\t}\n", error("wrong_format"))
    yield Bad("space after", utf8(good + " \n"), GOOD)
    yield Bad("space before", utf8("\n\t " + good), GOOD)
    yield Bad("after a schema id", b"\0\0\0\xc8\xff" + utf8(good), GOOD)
    yield Bad("after byte 0", b"\0" + utf8(good), error("not_json"))
    yield Bad("Avro or Protobuf", b"\0\0\0\0*\0\x02\x02{", error("not_json"))
    yield Bad("text in a text", utf8(json.dumps(good)), error("not_an_object"))
    in_schema = {"schema": {"type": "string", "optional": False}, "payload": good}
    yield Bad("payload of a StringConverter", utf8(json.dumps(in_schema)), GOOD)
    if format_name in IMAGES_OF_JSON:
        yield from of_any_image(format_name)


def of_any_image(format_name: str) -> Iterator[Bad]:
    """Bad rows in good messages, of the formats whose rows are JSON themselves."""
    template = TEMPLATES[format_name]
    for name, image in {
        "raw control character": '"id":"1","name":"a\x01b"',
        "raw line end": '"id":"1","name":"a\nb"',
        "single quotes": "'id':'1'",
        "no quotes": "id:1",
        "NaN": '"id":NaN',
        "Infinity": '"id":-Infinity',
        "leading zeros": '"id":007',
        "plus": '"id":+1',
        "point alone": '"id":1.',
        "no digit before the point": '"id":.5',
        "minus alone": '"id":-',
        "exponent alone": '"id":1e',
        "hexadecimal": '"id":0x1F',
        "comma at the end": '"id":"1",',
        "comment": '"id":"1"/* key */',
        "upper case literal": '"id":TRUE',
        "bad escape": r'"id":"\x41"',
        "short escape": r'"id":"\u12"',
    }.items():
        yield Bad(name, utf8(template % image), error("broken_json", NO_ROW[format_name]))
    ends_too_soon = template % '"id":"1"}}],"a":[{"b":{"id":"2"'
    yield Bad("row and message end too soon", utf8(ends_too_soon), error("broken_json", "text_after_message"))
    yield Bad("invalid UTF-8", utf8(template % '"id":"?"').replace(b"?", b"\xff\xfe"), error("invalid_utf8"))
    yield Bad("overlong UTF-8", utf8(template % '"id":"?"').replace(b"?", b"\xc0\xaf"), error("invalid_utf8"))
    yield Bad("GBK bytes", (template % '"id":"汉字"').encode("gbk"), error("invalid_utf8"))
    yield Bad("raw surrogate", utf8(template % '"id":"\ud800"'), error("invalid_utf8"))
    for escape in (r"\ud800", r"\udc00", r"\uDBFFx", r"\udc00\ud800", r"\\\ud800", r"\\ud83d\ude00"):
        yield Bad(f"lone surrogate {escape}", utf8(template % f'"id":"{escape}"'), error("invalid_unicode"))
    yield Bad("surrogate pair", utf8(template % r'"id":"\ud83d\ude00"'), row(id="😀"))
    yield Bad("no surrogate", utf8(template % r'"id":"\\ud800"'), row(id=r"\ud800"))
    yield Bad("zero character", utf8(template % r'"id":"a\u0000b"'), row(id="a\0b"))

    # In a list of columns a value is a text.
    def nested(**columns: str | None) -> dict[str, Any]:
        return error("unexpected_structure") if isinstance(template, ColumnList) else row(**columns)

    # The code point with which numbers are marked while a message is read.
    yield Bad(
        "noncharacter",
        utf8(
            template % r'"id":"\uFDD0x","name":1.50,"note":{"a":"say \"\ufdd01.5\"","b":-0,"c":"\\ufdd0﷐﷐7"}'
        ),
        nested(
            id="\ufdd0x", name="1.50", note='{"a":"say \\"\ufdd01.5\\"","b":-0,"c":"\\\\ufdd0\ufdd0\ufdd07"}'
        ),
    )

    deep = "[" * 1100 + "]" * 1100
    yield Bad("nested 1100 deep", utf8(template % f'"id":{deep}'), error("over_json_limits"))
    yield Bad("nested 100 deep", utf8(template % f'"id":{deep[1000:1200]}'), nested(id=deep[1000:1200]))
    yield Bad("1001 digits", utf8(template % f'"id":{"9" * 1001}'), error("over_json_limits"))
    yield Bad("1000 digits", utf8(template % f'"id":{"9" * 1000}'), row(id="9" * 1000))
    yield Bad("1001 digits as text", utf8(template % f'"id":"{"9" * 1001}"'), row(id="9" * 1001))

    yield Bad("key twice in the row", utf8(template % '"id":"1","id":"2"'), error("duplicate_key"))
    yield Bad("same key twice in the row", utf8(template % '"id":"1","id":"1"'), error("duplicate_key"))
    yield Bad("key in another case", utf8(template % '"id":"1","ID":"2"'), row(id="1", ID="2"))
    yield Bad("key twice by its escape", utf8(template % r'"id":"1","i\u0064":"2"'), error("duplicate_key"))
    odd = [
        "",
        "a.b",
        "a`b",
        'a"b',
        "a\nb",
        "$",
        "__proto__",
        "汉字",
        "😀",
        "_cdc_op",
        "message",
        "'; drop",
        "\u202e",
    ]
    names = {name: str(n) for n, name in enumerate(odd)}
    yield Bad("odd names", utf8(template % json.dumps(names)[1:-1]), row(**names))
    yield Bad("long name", utf8(template % f'"{"n" * 50000}":"1"'), row(**{"n" * 50000: "1"}))
    yield Bad("name over the limit", utf8(template % f'"{"n" * 50001}":"1"'), error("over_json_limits"))

    # A number keeps the very text of the message, in quotes or not.
    for number in (
        *(
            "0",
            "-0",
            "-0.0",
            "1.50",
            "0.10",
            "1E2",
            "1e+2",
            "1E-30",
            "1e400",
            "1e-400",
            "0.12345678901234567890",
        ),
        *("9007199254740993", "9223372036854775808", "18446744073709551616", "1" * 39, "1.0000000000000001"),
    ):
        yield Bad(
            f"number {number}",
            utf8(template % f'"id":{number},"name":"{number}","note":[{number},"{number}",{{"a":{number}}}]'),
            nested(id=number, name=number, note=f'[{number},"{number}",{{"a":{number}}}]'),
        )
        yield Bad(
            f"bare number {number}",
            utf8(template % f'"id":{number},"name":"{number}"'),
            row(id=number, name=number),
        )
    yield Bad(
        "other types",
        utf8(template % '"id":true,"name":{},"note":[]'),
        nested(id="true", name="{}", note="[]"),
    )


def of_canal() -> Iterator[Bad]:
    good = TEMPLATES["canal"] % GOOD_IMAGE
    images = {"many": '{"id":"1"},{"id":"2"}', "none": "", "null": "null", "text": '"x"', "list": '["x"]'}
    data = {name: f'{{"type":"INSERT","table":"orders","data":[{image}]}}' for name, image in images.items()}
    update = '{"type":"UPDATE","table":"orders","data":[{"id":"1"}],"old":[%s]}'
    yield Bad("op of another case", utf8(good.replace('"INSERT"', '"insert"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"INSERT"', '"MERGE"')), error("unknown_op"))
    yield Bad("op is a number", utf8(good.replace('"INSERT"', "1")), error("unknown_op"))
    yield Bad("no op", utf8(good.replace('"type":"INSERT",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("op is null", utf8(good.replace('"INSERT"', "null")), error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"es":0', '"type":"DELETE"')), error("duplicate_key"))
    yield Bad("data is null", b'{"type":"INSERT","table":"orders","data":null}', error("missing_rows"))
    yield Bad("no data", b'{"type":"DELETE","table":"orders"}', error("missing_rows"))
    yield Bad("no rows", utf8(data["none"]), error("missing_rows"))
    yield Bad("a row is null", utf8(data["null"]), error("missing_rows"))
    yield Bad("data is a text", b'{"type":"INSERT","table":"orders","data":"x"}', error("missing_rows"))
    yield Bad(
        "data is an object", b'{"type":"INSERT","table":"orders","data":{"id":"1"}}', error("missing_rows")
    )
    yield Bad("a row is a text", utf8(data["text"]), error("missing_rows"))
    yield Bad("a row is a list", utf8(data["list"]), error("missing_rows"))
    yield Bad("old is longer", utf8(update % '{"id":"2"},{"id":"3"}'), error("array_length_mismatch"))
    yield Bad("old is a text", utf8(update.replace("[%s]", '"x"')), error("unexpected_structure"))
    yield Bad("an old column twice", utf8(update % '{"a":"2","a":"3"}'), error("duplicate_key"))
    yield Bad("the time is a text", utf8(good.replace('"es":0', '"es":"x"')), error("unexpected_structure"))
    yield Bad(
        "the table is an object", utf8(good.replace('"orders"', '{"a":1}')), error("unexpected_structure")
    )
    yield from of_others("OceanBase", "CloudCanal", "Debezium", "DataWorks", Maxwell="unknown_op")


def of_debezium() -> Iterator[Bad]:
    good = TEMPLATES["debezium"] % GOOD_IMAGE
    wrapped = f'{{"schema":null,"payload":{good}}}'
    yield Bad("op of another case", utf8(good.replace('"c"', '"C"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"c"', '"insert"')), error("unknown_op"))
    yield Bad("op is null", utf8(good.replace('"c"', "null")), error("wrong_format"))
    yield Bad("no op", utf8(good.replace(',"op":"c"', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("payload is null", b'{"schema":null,"payload":null}', error("wrong_format"))
    yield Bad("payload is empty", b'{"schema":null,"payload":{}}', error("wrong_format"))
    yield Bad("payload is a text", b'{"schema":null,"payload":"x"}', error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"before"', '"op":"d","before"')), error("duplicate_key"))
    yield Bad(
        "op twice in payload", utf8(wrapped.replace('"before"', '"op":"d","before"')), error("duplicate_key")
    )
    escaped = wrapped.replace('"payload"', r'"\u0070ayload"').replace('"before"', '"op":"d","before"')
    yield Bad("op twice in a payload whose name is escaped", utf8(escaped), error("duplicate_key"))
    yield Bad("after is null", b'{"after":null,"source":{},"op":"c"}', error("missing_after"))
    yield Bad("no after", b'{"before":{"id":1},"source":{},"op":"u"}', error("missing_after"))
    yield Bad("after is a text", b'{"after":"x","source":{},"op":"c"}', error("missing_after"))
    yield Bad(
        "before is a list",
        utf8(good.replace('"before":null', '"before":["x"]')),
        error("unexpected_structure"),
    )
    yield Bad(
        "position is a text", utf8(good.replace('"db"', '"pos":"x","db"')), error("unexpected_structure")
    )
    yield Bad("more than a time", b'{"ts_ms":1,"id":7}', error("wrong_format"))
    yield Bad("unknown status", b'{"status":"OPEN","id":"7","ts_ms":1}', error("wrong_format"))
    yield from of_others("Maxwell", "OceanBase", "CloudCanal", "Canal", DataWorks="unknown_op")


def of_dataworks() -> Iterator[Bad]:
    good = TEMPLATES["dataworks"] % GOOD_IMAGE
    yield Bad("op of another case", utf8(good.replace('"INSERT"', '"Insert"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"INSERT"', '"MERGE"')), error("unknown_op"))
    yield Bad("op is null", utf8(good.replace('"INSERT"', "null")), error("wrong_format"))
    yield Bad("no op", utf8(good.replace(',"op":"INSERT"', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("payload is null", b'{"schema":null,"payload":null}', error("wrong_format"))
    yield Bad("payload is a text", b'{"schema":null,"payload":"x"}', error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"op"', '"op":"DELETE","op"')), error("duplicate_key"))
    yield Bad(
        "payload twice", utf8(good.replace('"payload"', '"payload":null,"payload"')), error("duplicate_key")
    )
    yield Bad(
        "no row", utf8(good.replace('"after":{"dataColumn":', '"other":{"dataColumn":')), error("missing_row")
    )
    yield Bad(
        "the row is a text", b'{"payload":{"after":"x","sequenceId":"1","op":"INSERT"}}', error("missing_row")
    )
    yield Bad("no columns", b'{"payload":{"after":{},"sequenceId":"1","op":"INSERT"}}', error("missing_row"))
    for sequence in ("null", '"XXX"', '""', '"1.5"', '"1e3"', f'"{"9" * 21}"'):
        yield Bad(
            f"sequence {sequence[:6]}",
            utf8(good.replace('"1","op"', f'{sequence},"op"')),
            error("missing_position"),
        )
    yield Bad("sequence is a number", utf8(good.replace('"1","op"', '1,"op"')), GOOD)
    yield Bad(
        "before is a list",
        utf8(good.replace('"before":null', '"before":["x"]')),
        error("unexpected_structure"),
    )
    yield from of_others("Maxwell", "OceanBase", "CloudCanal", "Canal", "Debezium")


def of_oms() -> Iterator[Bad]:
    good = TEMPLATES["oms"] % GOOD_IMAGE
    yield Bad("op of another case", utf8(good.replace('"INSERT"', '"Insert"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"INSERT"', '"REPLACE"')), error("unknown_op"))
    yield Bad("op is null", utf8(good.replace('"INSERT"', "null")), error("wrong_format"))
    yield Bad("no op", utf8(good.replace(',"recordType":"INSERT"', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad(
        "op twice",
        utf8(good.replace('"prevStruct"', '"recordType":"DDL","prevStruct"')),
        error("duplicate_key"),
    )
    yield Bad(
        "table twice", utf8(good.replace('"dbType"', '"table_name":"x","dbType"')), error("duplicate_key")
    )
    yield Bad("no row", utf8(good.replace('"postStruct"', '"other"')), error("missing_row"))
    yield Bad("the row is a text", b'{"postStruct":"x","recordType":"INSERT"}', error("missing_row"))
    yield Bad("the row of a delete", utf8(good.replace('"INSERT"', '"DELETE"')), error("missing_row"))
    yield Bad("the row of an update", b'{"prevStruct":{"id":1},"recordType":"UPDATE"}', error("missing_row"))
    for sequence in ('"XXX"', '"1.5"', "1.5", "-1", '"1e3"', '" 1"', f'"{"9" * 21}"'):
        yield Bad(
            f"sequence {sequence[:6]}",
            utf8(good.replace('"storeDataSequence":1', f'"storeDataSequence":{sequence}')),
            error("missing_position"),
        )
    for sequence in ("null", '"1"', "18446744073709551615"):
        yield Bad(
            f"sequence {sequence[:6]}",
            utf8(good.replace('"storeDataSequence":1', f'"storeDataSequence":{sequence}')),
            GOOD,
        )
    yield Bad(
        "the metadata are a text",
        utf8(good.replace('{"dbType"', '"x","y":{"dbType"')),
        error("unexpected_structure"),
    )
    yield Bad(
        "no metadata", b'{"postStruct":{"id":"1"},"recordType":"INSERT"}', error("unexpected_structure")
    )
    yield Bad("a DDL without a statement", b'{"postStruct":null,"recordType":"DDL"}', error("missing_row"))
    yield Bad(
        "the time is a text",
        utf8(good.replace('"dbType"', '"timestamp":"soon","dbType"')),
        error("unexpected_structure"),
    )
    for name in ("canal", "debezium", "dataworks", "shareplex"):
        yield Bad(name, utf8(TEMPLATES[name] % GOOD_IMAGE), error("wrong_format"))
    yield from of_others("Maxwell", "CloudCanal")


def of_shareplex() -> Iterator[Bad]:
    good = TEMPLATES["shareplex"] % GOOD_IMAGE
    yield Bad("op of another case", utf8(good.replace('"ins"', '"INS"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"ins"', '"merge"')), error("unknown_op"))
    yield Bad("op is null", utf8(good.replace('"ins"', "null")), error("wrong_format"))
    yield Bad("no op", utf8(good.replace('"op":"ins",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"op"', '"op":"del","op"')), error("duplicate_key"))
    yield Bad("meta twice", utf8(good.replace('"meta"', '"meta":null,"meta"')), error("duplicate_key"))
    yield Bad("no row", utf8(good.replace('"data"', '"other"')), error("missing_row"))
    yield Bad("the row is a text", b'{"data":"x","meta":{"op":"del"}}', error("missing_row"))
    yield Bad(
        "the old row is a text",
        utf8(good.replace('"data"', '"key":"x","data"')),
        error("unexpected_structure"),
    )
    for sequence in ('"XXX"', '"1.5"', "1.5", "-1", '"1e3"', f'"{"9" * 21}"'):
        yield Bad(
            f"sequence {sequence[:6]}",
            utf8(good.replace('"scn":"1"', f'"scn":{sequence}')),
            error("missing_position"),
        )
    update = '{"data":%s,"key":%s,"meta":{"op":"upd","table":"shop.orders"}}'
    yield Bad(
        "a column twice under the overlay",
        utf8(update % ('{"id":1,"id":2}', '{"id":3}')),
        error("duplicate_key"),
    )
    yield Bad(
        "an old column twice under the overlay",
        utf8(update % ("{}", '{"id":3,"id":3}')),
        error("duplicate_key"),
    )
    yield Bad("no table", utf8(good.replace(',"table":"shop.orders"', "")), error("unexpected_structure"))
    for name in ("canal", "debezium", "dataworks", "oms"):
        yield Bad(name, utf8(TEMPLATES[name] % GOOD_IMAGE), error("wrong_format"))
    yield from of_others("CloudCanal", Maxwell=("wrong_format", "unexpected_structure"))


def of_cloudcanal() -> Iterator[Bad]:
    good = TEMPLATES["cloudcanal"] % GOOD_IMAGE
    head = '{"action":"%s","entryType":"ROWDATA","table":"orders",'
    update = head % "UPDATE" + '"data":[{"id":"1"}],"before":[%s]}'
    yield Bad("action of another case", utf8(good.replace('"INSERT"', '"insert"')), error("unknown_op"))
    yield Bad("unknown action", utf8(good.replace('"INSERT"', '"MERGE"')), error("unknown_op"))
    yield Bad("action is null", utf8(good.replace('"INSERT"', "null")), error("wrong_format"))
    yield Bad("no action", utf8(good.replace('"action":"INSERT",', "")), error("wrong_format"))
    yield Bad("no entry type", utf8(good.replace('"entryType":"ROWDATA",', "")), error("wrong_format"))
    yield Bad("unknown entry type", utf8(good.replace('"ROWDATA"', '"GTIDLOG"')), error("unknown_op"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("action twice", utf8(good.replace('"execTs":0', '"action":"DELETE"')), error("duplicate_key"))
    yield Bad("both flags of DDL", utf8(good.replace('"execTs"', '"ddl":true,"execTs"')), error("unknown_op"))
    yield Bad("data is null", utf8(head % "INSERT" + '"data":null}'), error("missing_rows"))
    yield Bad("no data", utf8(head % "DELETE" + '"before":null}'), error("missing_rows"))
    yield Bad("data is an object", utf8(head % "INSERT" + '"data":{"id":"1"}}'), error("missing_rows"))
    yield Bad("a row is a text", utf8(head % "INSERT" + '"data":["x"]}'), error("missing_rows"))
    yield Bad("a row is null", utf8(head % "DELETE" + '"data":[null]}'), error("missing_rows"))
    yield Bad("before is longer", utf8(update % '{"id":"2"},{"id":"3"}'), error("array_length_mismatch"))
    yield Bad("before is a text", utf8(update.replace("[%s]", '"x"')), error("unexpected_structure"))
    yield Bad(
        "the time is a text", utf8(good.replace('"execTs":0', '"execTs":"x"')), error("unexpected_structure")
    )
    yield Bad(
        "two rows of a delete",
        utf8(head % "DELETE" + '"data":[{"id":"1"}],"before":[{"id":"2"}]}'),
        error("unexpected_structure"),
    )
    yield from of_others("Maxwell", "OceanBase", "Canal", "Debezium", "DataWorks")


def of_maxwell() -> Iterator[Bad]:
    good = TEMPLATES["maxwell"] % GOOD_IMAGE
    head = '{"type":"%s","table":"orders",'
    yield Bad("type of another case", utf8(good.replace('"insert"', '"Insert"')), error("unknown_op"))
    yield Bad("unknown type", utf8(good.replace('"insert"', '"replace"')), error("unknown_op"))
    yield Bad("type is a number", utf8(good.replace('"insert"', "1")), error("unknown_op"))
    yield Bad("type is null", utf8(good.replace('"insert"', "null")), error("wrong_format"))
    yield Bad("no type", utf8(good.replace('"type":"insert",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("type twice", utf8(good.replace('"ts":1', '"type":"delete"')), error("duplicate_key"))
    yield Bad("data is null", utf8(head % "insert" + '"data":null}'), error("missing_row"))
    yield Bad("no data", utf8(head % "bootstrap-insert" + '"ts":1}'), error("missing_row"))
    yield Bad("no columns", utf8(head % "delete" + '"data":{}}'), error("missing_row"))
    yield Bad("data is a text", utf8(head % "insert" + '"data":"x"}'), error("missing_row"))
    yield Bad("data is a list", utf8(head % "insert" + '"data":[{"id":1}]}'), error("missing_row"))
    yield Bad(
        "old is a text", utf8(head % "update" + '"data":{"id":1},"old":"x"}'), error("unexpected_structure")
    )
    yield Bad(
        "old has more than data",
        utf8(head % "update" + '"data":{"id":1},"old":{"name":"x"}}'),
        error("ambiguous_null"),
    )
    yield Bad("the time is a text", utf8(good.replace('"ts":1', '"ts":"x"')), error("unexpected_structure"))
    yield from of_others("OceanBase", "CloudCanal", "Debezium", "DataWorks", Canal="unknown_op")


def others(**codes: str) -> Iterator[Bad]:
    """Messages of other formats, and what each is here: nothing of ours, where it is not said."""
    messages = {"Maxwell": MAXWELL, "OceanBase": OCEANBASE, "CloudCanal": CLOUDCANAL}
    messages |= {name: template % GOOD_IMAGE for name, template in TEMPLATES.items()}
    for name, text in messages.items():
        if name not in codes or codes[name]:
            yield Bad(f"message of {name}", utf8(text), error(codes.get(name, "wrong_format")))


def of_drs() -> Iterator[Bad]:
    good = TEMPLATES["drs"] % GOOD_IMAGE
    update = '{"type":"UPDATE","table":"orders","id":1,"data":[{"id":"1"}],"old":[%s]}'
    yield Bad("op of another case", utf8(good.replace('"INSERT"', '"insert"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"INSERT"', '"MERGE"')), error("unknown_op"))
    yield Bad("no op", utf8(good.replace('"type":"INSERT",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"es":0', '"type":"DELETE"')), error("duplicate_key"))
    yield Bad(
        "row in Canal's place",
        utf8(good.replace('"INSERT"', '"DELETE"')),
        error("missing_rows"),
    )
    yield Bad("data is null", b'{"type":"INSERT","table":"orders","id":1,"data":null}', error("missing_rows"))
    yield Bad(
        "a row is null", b'{"type":"INIT","table":"orders","id":1,"data":[null]}', error("missing_rows")
    )
    yield Bad(
        "data is a text", b'{"type":"INSERT","table":"orders","id":1,"data":"x"}', error("missing_rows")
    )
    yield Bad("old is longer", utf8(update % '{"id":"2"},{"id":"3"}'), error("array_length_mismatch"))
    yield Bad("old is a text", utf8(update.replace("[%s]", '"x"')), error("unexpected_structure"))
    yield Bad("the time is a text", utf8(good.replace('"es":0', '"es":"x"')), error("unexpected_structure"))
    for number in ("null", '"x"', '""', "1.5", "1e3", "-1", "9" * 21):
        yield Bad(
            f"id {number[:5]}", utf8(good.replace('"id":1,', f'"id":{number},')), error("missing_position")
        )
    yield Bad("id is a text", utf8(good.replace('"id":1,', '"id":"1",')), GOOD)
    yield Bad("another source", utf8(good.replace('"es"', '"dbType":"Oracle","es"')), error("wrong_format"))
    yield from others(Maxwell="unknown_op", maxwell="unknown_op", canal="missing_position", drs="")


def of_kafka_river_canal() -> Iterator[Bad]:
    template = TEMPLATES["kafka_river_canal"]
    good = template % GOOD_IMAGE
    column = '{"n":"id","v":"1"}'
    yield Bad("event of another case", utf8(good.replace('"i"', '"I"')), error("unknown_op"))
    yield Bad("event is a word", utf8(good.replace('"i"', '"insert"')), error("unknown_op"))
    yield Bad("no event", utf8(good.replace('"event":"i",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("event twice", utf8(good.replace('"time":0', '"event":"d"')), error("duplicate_key"))
    for name, columns in {
        "a column without a name": f'{column},{{"v":"1"}}',
        "a name is null": '{"n":null,"v":"1"}',
        "a column is null": f"{column},null",
        "a value beside the flag": '{"n":"id","v":"1","null":true}',
        "a flag is a word": '{"n":"id","v":"1","null":"no"}',
    }.items():
        yield Bad(name, utf8(template.replace("%s", columns)), error("unexpected_structure"))
    for name, columns in {
        "a value twice": '{"n":"id","v":"1","v":"2"}',
        "a value twice by its escape": r'{"n":"id","v":"1","\u0076":"2"}',
        "a column twice": f"{column},{column}",
    }.items():
        yield Bad(name, utf8(template.replace("%s", columns)), error("duplicate_key"))
    yield Bad("no columns", utf8(template.replace("%s", "")), error("missing_row"))
    yield Bad("columns is a text", b'{"event":"i","columns":"x"}', error("missing_row"))
    yield Bad("updated is missing", utf8(good.replace('"i"', '"u"')), error("unexpected_structure"))
    for binlog in (
        "null",
        '""',
        '"mysql-bin.000001"',
        '"x@mysql-bin.000001"',
        '"4@mysql-bin"',
        f'"{"9" * 21}@b.1"',
    ):
        text = good.replace('"4@mysql-bin.000001"', binlog)
        yield Bad(f"binlog {binlog[:20]}", utf8(text), error("missing_position"))
    yield Bad(
        "the time is a text", utf8(good.replace('"time":0', '"time":"x"')), error("unexpected_structure")
    )
    yield from others(kafka_river_canal="")


def of_goldengate() -> Iterator[Bad]:
    good = TEMPLATES["goldengate"] % GOOD_IMAGE
    yield Bad("op of another case", utf8(good.replace('"I"', '"i"')), error("unknown_op"))
    yield Bad("op is a word", utf8(good.replace('"I"', '"INSERT"')), error("unknown_op"))
    yield Bad("no op", utf8(good.replace('"op_type":"I",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"before"', '"op_type":"D","before"')), error("duplicate_key"))
    yield Bad("no row", b'{"op_type":"I","before":{"id":1}}', error("missing_row"))
    yield Bad("an empty row", b'{"op_type":"I","after":{}}', error("missing_row"))
    yield Bad("a delete without its row", b'{"op_type":"D","after":{"id":1}}', error("missing_row"))
    yield Bad("after is a text", b'{"op_type":"I","after":"x"}', error("missing_row"))
    yield Bad(
        "before is a list",
        utf8(good.replace('"before":null', '"before":["x"]')),
        error("unexpected_structure"),
    )
    for pos in ('"x"', '""', "1.5", '"-1"', f'"{"9" * 21}"'):
        yield Bad(
            f"pos {pos[:5]}", utf8(good.replace('"pos":"1"', f'"pos":{pos}')), error("missing_position")
        )
    yield Bad("pos is a number", utf8(good.replace('"pos":"1"', '"pos":1')), GOOD)
    yield Bad("no pos", utf8(good.replace('"pos":"1",', "")), GOOD)
    yield from others(goldengate="")


def of_dms() -> Iterator[Bad]:
    good = TEMPLATES["dms"] % GOOD_IMAGE
    yield Bad("op of another case", utf8(good.replace('"insert"', '"Insert"')), error("unknown_op"))
    yield Bad("unknown op", utf8(good.replace('"insert"', '"upsert"')), error("unknown_op"))
    yield Bad(
        "another record type",
        utf8(good.replace('"record-type":"data"', '"record-type":"event"')),
        error("unknown_op"),
    )
    yield Bad(
        "a row in a control record",
        utf8(good.replace('"record-type":"data"', '"record-type":"control"')),
        error("unknown_op"),
    )
    yield Bad("no op", utf8(good.replace('"operation":"insert",', "")), error("wrong_format"))
    yield Bad("no record type", utf8(good.replace('"record-type":"data",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("metadata is a text", b'{"data":{"id":1},"metadata":"x"}', error("wrong_format"))
    yield Bad(
        "op twice",
        utf8(good.replace('"schema-name"', '"operation":"delete","schema-name"')),
        error("duplicate_key"),
    )
    yield Bad(
        "metadata twice",
        utf8(good.replace('"metadata"', '"metadata":null,"metadata"')),
        error("duplicate_key"),
    )
    yield Bad(
        "a prefixed name twice",
        utf8(TEMPLATES["dms"].replace('"insert"', '"update"') % '"id":1,"BI_id":2,"BI_id":3'),
        error("duplicate_key"),
    )
    yield Bad("no row", utf8(good.replace('{"data"', '{"other"')), error("missing_row"))
    yield Bad("an empty row", utf8(TEMPLATES["dms"] % ""), error("missing_row"))
    yield Bad(
        "the row before is a list",
        utf8(good.replace('{"data"', '{"before-image":["x"],"data"')),
        error("unexpected_structure"),
    )
    yield from others(dms="")


def of_any_document(format_name: str) -> Iterator[Bad]:
    """Texts of documents, inside good messages."""
    template = TEMPLATES[format_name]
    for name, image in {
        "raw control character": '"id":"a\x01b"',
        "raw line end": '"id":"a\nb"',
        "leading zeros": '"id":007',
        "plus": '"id":+1',
        "point alone": '"id":1.',
        "no digit before the point": '"id":.5',
        "exponent alone": '"id":1e',
        "hexadecimal": '"id":0x1F',
        "comma at the end": '"id":"1",',
        "comment": '"id":"1"/* key */',
        "upper case literal": '"id":TRUE',
        "a row that ends too soon": '"id":"1"}],"a":[{"id":"2"',
        "bad escape": r'"id":"\x41"',
        "lone surrogate": r'"id":"\ud800"',
        "key twice": '"id":"1","id":"2"',
        "key twice by its escape": r'"id":"1","i\u0064":"2"',
        "key twice inside": '"id":{"a":1,"a":1}',
        "a call that is not known": '"id":drop()',
        "nested 100000 deep": '"id":' + "[" * 100_000,
        "a number beyond its type": '"id":9223372036854775808',
        "a double beyond its type": '"id":1e400',
    }.items():
        yield Bad(name, utf8(template % image), error("broken_document"))
    yield Bad("invalid UTF-8", utf8(template % '"id":"?"').replace(b"?", b"\xff\xfe"), error("invalid_utf8"))
    yield Bad("raw surrogate", utf8(template % '"id":"\ud800"'), error("invalid_utf8"))
    yield Bad("surrogate pair", utf8(template % r'"id":"\ud83d\ude00"'), row(id="😀"))
    yield Bad("zero character", utf8(template % r'"id":"a\u0000b"'), row(id="a\0b"))
    yield Bad("single quotes", utf8(template % "'id':'1'"), row(id="1"))
    yield Bad("no quotes", utf8(template % "id:1"), row(id="1"))
    yield Bad("NaN", utf8(template % '"id":NaN'), row(id="NaN"))
    names = {
        name: str(n) for n, name in enumerate(["", "a.b", 'a"b', "__proto__", "汉字", "_cdc_op", "message"])
    }
    yield Bad("odd names", utf8(template % json.dumps(names)[1:-1]), row(**names))


def of_drs_mongodb() -> Iterator[Bad]:
    good = TEMPLATES["drs_mongodb"] % GOOD_IMAGE
    yield from of_any_document("drs_mongodb")
    yield Bad("op of another case", utf8(good.replace('"INSERT"', '"insert"')), error("unknown_op"))
    yield Bad("no op", utf8(good.replace('"op":"INSERT",', "")), error("wrong_format"))
    yield Bad("an empty object", b"{}", error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"db"', '"op":"DELETE","db"')), error("duplicate_key"))
    yield Bad("no value", utf8(good.replace('"value"', '"other"')), error("missing_row"))
    yield Bad(
        "the value is an object",
        b'{"op":"INSERT","coll":"c","value":{"id":1},"recordType":"insert","clusterTime":"1:1"}',
        error("unexpected_structure"),
    )
    for time in ("null", '"1"', '"1:"', '"a:b"', '"1:2:3"', "7"):
        yield Bad(f"clusterTime {time}", utf8(good.replace('"1:1"', time)), error("missing_position"))
    yield Bad(
        "the time is a text", utf8(good.replace('"db"', '"es":"x","db"')), error("unexpected_structure")
    )
    yield from of_others("Maxwell", Debezium=("wrong_format", "unknown_op"))


def of_debezium_mongodb() -> Iterator[Bad]:
    good = TEMPLATES["debezium_mongodb"] % GOOD_IMAGE
    yield from of_any_document("debezium_mongodb")
    yield Bad("unknown op", utf8(good.replace('"c"', '"insert"')), error("unknown_op"))
    yield Bad("no op", utf8(good.replace(',"op":"c"', "")), error("wrong_format"))
    yield Bad("payload is null", b'{"schema":null,"payload":null}', error("wrong_format"))
    yield Bad("op twice", utf8(good.replace('"before"', '"op":"d","before"')), error("duplicate_key"))
    yield Bad("after is null", b'{"after":null,"source":{},"op":"c"}', error("missing_after"))
    yield Bad(
        "before is damaged", utf8(good.replace('"before":null', '"before":"{"')), error("broken_document")
    )
    yield Bad(
        "a description is a text",
        b'{"updateDescription":"x","source":{},"op":"u"}',
        error("unexpected_structure", "missing_after"),
    )
    yield from of_others("Maxwell", DataWorks="unknown_op")


def dts_record(**fields: Any) -> bytes:
    text = [{"Character": {"charset": "utf8mb4", "value": value}} for value in ("1", "Ann")]
    return write(
        {
            "version": 4,
            "id": 1,
            "sourceTimestamp": 0,
            "sourcePosition": "",
            "source": {"sourceType": "MySQL", "version": ""},
            "operation": "INSERT",
            "objectName": "shop.orders",
            "fields": [{"name": name, "dataTypeNumber": 253} for name in ("id", "name", "note")],
            "afterImages": [*text, None],
            **fields,
        }
    )


def of_dts_avro() -> Iterator[Bad]:
    good = dts_record()
    yield Bad("no value", None, {"kind": "tombstone"})
    yield Bad("empty", b"", error("empty"))
    for length in range(1, len(good), 5):
        # The base64 text of a few bytes may be a JSON number.
        yield Bad(f"cut at {length}", good[:length], error("not_json", "not_an_object"))
    for name, data in {
        "zeros": bytes(500),
        "ones": b"\xff" * 500,
        "text": b"order 7 was changed",
        "JSON": b'{"operation":"INSERT"}',
        "a registry's header": b"\0\0\0\0\1" + good,
        "bytes behind it": good + b"\x02\x02",
        "a long that does not end after it": good + b"\xff",
    }.items():
        yield Bad(name, data, error("not_json"))
    yield Bad(
        "a field twice", dts_record(fields=[{"name": "id", "dataTypeNumber": 8}] * 3), error("duplicate_key")
    )
    yield Bad("no fields", dts_record(fields=None), error("array_length_mismatch"))
    yield Bad("no image", dts_record(afterImages=None), error("missing_row"))
    yield Bad("the image is a text", dts_record(afterImages="x"), error("missing_row"))
    yield Bad("four names", dts_record(objectName="a.b.c.d"), error("unexpected_structure"))
    yield Bad("no name", dts_record(objectName=None), error("unexpected_structure"))
    yield Bad("a row of an operation without rows", dts_record(operation="NOOP"), error("unknown_op"))


OF_ONE_FORMAT = {
    "canal": of_canal,
    "debezium": of_debezium,
    "dataworks": of_dataworks,
    "oms": of_oms,
    "shareplex": of_shareplex,
    "cloudcanal": of_cloudcanal,
    "maxwell": of_maxwell,
    "drs": of_drs,
    "kafka_river_canal": of_kafka_river_canal,
    "goldengate": of_goldengate,
    "dms": of_dms,
    "drs_mongodb": of_drs_mongodb,
    "debezium_mongodb": of_debezium_mongodb,
    "dts_avro": of_dts_avro,
}
GOOD_VALUES = {name: utf8(template % GOOD_IMAGE) for name, template in TEMPLATES.items()} | {
    "dts_avro": dts_record()
}
CASES = {
    name: [
        bad
        for bad in (*(of_any_format(name) if name in TEMPLATES else ()), *OF_ONE_FORMAT[name]())
        if (name, bad.name) not in NOT_IN_FORMAT
    ]
    for name in FORMATS
}


def message(offset: int, value: bytes | None) -> Message:
    return Message(offset, "bad_input", 0, offset, None, None, value, None)


@pytest.mark.parametrize("format_name", FORMATS)
def test_bad_messages(format_name: str, session: SparkSession, library: MacroLibrary) -> None:
    cases = CASES[format_name]
    good = GOOD_VALUES[format_name]
    messages = [message(n, good if n % 2 == 0 else cases[n // 2].value) for n in range(2 * len(cases))]
    found = [row for _, row in read(session, library, format_name, "decoded", {}, messages)]
    assert [row["offsets"] for row in found] == [[n] for n in range(len(messages))]
    compared = ("kind", "op", "before", "after", "update_part", "error")
    shown = [{name: row[name] for name in compared if row[name] is not None} for row in found]
    assert shown[::2] == [GOOD] * len(cases)
    wrong = {
        case.name: (got, case.expected)
        for case, got in zip(cases, shown[1::2], strict=True)
        if got != case.expected
        # A message with an error is not applied: what its row holds beside the code is no promise.
        and got.get("error", "none") not in case.expected.get("error", ())
    }
    assert wrong == {}
    assert [row for row in found if row["error"] in GENERAL_CODES and not row["detail"]] == []


# What the package finds in any message: the others are the formats' own.
GENERAL_CODES = {
    "empty",
    "invalid_utf8",
    "not_json",
    "not_an_object",
    "broken_json",
    "text_after_message",
    "over_json_limits",
    "invalid_unicode",
}


def test_where_a_message_breaks_is_told_in_bytes(session: SparkSession, library: MacroLibrary) -> None:
    """Cut anywhere, with a character put in anywhere, and with one taken out: as Python's strict reader finds."""
    good = '{"é": [1.50, {"b\\"\\u00e9": [], "汉": -0e+1}, [true,null] ], "😀":{"a" :"\\\\" } }'
    cut = [good[:end] for end in range(1, len(good))]
    texts = [good, f"  {good} ", *cut]
    texts += [good[:at] + new + good[at:] for at in range(1, len(good)) for new in '{}[],:"\\0x\n\t é-']
    texts += [good[:at] + good[at + 1 :] for at in range(1, len(good))]
    texts += [good + new for new in '{}[],:"x']
    places = {'{"a":.5}': 5, '{"a":01}': 5, '{"a":+1}': 5, '{"é":1.}': 6, '{"a":tru}': 5, '{"a":"é\\x"}': 8}
    texts += places
    session.createDataFrame(list(enumerate(texts)), "n int, value string").createOrReplaceTempView("texts")
    reading = library.call("_strict_reading", "value")
    rows = session.sql(f"select value, {reading} as found from texts order by n").collect()
    wrong = {}
    for value, found in rows:
        is_whole = found.within == "." and found.last == "v"
        if (is_whole, is_whole and found.stops) != reading_of(value):
            wrong[value] = found
    assert wrong == {}
    found_in = dict(map(tuple, rows))
    assert [value for value in cut if found_in[value].stops and not found_in[value].is_cut] == []
    assert {value: (found_in[value].stops, found_in[value].bytes) for value in places} == {
        value: (True, byte) for value, byte in places.items()
    }


def reading_of(text: str) -> tuple[bool, bool]:
    """Whether a text begins with a whole object, and whether something follows it."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    start = text.lstrip(" \t\r\n")
    try:
        value, end = json.JSONDecoder(parse_constant=refuse).raw_decode(start)
    except ValueError:
        return False, False
    return isinstance(value, dict), bool(start[end:].strip(" \t\r\n"))


def test_a_member_after_the_message(session: SparkSession, library: MacroLibrary) -> None:
    good = TEMPLATES["canal"] % GOOD_IMAGE
    messages = [
        message(n, utf8(good + tail)) for n, tail in enumerate([',"x":1', ',"x":{}', ',"message":{}'])
    ]
    found = [row for _, row in read(session, library, "canal", "decoded", {}, messages)]
    assert [row["error"] for row in found] == ["text_after_message"] * len(messages)


def test_a_text_of_more_than_20_million_characters(session: SparkSession, library: MacroLibrary) -> None:
    """Once, and made by Spark: 20 MB go through no Python."""
    good = TEMPLATES["canal"] % GOOD_IMAGE
    head = '{"type":"INSERT","data":[{"id":"'
    session.sql(
        f"""
        select
            't' as topic, 0 as partition, id as `offset`, cast(null as timestamp) as timestamp, '' as key,
            case when id = 0 then concat('{head}', repeat('a', 20000001), '"}}]}}') else '{good}' end as value
        from range(2)
        """
    ).createOrReplaceTempView("long_texts")
    sql = library.call("decoded", "long_texts", "canal")
    found = session.sql(
        f"select offsets[0].offset, kind, error.code as error_code from ({sql}) order by 1"
    ).collect()
    # The reader goes on after the text that it refused, and misses the row.
    assert [tuple(row) for row in found] == [(0, "unreadable", "missing_rows"), (1, "rows", None)]


# -- values of declared types

COLUMNS = {
    "id": "bigint",
    "bool": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "int": "int",
    "long": "bigint",
    "dec": "decimal(10,2)",
    "fine": "decimal(38,20)",
    "float": "float",
    "double": "double",
    "date": "date",
    "instant": "timestamp",
    "local": "timestamp_ntz",
    "micros": "timestamp_ntz from microseconds",
    "seconds": "timestamp from seconds",
    "bits": "bigint from big_endian_bits",
    "hex": "binary from hex",
    "base64": "binary from base64",
    "latin1": "binary from latin1",
    "text": "string",
}
BAD = object()  # a value that is there and does not fit
# column -> the value as it stands in the message -> what the column holds
VALUES: dict[str, dict[str, Any]] = {
    "id": {"null": None, '"x"': BAD},
    "bool": {
        "true": "true",
        "false": "false",
        '"true"': "true",
        '"FALSE"': "false",
        '"t"': "true",
        '"0"': "false",
        "2": BAD,
        '"yes"': BAD,
        '"maybe"': BAD,
        '" true"': BAD,
        '""': BAD,
    },
    "tiny": {
        "127": "127",
        "-128": "-128",
        '"+007"': "7",
        "128": BAD,
        '"128"': BAD,
        "-129": BAD,
        "1.5": BAD,
        '"1.0"': BAD,
        '" 5"': BAD,
        r'"5\n"': BAD,
        r'"5\u0000"': BAD,
        r'"\u007f5"': BAD,
        '"-"': BAD,
    },
    "small": {"32767": "32767", "32768": BAD, '"-32769"': BAD},
    "int": {
        "2147483647": "2147483647",
        "2147483648": BAD,
        '"0x1F"': BAD,
        '""': BAD,
        "1e400": BAD,
        "true": BAD,
    },
    "long": {
        "9223372036854775807": "9223372036854775807",
        '"-9223372036854775808"': "-9223372036854775808",
        "9223372036854775808": BAD,
        '"9223372036854775808"': BAD,
        "9" * 39: BAD,
        "{}": BAD,
    },
    "dec": {
        "1.50": "1.50",
        '"1.50"': "1.50",
        "-0.5": "-0.50",
        "1.500": "1.50",
        "1E2": "100.00",
        "15E-1": "1.50",
        "150E-3": "0.15",
        "0E-50": "0.00",
        "0.0000": "0.00",
        "12345678.91": "12345678.91",
        "1.505": BAD,
        '"1.505"': BAD,
        "1E-3": BAD,
        "1E400": BAD,
        "-1E-400": BAD,
        "123456789": BAD,
        "99999999.995": BAD,
        '"E5"': BAD,
        '".E5"': BAD,
        '"1,5"': BAD,
        '"NaN"': BAD,
        '"1.50\\n"': BAD,
    },
    "fine": {
        "0.12345678901234567890": "0.12345678901234567890",
        '"0.12345678901234567890"': "0.12345678901234567890",
        "123456789012345678.00000000000000000001": "123456789012345678.00000000000000000001",
        "1E-20": "0.00000000000000000001",
        "1E-21": BAD,
        "0.123456789012345678901": BAD,
        "1234567890123456789": BAD,
        "1" * 39: BAD,
    },
    "float": {"1.5": "1.5", '"NaN"': "nan", '"-Infinity"': "-inf", "1e39": BAD, "1e-60": BAD, '"1.5f"': BAD}
    | {"16777216": "16777216.0", "16777217": BAD, "1234567890": BAD},
    "double": {
        "0.1": "0.1",
        "-0.0": "-0.0",
        '"1.0E7"': "10000000.0",
        "0e-400": "0.0",
        "9007199254740992": "9007199254740992.0",
        '"1234567890123456789012"': BAD,
        '"123456789012345680000000"': "1.2345678901234569e+23",
        "9007199254740993": BAD,
        '"9223372036854775807"': BAD,
        "1e400": BAD,
        "-1e400": BAD,
        '"1d"': BAD,
        '"0x1p3"': BAD,
        '"inf"': BAD,
        '""': BAD,
    },
    "date": {
        '"2024-02-29"': "2024-02-29",
        '"0001-01-01"': "0001-01-01",
        '"9999-12-31"': "9999-12-31",
        '"2024-02-30"': BAD,
        '"2023-02-29"': BAD,
        '"0000-00-00"': BAD,
        '"2024-00-00"': BAD,
        '"2024-2-9"': BAD,
        '"10000-01-01"': BAD,
        '"2024-02-29 00:00:00"': BAD,
        '"2024-02-29\\n"': BAD,
        '"infinity"': BAD,
    },
    "instant": {
        '"2024-02-29T12:34:56.000001Z"': "2024-02-29 12:34:56.000001Z",
        '"2024-02-29 12:34:56+14:00"': "2024-02-28 22:34:56Z",
        '"2024-02-29 12:34:56"': "2024-02-29 12:34:56Z",
        '"2024-02-29 12:34:56.1230000000"': "2024-02-29 12:34:56.123000Z",
        '"2024-02-29 12:34:56.1234567"': BAD,
        '"2024-02-29 12:34:56+19:00"': BAD,
        '"2024-02-29 24:00:00"': BAD,
        '"2024-02-29"': BAD,
        '"0000-00-00 00:00:00"': BAD,
        '"infinity"': BAD,
    },
    "local": {
        '"2024-02-29 12:34:56.999999"': "2024-02-29 12:34:56.999999",
        '"9999-12-31T23:59:59"': "9999-12-31 23:59:59",
        '"2024-02-29T12:34:56+08:00"': "2024-02-29 04:34:56",
        '"2024-02-30 00:00:00"': BAD,
        '"2024-02-29 12:34:60"': BAD,
        '"2024-02-29 12:34:56.0000001"': BAD,
    },
    "micros": {
        "1709210096000001": "2024-02-29 12:34:56.000001",
        '"-1"': "1969-12-31 23:59:59.999999",
        "253402300799999999": "9999-12-31 23:59:59.999999",
        "253402300800000000": BAD,
        "9223372036825200000": BAD,
        "1.5": BAD,
        '"2024-02-29"': BAD,
    },
    "seconds": {
        "1624614713": "2021-06-25 09:51:53Z",
        '"1624614713"': "2021-06-25 09:51:53Z",
        '"1624614713.201"': "2021-06-25 09:51:53.201000Z",
        "1624614713.201": "2021-06-25 09:51:53.201000Z",
        "1624614713.000001": "2021-06-25 09:51:53.000001Z",
        '"1624614713.012345000"': "2021-06-25 09:51:53.012345Z",
        '"0.000001"': "1970-01-01 00:00:00.000001Z",
        '"-0.5"': "1969-12-31 23:59:59.500000Z",
        '"253402300799.999999"': "9999-12-31 23:59:59.999999Z",
        '"-62135596800"': "0001-01-01 00:00:00Z",
        '"253402300800"': BAD,
        '"-62135596800.000001"': BAD,
        '"1624614713.0000001"': BAD,
        "1624614713.0000001": BAD,
        '"1624614713."': BAD,
        '".5"': BAD,
        '"1e9"': BAD,
        "1e9": BAD,
        '"1624614713\\n"': BAD,
        "999999999999999": BAD,
    },
    "bits": {
        '"AQI="': "258",
        '"AAAAAAAAAQI="': "258",
        '""': "0",
        '"f/////////8="': "9223372036854775807",
        '"//////////8="': BAD,
        '"AAAAAAAAAAAB"': BAD,
        '"AQ"': BAD,
        "258": BAD,
    },
    "hex": {'"00fF"': "00ff", '""': "", '"0"': BAD, '"0x00"': BAD, '"00\\n"': BAD},
    "base64": {
        '"AAH/"': "0001ff",
        '""': "",
        '"AAH"': BAD,
        '"A==="': BAD,
        '"AB=="': BAD,
        '"AAB="': BAD,
        '"AAH/\\n"': BAD,
        '"_-8="': BAD,
        "7": BAD,
    },
    # A line separator at the end is what `$` of a pattern steps over.
    "latin1": {r'"a\u00ff\n"': "61ff0a", '""': "", r'"a\u2028"': BAD, r'"\u0100"': BAD},
    "text": {
        '"x"': "x",
        '""': "",
        "1.50": "1.50",
        '"1.50"': "1.50",
        "1E-30": "1E-30",
        "0.12345678901234567890": "0.12345678901234567890",
        '"0.12345678901234567890"': "0.12345678901234567890",
        "12345678901234567890.0": "12345678901234567890.0",
        "true": "true",
        '{"a":1.50,"b":["1.50",-0.0]}': '{"a":1.50,"b":["1.50",-0.0]}',
        '"a\ufffd"': BAD,
    },
}


# DMS writes hexadecimal digits after 0x; OMS and GoldenGate a DATE of Oracle with its time of day. Debezium without a
# schema may mean base64. DRS without types may mean a TIMESTAMP, which begins at second 1.
OWN_FORMS = {
    ("debezium", "bool", '"true"'): BAD,
    ("debezium", "tiny", '"+007"'): BAD,
    ("debezium", "double", '"123456789012345680000000"'): BAD,
    ("dms", "hex", '"0x00"'): "00",
    ("drs", "seconds", '"0.000001"'): BAD,
    ("oms", "date", '"2024-02-29 00:00:00"'): "2024-02-29",
    ("shareplex", "date", '"2024-02-29 00:00:00"'): "2024-02-29",
    ("goldengate", "date", '"2024-02-29 00:00:00"'): "2024-02-29",
    # A zone stands after a blank.
    ("oms", "local", '"2024-02-29T12:34:56+08:00"'): BAD,
    ("shareplex", "local", '"2024-02-29T12:34:56+08:00"'): BAD,
}


@pytest.mark.parametrize("format_name", IMAGES_OF_JSON)
def test_values_fit_exactly_or_are_errors(
    format_name: str, session: SparkSession, library: MacroLibrary
) -> None:
    """One message a value, other columns left out; the same value stands quoted and bare in other columns."""
    cases = [(name, given, held) for name, values in VALUES.items() for given, held in values.items()]
    messages = []
    for n, (name, given, _) in enumerate(cases):
        image = f'"{name}":{given}' if name == "id" else f'"id":{n},"{name}":{given}'
        value = TEMPLATES[format_name] % image
        messages.append(message(n, utf8(value.replace('"sequenceId":"1"', f'"sequenceId":"{n}"'))))
    arguments = {"table": "orders", "key": ["id"], "columns": COLUMNS}
    found = [row for _, row in read(session, library, format_name, "changes", arguments, messages)]
    wrong = {}
    for n, ((name, given, held), row) in enumerate(zip(cases, found, strict=True)):
        own_form = OWN_FORMS.get((format_name, name, given), held)
        expected = ("invalid_value", None) if own_form is BAD else (None, own_form)
        if isinstance(TEMPLATES[format_name], ColumnList) and given.startswith("{"):
            expected = ("unexpected_structure", None)
        if name == "id":
            expected = ("invalid_value" if held is BAD else "key_missing", None)
        if (row["offset"], row["error"], row["columns"][name]) != (n, *expected):
            wrong[name, given[:40]] = (row["error"], row["detail"], row["columns"][name])
    assert wrong == {}


BARE_NUMBERS = [
    ("text", "-0", "-0"),
    ("text", "1e400", "1e400"),
    ("double", "1e-400", BAD),
    # The text that Spark makes of the number stands in quotes somewhere else.
    ("text", '1.50,"note":{"text":"1.5"}', "1.50"),
    ("text", r'"1.5","note":{"t\u0065xt":1.50}', "1.5"),
    ("text", r'"1.5"},{"id":2,"t\u0065xt" : 1.50', "1.5"),
    (
        "fine",
        '123456789012345.670,"note":{"fine":"1.2345678901234567E14"}',
        "123456789012345.67000000000000000000",
    ),
    ("text", '{"a":1.50},"note":{"text":"{"}', '{"a":1.50}'),
    ("instant", '"2024-02-29 12:34:56.5","note":1.50', "2024-02-29 12:34:56.500000Z"),
    # Where a number may stand, and what may stand around it.
    ("text", "1.50", "1.50"),
    ("text", "\t\r\n -1.50\n", "-1.50"),
    ("text", "[1,2.50]", "[1,2.50]"),
    ("text", "[[ 2.50],7]", "[[2.50],7]"),
    ("text", '{"12:30":-0}', '{"12:30":-0}'),
    ("text", '{"7" :1E5}', '{"7":1E5}'),
    ("text", "100", "100"),
    # Texts that look like numbers: what is in the text stays, and a number elsewhere is found.
    ("text", '"from [1.5, -0 at 12:30:00.5"', "from [1.5, -0 at 12:30:00.5"),
    ("text", r'"\\\":[1.5]"', r"\":[1.5]"),
    ("text", '":1.5","note":1.50', ":1.5"),
]


@pytest.fixture(scope="module")
def bare_numbers(session: SparkSession, library: MacroLibrary) -> dict[tuple[str, str], dict[str, Any]]:
    """(column, what stands for its value) -> the first row of its message; those of a column share a query."""
    found = {}
    for column in dict.fromkeys(name for name, *_ in BARE_NUMBERS):
        texts = [given for name, given, _ in BARE_NUMBERS if name == column]
        messages = [
            message(n, utf8(TEMPLATES["canal"] % f'"id":1,"{column}":{given}'))
            for n, given in enumerate(texts)
        ]
        arguments = {"table": "orders", "key": ["id"], "columns": {"id": "bigint", column: COLUMNS[column]}}
        for _, row in read(session, library, "canal", "changes", arguments, messages):
            found.setdefault((column, texts[row["offset"]]), row)
    return found


@pytest.mark.parametrize(("name", "given", "held"), BARE_NUMBERS)
def test_bare_numbers_that_spark_rewrites(
    name: str, given: str, held: Any, bare_numbers: dict[tuple[str, str], dict[str, Any]]
) -> None:
    found = bare_numbers[name, given]
    assert (found["error"], found["columns"][name]) == (
        ("invalid_value", None) if held is BAD else (None, held)
    )


def test_a_message_with_an_error_gives_no_values(session: SparkSession, library: MacroLibrary) -> None:
    """Not even where a name with an escape has its numbers looked for once more."""
    value = (TEMPLATES["debezium"] % r'"id":1,"t\u0065xt":1.50').replace('"op":"c"', '"op":"x"')
    arguments = {"table": "orders", "key": ["id"], "columns": COLUMNS}
    [(_, row)] = read(session, library, "debezium", "changes", arguments, [message(0, utf8(value))])
    assert row["error"] == "unknown_op"
    assert set(row["columns"].values()) == {None}


VARIANTS: list[tuple[str, str | None]] = [
    ('{"a":[1.5,"1.50",-0.5],"b":' + "9" * 38 + "}", '{"a":[1.5,"1.50",-0.5],"b":' + "9" * 38 + "}"),
    ('{"a":1.2345678901234567E300,"b":-5e-299}', '{"a":1.2345678901234567E300,"b":-5.0E-299}'),
    (f'{{"a":"{"9" * 50}"}}', f'{{"a":"{"9" * 50}"}}'),
    (f'{{"a":{"9" * 39}}}', None),
    (f'{{"a":0.{"1" * 39}}}', None),
    ('{"a":12345678901234567.89e0}', None),
    ("1e400", None),
    *((text, None) for text in ("-0", "-0.0", '{"a":[-0.00]}', "1,2", "")),
    ('{"a":-0.05}', '{"a":-0.05}'),
    # Spark reads the first value and leaves the rest.
    *(
        (text, None)
        for text in ('{"k":1}{"k":2}', "12 Main Street", "true false", "[1]]", '{"a":1}\0', "1 /* c */")
    ),
    *((text, None) for text in ('1]} {"value":[2', '1} {"value":2', "1] [2")),
    *((text, None) for text in (r'"\ud800"', r'{"a":"x\ud83dy"}', r'{"\ud800":1}')),
    (r'["\ud83d\ude00"," "]', '["\U0001f600"," "]'),
    (" null ", "null"),
]


@pytest.fixture(scope="module")
def variants(session: SparkSession, library: MacroLibrary) -> dict[str, str | None]:
    """Text -> the JSON of the variant that it is read as."""
    [column] = library.call("_columns", {"doc": "variant"}, "changes")
    given = session.createDataFrame([(text,) for text, _ in VARIANTS], "text string")
    read_as = given.selectExpr("text", f"to_json({library.call('value', 'text', column)}) as doc")
    return {row.text: row.doc for row in read_as.collect()}


@pytest.mark.parametrize(("text", "held"), VARIANTS)
def test_a_variant_holds_every_number_as_it_stands(
    text: str, held: str | None, variants: dict[str, str | None]
) -> None:
    assert variants[text] == held
