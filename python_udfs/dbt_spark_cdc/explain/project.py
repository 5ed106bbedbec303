"""Where a message goes in a dbt project, and what it does to the current tables there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.dbt_rows import DbtError, DbtProject
from dbt_spark_cdc.decode import Options
from dbt_spark_cdc.decode.changes import Changes
from dbt_spark_cdc.decode.files import File
from dbt_spark_cdc.decode.texts import plain, texts
from dbt_spark_cdc.explain.graph import (
    Graph,
    Node,
    arguments_of,
    is_read_by,
    moved_place,
    reads_several_tables,
)
from dbt_spark_cdc.explain.message import OFFSET, line_of
from dbt_spark_cdc.functions.fingerprints import READS_ALL
from dbt_spark_cdc.inputs import Message
from dbt_spark_cdc.macros import MacroLibrary
from dbt_spark_cdc.message_text import jinja_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of a message with many rows; the others are counted.
KEYS_LOOKED_UP = 50


class Read(NamedTuple):
    """When a message was read, and whether it is certain that no run has read it; neither if not known."""

    at: str | None = None
    is_still_to_come: bool = False


class Destination:
    """Finds the models that a message reaches. dbt runs in a child process, see `DbtProject`."""

    def __init__(self, project: DbtProject, library: MacroLibrary) -> None:
        self.project = project
        self.library = library
        self.graph = Graph(project.manifest())

    def of(self, spark: SparkSession, facts: dict[str, Any], message: Message) -> dict[str, Any]:
        """Return the models, and the effect on each current table."""
        messages = [self._messages(node, facts) for node in self._messages_models(facts)]
        if facts["topic"] is not None and any(found["has_topic"] for found in messages):
            messages = [found for found in messages if found["has_topic"]]
        names = {found["id"] for found in messages}
        changes = [
            node
            for node in self.graph.of_kind("changes")
            if self._is_of_format(arguments_of(node), facts)
            and is_read_by(node, facts)
            and self._reads_one_of(node, names)
        ]
        has_rows = facts["kind"] in ("rows", "pending", "truncate")
        ids = {node["unique_id"] for node in changes} if has_rows else set()
        targets = {
            kind: [
                node
                for node in self.graph.of_kind(kind)
                if ids & {read["unique_id"] for read in self.graph.reads(node, "changes")}
            ]
            for kind in ("cdc_current", "cdc_history")
        }
        found = {
            "messages": messages,
            "changes": [_model(node) for node in changes] if has_rows else [],
            "current": [_model(node) for node in targets["cdc_current"]],
            "history": [_model(node) for node in targets["cdc_history"]],
            "lines": list(_lines(facts, messages, changes)) if has_rows or not messages else [],
            "of_other_dialects": self._of_other_dialects(facts),
            "effects": [],
        }
        if facts["kind"] == "rows":
            for node in changes:
                tables = [
                    table
                    for table in targets["cdc_current"]
                    if node["unique_id"] in {read["unique_id"] for read in self.graph.reads(table, "changes")}
                ]
                read = self._read_by(node, messages, facts)
                found["effects"] += self._effects(spark, facts, message, node, tables, read)
        return found

    def _read_by(self, changes: Node, messages: list[dict[str, Any]], facts: dict[str, Any]) -> Read:
        """Return whether the messages that a changes model reads have this one."""
        ids = {node["unique_id"] for node in self.graph.reads(changes, "messages")}
        models = [found for found in messages if found["id"] in ids]
        times = [found["read"]["loaded_at"] for found in models if found["read"] is not None]
        is_known = facts["offset"] is not None and all(
            found["has_topic"] and found["note"] is None for found in models
        )
        return Read(min(times, default=None), bool(models) and is_known and not times)

    def _messages_models(self, facts: dict[str, Any]) -> list[Node]:
        return [
            node for node in self.graph.of_kind("messages") if self._is_of_format(arguments_of(node), facts)
        ]

    def _is_of_format(self, arguments: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Whether a model reads messages of this writer, or of one that writes them alike."""
        name, dialect = arguments["format"], arguments["dialect"]
        formats = self.library.formats()
        writers = {(other, of_it or next(iter(formats[other]), "")) for other, of_it in facts["writers"]}
        writers.add((facts["format"], facts["dialect"] or ""))
        return (name, dialect) in writers or (name == facts["format"] and (name, dialect) in READS_ALL)

    def _of_other_dialects(self, facts: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages models that read this format, but as another dialect."""
        return [
            {**_model(node), "dialect": arguments_of(node)["dialect"]}
            for node in self.graph.of_kind("messages")
            if arguments_of(node)["format"] == facts["format"]
            and not self._is_of_format(arguments_of(node), facts)
        ]

    def _reads_one_of(self, changes: Node, messages: set[str]) -> bool:
        """Whether a changes model reads one of the messages models, or raw messages itself."""
        read = {node["unique_id"] for node in self.graph.reads(changes, "messages")}
        return not read or bool(read & messages)

    def _messages(self, node: Node, facts: dict[str, Any]) -> dict[str, Any]:
        """Return a messages model, whether it has the topic, and how it has read this very message."""
        found = {**_model(node), "has_topic": None, "read": None, "note": None}
        if facts["topic"] is None:
            return found
        unknown = moved_place(node)
        if facts["offset"] is None:
            unknown = "the line names no offset"
        topic = f"topic = {literal(facts['topic'])}"
        place = (
            f"partition = {facts['partition']} and offset = {facts['offset']}"
            if facts["offset"] is not None
            else "false"
        )
        try:
            has_topic = self.project.rows(
                f"select 1 as one from {node['relation_name']} where {topic} limit 1"  # noqa: S608
            )
            read = self.project.rows(
                f"""select kind, error.code as code, cast(loaded_at as string) as loaded_at
                from {node["relation_name"]} where {topic} and {place} order by loaded_at limit 2"""  # noqa: S608
            )
        except DbtError as error:
            return found | {"note": _reason(error)}
        found["has_topic"] = bool(has_topic)
        if has_topic and unknown is not None:
            return found | {"note": f"not known whether it has read this message: {unknown}"}
        return found | {"read": read[0] if read else None}

    def _effects(
        self,
        spark: SparkSession,
        facts: dict[str, Any],
        message: Message,
        changes: Node,
        tables: list[Node],
        read: Read,
    ) -> Iterator[dict[str, Any]]:
        """Yield, for each row of a message and each current table, what the row does to the table."""
        moved = [moved_place(node) for node in self.graph.reads(changes, "messages") or [changes]]
        note = next(filter(None, moved), None)
        for table in tables:
            if note is not None:
                yield {"model": table["name"], "state": "not_known", "note": note}
                continue
            try:
                types = self._types(table["relation_name"])
            except DbtError as error:
                yield {"model": table["name"], "state": "not_known", "note": _reason(error)}
                continue
            declared = {
                name: f"{types[name]} from {encoding}" if encoding else types[name]
                for name, encoding in _columns(changes).items()
                if name in types
            }
            key = changes["config"]["meta"]["spark_cdc.key"]
            if missing := [name for name in key if name not in declared]:
                note = f"it has no column {', '.join(missing)}, which is of the key: run the model first"
                yield {"model": table["name"], "state": "not_known", "note": note}
                continue
            noted = arguments_of(changes)
            name, dialect = noted["format"], noted["dialect"] or None
            keys: dict[str | None, list[str]] = {None: key}
            typed = Changes(self.library, Options(name, dialect, declared, keys, noted["time_zone"] or "UTC"))
            file = File("message", "message", [message], name, dialect, keys, [])
            (entries,) = typed.of(spark, [file])
            columns = typed.parsed_columns(declared)
            try:
                yield from self._effects_on(facts, entries, changes, table, columns, key, file.rows, read)
            except DbtError as error:
                yield {"model": table["name"], "state": "not_known", "note": _reason(error)}

    def _types(self, relation: str) -> dict[str, str]:
        rows = self.project.macro("spark_cdc._columns_as_json", {"relation": relation})
        return {row["name"]: row["type"] for row in rows}

    def _effects_on(
        self,
        facts: dict[str, Any],
        entries: list[dict[str, Any]],
        changes: Node,
        table: Node,
        columns: list[dict[str, Any]],
        key: list[str],
        raw_rows: list[dict[str, Any]],
        read: Read,
    ) -> Iterator[dict[str, Any]]:
        effects = []
        for entry, raw in zip(entries, raw_rows, strict=True):
            about = {"model": table["name"], "row": raw["position"], "op": entry["op"]}
            if entry["error"] is not None:
                effects.append({**about, "state": "rejected", "error": entry["error"]})
                continue
            shown = entry["before"] if entry["after"] is None else entry["after"]
            new = tuple(shown.get(name) for name in key)
            old = tuple(
                (entry["before"] or {}).get(name, value) for name, value in zip(key, new, strict=True)
            )
            if entry["op"] == "update" and old != new:
                inherits = any(column["name"] not in shown for column in columns)
                place = place_of_old_key(entry["sequence"], inherits)
                effects.append({**about, "key": old, "then": None, "sequence": place})
            then = None if entry["op"] == "delete" else shown
            effects.append({**about, "key": new, "then": then, "sequence": entry["sequence"]})
        keys = list(dict.fromkeys(effect["key"] for effect in effects if "key" in effect))
        rows = self._rows(facts, changes, table, columns, key, keys[:KEYS_LOOKED_UP])
        vendor_parts = [part["part"] for part in facts["position"]].index(OFFSET)
        for effect in effects:
            if "key" not in effect:
                yield effect
            elif effect["key"] in keys[:KEYS_LOOKED_UP]:
                yield effect_of(effect, key, rows.get(effect["key"]), vendor_parts, facts, read)
        if len(keys) > KEYS_LOOKED_UP:
            note = f"only the first {KEYS_LOOKED_UP} of its {len(keys)} keys were looked up"
            yield {"model": table["name"], "state": "not_known", "note": note}

    def _rows(
        self,
        facts: dict[str, Any],
        changes: Node,
        table: Node,
        columns: list[dict[str, Any]],
        key: list[str],
        keys: list[tuple[str | None, ...]],
    ) -> dict[tuple[str | None, ...], dict[str, Any]]:
        """Return the rows of a current table with these keys, their values as the messages' are shown."""
        if not keys:
            return {}
        of_key = [next(column for column in columns if column["name"] == name) for name in key]
        conditions = " or ".join(
            "(" + " and ".join(_is(column, text) for column, text in zip(of_key, one, strict=True)) + ")"
            for one in keys
        )
        if reads_several_tables(changes) and not table["config"].get("source_tables_share_keys"):
            names = (facts[part] for part in ("database", "schema", "table"))
            source_table = ".".join(name.replace(".", "..") for name in names if name is not None)
            conditions = f"({conditions}) and _cdc_source_table = {literal(source_table)}"
        shown = ", ".join(_in_utc(column) for column in columns)
        sql = f"""select {texts(columns)} as texts, _cdc_is_deleted as is_deleted, _cdc_sequence as sequence,
            _cdc_topic as topic, _cdc_partition as partition, _cdc_offset as offset,
            coalesce(_cdc_missing_columns, array()) as missing
            from (
                select {shown}, _cdc_is_deleted, _cdc_sequence, _cdc_topic, _cdc_partition, _cdc_offset,
                    _cdc_missing_columns
                from {table["relation_name"]} where {conditions}
            )"""  # noqa: S608  # names of the user's models, and texts of the message as literals
        found = {}
        for row in self.project.rows(sql):
            names = [column["name"] for column in columns]
            values = dict(zip(names, map(plain, columns, row.pop("texts")), strict=True))
            row["values"] = {name: values[name] for name in names if name not in row["missing"]}
            row["sequence"] = [None if part is None else int(part) for part in row["sequence"]]
            found[tuple(values[name] for name in key)] = row
        return found


def effect_of(
    effect: dict[str, Any],
    key: list[str],
    row: dict[str, Any] | None,
    vendor_parts: int,
    place: dict[str, Any],
    read: Read,
) -> dict[str, Any]:
    """Return what a change does to the row of its key.

    `place` is the message's topic, partition and offset, None where the line does not say them.
    """
    then, sequence = effect["then"], effect["sequence"]
    about = {
        "model": effect["model"],
        "row": effect["row"],
        "op": effect["op"],
        "key": dict(zip(key, effect["key"], strict=True)),
    }
    if row is None:
        return {**about, "state": "no_row", "is_delete": then is None, "values": []}
    state = _compared(sequence, row, vendor_parts, place)
    about |= {"state": state, "was_deleted": row["is_deleted"], "is_delete": then is None}
    about |= {"read_at": read.at, "is_late": state == "older" and read.is_still_to_come}
    about["from"] = {part: row[part] for part in ("topic", "partition", "offset")}
    values = []
    if then is not None:
        for name, value in then.items():
            now = row["values"].get(name)
            if name not in row["values"] or now != value or row["is_deleted"]:
                value_now = {"now": now} if name in row["values"] and not row["is_deleted"] else {}
                values.append({"name": name, **value_now, "then": value})
    return {**about, "values": values}


def place_of_old_key(sequence: list[int | None], inherits: bool) -> list[int | None]:
    """Return where an old key ends: the rule of `_place_of_retraction`, and of rows that inherit values."""
    is_deleted_by_another = not inherits and len(sequence) > 2 and (sequence[-1] or 0) < 0
    return sequence[: -2 if is_deleted_by_another else -1]


def _compared(
    sequence: list[int | None], row: dict[str, Any], vendor_parts: int, place: dict[str, Any]
) -> str:
    """Return whether a change is newer than a row, older, or of the message that the row comes from."""
    has_offset = place["offset"] is not None
    # What follows the offset orders the rows of one message.
    known = vendor_parts + has_offset
    ours, theirs = (_orderable(parts[:known]) for parts in (sequence, row["sequence"]))
    is_of_place = has_offset and all(place[part] == row[part] for part in ("topic", "partition", "offset"))
    if is_of_place and ours[:vendor_parts] == theirs[:vendor_parts]:
        return "same"
    if ours != theirs:
        return "newer" if ours > theirs else "older"
    if not has_offset:
        return "offset_not_known"
    if place["topic"] is None:
        return "same" if vendor_parts else "topic_not_known"
    return "other_place"


def _orderable(parts: list[int | None]) -> list[tuple[bool, int]]:
    # Spark has a null below every number.
    return [(part is not None, part or 0) for part in parts]


def _model(node: Node) -> dict[str, Any]:
    return {
        "id": node["unique_id"],
        "name": node["name"],
        "path": node["original_file_path"],
        "relation": node["relation_name"],
    }


def _columns(changes: Node) -> dict[str, str]:
    """Return the declared columns, with how each is written if the model says it."""
    noted = arguments_of(changes)
    return {
        name.removeprefix("columns."): text for name, text in noted.items() if name.startswith("columns.")
    }


def literal(text: str) -> str:
    """Return a text of a message as SQL that no setting of a session reads in another way."""
    return f"decode(unhex('{text.encode('utf-8', 'replace').hex()}'), 'utf-8')"


def _is(column: dict[str, Any], text: str | None) -> str:
    if text is None:
        return f"{column['quoted']} is null"
    if column["family"] == "binary":
        return f"{column['quoted']} = unbase64({literal(text)})"
    return f"{column['quoted']} = cast({literal(text)} as {column['type']})"


def _in_utc(column: dict[str, Any]) -> str:
    """Return a column as `texts` shows it in UTC: Spark writes an instant in the session's time zone."""
    if column["family"] != "timestamp":
        return column["quoted"]
    seconds = f"cast(unix_micros({column['quoted']}) / 1000000BD as decimal(18,6))"
    return f"timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds}) as {column['quoted']}"


def _reason(error: DbtError) -> str:
    text = str(error)
    if "TABLE_OR_VIEW_NOT_FOUND" in text:
        return "it is not built yet"
    return text.removesuffix(".")


def _lines(facts: dict[str, Any], messages: list[dict[str, Any]], changes: list[Node]) -> Iterator[str]:
    """Yield the lines of the models that a message lacks."""
    dialect = f", dialect='{facts['dialect']}'" if facts["dialect"] else ""
    if not messages:
        yield "{{ config(materialized='cdc_append') }}"
        yield f"{{{{ spark_cdc.messages(source('...', '...'), format='{facts['format']}'{dialect}) }}}}"
    if changes or facts["table"] is None:
        return
    name = messages[0]["name"] if messages else "..."
    arguments = [f"messages=ref('{name}')", f"format='{facts['format']}'{dialect}"]
    arguments += [
        f"{part}={jinja_literal(facts[part])}"
        for part in ("database", "schema", "table")
        if facts[part] is not None
    ]
    arguments.append(f"key=[{', '.join(map(jinja_literal, facts['key_columns']))}]")
    columns = dict.fromkeys(
        itertools.chain.from_iterable((column["line"] for column in row["columns"]) for row in facts["rows"])
    )
    if not columns:
        columns = {line_of(column["name"], column["type"] or "string"): None for column in facts["columns"]}
    yield "{{ config(materialized='cdc_view') }}"
    yield f"{{{{ spark_cdc.changes({', '.join(arguments)}, columns={{"
    yield from (f"    {line}" for line in columns)
    yield "}) }}"
