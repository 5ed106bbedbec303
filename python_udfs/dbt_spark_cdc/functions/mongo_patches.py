"""cdc_mongo_patched: a nested value of MongoDB after updates that changed parts of it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions._arrow import texts

if TYPE_CHECKING:
    import pyarrow as pa

_NOTHING = object()
_INDEX = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)
# MongoDB itself rejects filling an array with more nulls than this.
_MOST_PADDING = 1_500_000
_WITHOUT_WHITE_SPACE = re.compile(r'[^"\s]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"\s]*)*', re.DOTALL)


class Patched(NamedTuple):
    """A value after patches; None is a missing field. It is not known if a patch does not fit the value."""

    document: str | None
    is_known: bool


def mongo_patched(document: str | None, batches: list[list[str]] | None) -> list[Patched] | None:
    """Apply patches to the text of a nested value and return its state after each batch of them.

    Shape: `document` is the text that `cdc_mongo_fields` returns for a document or a list; None means that
    the field is missing. A patch is a text of `cdc_mongo_update` or `cdc_mongo_update_description`: the
    changes of one message to one column.

    As in MongoDB: setting a value creates the documents on its path; a number is a position in an array if
    the value there is an array (nulls fill it up), else a name; an element that is unset in an array
    becomes null; unsetting a missing field does nothing.

    Errors: `is_known` is false from the first batch on in which a patch cannot have come from a server that
    had this value: a path through a text or a number, or a path that a name with a dot makes ambiguous.
    Never an exception. A text that looks like a document of `cdc_mongo_fields` is read as one.

    >>> mongo_patched('{"city":"Bern"}', [['[{"op":"set","path":"address.zip","value":3000}]']])
    [Patched(document='{"city":"Bern","zip":3000}', is_known=True)]
    """
    if batches is None:
        return None
    try:
        value = _NOTHING if document is None else _value(document)
    except Exception:  # any error that the decoder raises for a text that is not a value
        return [Patched(None, False) for _ in batches]
    states = []
    for patches in batches:
        try:
            for patch in patches:
                value = _after(value, _decoder().decode(patch))
            states.append(Patched(None if value is _NOTHING else _encoder().encode(value), True))
        except Exception:
            states += [Patched(None, False)] * (len(batches) - len(states))
            break
    return states


def _value(document: str) -> Any:
    if not _WITHOUT_WHITE_SPACE.fullmatch(document):
        raise ValueError("a text that is like JSON, and no document: those have no white space here")
    return _decoder().decode(document)


def _after(value: Any, operations: list[dict[str, Any]]) -> Any:
    _refuse_conflicts(operations)
    column = operations[0]["path"].split(".", 1)[0]
    row = {} if value is _NOTHING else {column: value}
    for operation in operations:
        parts = operation["path"].split(".")
        if parts[0] != column or any(part == "" or part.startswith("$") for part in parts[1:]):
            raise ValueError("a path that no update has")
        _OPERATIONS[operation["op"]](row, parts, operation)
    return row.get(column, _NOTHING)


def _refuse_conflicts(operations: list[dict[str, Any]]) -> None:
    """Reject a change of a value and of a part of it: only an array may be cut and then changed."""
    changed = [operation["path"] for operation in operations if operation["op"] != "truncate"]
    if len(set(changed)) != len(changed):
        raise ValueError("a path that is changed twice")
    for operation in operations:
        path = operation["path"]
        above = set(_above(path)) | ({path} if operation["op"] == "truncate" else set())
        if not above.isdisjoint(changed):
            raise ValueError("a value that is changed and a part of it too")


def _above(path: str) -> Iterable[str]:
    parts = path.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts)))


def _set(row: dict[str, Any], parts: list[str], operation: dict[str, Any]) -> None:
    at: Any = row
    for place in range(len(parts) - 1):
        inside = _found(at, parts, place)
        if inside is _NOTHING:
            inside = {}
            _put(at, parts[place], inside)
        at = inside
    _found(at, parts, len(parts) - 1)
    _put(at, parts[-1], operation["value"])


def _unset(row: dict[str, Any], parts: list[str], _: dict[str, Any]) -> None:
    at: Any = row
    for place in range(len(parts) - 1):
        at = _found(at, parts, place)
        if at is _NOTHING:
            return
    if _found(at, parts, len(parts) - 1) is not _NOTHING:
        if isinstance(at, list):
            at[int(parts[-1])] = None
        else:
            del at[parts[-1]]


def _truncate(row: dict[str, Any], parts: list[str], operation: dict[str, Any]) -> None:
    at: Any = row
    for place in range(len(parts)):
        at = _found(at, parts, place)
    size = operation["size"]
    if not isinstance(at, list) or type(size) is not int or not 0 <= size <= len(at):
        raise ValueError("an array that cannot be cut so")
    del at[size:]


_OPERATIONS = {"set": _set, "unset": _unset, "truncate": _truncate}


def _found(at: Any, parts: list[str], place: int) -> Any:
    """Return what `at` has under this part of the path."""
    if isinstance(at, list):
        if not _INDEX.fullmatch(parts[place]):
            raise ValueError("a name in an array")
        index = int(parts[place])
        return at[index] if index < len(at) else _NOTHING
    if not isinstance(at, dict) or next(iter(at), "").startswith("$"):
        raise ValueError("a path through a value without parts")
    if any(".".join(parts[place:end]) in at for end in range(place + 2, len(parts) + 1)):
        raise ValueError("a name with a dot that is a path as well")
    return at.get(parts[place], _NOTHING)


def _put(at: Any, name: str, value: Any) -> None:
    if isinstance(at, dict):
        at[name] = value
        return
    index = int(name)
    if index - len(at) > _MOST_PADDING:
        raise ValueError("an array that no server would fill")
    at.extend([None] * (index + 1 - len(at)))
    at[index] = value


@functools.cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that occurs twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no value of JSON")


@functools.cache
def _encoder() -> json.JSONEncoder:
    # The same as the writer of mongo_documents, so that an unchanged text stays the same.
    return json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))


def mongo_patched_arrow(document: pa.Array, batches: pa.Array) -> pa.Array:
    """Apply `mongo_patched` to Arrow columns."""
    import pyarrow as pa

    state = pa.struct([("document", pa.string()), ("is_known", pa.bool_())])
    rows = [
        None if states is None else [one._asdict() for one in states]
        for states in map(mongo_patched, texts(document), batches.to_pylist())
    ]
    return pa.array(rows, type=pa.list_(state))
