"""Rows of the user's dbt project: of a query or a macro, with the profile that the project's models run with.

dbt runs in a child process. It keeps global state, writes to standard output, and with `method: session` it
needs a JVM with the jars of the profile, which the Spark of this process does not have. The child stays until
the end, so all queries share one parse and one session.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import IO, Any

MARK = "spark_cdc.row "
PARTS = ("nodes", "sources")
# Headings of dbt's own errors: they name its classes, and say nothing of the cause.
_HEADING = re.compile(r"^(?:(?:Runtime|Compilation|Parsing|Database|Internal|Dependency|Usage) Error\s*)+")
_AFTER_THE_ERROR = re.compile(
    r"; line \d+ pos \d+|^\s*(?:'?[A-Z]\w+ .*$\n\s*\+- |== SQL|JVM stacktrace:|at [\w.$]+\()", re.MULTILINE
)
_MACRO = re.compile(r"^in (?:macro|operation) \S+ \([^)]*\)\s*")
_END_SECONDS = 60


class DbtError(Exception):
    """dbt could not answer. The message is one sentence: what dbt said."""


class DbtProject:
    """A user's project, as a context: the child process starts with the first question and ends with it.

    `target`, `profiles_dir` and `variables` are dbt's options of these names. dbt runs in the project's
    folder.
    """

    def __init__(
        self,
        folder: Path,
        profiles_dir: Path | None = None,
        target: str | None = None,
        variables: dict[str, Any] | None = None,
    ) -> None:
        self.folder = folder
        self._flags = ["--project-dir", str(folder.resolve())]
        # Also that of the variable: a relative folder is meant from where the command was typed.
        profiles = profiles_dir or os.environ.get("DBT_PROFILES_DIR")
        if profiles:
            self._flags += ["--profiles-dir", str(Path(profiles).resolve())]
        if target is not None:
            self._flags += ["--target", target]
        if variables:
            self._flags += ["--vars", json.dumps(variables)]
        self._child: subprocess.Popen[str] | None = None
        self._answers: IO[str] | None = None
        self._chatter: IO[str] | None = None

    def __enter__(self) -> DbtProject:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is None:
            return
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(timeout=0 if kind is KeyboardInterrupt else _END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._answers.close()
        self._chatter.close()
        self._child = None

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT: numbers with a point as Decimal, times as texts, binary as base64.

        It is plain SQL, not a template: name tables by `relation_name` of the manifest.
        """
        return self.macro("spark_cdc._rows_as_json", {"sql": sql})

    def macro(self, name: str, arguments: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run a macro of the project or of a package, and return the rows that it gives to `_log_row`."""
        answer = self._ask({"macro": name, "arguments": arguments or {}})
        return [_row(text) for text in answer["rows"]]

    def manifest(self) -> dict[str, Any]:
        """Return the project's nodes and sources as they are now: those parts of dbt's manifest.json."""
        return self._ask({})["manifest"]

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._child is None:
            self._start()
        try:
            self._child.stdin.write(json.dumps(question) + "\n")
            self._child.stdin.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise DbtError(f"dbt ended without an answer: {self._last_words()}.")
        answer = json.loads(line)
        if "error" in answer:
            raise DbtError(answer["error"])
        return answer

    def _start(self) -> None:
        if not (self.folder / "dbt_project.yml").is_file():
            raise DbtError(f"there is no dbt_project.yml in {self.folder}; name the folder of a dbt project.")
        reader, writer = os.pipe()
        self._chatter = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "dbt_spark_cdc.dbt_rows", str(writer), *self._flags],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=self._chatter,
                stderr=self._chatter,
                pass_fds=[writer],
                text=True,
                encoding="utf-8",
            )
        finally:
            os.close(writer)
        self._answers = os.fdopen(reader, encoding="utf-8")

    def _last_words(self) -> str:
        self._chatter.seek(0)
        lines = [line.strip() for line in self._chatter if line.strip()]
        return lines[-1].rstrip(".") if lines else "it printed nothing"


def _row(text: str) -> dict[str, Any]:
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_with_each_name_once)


def _with_each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DbtError(f"the query has several columns named {', '.join(twice)}; give each its own name.")
    return row


def sentence(error: str) -> str:
    """Return dbt's error as one line that ends with a full stop, without its headings and Spark's plans."""
    # After its first line an error of Spark has the plan of the query and Java's calls.
    text = _AFTER_THE_ERROR.split(error)[0]
    text = " ".join(text.split())
    text = _MACRO.sub("", _HEADING.sub("", text)).removesuffix(";").removesuffix(".")
    return f"dbt: {text}."


class _Answers:
    """The child: answers one question after the other in this process's dbt."""

    def __init__(self, flags: list[str]) -> None:
        self.flags = flags
        self.manifest: Any = None

    def of(self, question: dict[str, Any]) -> dict[str, Any]:
        rows: list[str] = []
        errors: list[str] = []

        def keep(event: Any) -> None:
            name = event.info.name
            if name in ("JinjaLogDebug", "JinjaLogInfo") and event.data.msg.startswith(MARK):
                rows.append(event.data.msg.removeprefix(MARK))
            elif name in ("RunningOperationCaughtError", "RunningOperationUncaughtError"):
                errors.append(event.data.exc)

        if self.manifest is None:
            result = self._invoke(["parse"], keep)
            if not result.success:
                return {"error": sentence(str(result.exception or "parse failed"))}
            self.manifest = result.result
        if "macro" not in question:
            manifest = self.manifest.writable_manifest().to_dict(omit_none=False)
            return {"manifest": {part: manifest[part] for part in PARTS}}
        arguments = ["--args", _as_yaml(question["arguments"])]
        result = self._invoke(["run-operation", question["macro"], *arguments], keep)
        if not result.success:
            return {"error": sentence(str(result.exception or "") or " ".join(errors) or "the macro failed")}
        return {"rows": rows}

    def _invoke(self, command: list[str], keep: Callable[[Any], None]) -> Any:
        from dbt.cli.main import dbtRunner

        # Rows are data of the user: no log of dbt gets them.
        # The files in target, such as run_results.json, stay those of the user's own last command.
        quiet = ["--quiet", "--log-level", "none", "--log-level-file", "none", "--no-write-json"]
        flags = [*quiet, "--no-send-anonymous-usage-stats", *self.flags]
        return dbtRunner(self.manifest, callbacks=[keep]).invoke([*command, *flags])


def _as_yaml(arguments: dict[str, Any]) -> str:
    """JSON that YAML reads alike: it knows no pairs of surrogates, and refuses some bare characters."""
    text = json.dumps(arguments, ensure_ascii=False)
    return re.sub(r"[^\x20-\x7e]", lambda found: f"\\U{ord(found[0]):08x}", text)


def main() -> None:
    """Answer the questions on standard input through the file descriptor that the first argument names."""
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as out:
        answers = _Answers(sys.argv[2:])
        for line in sys.stdin:
            try:
                answer = answers.of(json.loads(line))
            except ImportError as error:
                answer = {"error": f"dbt is not installed ({error}); type pip install 'dbt-spark-cdc[dbt]'."}
            out.write(json.dumps(answer) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
