"""What several commands of `spark-cdc` share: the files that they read, and options that are texts."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from dbt_spark_cdc.decode import Source, UsageError
from dbt_spark_cdc.macros import CompilerError, MacroLibrary
from dbt_spark_cdc.project import project_root

STANDARD_INPUT = "-"


def source_of(file: str) -> Source:
    """Read a file, or standard input, as messages of a topic of its name."""
    if file == STANDARD_INPUT:
        return Source("stdin", sys.stdin.buffer.read())
    path = Path(file)
    return Source(path.stem, path.read_bytes())


def columns_of(options: tuple[str, ...]) -> dict[str, str] | None:
    if not options:
        return None
    columns: dict[str, str] = {}
    for text in options:
        # Commas inside parentheses belong to a type.
        for part in re.split(r",(?![^()]*\))", text):
            name, colon, declared = part.rpartition(":")
            name = name.strip()
            if not colon or not name or not declared.strip():
                raise UsageError(
                    "option --columns must be name:type, with commas between, such as id:bigint,name:string; "
                    f"got `{part}`."
                )
            if name in columns:
                raise UsageError(f"option --columns must name each column once; got `{name}` twice.")
            columns[name] = declared.strip()
    return columns


def keys_of(options: tuple[str, ...]) -> dict[str | None, list[str]]:
    keys: dict[str | None, list[str]] = {}
    for text in options:
        table, equals, names = text.rpartition("=")
        parts = [name.strip() for name in names.split(",")]
        if not all(parts) or len(set(parts)) < len(parts) or (equals and not table.strip()):
            raise UsageError(
                "option --key must be column names with commas between, such as id or orders=id,line; "
                f"got `{text}`."
            )
        if keys.setdefault(table.strip() or None, parts) is not parts:
            raise UsageError(
                f"option --key must be given once for all tables and once for a table; got `{text}` too."
            )
    return keys


def library_of(options: tuple[str, ...]) -> MacroLibrary:
    """The macros, with the variables that the options set."""
    defaults = MacroLibrary(project_root()).call("_vars_of_messages")
    variables: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or name not in defaults:
            raise UsageError(
                f"option --var must be name=value, where name is one of {', '.join(defaults)}; got `{text}`."
            )
        if isinstance(defaults[name], list):
            variables.setdefault(name, []).append(value)
        elif name in variables:
            raise UsageError(f"option --var must name {name} once, because it is one text; got it twice.")
        else:
            variables[name] = value
    library = MacroLibrary(project_root(), variables)
    for name in variables:
        try:
            library.call("_var", name)
        except CompilerError as error:
            raise UsageError(f"option --var: {error}") from None
    return library
