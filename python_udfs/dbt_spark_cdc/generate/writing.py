"""The files of a plan against a project: what to write, without the loss of what the user changed there.

`spark_cdc_plan.json` in the project has the plan of the last run and a hash of each file that it wrote. So
three texts are known of a file: what the last run planned, what this run plans, and what is there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.generate.files import project_files
from dbt_spark_cdc.generate.plan import (
    DOES_NOT_FIT,
    MORE_THAN_DOUBLE,
    ONLY_NULLS,
    SCALES_DIFFER,
    SHARDS_DIFFER,
    Column,
    Plan,
    Table,
    differs_in_case,
    in_order,
    of_own_scale,
)
from dbt_spark_cdc.generate.types import TEXT, holds, joined

STATE = "spark_cdc_plan.json"


class State(BaseModel):
    """What the last run planned and wrote."""

    model_config = ConfigDict(extra="forbid")

    sources: dict[str, Plan] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    # Option --source -> the file of its routes, relative to the project.
    routes: dict[str, str] = Field(default_factory=dict)


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


def merged(
    before: Plan | None, now: Plan, left_out: Sequence[Table], notices: list[str] | None = None
) -> Plan:
    """Return a plan that also has what the last one had, and add to `notices`.

    These messages may lack a table or a column.
    """
    notices = [] if notices is None else notices
    if before is None:
        return now.model_copy(update={"tables": sorted(now.tables, key=in_order)})
    if (before.format, before.dialect) != (now.format, now.dialect):
        raise UsageError(
            f"option --source must be another name than {now.source}: its messages model reads "
            f"{before.format}{f' ({before.dialect})' if before.dialect else ''}, and these messages are "
            f"{now.format}{f' ({now.dialect})' if now.dialect else ''}."
        )
    known = {table.identity: table for table in before.tables}
    gone = {table.identity for table in left_out}
    tables = []
    for table in now.tables:
        # A new shard may need a star that matches more.
        narrower = (t for t in known.values() if _is_shard(t, [table]) and t.model == table.model)
        old = known.get(table.identity) or next(narrower, None)
        if old is not None:
            del known[old.identity]
            left = {name.lower() for name in table.left_out}
            known_columns = [column for column in old.columns if column.name.lower() not in left]
            table.columns = _merged_columns(table, known_columns, notices)
            spelled = {column.name.lower(): column.name for column in table.columns}
            table.key = [spelled.get(name.lower(), name) for name in table.key or old.key]
            table.needs_database |= old.needs_database
            table.needs_schema |= old.needs_schema
            table.description = table.description or old.description
        tables.append(table)
    tables += [
        table for identity, table in known.items() if identity not in gone and not _is_shard(table, tables)
    ]
    tables.sort(key=in_order)
    if before.topics != now.topics:
        loses = now.topics and (not before.topics or not set(before.topics) <= set(now.topics))
        notices.append(
            f"{now.messages_model} now reads {_topics(now)}; before it read {_topics(before)}."
            + (" --topics must name every topic of the source." if loses else "")
        )
    return now.model_copy(update={"tables": tables, "has_headers": now.has_headers or before.has_headers})


def _topics(plan: Plan) -> str:
    return f"the topics {', '.join(plan.topics)}" if plan.topics else "all topics"


def _is_shard(table: Table, others: Sequence[Table]) -> bool:
    return any(other.is_of_shards and other.covers(table) for other in others)


def _merged_columns(table: Table, before: Sequence[Column], notices: list[str]) -> list[Column]:
    found = {column.name.lower(): column for column in table.columns}
    columns = []
    for old in before:
        new = found.pop(old.name.lower(), None)
        if new is not None and new.name != old.name:
            notices.append(differs_in_case(new.name, old.name, table))
            new = None
        columns.append(old if new is None else _merged_column(table, old, new, notices))
    return [*columns, *found.values()]


def _merged_column(table: Table, old: Column, new: Column, notices: list[str]) -> Column:
    """Return a column whose type rejects no value that was seen, of two named types the wider one."""
    if new.is_of_route or old.guess == ONLY_NULLS:
        return new
    if new.guess == ONLY_NULLS:
        return old
    if old.guess == MORE_THAN_DOUBLE and new.type == "double":
        return old
    if new.guess == MORE_THAN_DOUBLE and old.type == "double" and not old.is_of_route:
        notices.append(f"{table.full_name}: its column {old.name} becomes {new.type}: {MORE_THAN_DOUBLE}.")
        return new
    if old.is_of_route or (old.guess is None and new.guess is None):
        if not old.is_of_route and holds(new.type, old.type):
            return new
        if new.guess is None and (old.is_of_route or not holds(old.type, new.type)) and old.type != new.type:
            notices.append(_keeps(table, old, new))
        return old
    if (number := of_own_scale([new, old])) is not None:
        if not holds(number.type, old.type):
            notices.append(
                f"{table.full_name}: its column {old.name} becomes {number.type}, which does not hold all of "
                f"{old.type}. A route gives it another type."
            )
        return number
    if old.guess is None and new.guess not in (DOES_NOT_FIT, SHARDS_DIFFER):
        # The last messages named the type; if it no longer fits, rows are rejected.
        if new.guess == SCALES_DIFFER:
            notices.append(_keeps(table, old, new))
        return old
    if old.guess is not None and new.needs is not None and holds(old.type, new.needs):
        return old
    type_ = joined(old.type, new.type)
    if old.type != type_ == TEXT and new.guess not in (None, SHARDS_DIFFER):
        notices.append(
            f"{table.full_name}: its column {old.name} becomes a string, because these messages have values "
            f"that do not fit {old.type}. To keep that type and reject such rows, let a route declare it."
        )
    for column in sorted((new, old), key=lambda column: column.guess is not None):
        if column.type == type_:
            return column
    return new.model_copy(update={"type": type_, "guess": new.guess or old.guess})


def _keeps(table: Table, old: Column, new: Column) -> str:
    return (
        f"{table.full_name}: its column {old.name} keeps the type {old.type}; these messages ask for "
        f"{new.type}. A route gives it another type."
    )


def outcome(project: Path, state: State, new: Sequence[Plan], overwrite: bool) -> Outcome:
    """Compare the project's files with those of the new plans; writes nothing."""
    plans = {**state.sources, **{plan.source: plan for plan in new}}
    before, now = project_files(state.sources), project_files(plans)
    elsewhere: dict[str, str] = {}
    for plan in new:
        _refuse_names_twice(plans, plan, now)
        elsewhere |= _elsewhere(project, state, plans, plan, now)
    changes, notices, hashes = [], [], {}
    for plan in new:
        for other, has_table in [] if plan.is_landed else _other_sources(project, plan):
            notices.append(f"{other} has a source {plan.source}, too.")
            if has_table:
                elsewhere[plan.sources_file] = (
                    f"{plan.sources_file} is not written, because {other} has the table {plan.raw_table} "
                    "of it."
                )
    for path, text in now.items():
        file = project / path
        there = file.read_text(encoding="utf-8") if file.exists() else None
        noted = state.files.get(path)
        if there is None and path in elsewhere:
            notices.append(elsewhere[path])
            if noted is not None:
                hashes[path] = noted
            continue
        if not overwrite and there is None and noted is not None:
            notices.append(f"{path} was deleted, and stays so; --overwrite writes it again.")
            hashes[path] = noted
            continue
        if not overwrite and there is not None and not noted:
            # An empty hash: the file was there before the first run, and is never ours.
            hashes[path] = ""
            if there != text:
                notices.append(f"{path} was there before, and stays as it is; --overwrite replaces it.")
            continue
        if not overwrite and there is not None and noted != _hash(there) and there != text:
            new, missing = _added_to(path, there, before.get(path, ""), text)
            # Not ours: the next run finds another hash, too.
            hashes[path] = noted or ""
            if new != there:
                changes.append(Change(path, "added to", new))
            if missing:
                notices.append(
                    f"{path} was edited, and this run does not change there: {'; '.join(missing)}. "
                    "--overwrite replaces the file."
                )
            continue
        hashes[path] = _hash(text)
        if text != there:
            changes.append(Change(path, "new" if there is None else "changed", text))
    for path in state.files.keys() - now.keys():
        if (project / path).exists():
            notices.append(f"{path} is no longer planned: delete it, with its entries in YAML files.")
    now_noted = State(sources=plans, files=dict(sorted(hashes.items())), routes=state.routes)
    return Outcome(changes, sorted(notices), now_noted)


