"""cdc_dts_avro and the functions for MongoDB: every construct, hostile input, and SQL as Python."""

from __future__ import annotations

import base64
import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt_spark_cdc.functions.dts_avro import _characters, dts_avro
from dbt_spark_cdc.functions.mongo_documents import mongo_fields, mongo_update, mongo_update_description
from dbt_spark_cdc.functions.mongo_patches import Patched, mongo_patched
from dbt_spark_cdc.functions.mongo_text import extended_json
from dbt_spark_cdc.inputs import read_messages
from hypothesis import given
from hypothesis import strategies as st
from shared_data import CAPTURES

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from encoders.dts_avro import write  # noqa: E402

CAPTURE = CAPTURES / "dts" / "records.jsonl"
GOLDEN = TESTS / "golden" / "dts_avro"
OID = "64650cf67dc36a464e76e583"


def records() -> list[dict[str, Any]]:
    lines = [
        line for file in sorted(GOLDEN.glob("*/messages.jsonl")) for line in file.read_text().splitlines()
    ]
    return [json.loads(line) for line in lines]


# -- Alibaba DTS


def test_the_golden_bytes_are_the_records_that_stand_beside_them() -> None:
    shown = [line for line in records() if "record" in line]
    assert len(shown) > 50
    for line in shown:
        assert base64.b64encode(write(line["record"])).decode() == line["value_base64"]


def test_bytes_that_are_no_record_come_back_as_base64() -> None:
    assert dts_avro(None) is None
    for data in (b"", b"\x00", b"{}", b"\xff" * 100, b"\x02" * 1000, bytes(range(256))):
        assert dts_avro(data) == base64.b64encode(data).decode()


@given(st.binary(max_size=400))
def test_no_bytes_raise(data: bytes) -> None:
    assert isinstance(dts_avro(data), str)


def test_damaged_records_are_no_records_or_records_of_the_schema() -> None:
    chance = random.Random(1)
    good = [base64.b64decode(line["value_base64"]) for line in records()]
    for _ in range(3000):
        data = bytearray(chance.choice(good) or b"x")
        for _ in range(chance.choice((1, 2, 5))):
            at = chance.randrange(len(data)) if data else 0
            data[at : at + chance.choice((0, 1, 3))] = chance.randbytes(chance.choice((0, 1, 4)))
        text = dts_avro(bytes(data))
        if text != base64.b64encode(data).decode():
            assert json.loads(text)["operation"]


@pytest.mark.parametrize("length", [-1, -(2**40), 2**31, 2**40, 2**62])
def test_a_length_that_cannot_be_does_not_take_the_memory(length: int) -> None:
    zigzag, encoded = (length << 1) ^ (length >> 63), bytearray()
    while zigzag > 127:
        encoded.append(zigzag & 127 | 128)
        zigzag >>= 7
    data = b"\x08\x02\x02" + bytes([*encoded, zigzag]) + b"abc"
    assert dts_avro(data) == base64.b64encode(data).decode()


def test_each_prefix_of_a_record_is_no_record() -> None:
    line = (GOLDEN / "insert" / "messages.jsonl").read_text().splitlines()[0]
    data = base64.b64decode(json.loads(line)["value_base64"])
    for length in range(len(data)):
        assert dts_avro(data[:length]) == base64.b64encode(data[:length]).decode()


@pytest.mark.skipif(not CAPTURE.is_file(), reason="the captures of ../shared are not here")
def test_records_of_the_vendors_own_classes_read_as_the_vendor_reads_them() -> None:
    compared = 0
    for line in CAPTURE.read_text(encoding="utf-8").splitlines():
        captured = json.loads(line)
        document = json.loads(dts_avro(base64.b64decode(captured["value_base64"])))
        assert document["operation"] == captured["op"]
        for side in ("before", "after"):
            told = captured[f"vendor_{side}"]
            if not isinstance(told, dict):  # none, or what the vendor's reader refuses (the symbol NULL)
                continue
            image = document[f"{side}Images"]
            assert image.keys() == {
                name for name, text in told.items() if not (text or "").startswith("None")
            }
            for name, text in image.items():
                assert text == as_we_write_it(told[name]), name
                compared += 1
    assert compared == 175


def shown_by_dts(number: int, value: dict[str, Any]) -> str:
    line = (GOLDEN / "insert" / "messages.jsonl").read_text().splitlines()[0]
    record = json.loads(line)["record"]
    record |= {"fields": [{"name": "x", "dataTypeNumber": number}], "afterImages": [value]}
    return json.loads(dts_avro(write(record)))["afterImages"]["x"]


def clock(*parts: int | None) -> dict[str, int | None]:
    return dict(zip(("year", "month", "day", "hour", "minute", "second", "millis"), parts, strict=True))


