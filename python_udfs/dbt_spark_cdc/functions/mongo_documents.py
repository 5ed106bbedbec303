"""cdc_mongo_fields and two more functions: documents of MongoDB as columns of texts."""

from __future__ import annotations

import base64
import functools
import json
import re
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions._arrow import texts
from dbt_spark_cdc.functions.mongo_text import extended_json, zone_offset

if TYPE_CHECKING:
    import pyarrow as pa

Fields = dict[str, str | None]
_Write = Callable[[dict[str, Any]], Fields]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # only added to; the text says Z
_LONG = range(-(2**63), 2**63)
_INT = range(-(2**31), 2**31)
_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_ZERO = re.compile(r"[+-]?0+(?:\.0*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_OBJECT_ID = re.compile(r"[0-9a-f]{24}")
# At most 34 digits, and so short that no exponent is out of range.
_DECIMAL = re.compile(r"(?=[-0-9.]{1,34}\Z)-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_ANY_DECIMAL = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:E[+-]?[0-9]+)?|Inf(?:inity)?|NaN)", re.ASCII | re.IGNORECASE
)
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,3})?(?:Z|[+-][0-9]{2}:?[0-9]{2})"
)
# Kept unchanged: their classes would become plain texts, or have another name.
_KEPT = {"$code", "$ref", "$dbPointer"}
_UUID_SUBTYPE = 4
_REGEX_OPTIONS = frozenset("ilmsux")
# In front of a document's text if the macros need the type of each text.
_TYPED = "typed:"
_OPERATORS = {"$set", "$unset", "$v"}
_UPDATE_OPERATORS = {
    "$set", "$unset", "$inc", "$mul", "$min", "$max", "$rename", "$currentDate", "$setOnInsert", "$push",
    "$pushAll", "$pull", "$pullAll", "$pop", "$addToSet", "$bit",
}  # fmt: skip


class Update(NamedTuple):
    """The content of an update: fields by name, and the columns of which it changes only a part.

    A path (`address.city`, `tags.0`) is in `fields` too, so that it can be shown. `patches` has the changes
    of parts of a column, a text for `cdc_mongo_patched`. It has every name that leads to such a part,
    because a name may itself hold dots; for those it has only the path.
    """

    fields: Fields
    patches: dict[str, str]


def mongo_fields(text: str | None) -> Fields | None:
    r"""Read one document and return its fields as texts; None if the text is not a document.

    Shape: `text` is Extended JSON, version 1 or 2, canonical or relaxed, or what MongoDB's shell prints
    (`ObjectId("...")`, `ISODate("...")`, `NumberLong(7)`, regular expressions, keys without quotes).

    The texts: a string as it is; int and long their digits; a double its shortest exact form, also NaN and
    Infinity; Decimal128 as it prints itself; ObjectId its 24 hexadecimal digits; a date ISO 8601 in UTC
    with milliseconds; true, false; binary base64, and a UUID (subtype 4) as UUIDs are written; a timestamp
    `seconds:increment`; a regular expression `/pattern/options`; MinKey, MaxKey. Null and undefined are
    None. Nested documents, lists, code and references are relaxed Extended JSON without white space.

    With `typed:` in front of a document's text, each text has its type in front: `string:7`, `number:7`,
    `binary:AQI=`.

    Errors: None if the text is not a document: damaged, with a name twice, with an unknown construct, or
    with a number that its type cannot hold. Never an exception.

    Source: MongoDB Extended JSON (v2), MongoDB shell data types. Needs pymongo, for its module bson.

    >>> mongo_fields('{"_id": ObjectId("64650cf67dc36a464e76e583"), "n": NumberLong("7"), "a": [1.50]}')
    {'_id': '64650cf67dc36a464e76e583', 'n': '7', 'a': '[1.5]'}
    """

    def read() -> Fields:
        plain, fields = _as_asked(text)
        return fields(_whole_document(plain))

    return _answer(read, text)


