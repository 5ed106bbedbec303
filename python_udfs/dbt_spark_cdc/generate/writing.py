"""The files of a plan against a project: what to write, without the loss of what the user changed there.

`spark_cdc_plan.json` in the project has the plan of the last run and a hash of each file that it wrote. So
three texts are known of a file: what the last run planned, what this run plans, and what is there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.generate.files import project_files
from dbt_spark_cdc.generate.plan import Column, Plan, Table
from dbt_spark_cdc.generate.types import joined

STATE = "spark_cdc_plan.json"


class State(BaseModel):
    """What the last run planned and wrote."""

    model_config = ConfigDict(extra="forbid")

    sources: dict[str, Plan] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class Change(NamedTuple):
    """A file to write, and why: new, changed, or added to."""

    path: str
    why: str
    text: str


class Outcome(NamedTuple):
    """The files to write, the notices about others, and the state after that."""

    changes: list[Change]
    notices: list[str]
    state: State


def read_state(project: Path) -> State:
    """Return what the last run noted; raises UsageError if the folder is no dbt project."""
    if not (project / "dbt_project.yml").is_file():
        raise UsageError(f"option --project-dir must be a folder that has a dbt_project.yml; got {project}.")
    file = project / STATE
    if not file.exists():
        return State()
    try:
        return State.model_validate_json(file.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} must be as the last run wrote it; got {str(error).splitlines()[0]}. Restore it, or "
            "delete it: then the files that are there count as your own."
        ) from None


def merged(before: Plan | None, now: Plan, left_out: Sequence[Table]) -> Plan:
    """Return a plan that also has what the last one had: these messages may lack a table or a column."""
    if before is None:
        return now.model_copy(update={"tables": sorted(now.tables, key=_identity_text)})
    if (before.format, before.dialect) != (now.format, now.dialect):
        raise UsageError(
            f"option --source must be another name than {now.source}: its messages model reads "
            f"{before.format}{f' ({before.dialect})' if before.dialect else ''}, and these messages are "
            f"{now.format}{f' ({now.dialect})' if now.dialect else ''}."
        )
    known = {_identity(table): table for table in before.tables}
    gone = {_identity(table) for table in left_out}
    tables = []
    for table in now.tables:
        old = known.pop(_identity(table), None)
        if old is not None:
            known_columns = [column for column in old.columns if column.name not in table.left_out]
            table.columns = _merged_columns(known_columns, table.columns)
            table.key = table.key or old.key
            table.description = table.description or old.description
        tables.append(table)
    tables += [
        table for identity, table in known.items() if identity not in gone and not _is_shard(table, tables)
    ]
    tables.sort(key=_identity_text)
    return now.model_copy(update={"tables": tables, "has_headers": now.has_headers or before.has_headers})


def _identity(table: Table) -> tuple[str | None, str | None, str]:
    return table.database, table.schema_name, table.name


def _identity_text(table: Table) -> tuple[str, str, str]:
    return table.database or "", table.schema_name or "", table.name


def _is_shard(table: Table, others: Sequence[Table]) -> bool:
    return any(other.is_of_shards and other.covers(table) for other in others)


def _merged_columns(before: Sequence[Column], now: Sequence[Column]) -> list[Column]:
    found = {column.name: column for column in now}
    columns = []
    for old in before:
        new = found.pop(old.name, None)
        if new is None:
            columns.append(old)
        elif new.guess is not None and old.guess is not None:
            columns.append(new.model_copy(update={"type": _joined(old, new)}))
        elif new.guess is not None:
            # The last messages named the type, or a route did; if it no longer fits, rows are rejected.
            columns.append(old)
        else:
            columns.append(new)
    return [*columns, *found.values()]


def _joined(old: Column, new: Column) -> str:
    if "has a value" in (old.guess or ""):
        return new.type
    if "has a value" in (new.guess or ""):
        return old.type
    return joined(old.type, new.type)


def outcome(project: Path, state: State, plan: Plan, overwrite: bool) -> Outcome:
    """Compare the project's files with those of the plan; writes nothing."""
    plans = {**state.sources, plan.source: plan}
    before, now = project_files(state.sources), project_files(plans)
    _refuse_taken_names(project, now)
    changes, notices, hashes = [], [], {}
    for path, text in now.items():
        file = project / path
        there = file.read_text(encoding="utf-8") if file.exists() else None
        noted = state.files.get(path)
        is_own = there is not None and noted != _hash(there)
        new = text
        if not overwrite:
            if there is None and noted is not None:
                notices.append(f"{path} was deleted, and stays so; --overwrite writes it again.")
                hashes[path] = noted
                continue
            if is_own and noted is None and there != text:
                notices.append(f"{path} was there before, and stays as it is; --overwrite replaces it.")
                hashes[path] = ""
                continue
            if is_own and there != text:
                new = _added_to(path, there, before.get(path, ""), text)
                # Not ours: the next run finds another hash, too.
                hashes[path] = noted or ""
                if new != there:
                    changes.append(Change(path, "added to", new))
                elif text != before.get(path):
                    notices.append(f"{path} was edited, and stays as it is; --overwrite replaces it.")
                continue
        hashes[path] = _hash(new)
        if new != there:
            changes.append(Change(path, "new" if there is None else "changed", new))
    for path in state.files.keys() - now.keys():
        if (project / path).exists():
            notices.append(f"{path} is no longer planned: delete it, with its entries in YAML files.")
    return Outcome(changes, sorted(notices), State(sources=plans, files=dict(sorted(hashes.items()))))