@pytest.mark.parametrize(
    ("number", "parts", "text"),
    [
        (10, (2024, 2, 29, 0, 0, 0, 0), "2024-02-29"),
        (10, (0, 0, 0, 0, 0, 0, 0), "0000-00-00"),
        (10, (2024, 2, 29, 1, 0, 0, 0), "2024-02-29 01:00:00"),
        (11, (0, 0, 0, 12, 34, 56, 789000), "12:34:56.789"),
        (11, (0, 0, 0, 0, 0, 0, 0), "00:00:00"),
        (11, (2024, 2, 29, 12, 34, 56, 0), "2024-02-29 12:34:56"),
        (12, (2024, 2, 29, 0, 0, 0, 0), "2024-02-29 00:00:00"),
        (12, (0, 0, 0, 12, 34, 56, 0), "0000-00-00 12:34:56"),
        (13, (2024, 0, 0, 0, 0, 0, 0), "2024"),
    ],
)
def test_zeros_are_no_parts_where_the_type_has_none(number: int, parts: tuple, text: str) -> None:
    assert shown_by_dts(number, {"DateTime": clock(*parts)}) == text


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("+08:00", "+08:00"),
        ("+8:00", "+08:00"),
        ("-08", "-08:00"),
        ("+0530", "+05:30"),
        ("GMT+08:00", "+08:00"),
        ("UTC-3", "-03:00"),
        ("UT+8", "+08:00"),
        ("UT+08:00", "+08:00"),
        ("+08:00:00", "+08:00"),
        ("Z", "Z"),
        ("GMT", "Z"),
        ("UT", "Z"),
        ("Asia/Shanghai", " Asia/Shanghai"),
        ("+08:00:30", " +08:00:30"),
        ("8", " 8"),
        ("+800", " +800"),
    ],
)
def test_offsets_as_the_vendors_reader_takes_them(zone: str, offset: str) -> None:
    value = {"value": clock(2024, 2, 29, 12, 34, 56, 0), "timezone": zone}
    assert shown_by_dts(0, {"TimestampWithTimeZone": value}) == f"2024-02-29 12:34:56{offset}"


def as_we_write_it(told: str | None) -> str | None:
    if told is None:
        return None
    kind, _, text = told.partition(" ")
    if kind == "BinaryEncodingObject":
        return base64.b64encode(bytes.fromhex(text)).decode()
    if kind == "WKBGeometry":
        return "AQEAAAAAAAAAAADwPwAAAAAAAABA"  # the vendor shows it as WKT
    if kind == "UnixTimestamp":
        return f"{text}Z"
    # The vendor's reader drops the offset of a time with a zone.
    return f"{text}+08:00" if text == "2024-02-29 12:34:56.000001" else text


# -- MongoDB