def write(project: Path, found: Outcome) -> None:
    """Write the files, then what this run noted."""
    state = json.dumps(found.state.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    for path, _, text in [*found.changes, Change(STATE, "", state)]:
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# ---- names that are taken


def _refuse_names_twice(plans: Mapping[str, Plan], plan: Plan, files: Iterable[str]) -> None:
    """A model's name is its file's name, and dbt has each name once: also among the files of all sources."""
    paths: dict[str, list[str]] = {}
    for path in files:
        if path.endswith(".sql"):
            paths.setdefault(Path(path).stem, []).append(path)
    own = f"models/marts/{plan.source}/"
    for name, its in paths.items():
        if len(its) > 1:
            # A table of this run gets another name before the files that every plan has.
            path = min(its, key=lambda path: (path.startswith(own), not path.startswith("models/marts/")))
            raise _taken(plans, plan, name, path)


def _taken(plans: Mapping[str, Plan], first: Plan, name: str, path: str) -> UsageError:
    """Return the sentence about a model whose name another file has."""
    for plan in (first, *plans.values()):
        for table in plan.tables:
            if name in (*table.models, plan.changes_model(table)):
                pattern = re.escape(table.full_name).replace(r"\*", ".*")
                return UsageError(
                    f"option --routes must give the model `{name}` another name, because {path} has it; "
                    f"write a route with source-table: '{pattern}' and sink-table: "
                    f"{plan.source}_{table.model}."
                )
    return UsageError(
        f"option --project-dir must be a project in which no other file has the name of the model `{name}`; "
        f"got {path}. Rename that file."
    )


def _elsewhere(
    project: Path, state: State, plans: Mapping[str, Plan], plan: Plan, files: Iterable[str]
) -> dict[str, str]:
    """Return the planned files that the project has at another place, with a sentence for each."""
    ours = {Path(path).stem: path for path in files if path.endswith(".sql")}
    found: dict[str, str] = {}
    for file in sorted((project / "models").glob("**/*.sql")):
        path = file.relative_to(project).as_posix()
        our = ours.get(file.stem, path)
        if our == path:
            continue
        if our not in state.files or (project / our).exists():
            raise _taken(plans, plan, file.stem, path)
        found[our] = f"{our} was moved to {path}, and stays there as it is."
    return found


def _other_sources(project: Path, plan: Plan) -> list[tuple[str, bool]]:
    """Return the user's YAML files that have a source of this name, and whether it has the raw table."""
    found = []
    for file in sorted([*(project / "models").glob("**/*.yml"), *(project / "models").glob("**/*.yaml")]):
        path = file.relative_to(project).as_posix()
        if path == plan.sources_file:
            continue
        try:
            content = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
        except (YAMLError, UnicodeDecodeError):
            continue  # dbt says it better
        for source in _entries_of(content, "sources"):
            if source.get("name") == plan.source:
                tables = [table.get("name") for table in _entries_of(source, "tables")]
                found.append((path, plan.raw_table in tables))
    return found


def _entries_of(content: Any, name: str) -> list[dict[str, Any]]:
    entries = content.get(name) if isinstance(content, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


# ---- what the user changed


def _added_to(path: str, there: str, before: str, now: str) -> tuple[str, list[str]]:
    """Return the user's text with what this run plans more than the last one, and what it does not get."""
    if path.endswith(".sql"):
        text = _added_to_sql(there, before, now)
        return text, _missing_in_sql(text, before, now)
    return _added_to_yaml(path, there, before, now)


def _added_to_sql(there: str, before: str, now: str) -> str:
    for opening, key in GROWING:
        old = {key(entry) for entry in _entries(before, opening)}
        own = {key(entry) for entry in _entries(there, opening)}
        new = [entry for entry in _entries(now, opening) if key(entry) not in old | own]
        if new:
            there = _inserted(there, opening, new)
    return there


def _missing_in_sql(there: str, before: str, now: str) -> list[str]:
    """Return what differs between two plans and is not so in the user's text."""
    missing = []
    calls = [(opening, _argument) for opening in (r"\bconfig\s*\(", r"\bspark_cdc\.\w+\s*\(")]
    for opening, key in [*calls, *GROWING]:
        old, own, new = ({key(e): e for e in _entries(text, opening)} for text in (before, there, now))
        for name, entry in new.items():
            is_new = name not in old or not _is_alike(old[name], entry)
            # What the user took away stays so.
            is_there = name in own or name not in old
            if is_new and is_there and not _is_alike(own.get(name, ""), entry) and not _is_growing(entry):
                missing.append(" ".join(entry.split()))
        missing += [f"without {old[name]}" for name in old if name in own and name not in new]
    return missing


def _argument(entry: str) -> str:
    """Return the name of an argument; one without a name is itself."""
    return re.split(r"\s*=", entry, maxsplit=1)[0]


def _is_growing(entry: str) -> bool:
    return any(re.match(opening, entry) for opening, _ in GROWING)


def _is_alike(one: str, other: str) -> bool:
    return re.sub(r"\s", "", one).replace('"', "'") == re.sub(r"\s", "", other).replace('"', "'")


# A text in quotes, or one character.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|.", re.DOTALL)


def _key(entry: str) -> str:
    """Return the name of an entry of a mapping."""
    return next(_TOKEN.finditer(entry.strip()))[0][1:-1]


LISTS = ("messages", "changes", "current")
# What gets new entries in a model, and what identifies an entry.
GROWING = [(r"columns\s*=\s*\{", _key), *((rf"{name}\s*=\s*\[", str) for name in LISTS)]


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


def _added_to_yaml(path: str, there: str, before: str, now: str) -> tuple[str, list[str]]:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        own = yaml.load(there)
    except YAMLError as error:
        raise UsageError(f"{path} must be YAML that can be read; got {str(error).splitlines()[0]}.") from None
    old, new = yaml.load(before), yaml.load(now)
    is_added = _add(own, old, new)
    missing = _missing(own, old, new, "")
    if not is_added:
        return there, missing
    text = StringIO()
    yaml.dump(own, text)
    return text.getvalue(), missing


def _missing(own: Any, old: Any, new: Any, place: str) -> list[str]:
    """Return what differs between two plans and is not so in the user's YAML."""
    if all(isinstance(part, list) for part in (own, new)):
        own, old, new = (
            {_item(entry): entry for entry in part} if isinstance(part, list) else {}
            for part in (own, old, new)
        )
    if not (isinstance(own, dict) and isinstance(new, dict)):
        if new in (own, old):
            return []
        return [f"{place}: {new}" if isinstance(new, str) else f"the entries of {place or 'the file'}"]
    old = old if isinstance(old, dict) else {}
    missing = [
        f"without {place}.{name}".replace(" .", " ") for name in old if name in own and name not in new
    ]
    for name, value in new.items():
        if name in own:
            missing += _missing(own[name], old.get(name), value, f"{place}.{name}".strip("."))
    return missing


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