def write(project: Path, found: Outcome) -> None:
    """Write the files, then what this run noted."""
    state = json.dumps(found.state.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    for path, _, text in [*found.changes, Change(STATE, "", state)]:
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _refuse_taken_names(project: Path, files: Mapping[str, str]) -> None:
    """A model's name is its file's name, and dbt has each name once."""
    ours = {Path(path).stem: path for path in files if path.endswith(".sql")}
    for file in sorted((project / "models").glob("**/*.sql")):
        path = file.relative_to(project).as_posix()
        if ours.get(file.stem, path) != path:
            raise UsageError(
                f"option --routes must give the model `{file.stem}` another name, because {path} has it; "
                "write a route with source-table and sink-table."
            )


# ---- what the user changed


def _added_to(path: str, there: str, before: str, now: str) -> str:
    """Return the user's text with what this run plans more than the last one."""
    return (
        _added_to_sql(there, before, now)
        if path.endswith(".sql")
        else _added_to_yaml(path, there, before, now)
    )


def _added_to_sql(there: str, before: str, now: str) -> str:
    for opening, key in ((r"columns\s*=\s*\{", _key), *((rf"{name}\s*=\s*\[", str) for name in LISTS)):
        old = {key(entry) for entry in _entries(before, opening)}
        own = {key(entry) for entry in _entries(there, opening)}
        new = [entry for entry in _entries(now, opening) if key(entry) not in old | own]
        if new:
            there = _inserted(there, opening, new)
    return there


LISTS = ("messages", "changes", "current")
# A text in quotes, or one character.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|.", re.DOTALL)


def _key(entry: str) -> str:
    """Return the name of an entry of a mapping."""
    return next(_TOKEN.finditer(entry.strip()))[0][1:-1]


def _inside(text: str, opening: str) -> tuple[int, int] | None:
    """Return where the content of a bracket begins and ends; None if it is not there, or never ends."""
    start = re.search(opening, text)
    if start is None:
        return None
    depth = 1
    for token in _TOKEN.finditer(text, start.end()):
        depth += (token[0] in "([{" and 1) or (token[0] in ")]}" and -1) or 0 if len(token[0]) == 1 else 0
        if depth == 0:
            return start.end(), token.start()
    return None


def _entries(text: str, opening: str) -> Iterator[str]:
    """Yield the entries of a list or mapping, as they are written."""
    place = _inside(text, opening)
    if place is None:
        return
    depth, entry = 0, ""
    for token in _TOKEN.finditer(text, *place):
        if len(token[0]) == 1:
            depth += (token[0] in "([{") - (token[0] in ")]}")
        if token[0] == "," and depth == 0:
            yield entry.strip()
            entry = ""
        else:
            entry += token[0]
    if entry.strip():
        yield entry.strip()


def _inserted(text: str, opening: str, entries: Sequence[str]) -> str:
    place = _inside(text, opening)
    if place is None:
        return text
    content = text[place[0] : place[1]]
    kept = content.rstrip()
    comma = "," if kept.strip() and not kept.endswith(",") else ""
    if "\n" in content:
        indent = re.search(r"\n([ \t]*)\S[^\n]*$", kept)
        margin = "\n" + (indent[1] if indent else "    ")
        added = comma + "".join(f"{margin}{entry}," for entry in entries) + content[len(kept) :]
    else:
        added = comma + (" " if kept.strip() else "") + ", ".join(entries)
        kept = kept if kept.strip() else ""
    return text[: place[0]] + kept + added + text[place[1] :]


def _added_to_yaml(path: str, there: str, before: str, now: str) -> str:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        own = yaml.load(there)
    except YAMLError as error:
        raise UsageError(f"{path} must be YAML that can be read; got {str(error).splitlines()[0]}.") from None
    old, new = yaml.load(before), yaml.load(now)
    if own is None or not _add(own, old, new):
        return there
    text = StringIO()
    yaml.dump(own, text)
    return text.getvalue()


def _add(own: Any, old: Any, new: Any) -> bool:
    """Add to `own` what `new` has and `old` has not; return whether anything was added."""
    if isinstance(own, dict) and isinstance(new, dict):
        return _add_keys(own, old if isinstance(old, dict) else {}, new)
    if isinstance(own, list) and isinstance(new, list):
        return _add_items(own, old if isinstance(old, list) else [], new)
    return False


def _add_keys(own: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> bool:
    added = False
    for key, value in new.items():
        if key in own:
            added |= _add(own[key], old.get(key), value)
        elif key not in old:
            own[key] = value
            added = True
    return added


def _add_items(own: list[Any], old: list[Any], new: list[Any]) -> bool:
    added = False
    owns, olds = ({_item(entry): entry for entry in entries} for entries in (own, old))
    for entry in new:
        item = _item(entry)
        if item in owns:
            added |= _add(owns[item], olds.get(item), entry)
        elif item not in olds:
            own.append(entry)
            added = True
    return added


def _item(entry: Any) -> str:
    """What identifies an entry of a list: its name, its only key, or itself."""
    if isinstance(entry, dict):
        return str(entry.get("name") or next(iter(entry), ""))
    return str(entry)
