"""Routes: which tables get models, under which names, and what the user knows better than the messages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dbt_spark_cdc.decode import UsageError
from dbt_spark_cdc.decode.files import spellings
from dbt_spark_cdc.generate.plan import (
    ONLY_NULLS,
    SHARDS_DIFFER,
    Column,
    Table,
    differs_in_case,
    in_order,
    model_name,
    of_own_scale,
)
from dbt_spark_cdc.generate.types import TEXT
from dbt_spark_cdc.macros import CompilerError, MacroLibrary
from dbt_spark_cdc.message_text import STAR


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression ({error})") from None
    return text


class Route(_Part):
    """One route, in the words of Flink CDC's pipelines; key and columns are ours."""

    source_table: str = Field(alias="source-table")
    sink_table: str | None = Field(None, alias="sink-table")
    # Stands in sink-table for a table's own name: each table of the route has a model of its own then.
    replace_symbol: str | None = Field(None, alias="replace-symbol", min_length=1)
    key: list[str] | None = None
    # None leaves a column out.
    columns: dict[str, str | None] = Field(default_factory=dict)
    description: str | None = None

    _check = field_validator("source_table")(_pattern)

    @model_validator(mode="after")
    def _names_models(self) -> Route:
        name, symbol = self.sink_table, self.replace_symbol
        if symbol is not None and symbol not in (name or ""):
            raise ValueError(f"replace-symbol must stand in sink-table; got {symbol!r} and {name!r}")
        if name is not None and not re.fullmatch(r"[a-z][a-z0-9_]*", self._with_name("t")):
            raise ValueError("sink-table must be the name of a model: small letters, digits and underscores")
        return self

    @property
    def merges(self) -> bool:
        """Whether its tables become one model."""
        return self.sink_table is not None and self.replace_symbol is None

    def model_of(self, table: Table) -> str:
        """Return the name of a table's model; the one that it has, maybe none, if the route gives none."""
        return self._with_name(table.model or model_name(table.name)) or table.model

    def _with_name(self, name: str) -> str:
        sink = self.sink_table or ""
        return sink.replace(self.replace_symbol, name) if self.replace_symbol else sink


class Routes(_Part):
    """The file of the option --routes."""

    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    route: list[Route] = Field(default_factory=list)

    @field_validator("include", "exclude")
    @classmethod
    def _are_patterns(cls, texts: list[str]) -> list[str]:
        return list(map(_pattern, texts))


def load(file: Path) -> Routes:
    """Read a file of routes; raises UsageError with the place of each error."""
    try:
        found = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"option --routes must be a YAML file; got {file}: {error}") from None
    try:
        return Routes.model_validate({} if found is None else found)
    except ValidationError as error:
        raise UsageError(
            f"option --routes: {file.name}: {'; '.join(map(_sentence, error.errors()))}."
        ) from None


