"""cdc_detect(value): the format and dialect of a message, found from its structure alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions._arrow import texts
from dbt_spark_cdc.functions.dts_avro import dts_avro
from dbt_spark_cdc.functions.fingerprints import ALIKE, RULES, Alike, Rule

if TYPE_CHECKING:
    import pyarrow as pa


class Detected(NamedTuple):
    """A format and dialect, with 1.0 for proof, less for a fair guess; format None has 0.0."""

    format: str | None
    dialect: str | None
    confidence: float


_UNKNOWN = Detected(None, None, 0.0)
_STRING_IN_SCHEMA = re.compile(
    rb'\s*\{\s*"schema"\s*:\s*\{\s*"type"\s*:\s*"string"\s*,\s*"optional"\s*:\s*(?:true|false)\s*\}\s*,'
    rb'\s*"payload"\s*:\s*("\{(?:[^"\\]|\\.)*")\s*\}\s*',
    re.DOTALL,
)
_DTS_ROWS = frozenset({"INSERT", "UPDATE", "DELETE", "INIT"})


def detect(value: str | None) -> Detected:
    """Find the format and dialect of one message, or None if they are not certain.

    Shape: `value` is the message's text, a JSON object. The answer holds the format, its dialect (None if
    all of them write such a message), and the confidence: 1.0 if the keys and values of exactly one format
    are there, 0.5 if the message fits a format but holds nothing that only this format has, and 0.0 with
    format None if no format is certain. One message is a weak witness: let a topic's messages agree before
    acting on it.

    Errors: NULL, text that is not a JSON object, and other vendors' messages give format None, never an
    exception.

    Sources: real messages of Canal 1.1.7, Debezium 3.5, Maxwell 1.22.6 and Flink 2.3; for the others the
    vendors' pages, which the head of each file in macros/formats names.

    >>> detect('{"data": [{"id": 4}], "type": "INSERT"}')
    Detected(format='canal', dialect='flink', confidence=0.5)
    """
    message = _object(value)
    return _UNKNOWN if message is None else detect_object(message)


def detect_object(message: dict[str, Any]) -> Detected:
    """Find the format of a message that is already parsed."""
    rule = _rule_of(message)
    return _UNKNOWN if rule is None else Detected(rule.format, rule.dialect, rule.confidence)


def rule_of(value: bytes) -> tuple[Rule, dict[str, str]] | None:
    """Return the fingerprint that shows the format of a message, and the texts that it looks at by path."""
    message = _object(unwrapped(value).decode("utf-8", "replace"))
    rule = None if message is None else _rule_of(message)
    return rule and (rule, {path: _text(message, path) for path in [*rule.values, *rule.endings]})


def _rule_of(message: dict[str, Any]) -> Rule | None:
    return next((rule for rule in RULES if _fits(rule, message)), None)


def alike(value: str | None) -> tuple[tuple[str, str], ...]:
    """Return the formats and dialects that may have written a message that `detect` does not know."""
    message = _object(value)
    if message is None or _rule_of(message) is not None:
        return ()
    return next((among.writers for among in ALIKE if _fits_keys(among, message)), ())


def detect_bytes(value: bytes) -> Detected:
    """Find the format of one message as `detect` does, or of a record of Alibaba DTS, which is not a text.

    Nothing marks such a record, but its reader reads exactly all of its bytes: the names of a table and of
    its columns, with a value for each, are proof. A mark or a heartbeat, which has none of these, only
    fits.

    Errors: ImportError if the value is not a JSON object and fastavro, which reads records, is not
    installed.
    """
    text = unwrapped(value)
    if text.lstrip().startswith(b"{"):
        return detect(text.decode("utf-8", "replace"))
    record = _object(dts_avro(value))
    if record is None:
        return _UNKNOWN
    if record["operation"] in _DTS_ROWS:
        has_image = "beforeImages" in record or "afterImages" in record
        is_row = has_image and record["objectName"] and "imagesWithoutNames" not in record
        return Detected("dts_avro", "dts_avro", 1.0) if is_row else _UNKNOWN
    return Detected("dts_avro", "dts_avro", 0.5) if record["sourcePosition"] else _UNKNOWN


def unwrapped(value: bytes) -> bytes:
    """Return the JSON after a schema registry's five bytes, or in the text that a StringConverter wrote.

    It reads a value as the macros do (`_unwrapped_value`); it returns other values unchanged.
    """
    if value[:1] == b"\x00" and value[5:6] == b"{":
        return value[5:]
    if not value.startswith(b'{"schema"'):
        return value
    found = _STRING_IN_SCHEMA.fullmatch(value)
    try:
        return json.loads(found[1]).encode("utf-8", "surrogatepass") if found else value
    except ValueError:
        return value


def _object(value: str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        # Numbers stay text: no rule needs one, and Python refuses to convert integers of thousands of
        # digits.
        message = json.loads(value, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _fits(rule: Rule, message: dict[str, Any]) -> bool:
    return (
        _fits_keys(rule, message)
        and (not rule.one_of or any(_has(message, path) for path in rule.one_of))
        and all((_text(message, path) or "").endswith(end) for path, end in rule.endings.items())
        and all(isinstance(message.get(key), dict) for key in rule.objects)
    )


def _fits_keys(rule: Rule | Alike, message: dict[str, Any]) -> bool:
    return (
        all(_has(message, path) for path in rule.required)
        and _has_no_other_key(rule, message)
        and all(_text(message, path) in allowed for path, allowed in rule.values.items())
    )


def _has_no_other_key(rule: Rule | Alike, message: dict[str, Any]) -> bool:
    if rule.optional is None:
        return True
    # A key may itself hold a dot; it is then not the path with the same spelling.
    own_keys = {path for path in rule.required if "." not in path}
    return message.keys() <= own_keys | rule.optional


def _has(message: dict[str, Any], path: str) -> bool:
    *outer, key = path.split(".")
    found = _at(message, outer)
    return isinstance(found, dict) and key in found


def _text(message: dict[str, Any], path: str) -> str | None:
    found = _at(message, path.split("."))
    return found if isinstance(found, str) else None


def _at(message: dict[str, Any], keys: list[str]) -> Any:
    found: Any = message
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def detect_arrow(value: pa.Array) -> pa.Array:
    """Apply `detect` to an Arrow column."""
    import pyarrow as pa

    rows = [detect(text)._asdict() for text in texts(value)]
    fields = [("format", pa.string()), ("dialect", pa.string()), ("confidence", pa.float64())]
    return pa.array(rows, type=pa.struct(fields))