SHELL = {
    f'ObjectId("{OID}")': OID,
    f"ObjectId('{OID}')": OID,
    f"new ObjectId( '{OID}' )": OID,
    f'ObjectId("{OID.upper()}")': OID,
    "NumberInt(-7)": "-7",
    'NumberInt("7")': "7",
    "Int32(7)": "7",
    "NumberLong(7)": "7",
    'NumberLong("-9223372036854775808")': "-9223372036854775808",
    'Long("7")': "7",
    'NumberDecimal("1.50")': "1.50",
    'Decimal128("1E+6000")': "1E+6000",
    'NumberDecimal("NaN")': "NaN",
    "Double(1)": "1.0",
    "1.0": "1.0",
    "1E5": "100000.0",
    "-0.0": "-0.0",
    "-0": "-0.0",
    "100000000000000000000": "1e+20",
    "9223372036854776000": "9.223372036854776e+18",
    "NaN": "NaN",
    "-Infinity": "-Infinity",
    'ISODate("2024-02-29T12:34:56.789Z")': "2024-02-29T12:34:56.789Z",
    'ISODate("2024-02-29T12:34:56Z")': "2024-02-29T12:34:56.000Z",
    'ISODate("2024-02-29T12:34:56.5Z")': "2024-02-29T12:34:56.500Z",
    'ISODate("2024-02-29T12:34:56.000Z")': "2024-02-29T12:34:56.000Z",
    'ISODate("2024-02-29T12:34:56+0800")': "2024-02-29T04:34:56.000Z",
    'ISODate("2024-02-29T12:34:56-18:00")': "2024-03-01T06:34:56.000Z",
    'ISODate("2024-02-29")': "2024-02-29T00:00:00.000Z",
    'ISODate("0001-01-01T00:00:00Z")': "0001-01-01T00:00:00.000Z",
    "new Date(-1)": "1969-12-31T23:59:59.999Z",
    'Date("2024-02-29T12:34:56Z")': "2024-02-29T12:34:56.000Z",
    "Timestamp(5, 6)": "5:6",
    'Timestamp({ "t": 5, "i": 6 })': "5:6",
    "new Timestamp({ t: 5, i: 6 })": "5:6",
    'BinData(0, "AQI=")': "AQI=",
    "Binary.createFromBase64('AQI=', 0)": "AQI=",
    'Binary.createFromBase64("uE2/4v5MSVOiJZkOo3APKQ==", 4)': "b84dbfe2-fe4c-4953-a225-990ea3700f29",
    'BSONRegExp("a/b", "i")': "/a/b/i",
    'BSONSymbol("s")': "s",
    'BinData(3,"uE2/4v5MSVOiJZkOo3APKQ==")': "uE2/4v5MSVOiJZkOo3APKQ==",
    'HexData(0, "0102")': "AQI=",
    'UUID("b84dbfe2-fe4c-4953-a225-990ea3700f29")': "b84dbfe2-fe4c-4953-a225-990ea3700f29",
    'MD5("00112233445566778899aabbccddeeff")': "ABEiM0RVZneImaq7zN3u/w==",
    "/^a/": "/^a/",
    r"/a\/b[/]/gi".replace("g", "m"): "/a/b[/]/im",
    'RegExp("a", "i")': "/a/i",
    r"/a\\/b/": r"/a\/b/",
    r"/a\\/b\/c/i": r"/a\/b/c/i",
    r"/a\\/": r"/a\\/",
    "MinKey": "MinKey",
    "MaxKey()": "MaxKey",
    "undefined": None,
    "null": None,
    "true": "true",
    'Code("f()")': "f()",
    'Symbol("s")': "s",
    "'it\\'s'": "it's",
    r"'\x41\u0042\n'": "AB\n",
    '"ObjectId(\\"x\\")"': 'ObjectId("x")',
    '"// no comment /x/"': "// no comment /x/",
    '["a", NumberLong(1)]': '["a",1]',
    "{ a : { b : NaN } }": '{"a":{"b":{"$numberDouble":"NaN"}}}',
    f'DBRef("c", ObjectId("{OID}"))': f'{{"$ref":"c","$id":{{"$oid":"{OID}"}}}}',
    'DBRef("c", 1, "d")': '{"$ref":"c","$id":1,"$db":"d"}',
}
NO_DOCUMENT = [
    "",
    " ",
    "null",
    "[]",
    "{",
    "{}}",
    "{}{}",
    "{a}",
    '{"a":1,"a":2}',
    '{"a":{"b":1,"b":2}}',
    "{a: foo(1)}",
    "{a: ObjectId()}",
    '{a: ObjectId("zz")}',
    "{a: ISODate()}",
    '{a: ISODate("2024-02-29T12:34:56-99:99")}',
    '{a: ISODate("2024-02-29T12:34:56+05:60")}',
    '{a: ISODate("2024-02-29T12:34:56+18:01")}',
    '{a: {"$date": "2024-02-29T12:34:56.789-99:99"}}',
    '{"_id": 1, "$set": {"a": 1}}',
    "{a: new Date()}",
    '{a: new Date("2024-01-01T00:00:00")}',
    '{a: ISODate("2024-02-30")}',
    '{a: ISODate("2024-02-29T12:34:56.1234Z")}',
    '{a: {"$date": "2024-02-29T12:34:56.123456Z"}}',
    '{a: NumberLong("9223372036854775808")}',
    '{a: NumberLong("1.5")}',
    '{a: NumberLong("1_0")}',
    "{a: NumberInt(2147483648)}",
    "{a: 9223372036854775808}",
    "{a: 1e400}",
    "{a: 1e-400}",
    '{a: {"$numberDouble": "1e400"}}',
    '{a: {"$numberDouble": "1_0"}}',
    '{a: NumberDecimal("x")}',
    '{a: BinData(0, "!!")}',
    '{a: Binary.createFromBase64("AQI=", 1, 2)}',
    '{a: Binary.createFromHexString("0102")}',
    '{a: BinData(0, "AR==")}',
    '{a: HexData(0, "0")}',
    '{a: HexData(0, "01 02")}',
    '{a: UUID("x")}',
    "{a: /x}",
    "{a: 0x10}",
    "{a: 007}",
    '{"a": "\\ud800"}',
    "{'a': '\\ud800'}",
    '{"a": {"b": "\\udc00"}}',
    '{a: DBRef("c")}',
    "{a: db.orders.drop()}",
    "{a: /x/gi}",
    "{a: /x/ii}",
    '{a: RegExp("x", "y")}',
    '{a: {"$regex": "x", "$options": "g"}}',
    '{a: {"$regex": "x", "other": 1}}',
    '{a: {"$regularExpression": {"pattern": "x", "options": "z"}}}',
    r"{a: /x\\/, b: /,/}",
    '{_id: {"$gt": 1}}',
    '{"$oid": "64650cf67dc36a464e76e583"}',
    '{a: {"$date": 1.5}}',
    '{a: {"$date": 1e3}}',
    '{a: {"$date": true}}',
    '{a: {"$date": null}}',
    '{a: {"$date": {"$numberDouble": "1.5"}}}',
    '{a: {"$symbol": null}}',
    '{a: {"$symbol": 5}}',
    '{a: {"$timestamp": {"t": true, "i": 2}}}',
    '{a: {"$timestamp": {"t": 1.5, "i": 2}}}',
    '{a: {"$undefined": false}}',
    '{a: {"$undefined": 1}}',
    '{a: {"$numberDecimal": 5}}',
    '{a: {"$numberDecimal": "1_0"}}',
    '{a: {"$numberDecimal": " 1"}}',
    '{a: {"$numberDecimal": "\N{ARABIC-INDIC DIGIT ONE}"}}',
    '{a: {"$numberDecimal": "sNaN"}}',
    "{a: " * 5000,
    "[" * 100000,
    "{a: '" + "x" * 100000,
]


@pytest.mark.parametrize(("written", "expected"), SHELL.items())
def test_what_the_shell_prints(written: str, expected: str | None) -> None:
    assert mongo_fields(f'{{"_id": 1, "a": {written}, "z": "end"}}') == {
        "_id": "1",
        "a": expected,
        "z": "end",
    }


@pytest.mark.parametrize("text", NO_DOCUMENT, ids=range(len(NO_DOCUMENT)))
def test_what_is_no_document_gives_null(text: str) -> None:
    assert mongo_fields(text) is None


