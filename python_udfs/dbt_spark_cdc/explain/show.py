"""The facts about a message, for people."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dbt_spark_cdc.message_text import one_line, printable

LONGEST_VALUE = 60
# If standard output is no terminal, as in a file or a pipe.
WIDTH = 120


def console() -> Console:
    """Return a console on standard output that takes each text as it is."""
    out = Console(markup=False, emoji=False, highlight=False)
    return out if out.is_terminal else Console(markup=False, emoji=False, highlight=False, width=WIDTH)


def shown(name: str, facts: dict[str, Any]) -> str:
    """Return the facts about one message of a file as a terminal shows them."""
    out = console()
    with out.capture() as captured:
        _show(out, name, facts)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


def _show(out: Console, name: str, facts: dict[str, Any]) -> None:
    _head(out, name, facts)
    if facts["error"] is not None:
        _rejected(out, facts["error"])
    for row in facts["rows"]:
        _row(out, row, facts["kind"])
    if "project" in facts:
        _project(out, facts)
    else:
        _lines(out, facts)


def _head(out: Console, name: str, facts: dict[str, Any]) -> None:
    where = [f"{one_line(name)}, line {facts['line']}"]
    if facts["topic"] is not None:
        where.append(f"topic {one_line(facts['topic'])}")
    if facts["offset"] is not None:
        where.append(f"partition {facts['partition']}, offset {facts['offset']}")
    grid = _grid()
    grid.add_row("Message", "; ".join(where))
    if facts["format"] is None:
        grid.add_row("Format", f"none: {facts['sight']['what']} ({facts['sight']['advice']})")
    else:
        dialect = f", dialect {facts['dialect']}" if facts["dialect"] else ""
        grid.add_row("Format", f"{facts['format']}{dialect}: {'; '.join(facts['why'])}")
    op = f", {one_line(facts['op'])}" if facts["op"] else ""
    grid.add_row("Kind", f"{facts['kind']}{op}")
    names = {part: facts[part] for part in ("database", "schema", "table") if facts[part] is not None}
    if names:
        grid.add_row("Table", ", ".join(f"{part} {value(text)}" for part, text in names.items()))
    if facts["key_columns"]:
        grid.add_row("Key", ", ".join(map(one_line, facts["key_columns"])))
    elif facts["kind"] in ("rows", "pending"):
        grid.add_row("Key", "the message names none; name it with --key")
    for label, part in zip(["Position", *[""] * len(facts["position"])], facts["position"], strict=False):
        grid.add_row(label, _part(part))
    if facts["committed_at"] is not None:
        grid.add_row("Committed", facts["committed_at"])
    if facts["transaction_id"] is not None:
        grid.add_row("Transaction", one_line(facts["transaction_id"]))
    if facts["ddl"] is not None:
        grid.add_row("Statement", one_line(facts["ddl"]))
    out.print(grid)


def _part(part: dict[str, Any]) -> str:
    if part["value"] is None:
        return f"{part['part']}: not known, because the line does not say it"
    return f"{part['part'] or 'a part of the format'}: {part['value']}"


def _rejected(out: Console, error: dict[str, Any]) -> None:
    grid = _grid()
    detail = f": {one_line(error['detail'])}" if error["detail"] else ""
    grid.add_row(Text("Rejected", style="bold red"), f"{error['code']}{detail}")
    out.print(grid)
    if error["place"] is not None:
        place = error["place"]
        before = " " * LABEL + place["before"]
        out.print(before + place["at"] + place["after"], no_wrap=True, crop=False, overflow="ignore")
        caret = "^" * max(cell_len(place["at"]), 1)
        out.print(" " * cell_len(before) + f"{caret} byte {place['byte']}", no_wrap=True, crop=False)
    if error["what_to_do"] is not None:
        grid = _grid()
        for label, text in zip(["What to do", *[""] * 20], error["what_to_do"].split("\n"), strict=False):
            grid.add_row(label, text)
        grid.add_row("", f"See {error['section']}")
        out.print(grid)


def _row(out: Console, row: dict[str, Any], kind: str) -> None:
    out.print()
    part = f", the part with the row {row['update_part']}" if row["update_part"] else ""
    key = ", ".join(f"{one_line(name)} = {value(text)}" for name, text in (row["key"] or {}).items())
    old = ", ".join(f"{one_line(name)} = {value(text)}" for name, text in (row["old_key"] or {}).items())
    changed = f" (was {old})" if old else ""
    out.print(f"Row {row['position']}: {row['op']}{part}{f' of {key}' if key else ''}{changed}")
    if kind == "pending":
        out.print("It waits for the other part of the update: together they are one change.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    sides = [side for side in ("before", "after") if any(side in column for column in row["columns"])]
    for heading in ("", "column", *sides, "type in the message", "type to declare"):
        table.add_column(heading, overflow="fold")
    for column in row["columns"]:
        style = "bold" if column["changed"] else ""
        shown = [value(column[side]) if side in column else "(missing)" for side in sides]
        cells = [
            "*" if column["changed"] else "",
            one_line(column["name"]),
            *shown,
            one_line(column["vendor_type"] or ""),
            column["type"],
        ]
        table.add_row(*(Text(cell, style=style) for cell in cells))
    out.print(table)
    if row["error"] is not None:
        _rejected(out, row["error"])


def _lines(out: Console, facts: dict[str, Any]) -> None:
    lines = dict.fromkeys(column["line"] for row in facts["rows"] for column in row["columns"])
    if not lines:
        return
    out.print("Lines to paste into `columns` of a changes model:")
    for line in lines:
        out.print(f"    {one_line(line)}", no_wrap=True, crop=False, overflow="ignore")
    untyped = [c["name"] for row in facts["rows"] for c in row["columns"] if c["vendor_type"] is None]
    if untyped:
        names = ", ".join(map(one_line, dict.fromkeys(untyped)))
        out.print(f"The message names no type for {names}: string keeps every text.")


def _project(out: Console, facts: dict[str, Any]) -> None:
    project = facts["project"]
    out.print("Where it goes")
    grid = _grid()
    for kind in ("messages", "changes", "current", "history"):
        for label, model in zip([kind, *[""] * len(project[kind])], project[kind], strict=False):
            grid.add_row(f"  {label}", f"{model['name']}{_of_messages(model) if kind == 'messages' else ''}")
    out.print(grid)
    for model in project["of_other_dialects"]:
        out.print(
            f"{model['name']} reads {facts['format']} with the dialect {model['dialect']}, "
            f"and this message is of the dialect {facts['dialect']}."
        )
    if project["lines"]:
        what = "table" if project["messages"] else "format"
        out.print(f"No model reads this {what}. Lines to paste:")
        for line in project["lines"]:
            out.print(
                f"    {one_line(line) if line.strip() == line else '    ' + one_line(line)}", no_wrap=True
            )
    for model in dict.fromkeys(effect["model"] for effect in project["effects"]):
        out.print(f"\nEffect on {model}")
        for effect in project["effects"]:
            if effect["model"] == model:
                _effect(out, effect)


def _of_messages(model: dict[str, Any]) -> str:
    if model["note"] is not None:
        return f": {model['note']}"
    if model["read"] is not None:
        code = f", rejected with {model['read']['code']}" if model["read"]["code"] else ""
        return f": has read this message as {model['read']['kind']}{code}, at {model['read']['loaded_at']}"
    if model["has_topic"] is None:
        return ": reads this format; the line names no topic"
    return ": has not read it yet" if model["has_topic"] else ": has no message of this topic yet"


STATES = {
    "newer": "newer than the table's row",
    "older": "the table's row has a later position",
    "same": "the table's row is of this very message",
    "no_row": "no row of this key yet",
    "topic_not_known": "not known whether the table's row is of this very message: it has the same offset, "
    "and the line names no topic",
    "other_place": "not known whether it is newer: the table's row has the same position, and is of another "
    "topic or partition",
    "offset_not_known": "not known whether it is newer: the offset decides, and the line does not say it",
}


def _effect(out: Console, effect: dict[str, Any]) -> None:
    if effect["state"] == "not_known":
        out.print(f"  not known: {one_line(effect['note'])}")
        return
    if effect["state"] == "rejected":
        detail = f": {one_line(effect['error']['detail'])}" if effect["error"]["detail"] else ""
        out.print(f"  row {effect['row']}: the changes model rejects it, {effect['error']['code']}{detail}")
        return
    key = ", ".join(f"{one_line(name)} = {value(text)}" for name, text in effect["key"].items())
    out.print(f"  row {effect['row']}, {effect['op']}, {key}: {STATES[effect['state']]}{_end_of(effect)}")
    if effect["state"] not in ("newer", "offset_not_known", "topic_not_known", "other_place"):
        return
    for changed in effect["values"]:
        now = value(changed["now"]) if "now" in changed else "(none)"
        out.print(f"      {one_line(changed['name'])}: {now} -> {value(changed['then'])}")


def _end_of(effect: dict[str, Any]) -> str:
    """Return what happens to the row, or when the message was read if nothing does."""
    if effect["state"] == "older" and effect["read_at"] is not None:
        return f"; the message was read at {effect['read_at']}"
    if effect["state"] == "older" and effect["is_late"]:
        return "; it is late-arriving: a history table gets a version, the row at most values that it lacks"
    if effect["state"] == "no_row":
        return "; the row is added" + (", marked as deleted" if effect["is_delete"] else "")
    if effect["state"] == "newer" and effect["is_delete"]:
        return "; the row is marked as deleted"
    if effect["state"] == "newer" and effect["was_deleted"]:
        return "; the row was deleted, and is there again"
    if effect["state"] == "newer" and not effect["values"]:
        return "; no value changes"
    return ""


def value(text: str | None) -> str:
    """Return a value in one line: a null, an empty text and the text NULL look different."""
    if text is None:
        return "NULL"
    if text in ("NULL", "(missing)") or not text.strip():
        return json.dumps(text, ensure_ascii=False)
    shown = printable(text)
    if len(shown) <= LONGEST_VALUE:
        return shown
    return f"{shown[:LONGEST_VALUE]}... ({len(text)} characters)"


LABEL = 13


def _grid() -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL - 1)
    grid.add_column(overflow="fold")
    return grid