def _sentence(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"]) or "the file"
    if error["type"] == "extra_forbidden":
        return (
            f"{place} is not known; known are include, exclude, route, and of a route source-table, "
            "sink-table, replace-symbol, key, columns, description"
        )
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def routed(
    routes: Routes,
    found: Sequence[Table],
    library: MacroLibrary,
    notices: list[str] | None = None,
    known: Sequence[Table] = (),
    is_noted: bool = False,
    of_all_formats: Sequence[Table] = (),
) -> list[Table]:
    """Return the tables that get models, and add to `notices`; raises UsageError if a route cannot be met.

    New messages need not have all that the `known` tables of the last run have. A route may match no table if
    the routes are noted: then nobody has just typed them.
    """
    notices = [] if notices is None else notices
    kept = [
        table
        for table in found
        if (not routes.include or _any(routes.include, table)) and not _any(routes.exclude, table)
    ]
    tables: list[Table] = []
    taken: set[int] = set()
    for number, route in enumerate(routes.route):
        its = [table for table in kept if _any([route.source_table], table) and id(table) not in taken]
        if not its and is_noted:
            notices.append(f"no table of these messages has the route of `{route.source_table}`.")
            continue
        if not its:
            raise UsageError(
                f"option --routes: route.{number}.source-table must match a table that no route before it "
                f"takes; got `{route.source_table}`, and the tables are "
                f"{', '.join(sorted({table.full_name for table in [*found, *of_all_formats]})) or 'none'}."
            )
        taken.update(map(id, its))
        before = [t for t in known if route.merges and t.model == route.sink_table and t.is_of_shards]
        is_of_shards = route.merges and len([*its, *before]) > 1
        for table in [_merged(its, before, found, route, notices)] if is_of_shards else its:
            old = before or [t for t in known if t.identity == table.identity]
            tables.append(_overridden(table, route, library, old))
    return sorted(
        [*tables, *(table for table in kept if id(table) not in taken)],
        key=in_order,
    )


def of_tables(routes: Routes, found: Sequence[Table], all_found: Sequence[Table]) -> Routes:
    """Return the routes without those of tables that only another format's messages have."""
    return routes.model_copy(
        update={
            "route": [
                route
                for route in routes.route
                if any(_any([route.source_table], table) for table in found)
                or not any(_any([route.source_table], table) for table in all_found)
            ]
        }
    )


def _any(patterns: Iterable[str], table: Table) -> bool:
    names = [name for name in spellings(table.identity) if name is not None]
    return any(re.fullmatch(pattern, name) for pattern in patterns for name in names)


def _merged(
    shards: list[Table], before: list[Table], found: Sequence[Table], route: Route, notices: list[str]
) -> Table:
    """Return one table over several, whose name has a star where their names differ.

    `before` is the table over the shards of the last run, if there was one.
    """
    named = before if before and all(map(before[0].covers, shards)) else [*before, *shards]
    merged = Table(
        database=_star([table.database for table in named]),
        schema_name=_star([table.schema_name for table in named]),
        name=_star([table.name for table in named]) or STAR,
    )
    merged.needs_database = merged.database != STAR and len({table.database for table in named}) > 1
    merged.needs_schema = merged.schema_name != STAR and len({table.schema_name for table in named}) > 1
    others = [t for t in found if t not in shards and merged.covers(t)]
    if others or not merged.is_of_shards:
        every = "table" if merged.name == STAR else "database or schema"
        reads = f"`{others[0].full_name}`" if others else f"every {every}"
        raise UsageError(
            f"option --routes: the tables of `{route.source_table}` must have a name that a star can match "
            f"without other tables; got `{merged.full_name}`, which matches {reads} too. "
            "Write the changes model of these tables by hand."
        )
    keys = {tuple(table.key) for table in shards}
    if route.key is None and len(keys) > 1:
        raise UsageError(
            f"option --routes: the route of `{route.source_table}` must have a key, because its tables have "
            f"different ones; got {'; '.join(', '.join(key) or 'none' for key in sorted(keys))}."
        )
    merged.key = list(shards[-1].key)
    columns: dict[str, list[Column]] = {}
    for column in (column for table in shards for column in table.columns):
        its = columns.setdefault(column.name.lower(), [])
        if its and its[0].name != column.name:
            notices.append(differs_in_case(column.name, its[0].name, merged))
        else:
            its.append(column)
    merged.columns = list(map(_of_shards, columns.values()))
    return merged


def _of_shards(columns: Sequence[Column]) -> Column:
    """Return the column of all shards; one in which a shard has no value takes the others' type."""
    columns = [column for column in columns if column.guess != ONLY_NULLS] or columns
    if (number := of_own_scale(columns)) is not None:
        return number
    if len({column.type for column in columns}) > 1:
        return columns[0].model_copy(update={"type": TEXT, "guess": SHARDS_DIFFER})
    guess = next((column.guess for column in columns if column.guess is not None), None)
    return columns[0].model_copy(update={"guess": guess})


def _star(names: Sequence[str | None]) -> str | None:
    texts = [name for name in names if name is not None]
    if len(set(names)) == 1:
        return names[0]
    start = _common(texts)
    end = _common([text[len(start) :][::-1] for text in texts])[::-1]
    return f"{start}{STAR}{end}"


def _common(texts: Sequence[str]) -> str:
    """Return the text with which all texts begin."""
    columns = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in columns)


def _overridden(table: Table, route: Route, library: MacroLibrary, before: Sequence[Table]) -> Table:
    table.model = route.model_of(table)
    table.description = route.description
    names = [column.name for column in table.columns]
    names_before = [name for t in before for name in [*(c.name for c in t.columns), *t.left_out]]
    for name in [*route.columns, *(route.key or ())]:
        if name not in names and name not in names_before:
            raise UsageError(
                f"option --routes: the route of `{route.source_table}` must name columns of "
                f"{table.full_name} ({', '.join(names)}); got `{name}`."
            )
    types = {name: declared for name, declared in route.columns.items() if declared is not None}
    key = table.key if route.key is None else route.key
    left_out = route.columns.keys() - types.keys()
    for name in left_out:
        if name in key or left_out.issuperset(names):
            raise UsageError(
                f"option --routes: the route of `{route.source_table}` must keep the key and a column of "
                f"{table.full_name}; got `{name}` without a type."
            )
    try:
        if types:
            library.call("_columns", types, "changes")
    except CompilerError as error:
        raise UsageError(f"option --routes: the route of `{route.source_table}`: {error}") from None
    table.left_out = [name for name in route.columns if name not in types]
    table.columns = [c for c in table.columns if c.name in types or c.name not in route.columns]
    for column in table.columns:
        if column.name in types:
            column.type, column.guess, column.is_of_route = types[column.name], None, True
    if route.key is not None:
        table.key = route.key
    return table