def test_null_gives_null() -> None:
    assert mongo_fields(None) is None
    assert mongo_update(None, "{}") is None
    assert mongo_update("{}", None) is None
    assert mongo_update_description(None, "{}", [], []) is None


@given(st.text(alphabet="{}[]\":,\\/'()aObjectId123.$-eN ", max_size=60))
def test_no_text_raises(text: str) -> None:
    assert mongo_fields(text) is None or isinstance(mongo_fields(text), dict)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda name: "$" not in name), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text().filter(lambda name: "$" not in name), values))
def test_plain_json_keeps_its_values(document: dict[str, Any]) -> None:
    fields = mongo_fields(json.dumps(document))
    assert list(fields) == list(document)
    for name, value in document.items():
        if isinstance(value, (dict, list)):
            assert json.loads(fields[name]) == value
        elif isinstance(value, str) or value is None:
            assert fields[name] == value
        else:
            assert json.loads(fields[name]) == value


def test_text_that_is_json_is_left_as_it_stands() -> None:
    text = '{"a": [1.5e3, true, null, "ObjectId(1) // /x/ \\" "], "b": -1}'
    assert extended_json(text) == text


def test_operators_of_an_update() -> None:
    update = mongo_update(
        '{"_id": 1}', '{"$v": 1, "$set": {"a": 2, "b.c.0": 3}, "$unset": {"d": true, "e.f": ""}}'
    )
    assert update.fields == {"_id": "1", "a": "2", "b.c.0": "3", "d": None, "e.f": None}
    path = '[{"op":"set","path":"b.c.0"}]'
    assert update.patches == {
        "b": '[{"op":"set","path":"b.c.0","value":3}]',
        "b.c": path,
        "b.c.0": path,
        "e": '[{"op":"unset","path":"e.f"}]',
        "e.f": '[{"op":"unset","path":"e.f"}]',
    }


@pytest.mark.parametrize(
    "operations",
    [
        "{}",
        '{"a": 1}',
        '{"$inc": {"a": 1}}',
        '{"$set": 1}',
        '{"$set": {}, "a": 1}',
        '{"$v": 2, "diff": {}}',
        "x",
        '{"$set": {"_id": 5}}',
        '{"$set": {"_id.a": 5}}',
        '{"$unset": {"_id": true}}',
        '{"$set": {"a": 8}, "$unset": {"a": true}}',
        '{"$set": {"a.b": 8}, "$unset": {"a.b": true}}',
        '{"$set": {"a.b": 1, "a.b.c": 2}}',
        '{"$set": {"a.b.c.0": 2, "a.b": 1}}',
        '{"$set": {"a.b.c": 2}, "$unset": {"a.b": true}}',
        '{"$set": {"a.b": 2}, "$unset": {"a.b.c.d": true}}',
    ],
)
def test_other_operators_give_null(operations: str) -> None:
    assert mongo_update('{"_id": 1}', operations) is None


def test_paths_that_only_look_alike_do_not_conflict() -> None:
    update = mongo_update(
        '{"_id": 1}', '{"$set": {"a.b": 1, "a.bc.d": 2, "b.a.b": 3}, "$unset": {"a.c": true}}'
    )
    assert update.fields == {"_id": "1", "a.b": "1", "a.bc.d": "2", "b.a.b": "3", "a.c": None}


def test_an_update_may_repeat_the_name_of_its_document() -> None:
    assert mongo_update('{"_id": 1}', '{"$set": {"_id": 1, "a": 2}}').fields == {"_id": "1", "a": "2"}


@pytest.mark.parametrize(
    "identity",
    [
        "{}",
        '{"a": 1}',
        '{"_id": 1, "$set": {"a": 1}}',
        '{"_id": {"$gt": 1}}',
        '{"_id": 1, "k": {"$in": [1]}}',
    ],
)
def test_an_update_that_names_no_document_gives_null(identity: str) -> None:
    assert mongo_update(identity, '{"$set": {"b": 2}}') is None


# What a column that is declared `variant` has; None is a value that does not fit.
TYPED: list[tuple[str, str, str | None]] = [
    ('"x"', "string:x", '"x"'),
    ('""', "string:", '""'),
    ('"5"', "string:5", '"5"'),
    ('"true"', "string:true", '"true"'),
    ('"null"', "string:null", '"null"'),
    (r'"\"q\""', 'string:"q"', r'"\"q\""'),
    ('"{\\"a\\": 1}"', 'string:{"a": 1}', '"{\\"a\\": 1}"'),
    ('"number:5"', "string:number:5", '"number:5"'),
    ('Symbol("5")', "string:5", '"5"'),
    ('"\ufffd"', "string:\ufffd", None),
    ("5", "number:5", "5"),
    ('NumberLong("-9223372036854775808")', "number:-9223372036854775808", "-9223372036854775808"),
    ("1.5", "number:1.5", "1.5"),
    ("-0.0", "number:-0.0", None),
    ("NaN", "number:NaN", None),
    ("true", "boolean:true", "true"),
    ('NumberDecimal("100")', "decimal:100", "100"),
    ('NumberDecimal("-1.5")', "decimal:-1.5", "-1.5"),
    ('NumberDecimal("1.10")', "decimal:1.10", None),
    ('NumberDecimal("-0")', "decimal:-0", None),
    ('NumberDecimal("1E+3")', "decimal:1E+3", None),
    ('NumberDecimal("Infinity")', "decimal:Infinity", None),
    ('[1,"a"]', 'list:[1,"a"]', '[1,"a"]'),
    ('{"a":"1"}', 'document:{"a":"1"}', '{"a":"1"}'),
    ('DBRef("c", 1)', 'document:{"$ref":"c","$id":1}', '{"$id":1,"$ref":"c"}'),
    ('ObjectId("123456789012345678901234")', "objectId:123456789012345678901234", None),
    ('ISODate("2024-02-29T00:00:00Z")', "date:2024-02-29T00:00:00.000Z", None),
    ("new Date(-1)", "date:1969-12-31T23:59:59.999Z", None),
    ('BinData(0,"1234")', "binary:1234", None),
    ('BinData(5,"1234")', "binary:1234", None),
    ("/1/", "regex:/1/", None),
    ("Timestamp(1, 2)", "timestamp:1:2", None),
    ('Code("[1]")', "code:[1]", None),
    ('{"$code": "f", "$scope": {}}', 'code:{"$code":"f","$scope":{}}', None),
    ("MinKey", "minKey:MinKey", None),
    ("MaxKey", "maxKey:MaxKey", None),
]