def mongo_update(identity: str | None, operations: str | None) -> Update | None:
    """Return the content of an update by operators, with the fields that name the document.

    Shape: `identity` is a document such as `{"_id": 1}`, `operations` one of `$set` and `$unset`, as the
    oplog has them. A field that is set has its value, one that is unset has None. `typed:` in front of
    `identity` gives types as in `mongo_fields`.

    Errors: None if one of the two is not a document, or if `operations` holds another operator or paths
    that conflict.
    """

    def read() -> Update:
        plain, fields = _as_asked(identity)
        return _update(plain, _document(operations), fields)

    return _answer(read, identity, operations)


def mongo_update_description(
    identity: str | None, updated: str | None, removed: list | None, truncated: list | None
) -> Update | None:
    """Return the content of a change stream's update, with the fields that name the document.

    Shape: `updated` is a document of paths and values, `removed` a list of paths, `truncated` a list of
    `field` and `size`: the path of an array that was cut, and its new length. Each may be None if it has
    nothing.

    Errors: None if a text is not a document.
    """

    def described() -> Update:
        plain, fields = _as_asked(identity)
        return _changed(
            _whole_document(plain),  # empty for a message without a key, which is an error of its own
            _document(updated) if updated is not None else {},
            [_known(path) for path in removed or ()],
            {_known(array["field"]): array["size"] for array in truncated or ()},
            fields,
        )

    return _answer(described, identity)


def _answer(read: Callable[[], Any], *needed: str | None) -> Any:
    if None in needed:
        return None
    try:
        return read()
    except ImportError:
        raise
    except Exception:  # any error that the readers raise for a text that is not a document
        return None


def _known(path: str | None) -> str:
    if path is None:
        raise ValueError("a path that is null")
    return path


def _as_asked(text: str) -> tuple[str, _Write]:
    if text.startswith(_TYPED):
        return text[len(_TYPED) :], _typed_fields
    return text, _fields


def _update(identity: str, operations: dict[str, Any], fields: _Write) -> Update:
    if not operations.keys() <= _OPERATORS or operations.get("$v", 1) != 1 or len(operations) == 0:
        raise ValueError("operators that are not known")
    changed, removed = operations.get("$set", {}), operations.get("$unset", {})
    if not isinstance(changed, dict) or not isinstance(removed, dict):
        raise TypeError("operators take documents")
    _refuse_conflicts({*changed, *removed})
    return _changed(_identity(identity), changed, removed, {}, fields)


def _refuse_conflicts(paths: set[str]) -> None:
    """Reject changes of a part and a part of it: no server sends both. Whole columns have another error."""
    for path in paths:
        if not paths.isdisjoint(_names(path)[1:-1]):
            raise ValueError("a value that is changed and a part of it too")


def _identity(text: str) -> dict[str, Any]:
    document = _whole_document(text)
    if "_id" not in document or any(_is_operator(value) for value in document.values()):
        raise ValueError("what names no document")
    return document


def _is_operator(value: Any) -> bool:
    """Whether this is a condition such as {"$gt": 1}, which finds documents and is never a value of one."""
    return isinstance(value, dict) and next(iter(value), "").startswith("$") and _KEPT.isdisjoint(value)


def _whole_document(text: str) -> dict[str, Any]:
    """Whether this is a document, and not the operators of an update."""
    document = _document(text)
    if not _UPDATE_OPERATORS.isdisjoint(document):
        raise ValueError("an update in the place of a document")
    if _is_operator(document.get("_id")):
        raise ValueError("an _id that no server gives a document")
    return document


