"""Renders the package's own macros outside a dbt run.

`spark-cdc decode` and the tests need the SQL that the macros write, without a dbt project around it. The
rules are dbt's: `return()` returns a value, `spark_cdc.<name>` finds a macro, `adapter.dispatch` takes
`spark__<name>` before `default__<name>`, and `exceptions.raise_compiler_error` stops with a sentence. It
does not render materializations and tests: they need a run.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any
from zoneinfo import available_timezones

import jinja2

RENDERED_FOLDERS = (
    "_internal",
    "apply",
    "changes",
    "formats",
    "landing",
    "messages",
    "parse",
    "progress",
    "types",
)


class CompilerError(Exception):
    """A macro rejected its arguments. The message is the sentence that dbt would show."""


class _MacroReturn(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class MacroLibrary:
    """All macros of a project folder; `library.call("messages", ...)` returns what the macro returns.

    `variables` are those that a project sets under `vars:`.
    """

    def __init__(self, project: Path, variables: dict[str, Any] | None = None) -> None:
        environment = jinja2.Environment(extensions=["jinja2.ext.do"], undefined=jinja2.StrictUndefined)
        environment.globals.update(
            {
                "return": _raise_return,
                "spark_cdc": self,
                "adapter": SimpleNamespace(dispatch=self._dispatch),
                "exceptions": SimpleNamespace(raise_compiler_error=_raise_compiler_error),
                "target": SimpleNamespace(type="spark"),
                "var": lambda name, default=None: (variables or {}).get(name, default),
                "local_md5": lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                "invocation_args_dict": {},
                "is_incremental": lambda: False,
                "execute": True,
                "graph": SimpleNamespace(nodes={}),
                "flags": SimpleNamespace(WHICH="compile"),
                "modules": SimpleNamespace(re=re, pytz=_TimeZones()),
                "config": _Config(),
                "run_started_at": datetime.now(timezone.utc),
                "fromjson": _from_json,
                "this": None,
                "model": None,
            }
        )
        self._macros = dict(_load(environment, project / "macros"))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self[name]

    def __getitem__(self, name: str) -> Callable[..., Any]:
        try:
            return self._macros[name]
        except KeyError:
            raise AttributeError(f"spark_cdc has no macro `{name}`") from None

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self[name](*args, **kwargs)

    def names(self) -> set[str]:
        return set(self._macros)

    def _dispatch(self, name: str, _namespace: str) -> Callable[..., Any]:
        for prefix in ("spark__", "default__"):
            if prefix + name in self._macros:
                return self._macros[prefix + name]
        raise CompilerError(f"spark_cdc: no macro `spark__{name}` or `default__{name}` was found")


# Cached by text: all environments here have the same settings, and compiling the macros takes seconds.
_CODE: dict[str, CodeType] = {}


def _compiled(environment: jinja2.Environment, text: str) -> CodeType:
    if text not in _CODE:
        _CODE[text] = environment.compile(text)
    return _CODE[text]


def _load(environment: jinja2.Environment, folder: Path) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in RENDERED_FOLDERS:
        for file in sorted((folder / name).glob("**/*.sql")):
            code = _compiled(environment, file.read_text(encoding="utf-8"))
            template = jinja2.Template.from_code(environment, code, environment.make_globals(None))
            # Not `template.module`: jinja keeps names with a leading underscore out of it.
            context = template.new_context()
            for _ in template.root_render_func(context):
                pass
            for macro_name, macro in context.vars.items():
                if isinstance(macro, jinja2.runtime.Macro):
                    yield macro_name, _returning(macro)


def _returning(macro: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return macro(*args, **kwargs)
        except _MacroReturn as returned:
            return returned.value

    return call


class _Config:
    """The config of a model that sets nothing and whose notes nobody reads."""

    def __call__(self, **_settings: Any) -> str:
        return ""

    def get(self, _name: str, default: Any = None) -> Any:
        return default


class _TimeZones:
    """The parts of pytz that the macros use; pytz comes with dbt."""

    @cached_property
    def all_timezones(self) -> set[str]:
        return available_timezones()


def _from_json(text: str, default: Any = None) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return default


def _raise_return(value: Any = None) -> None:
    raise _MacroReturn(value)


def _raise_compiler_error(message: str) -> None:
    raise CompilerError(message)