@pytest.mark.parametrize(("written", "expected", "_"), TYPED)
def test_a_text_behind_its_type(written: str, expected: str, _: str | None) -> None:
    assert mongo_fields(f'typed:{{"_id": "k", "a": {written}, "n": null}}') == {
        "_id": "string:k",
        "a": expected,
        "n": None,
    }
    update = mongo_update('typed:{"_id": "k"}', f'{{"$set": {{"a": {written}}}}}')
    assert update.fields == {"_id": "string:k", "a": expected}
    plain = mongo_fields(f'{{"a": {written}}}')
    assert plain["a"] == expected.partition(":")[2]


def test_the_types_of_other_texts() -> None:
    described = mongo_update_description('typed:{"_id": 1}', '{"a": "1"}', ["b"], None)
    assert described.fields == {"_id": "number:1", "a": "string:1", "b": None}
    assert mongo_update('typed:{"_id": 1}', '{"$set": {"_id": "1"}}') is None
    assert mongo_fields("typed:") is None
    assert mongo_fields("typed:typed:{}") is None


def test_the_path_of_a_shard_key_is_no_column() -> None:
    update = mongo_update('{"_id": 1, "k": 2, "a.b": 3}', '{"$set": {"c": 4}}')
    assert update == ({"_id": "1", "k": "2", "c": "4"}, {})


def test_a_name_with_a_dollar_is_a_field_where_no_update_has_it() -> None:
    assert mongo_fields('{"_id": 1, "$price": 2}') == {"_id": "1", "$price": "2"}


def test_latin1_is_read_as_mysql_reads_it() -> None:
    assert _characters("latin1", bytes(range(0x80, 0xA1))) == (
        "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ\xa0"
    )
    assert _characters("windows-1252", b"\x81").startswith("\ufffd")


def test_the_description_of_an_update() -> None:
    update = mongo_update_description('{"_id": 1}', '{"a": 1, "b.c": 2}', ["d"], [{"field": "e", "size": 3}])
    assert update.fields == {"_id": "1", "a": "1", "b.c": "2", "d": None}
    assert update.patches == {
        "b": '[{"op":"set","path":"b.c","value":2}]',
        "b.c": '[{"op":"set","path":"b.c"}]',
        "e": '[{"op":"truncate","path":"e","size":3}]',
    }
    assert mongo_update_description('{"_id": 1}', None, None, None) == ({"_id": "1"}, {})
    assert mongo_update_description('{"_id": 1}', "{", None, None) is None
    assert mongo_update_description('{"_id": 1}', None, [None], None) is None
    assert mongo_update_description('{"_id": 1}', '{"a": 1}', ["a"], None) is None
    assert mongo_update_description('{"_id": 1}', '{"_id": 2}', None, None) is None


# -- parts of nested values

# Names that are numbers as well, and none that a path cannot say.
NAMES = st.sampled_from(["0", "1", "12", "a", "b", "é", " "]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=".$\x00"), min_size=1, max_size=3
)
LEAVES = st.sampled_from([
    None, True, 0, -(2**63), 1.5, 1e22, -0.0, "", "a.b", '"\\\n\u2028', {"$oid": OID}, {"$numberDecimal": "1.50"},
    {"$date": "2024-02-29T12:34:56Z"}, {"$numberDouble": "NaN"},
])  # fmt: skip
PARTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def text_of(value: Any) -> str | None:
    """What a message with the whole document says of the column."""
    return mongo_fields(json.dumps({"_id": 1, "doc": value}))["doc"]


def has_parts(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and not any(n.startswith("$") for n in value))