def _changed(
    identity: dict[str, Any],
    changed: dict[str, Any],
    removed: Iterable[str],
    truncated: dict[str, int | None],
    write: _Write,
) -> Update:
    removed = list(removed)
    if not changed.keys().isdisjoint(removed):
        raise ValueError("a field that is set and removed")
    # A shard key may be inside a nested value: its path is not a column.
    named = write({name: value for name, value in identity.items() if "." not in name})
    fields = named | write(changed) | dict.fromkeys(removed)
    if "_id" in removed or fields.get("_id") != named.get("_id"):
        raise ValueError("another _id, which no server gives a document")
    if any(path.startswith("_id.") for path in (*changed, *removed)):
        raise ValueError("a part of the _id, which no server changes")
    operations: dict[str, list[str]] = {}

    def add(path: str, operator: str, more: str = "") -> None:
        written = f'{{"op":"{operator}","path":{json.dumps(path, ensure_ascii=False)}'
        column, *names = _names(path)
        operations.setdefault(column, []).append(f"{written}{more}}}")
        for name in names:
            operations.setdefault(name, []).append(f"{written}}}")

    for path, size in truncated.items():
        add(path, "truncate", f',"size":{json.dumps(size)}')
    for path, value in changed.items():
        if "." in path:
            add(path, "set", f',"value":{_json(value)}')
    for path in removed:
        if "." in path:
            add(path, "unset")
    return Update(fields, {name: f"[{','.join(listed)}]" for name, listed in operations.items()})


def _names(path: str) -> list[str]:
    """`a`, `a.b` and `a.b.c` for a.b.c."""
    parts = path.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


# -- reading


@functools.cache
def _bson() -> tuple[Any, Any]:
    # Imported here and not above: a project that reads other formats needs no pymongo.
    from bson import json_util
    from bson.codec_options import DatetimeConversion

    return json_util, json_util.JSONOptions(
        json_mode=json_util.JSONMode.RELAXED, datetime_conversion=DatetimeConversion.DATETIME_MS
    )


def _document(text: str) -> dict[str, Any]:
    try:
        document = _decoder().decode(text)
    except json.JSONDecodeError:
        document = _decoder().decode(extended_json(text))
    if not isinstance(document, dict):
        raise TypeError("no document")
    if "\\u" in text:
        _refuse_half_characters(document)
    return document


def _refuse_half_characters(document: dict[str, Any]) -> None:
    """Reject an escape of an unpaired surrogate, which no column can hold."""
    json.dumps(document, ensure_ascii=False, default=str).encode("utf-8")


@functools.cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that occurs twice")
    return _typed(found) if pairs and pairs[0][0].startswith("$") else found


class _Plain:
    """A value of the most common types, read without bson: its text, and its form inside a nested value."""

    __slots__ = ("extended", "text")

    def __init__(self, text: str, extended: dict[str, Any]) -> None:
        self.text = text
        self.extended = extended


def _typed(found: dict[str, Any]) -> Any:
    if len(found) == 1:
        [(name, value)] = found.items()
        read = _READERS.get(name)
        if read is not None and (plain := read(value, found)) is not None:
            return plain
    if not _KEPT.isdisjoint(found):
        return found
    if "$binary" in found:
        data = found["$binary"]
        _strict_base64(data["base64"] if isinstance(data, dict) else data)
    if "$regularExpression" in found or isinstance(found.get("$regex"), str):
        _refuse_options(found)
    json_util, options = _bson()
    return json_util.object_hook(found, options)


def _refuse_options(found: dict[str, Any]) -> None:
    """Reject options that bson silently leaves out."""
    if "$regex" in found:
        options = found.get("$options", "")
        if not found.keys() <= {"$regex", "$options"}:
            raise ValueError("a regular expression with more fields")
    else:
        options = found["$regularExpression"]["options"]
    if not _REGEX_OPTIONS.issuperset(options) or len(set(options)) != len(options):
        raise ValueError("options that no regular expression has")


def _object_id(value: Any, found: dict[str, Any]) -> Any:
    return _Plain(value, found) if isinstance(value, str) and _OBJECT_ID.fullmatch(value) else None


