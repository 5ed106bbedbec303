"""One message -> all that the macros find in it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.decode import AUTO, Options, UsageError, refusals
from dbt_spark_cdc.decode.changes import Changes
from dbt_spark_cdc.decode.files import File, given_key
from dbt_spark_cdc.decode.sights import sight
from dbt_spark_cdc.decode.texts import RAW_COLUMNS, create_raw, instant
from dbt_spark_cdc.decode.writers import DETECT_FROM, Writers
from dbt_spark_cdc.decode.writers import options as as_options
from dbt_spark_cdc.explain.advice import advice_of
from dbt_spark_cdc.explain.places import as_dict, place_of, place_of_column
from dbt_spark_cdc.functions.detect import rule_of, unwrapped
from dbt_spark_cdc.inputs import Message
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.message_text import jinja_literal
from dbt_spark_cdc.registry import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The text is not one JSON object: whatever its format, it is rejected for this.
OF_NO_FORMAT = frozenset(
    {
        "empty",
        "invalid_utf8",
        "not_json",
        "not_an_object",
        "broken_json",
        "text_after_message",
        "over_json_limits",
        "invalid_unicode",
    }
)
# Any format of JSON finds these.
ANY_FORMAT = "canal"
KEYS_SHOWN = 8
OFFSET = "offset of Kafka"


class Explainer:
    """Explains messages with one Spark."""

    def __init__(self, library: MacroLibrary, options: Options) -> None:
        """Check the options; raises UsageError."""
        self.library = library
        self.options = options
        self._writers = Writers(library.formats(), options)
        self._changes = Changes(library, options)

    def explain(
        self, spark: SparkSession, messages: Sequence[Message], place: int, topic: str, name: str
    ) -> dict[str, Any]:
        """Return the facts about one of a file's messages; the others may show its format.

        Raises UsageError if the format is not certain, or if those that may have written the message mean
        different things by it.
        """
        register(spark)
        message = messages[place]
        try:
            file, why = self._file(list(messages), message, topic, name)
        except UsageError:
            facts = self._of_no_format(spark, message, topic, name)
            if facts is None:
                raise
            return facts
        (entries,) = self._writers.agreed([file], lambda files: self._changes.of(spark, files))
        if file.refusal is not None:
            raise UsageError(" ".join(refusals([file])))
        if len(file.writers) > 1:
            why.append(f"{as_options(file.writers, 'and')} write this message alike and mean the same by it")
        return self._facts(spark, file, message, entries, why)

    def _file(
        self, messages: list[Message], message: Message, topic: str, name: str
    ) -> tuple[File, list[str]]:
        """Return the message as a file with its format, and why it is this one."""
        alone = self._writers.file_of([message], topic, name)
        if self.options.format != AUTO:
            return alone, ["the option --format names it"]
        value = message.value
        look = None if value is None else self._writers.look(value)
        if look is not None and alone.refusal is None and (look.confidence == 1 or len(messages) == 1):
            return alone, [_shown_by(value, look.confidence)]
        whole = self._writers.file_of(messages, topic, name)
        if whole.refusal is not None or whole.format == AUTO:
            if alone.refusal is None and alone.format != AUTO:
                return alone, [_shown_by(value, look.confidence)]
            raise UsageError(self._not_shown(message, whole, name))
        why = f"most of the first {min(len(messages), DETECT_FROM)} messages of {name} are of this format"
        own = [] if look is None or not look.confidence else [_shown_by(value, look.confidence)]
        return replace(whole, messages=[message]), [why, *own]

    def _not_shown(self, message: Message, file: File, name: str) -> str:
        if message.value is None:
            return (
                f"option --format must name the format of {name}, because a tombstone, a message without a "
                f"value, does not show it; got `{AUTO}`."
            )
        refusal = file.refusal or self._writers.file_of([message], file.topic, name).refusal
        if refusal is not None and refusal.option == "dialect":
            return refusal.text([name])
        found = sight(message.value)
        return (
            f"option --format must be one of {', '.join(self._writers.candidates)}, because the message does "
            f"not show its format: {found.what} ({found.advice}); got `{AUTO}`."
        )

    def _of_no_format(
        self, spark: SparkSession, message: Message, topic: str, name: str
    ) -> dict[str, Any] | None:
        """Return the facts about a message that no format could read, because it is not one JSON object."""
        if message.value is None:
            return None
        file = File(topic, name, [message], ANY_FORMAT, None, {}, [])
        entries = Changes(self.library, Options(ANY_FORMAT)).of(spark, [file])[0]
        if not entries or (entries[0]["error"] or {}).get("code") not in OF_NO_FORMAT:
            return None
        facts = self._facts(spark, file, message, entries, ["every format rejects such a text"])
        found = sight(message.value)
        return facts | {"format": None, "dialect": None, "writers": [], "sight": found._asdict()}

    def _facts(
        self, spark: SparkSession, file: File, message: Message, entries: list[dict[str, Any]], why: list[str]
    ) -> dict[str, Any]:
        fmt = self.library.call("_format", file.format, file.dialect)
        header = self._header(spark, fmt, message)
        types = self._types(spark, fmt, header["column_types"] or {})
        name = (header["database_name"], header["schema_name"], header["table_name"])
        key = given_key(file.keys, name) or header["key_columns"] or []
        rows = [
            _row(raw, entry, types, key, self._value_of(message))
            for raw, entry in zip(file.rows, entries, strict=True)
            if raw["kind"] == "rows"
        ]
        error = _error(header["error"], self._value_of(message))
        kind = header["kind"]
        if any(entry["kind"] == "pending" for entry in entries):
            kind = "pending"
        return {
            "line": message.line,
            "topic": message.topic if message.names_topic else None,
            "partition": message.partition if message.names_offset else None,
            "offset": message.offset if message.names_offset else None,
            "format": file.format,
            "dialect": fmt["dialect"],
            "writers": [list(writer) for writer in file.writers],
            "why": why,
            "kind": kind,
            "op": header["op"],
            "database": header["database_name"],
            "schema": header["schema_name"],
            "table": header["table_name"],
            "key_columns": key,
            "committed_at": header["committed_at"],
            "transaction_id": header["transaction_id"],
            "ddl": header["ddl"],
            "position": self._position(header, file.rows, message),
            "columns": list(types.values()),
            "rows": rows,
            "error": error,
        }

    def _value_of(self, message: Message) -> bytes | None:
        """Return the value whose bytes a detail counts: without what a converter put around it."""
        return None if message.value is None else unwrapped(message.value)

    def _header(self, spark: SparkSession, fmt: dict[str, Any], message: Message) -> dict[str, Any]:
        create_raw(spark, [(0, message)])
        inner = self.library.call("_explained", "raw", fmt, RAW_COLUMNS)
        query = f"""select * except (committed_at, value), {instant("committed_at")} as committed_at
            from ({inner})"""  # noqa: S608  # the macros' own SQL
        (row,) = spark.sql(query).toArrow().to_pylist()
        row["column_types"] = row["column_types"] and dict(row["column_types"])
        return row

    def _types(
        self, spark: SparkSession, fmt: dict[str, Any], column_types: dict[str, str]
    ) -> dict[str, dict[str, Any]]:
        """Return the columns whose types the message names, with the types that a model declares for them."""
        import pyarrow as pa

        if not column_types:
            return {}
        vendor = fmt["header"]["type_codes"] or fmt["name"]
        table = pa.table(
            {
                "name": pa.array(column_types.keys(), pa.string()),
                "code": pa.array(column_types.values(), pa.string()),
                "vendor": pa.array([vendor] * len(column_types), pa.string()),
            }
        )
        spark.createDataFrame(table).createOrReplaceTempView("column_types")
        declarable = self.library.call("_declarable_type", "found")
        query = f"""select name, code, {declarable} as type
            from (select name, code, cdc_type(vendor, code).spark_type as found from column_types)"""  # noqa: S608
        return {row["name"]: row.asDict() for row in spark.sql(query).collect()}

    def _position(
        self, header: dict[str, Any], rows: list[dict[str, Any]], message: Message
    ) -> list[dict[str, Any]]:
        """Return the parts of the sequence of the first row, in the order in which they decide."""
        if header["kind"] not in ("rows", "truncate") or header["error"] is not None:
            return []
        vendor = [int(part) for part in header["sequence"] or ()]
        named = itertools.zip_longest(vendor, (header["sequence_names"] or ())[: len(vendor)])
        parts = [{"part": name, "value": value} for value, name in named]
        offset = message.offset if message.names_offset else None
        parts.append({"part": OFFSET, "value": offset})
        if rows:
            parts.append({"part": "row in the message", "value": rows[0]["position"]})
        return parts


def _shown_by(value: bytes, confidence: float) -> str:
    """Return what in a message shows its format."""
    found = rule_of(value)
    if found is None:
        if confidence:
            return "all its bytes are read as one record of Alibaba DTS"
        return "its keys are those that these formats share"
    rule, texts = found
    keys = sorted(rule.required | rule.objects)
    more = f" and {len(keys) - KEYS_SHOWN} more" if len(keys) > KEYS_SHOWN else ""
    shown = [f"the keys {', '.join(keys[:KEYS_SHOWN])}{more}"] if keys else []
    if rule.one_of:
        shown.append(f"one of the keys {', '.join(sorted(rule.one_of)[:KEYS_SHOWN])}")
    shown += [f"{text} in {path}" for path, text in texts.items()]
    has = f"the message has {'; '.join(shown)}"
    return has if confidence == 1 else f"{has}, and nothing that only this format has"


def _row(
    raw: dict[str, Any],
    entry: dict[str, Any],
    types: dict[str, dict[str, Any]],
    key: list[str],
    value: bytes | None,
) -> dict[str, Any]:
    before, after = entry["before"], entry["after"]
    names = dict.fromkeys(itertools.chain(after or (), before or ()))
    shown = before if after is None else after
    old = {name: before[name] for name in key if before is not None and name in before}
    new = {name: shown[name] for name in key if shown is not None and name in shown}
    return {
        "op": entry["op"],
        "position": raw["position"],
        "sequence": entry["sequence"],
        "key": new or None,
        "old_key": old if old and old != new else None,
        "update_part": raw["update_part"],
        "columns": [_column(name, before, after, types) for name in names],
        "error": _error_of_row(entry["error"], raw, value),
    }


def _error_of_row(
    error: dict[str, Any] | None, raw: dict[str, Any], value: bytes | None
) -> dict[str, Any] | None:
    """Return the error of a row, with the place of the first column that its detail names."""
    found = _error(error, None)
    image = raw["before"] if raw["op"] == "delete" else raw["after"]
    if found is None or found["code"] != "invalid_value" or not image or value is None:
        return found
    names = [name for name in image if (found["detail"] or "").startswith(f"{name}: ")]
    if names:
        place = place_of_column(value, names[0], image[names[0]])
        found["place"] = None if place is None else as_dict(value, place)
    return found


def _column(
    name: str,
    before: dict[str, str | None] | None,
    after: dict[str, str | None] | None,
    types: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """Return a column; a side that does not have it lacks the key, which is not a null."""
    known = types.get(name, {})
    column: dict[str, Any] = {"name": name}
    if before is not None and name in before:
        column["before"] = before[name]
    if after is not None and name in after:
        column["after"] = after[name]
    column["changed"] = (
        before[name] != after[name] if before and after and name in before and name in after else None
    )
    return column | {
        "vendor_type": known.get("code"),
        "type": known.get("type") or "string",
        "line": line_of(name, known.get("type") or "string"),
    }


def line_of(name: str, type_: str) -> str:
    """Return the line that declares a column in a changes model.

    >>> line_of("it's", "bigint")
    "'it\\\\'s': 'bigint',"
    """
    return f"{jinja_literal(name)}: '{type_}',"


def _error(error: dict[str, Any] | None, value: bytes | None) -> dict[str, Any] | None:
    if error is None:
        return None
    place = None if value is None else place_of(value, error["detail"])
    advice = advice_of(error["code"])
    return {
        "code": error["code"],
        "detail": error["detail"],
        "place": None if place is None else as_dict(value, place),
        "what_to_do": None if advice is None else advice.text,
        "section": None if advice is None else advice.section,
    }