def places(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Each document and array with the path that leads to it."""
    found = [(path, value)] if has_parts(value) else []
    if found:
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(inner, (*path, str(name)))
    return found


def change(draw: Any, value: Any) -> tuple[str, str, Any]:
    """Change a part of the value in place, as a server would; return operator, path, and value or size."""
    path, inside = draw(st.sampled_from(places(value)))
    operator = draw(st.sampled_from(["set", "set", "unset", "truncate"]))
    new = draw(PARTS)
    if isinstance(inside, list):
        if operator == "truncate":
            size = draw(st.integers(0, len(inside)))
            del inside[size:]
            return "truncate", ".".join(("doc", *path)), size
        index = draw(st.integers(0, len(inside) + (2 if operator == "set" else 0)))
        at = ".".join(("doc", *path, str(index)))
        if operator == "unset":
            if index < len(inside):
                inside[index] = None
            return "unset", at, None
        inside += [None] * (index + 1 - len(inside))
        inside[index] = copy.deepcopy(new)
        return "set", at, new
    name = draw(st.sampled_from(list(inside)) if inside and draw(st.booleans()) else NAMES)
    if operator != "set":
        inside.pop(name, None)
        return "unset", ".".join(("doc", *path, name)), None
    if name not in inside and draw(st.booleans()):  # documents on the way that are not there yet
        more = draw(st.lists(NAMES, min_size=1, max_size=2))
        inner = copy.deepcopy(new)
        for missing in reversed(more):
            inner = {missing: inner}
        inside[name] = inner
        return "set", ".".join(("doc", *path, name, *more)), new
    inside[name] = copy.deepcopy(new)
    return "set", ".".join(("doc", *path, name)), new


def message(operator: str, path: str, value: Any, of_debezium: bool) -> str:
    """The patch that a message with this operation gives."""
    if of_debezium or operator == "truncate":
        update = mongo_update_description(
            '{"_id": 1}',
            json.dumps({path: value}) if operator == "set" else None,
            [path] if operator == "unset" else None,
            [{"field": path, "size": value}] if operator == "truncate" else None,
        )
    else:
        operations = {"$set": {path: value}} if operator == "set" else {"$unset": {path: True}}
        update = mongo_update('{"_id": 1}', json.dumps(operations))
    return update.patches["doc"]


@given(st.data(), st.lists(PARTS, max_size=3) | st.dictionaries(NAMES, PARTS, max_size=4), st.booleans())
def test_patches_give_what_a_whole_document_would(data: st.DataObject, value: Any, of_debezium: bool) -> None:
    """In one batch, in a batch each, and gone on from each text, as over several runs."""
    before, patches, after = text_of(value), [], []
    for _ in range(data.draw(st.integers(1, 5))):
        patches.append(message(*change(data.draw, value), of_debezium))
        after.append(text_of(value))
    assert mongo_patched(before, [patches]) == [Patched(after[-1], True)]
    assert mongo_patched(before, [[patch] for patch in patches]) == [Patched(text, True) for text in after]
    for patch, start, end in zip(patches, [before, *after], after, strict=False):
        assert mongo_patched(start, [[patch]]) == [Patched(end, True)]
        assert mongo_patched(end, [[patch], []]) == [Patched(end, True)] * 2  # a message that came again


@pytest.mark.parametrize(
    ("document", "operations", "after"),
    [
        (None, {"$set": {"doc.a.0.b": 1}}, '{"a":{"0":{"b":1}}}'),
        (None, {"$unset": {"doc.a": True}}, None),
        ('{"a":1,"b":2}', {"$set": {"doc.c": 3, "doc.a": 4}}, '{"a":4,"b":2,"c":3}'),
        ('{"a":1}', {"$unset": {"doc.a": True}}, "{}"),
        ("[[1]]", {"$set": {"doc.0.2": 3, "doc.2": 5}}, "[[1,null,3],null,5]"),
        ("[1,{}]", {"$set": {"doc.1.a": 1}, "$unset": {"doc.0": True}}, '[null,{"a":1}]'),
    ],
)
def test_a_patch_as_mongodb_applies_it(document: str | None, operations: Any, after: str | None) -> None:
    patch = mongo_update('{"_id": 1}', json.dumps(operations)).patches["doc"]
    assert mongo_patched(document, [[patch]]) == [Patched(after, True)]


@pytest.mark.parametrize(
    ("document", "operations"),
    [
        ("7", {"$set": {"doc.a": 1}}),
        ("text", {"$set": {"doc.a": 1}}),
        ('{"a": 1}', {"$set": {"doc.a": 1}}),
        ("[1, 2]", {"$set": {"doc.0": 1}}),
        (" {}", {"$set": {"doc.a": 1}}),
        ('{"a":\n1}', {"$unset": {"doc.a": True}}),
        ('"text"', {"$unset": {"doc.a": True}}),
        ('{"a":null}', {"$set": {"doc.a.b": 1}}),
        ('{"a":{"$oid":"x"}}', {"$set": {"doc.a.b": 1}}),
        ("[]", {"$set": {"doc.a": 1}}),
        ("[1]", {"$set": {"doc.01": 1}}),
        ("[]", {"$set": {"doc.9999999": 1}}),
        ("[]", {"$set": {"doc.99999999999999999999": 1}}),
        ('{"a.b":1}', {"$set": {"doc.a.b": 1}}),
        ("{}", {"$set": {"doc.": 1}}),
        ("{}", {"$set": {"doc.$x": 1}}),
        ('{"a":1,"a":2}', {"$set": {"doc.b": 1}}),
        ("{", {"$set": {"doc.b": 1}}),
        ("[" * 100000, {"$set": {"doc.b": 1}}),
    ],
)
def test_a_patch_that_does_not_fit_leaves_nothing_known(document: str, operations: Any) -> None:
    patch = mongo_update('{"_id": 1}', json.dumps(operations)).patches["doc"]
    good = mongo_update('{"_id": 1}', '{"$set": {"doc.ok": 1}}').patches["doc"]
    assert mongo_patched(document, [[patch], [good]]) == [Patched(None, False)] * 2


def test_names_with_dots_in_a_description_leave_nothing_known() -> None:
    """A pipeline may set a field `a` and one whose name is `a.b`: no broken message, but not certain."""
    update = mongo_update_description('{"_id": 1}', '{"doc.a": 1, "doc.a.b": 1}', None, None)
    assert mongo_patched("{}", [[update.patches["doc"]]]) == [Patched(None, False)]


@pytest.mark.parametrize(
    ("document", "path", "size"),
    [("[1]", "doc", 2), ("[1]", "doc", -1), ("[1]", "doc", None), ("{}", "doc", 0), ("{}", "doc.a", 0), (None, "doc", 0)],
)  # fmt: skip
def test_an_array_that_cannot_be_cut_is_not_known(document: str | None, path: str, size: int | None) -> None:
    update = mongo_update_description('{"_id": 1}', None, None, [{"field": path, "size": size}])
    assert mongo_patched(document, [[update.patches["doc"]]]) == [Patched(None, False)]


def test_an_array_may_be_cut_and_changed_in_one_update() -> None:
    update = mongo_update_description('{"_id": 1}', '{"doc.0": 9}', ["doc.1"], [{"field": "doc", "size": 2}])
    assert mongo_patched("[1,2,3]", [[update.patches["doc"]]]) == [Patched("[9,null]", True)]


@given(st.text(alphabet='{}[]":,01a.$', max_size=30), st.text(alphabet='{}[]":,01a.$', max_size=30))
def test_no_patch_raises(document: str, patch: str) -> None:
    assert len(mongo_patched(document, [[patch], []])) == 2


# -- SQL


def test_sql_reads_records_as_python_does(spark: Any) -> None:
    values = [base64.b64decode(line["value_base64"]) for line in records()] + [None, b"", b"\xff"]
    frame = spark.createDataFrame([(value and bytearray(value),) for value in values], "value binary")
    for value, text in frame.selectExpr("value", "cdc_dts_avro(value)").collect():
        assert text == dts_avro(value if value is None else bytes(value))


def test_sql_reads_documents_as_python_does(spark: Any) -> None:
    texts = [f'{{"_id": 1, "a": {written}}}' for written in SHELL] + [None, ""]
    texts += [text for text in NO_DOCUMENT if len(text) < 1000]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    for text, fields in frame.selectExpr("text", "cdc_mongo_fields(text)").collect():
        assert fields == mongo_fields(text)


def test_sql_reads_updates_as_python_does(spark: Any) -> None:
    row = spark.sql(
        """
        select
            cdc_mongo_update('{"_id": 1}', '{"$set": {"a.b": 1}, "$unset": {"c": true}}') as operators,
            cdc_mongo_update('{"_id": 1}', 'x') as bad,
            cdc_mongo_update_description('{"_id": 1}', '{"a": 1}', array('b.c'),
                array(named_struct('field', 'd', 'size', 2))) as description,
            cdc_mongo_update_description('{"_id": 1}', null, null, null) as nothing,
            cdc_mongo_update_description(null, '{}', array(), array()) as unknown
        """
    ).first()
    assert row.operators.asDict() == {
        "fields": {"_id": "1", "a.b": "1", "c": None},
        "patches": {"a": '[{"op":"set","path":"a.b","value":1}]', "a.b": '[{"op":"set","path":"a.b"}]'},
    }
    assert row.bad is None and row.unknown is None
    assert row.description.patches == {
        "b": '[{"op":"unset","path":"b.c"}]',
        "b.c": '[{"op":"unset","path":"b.c"}]',
        "d": '[{"op":"truncate","path":"d","size":2}]',
    }
    assert row.nothing.asDict() == {"fields": {"_id": "1"}, "patches": {}}


def test_sql_patches_as_python_does(spark: Any) -> None:
    row = spark.sql(
        """
        select
            cdc_mongo_patched('{"a":1}', array(array(patch, patch), array(), array('x'))) as states,
            cdc_mongo_patched(null, array(array(patch))) as of_nothing,
            cdc_mongo_patched('{}', array()) as none_asked,
            cdc_mongo_patched('{}', null) as unknown
        from values ('[{"op":"set","path":"doc.b","value":2}]') as given(patch)
        """
    ).first()
    assert [tuple(state) for state in row.states] == [('{"a":1,"b":2}', True)] * 2 + [(None, False)]
    assert [tuple(state) for state in row.of_nothing] == [('{"b":2}', True)]
    assert row.none_asked == [] and row.unknown is None


def test_bytes_that_are_no_utf_8_do_not_stop_the_batch(spark: Any) -> None:
    row = spark.sql("select cdc_mongo_fields(cast(X'FF' as string)), cdc_mongo_fields('{}')").first()
    assert tuple(row) == (None, {})


# -- models


@pytest.mark.parametrize(
    ("format_name", "table", "columns"),
    [
        ("dts_avro", "orders", {"id": "decimal(20,0)", "name": "string", "note": "string"}),
        ("drs_mongodb", "orders", {"_id": "string", "c1": "string", "tags": "string"}),
    ],
)
def test_a_messages_model_holds_the_text_that_a_changes_model_reads(
    session: Any, library: Any, format_name: str, table: str, columns: dict[str, str]
) -> None:
    golden = TESTS / "golden" / format_name
    raw = []
    for name in ("insert", "delete", "damaged", "ddl"):
        for message in read_messages(name, (golden / name / "messages.jsonl").read_bytes()):
            raw.append((name, 0, message.offset, None, None, message.value and bytearray(message.value)))
    schema = (
        "topic string, partition int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary"
    )
    session.createDataFrame(raw, schema).createOrReplaceTempView("raw")
    session.sql(library.messages("raw", format_name)).createOrReplaceTempView("stored")
    arguments = {"format": format_name, "table": table, "key": [next(iter(columns))], "columns": columns}
    order = "order by _cdc_topic, _cdc_offset, _cdc_sequence"
    direct = session.sql(f"{library.changes('raw', **arguments)} {order}")
    staged = session.sql(f"{library.changes(messages='stored', **arguments)} {order}")
    found = [row for row in direct.collect() if row["_cdc_error"] is None]
    assert len(found) >= 4
    assert [row for row in staged.collect() if row["_cdc_error"] is None] == found


@pytest.mark.parametrize("format_name", ["drs_mongodb", "debezium_mongodb"])
def test_a_variant_has_the_type_of_the_value(session: Any, library: Any, format_name: str) -> None:
    raw, expected = [], []

    def land(before: str | None, after: str, *values: Any) -> None:
        number = len(raw)
        if format_name == "drs_mongodb":
            message: dict[str, Any] = {"op": "INSERT", "coll": "t", "value": after, "recordType": "insert"}
            message["clusterTime"] = f"1:{number}"
        else:
            message = {"op": "c" if before is None else "u", "before": before, "after": after}
            message["source"] = {"collection": "t", "ts_ms": 1_700_000_000_000, "ord": number}
        raw.append(("t", 0, number, None, None, bytearray(json.dumps(message).encode())))
        expected.append(values)

    def document(value: str) -> str:
        return f'{{"_id": 1, "v": {value}}}'

    no_fit = "v: variant"
    for written, _, shown in TYPED:
        land(None, document(written), shown, None, None if shown else no_fit)
    land(None, document("null"), None, None, None)
    if format_name == "debezium_mongodb":
        land(document('"5"'), document('"5"'), '"5"', '"5"', None)
        land(document('"5"'), document("6"), "6", '"5"', None)
        land(document("[5]"), document('"[6]"'), '"[6]"', "[5]", None)
        land(document("true"), document("null"), None, "true", None)
        land(document('"5"'), document("5"), None, None, no_fit)  # equal texts are decoded once
        land(document('ObjectId("123456789012345678901234")'), document("5"), "5", None, f"before {no_fit}")
    schema = (
        "topic string, partition int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary"
    )
    session.createDataFrame(raw, schema).createOrReplaceTempView("raw")
    session.sql(library.messages("raw", format_name)).createOrReplaceTempView("stored")
    arguments = {"table": "t", "key": ["_id"], "columns": {"_id": "string", "v": "variant"}}
    for source in ({"relation": "raw"}, {"messages": "stored"}):
        sql = library.changes(format=format_name, **source, **arguments)
        rows = session.sql(
            f"select to_json(v), to_json(_cdc_before.v), _cdc_error.detail from ({sql}) order by _cdc_offset"
        )
        assert [tuple(row) for row in rows.collect()] == expected


def test_a_line_may_hold_bytes_as_base64() -> None:
    lines = [
        {"value_base64": "AP8="},
        {"offset": 7, "topic": "t", "value_base64": ""},
        {"value_base64": "no base64!"},
        {"value_base64": None},
        {"value_base64": 1},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    found = [(m.topic, m.offset, m.value) for m in read_messages("file", data)]
    assert found[:2] == [("file", 0, b"\x00\xff"), ("t", 7, b"")]
    assert [value for _, _, value in found[2:]] == [json.dumps(line).encode() for line in lines[2:]]


def test_an_incremental_run_calls_the_function_for_new_messages_only(session: Any, library: Any) -> None:
    """The query of a later run, which no other test of these formats writes."""
    message = (GOLDEN / "insert" / "messages.jsonl").read_text().splitlines()[0]
    value = bytearray(base64.b64decode(json.loads(message)["value_base64"]))
    raw = [("t", 0, n, None, None, value) for n in range(4)]
    schema = (
        "topic string, partition int, `offset` bigint, `timestamp` timestamp, `key` binary, `value` binary"
    )
    session.createDataFrame(raw, schema).createOrReplaceTempView("raw")
    reading = {
        "partitions": [
            {
                "topic": "t",
                "partition": 0,
                "after_offset": 1,
                "up_to_offset": 3,
                "fingerprint": 0,
                "has_late_messages": False,
            }
        ],
        "counts_copies": False,
        "read_again": [],
    }
    ctes = library.call("_raw_envelopes", "raw", library.call("_format", "dts_avro"), None, reading=reading)
    rows = session.sql(f"with {ctes} select offset, kind, value from envelopes order by offset").collect()
    assert [(row.offset, row.kind) for row in rows] == [(2, "rows"), (3, "rows")]
    assert all(json.loads(row.value)["operation"] == "INSERT" for row in rows)