def _iso_date(value: Any, found: dict[str, Any]) -> Any:
    """Read a date as servers write it; bson reads all others, and cuts digits below a millisecond."""
    if type(value) is int:
        return None
    if not isinstance(value, str) or not _ISO.fullmatch(value):
        raise ValueError("a date that is not to the millisecond")
    if value[-1] != "Z":
        zone_offset(value[19:].lstrip(".0123456789"))
    if len(value) not in (20, 24) or value < "1970" or value[-1] != "Z":
        return None
    datetime.fromisoformat(value[:-1])
    if len(value) == 20:
        return _Plain(f"{value[:-1]}.000Z", found)
    return _Plain(value, found) if value[-5:] != ".000Z" else None


def _decimal(value: Any, found: dict[str, Any]) -> Any:
    if not isinstance(value, str) or not _ANY_DECIMAL.fullmatch(value):
        raise ValueError("no decimal")
    return _Plain(value, found) if _DECIMAL.fullmatch(value) else None


def _double_of(value: Any, _: dict[str, Any]) -> float:
    if not isinstance(value, str):
        raise TypeError("no double")
    return _NOT_FINITE[value] if value in _NOT_FINITE else _float(value)


def _only(is_allowed: Callable[[Any], bool]) -> Callable[[Any, dict[str, Any]], None]:
    """Check the type of a value that bson reads without checking it."""

    def check(value: Any, _: dict[str, Any]) -> None:
        if not is_allowed(value):
            raise TypeError("a value of another type")

    return check


_READERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "$oid": _object_id,
    "$date": _iso_date,
    "$numberLong": lambda value, _: _whole(value, _LONG),
    "$numberInt": lambda value, _: _whole(value, _INT),
    "$numberDouble": _double_of,
    "$numberDecimal": _decimal,
    "$symbol": _only(lambda value: isinstance(value, str)),
    "$timestamp": _only(lambda value: all(type(part) is int for part in value.values())),
    "$undefined": _only(lambda value: value is True),
}


def _strict_base64(text: str) -> None:
    if base64.b64encode(base64.b64decode(text, validate=True)).decode("ascii") != text:
        raise ValueError("not the text that an encoder writes")


def _whole(value: Any, allowed: range) -> int:
    if not isinstance(value, str) or not _INTEGER.fullmatch(value) or int(value) not in allowed:
        raise ValueError("a number that its type cannot hold")
    return int(value)


def _int(text: str) -> int | float:
    """Read a number without a point: a shell prints a double as -0, or as a number that no long can hold."""
    number = int(text)
    if number == 0 and text.startswith("-"):
        return -0.0
    if number in _LONG:
        return number
    if abs(number) < 10**21 and Decimal(repr(float(text))) == number:
        return float(text)
    raise ValueError("a number that no type can hold")


def _float(text: str) -> float:
    number = float(text)
    # Only 0 and the infinities equal their own double.
    is_cut = number == number + number and not (number == 0 and _ZERO.fullmatch(text))
    if is_cut or not _DOUBLE.fullmatch(text):
        raise ValueError("a number that a double cannot hold")
    return number


# -- writing


def _fields(document: dict[str, Any]) -> Fields:
    return {name: _TEXT.get(type(value), _other)(value) for name, value in document.items()}


def _typed_fields(document: dict[str, Any]) -> Fields:
    return {
        name: None if text is None else f"{_type(document[name])}:{text}"
        for name, text in _fields(document).items()
    }


def _type(value: Any) -> str:
    name = type(value).__name__
    if name == "_Plain":
        name = next(iter(value.extended))
    elif name == "dict" and "$code" in value and value.keys() <= {"$code", "$scope"}:
        name = "$code"
    return _TYPES[name]


# int, long and double have one name: not all writers distinguish them.
_TYPES = {
    "str": "string", "int": "number", "float": "number", "bool": "boolean", "dict": "document",
    "list": "list", "Decimal128": "decimal", "$numberDecimal": "decimal", "ObjectId": "objectId",
    "$oid": "objectId", "DatetimeMS": "date", "$date": "date", "bytes": "binary", "Binary": "binary",
    "Timestamp": "timestamp", "Regex": "regex", "MinKey": "minKey", "MaxKey": "maxKey", "$code": "code",
}  # fmt: skip


def _same(value: Any) -> Any:
    return value


def _double(number: float) -> str:
    text = repr(number)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _nested(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"$code"} and isinstance(value["$code"], str):
        return value["$code"]
    return _json(value)


def _json(value: Any) -> str:
    """Return a value's form inside a nested value."""
    try:
        return _writer().encode(value)
    except ValueError:  # NaN and Infinity have a form of their own
        json_util, options = _bson()
        written = json_util.dumps(_unpacked(value), json_options=options, ensure_ascii=False)
        return json.dumps(json.loads(written), ensure_ascii=False, separators=(",", ":"))


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unpacked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_unpacked(inner) for inner in value]
    return value.extended if isinstance(value, _Plain) else value


@functools.cache
def _writer() -> json.JSONEncoder:
    json_util, options = _bson()
    return json.JSONEncoder(
        ensure_ascii=False,
        check_circular=False,
        allow_nan=False,
        separators=(",", ":"),
        default=lambda value: (
            value.extended if isinstance(value, _Plain) else json_util.default(value, options)
        ),
    )


def _other(value: Any) -> str:
    """Return the text of bson's classes, found by name: this module does not import them."""
    kind = type(value).__name__
    if kind == "ObjectId":
        return str(value)
    if kind == "DatetimeMS":
        return _date(int(value))
    if kind == "bytes":  # subtype 0
        return base64.b64encode(value).decode("ascii")
    if kind == "Binary":
        if value.subtype == _UUID_SUBTYPE and len(value) == 16:
            return str(uuid.UUID(bytes=bytes(value)))
        return base64.b64encode(value).decode("ascii")
    if kind == "Timestamp":
        return f"{value.time}:{value.inc}"
    if kind == "Regex":
        options = json.loads(_nested(value))["$regularExpression"]["options"]
        return f"/{value.pattern}/{options}"
    if kind in ("MinKey", "MaxKey"):
        return kind
    if kind == "Decimal128":
        return str(value)
    raise TypeError(f"a value of type {kind}")


def _date(milliseconds: int) -> str:
    try:
        return f"{(_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec='milliseconds')}Z"
    except OverflowError:  # a year outside the calendar of four digits
        return f'{{"$date":{{"$numberLong":"{milliseconds}"}}}}'


_TEXT: dict[type, Callable[[Any], str | None]] = {
    str: _same,
    type(None): _same,
    int: str,
    float: _double,
    bool: lambda value: "true" if value else "false",
    dict: _nested,
    list: _nested,
    _Plain: lambda value: value.text,
}


# -- Arrow


def mongo_fields_arrow(text: pa.Array) -> pa.Array:
    """Apply `mongo_fields` to an Arrow column."""
    import pyarrow as pa

    return pa.array(map(_entries, map(mongo_fields, texts(text))), type=pa.map_(pa.string(), pa.string()))


def mongo_update_arrow(identity: pa.Array, operations: pa.Array) -> pa.Array:
    """Apply `mongo_update` to Arrow columns."""
    return _updates(map(mongo_update, texts(identity), texts(operations)))


def mongo_update_description_arrow(
    identity: pa.Array, updated: pa.Array, removed: pa.Array, truncated: pa.Array
) -> pa.Array:
    """Apply `mongo_update_description` to Arrow columns."""
    return _updates(
        map(
            mongo_update_description,
            texts(identity),
            texts(updated),
            removed.to_pylist(),
            truncated.to_pylist(),
        )
    )


def _updates(updates: Iterable[Update | None]) -> pa.Array:
    import pyarrow as pa

    entries = pa.map_(pa.string(), pa.string())
    rows = [
        None if update is None else {"fields": _entries(update.fields), "patches": _entries(update.patches)}
        for update in updates
    ]
    return pa.array(rows, type=pa.struct([("fields", entries), ("patches", entries)]))


def _entries(fields: dict[str, Any] | None) -> list[tuple[str, Any]] | None:
    return None if fields is None else list(fields.items())
