"""Pages as a user follows them: their files, their commands, and a shell that sees whether these print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from harness import Project

# A block of commands, and what the page says that they print.
BLOCKS = re.compile(r"^```(bash|text)\n(.*?)^```", re.M | re.S)
# A file's name stands in its first line; README has several models in one block.
FILES = re.compile(r"^(?:--|#) ([\w./]+\.(?:sql|yml))[^\n]*\n(.*?)(?=^-- models/|^```)", re.M | re.S)
# Of the project `library`, which the typed pages make.
PRINTED = re.compile(r"^OK created sql \S+ model library\.(\S+) \[(.*) in [\d.]+s\]$", re.M)
COUNTS = re.compile(r"^Done\. PASS=(\d+) WARN=(\d+) ERROR=0 SKIP=0 NO-OP=(\d+)", re.M)


def steps(page: str) -> Iterator[tuple[str, str]]:
    """The commands of a page, each with the text that follows it; an earlier one of a block has none."""
    blocks = BLOCKS.findall(page)
    for (kind, text), (next_kind, printed) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "bash":
            *others, last = text.splitlines()
            yield from ((command, "") for command in others)
            yield last, printed if next_kind == "text" else ""


def files(page: str) -> dict[str, str]:
    """The files that a page shows: path -> text."""
    return dict(FILES.findall(page))


@dataclass
class Shell:
    """A user's shell in the folder of a project."""

    project: Project
    # A build of everything is long: what stands in its place.
    short_build: list[str] | None = None
    kinds: list[str] = field(default_factory=list)
    # What the page says and a command does not, of all commands: one run is long.
    differences: list[Any] = field(default_factory=list)

    def type(self, command: str, printed: str) -> None:
        """Run a command, and see that it prints what the page says."""
        program, *arguments = shlex.split(command)
        if program == "dbt":
            self.kinds.append(arguments[0])
            getattr(self, "_" + arguments[0].replace("-", "_"))(arguments, printed)
        elif program == "spark-cdc":
            self.kinds.append(arguments[0])
            self._spark_cdc(arguments, printed)
        elif program == "sed":
            self.kinds.append(program)
            subprocess.run(["bash", "-c", command], cwd=self.project.folder, check=True)
        else:  # the harness has made the project and installed the package; a test sets its variables
            assert program in ("cd", "pip", "export"), command

    def _deps(self, arguments: list[str], printed: str) -> None:
        assert not printed

    def _build(self, arguments: list[str], printed: str) -> None:
        is_short = arguments == ["build"] and self.short_build is not None
        run = self.project.dbt(*arguments, *(self.short_build if is_short else []))
        run.must_succeed("warn", "no-op")
        shown = dict(PRINTED.findall(printed))
        assert shown or not printed
        self._must_be(arguments, shown, {name: run.messages.get(name) for name in shown})
        counts = [
            sum(status in those for status in run.statuses.values())
            for those in (("success", "pass"), ("warn",), ("no-op",))
        ]
        if not is_short:
            self._must_be(arguments, COUNTS.findall(printed), [tuple(map(str, counts))])
        for reason in re.findall(r"^(\d+ x .*)$", printed, re.M):
            if not any(reason in line for line in run.logged):
                self._must_be(arguments, reason, run.logged)

    def _run(self, arguments: list[str], printed: str) -> None:
        run = self.project.dbt(*arguments).must_succeed()
        shown = dict(PRINTED.findall(printed))
        self._must_be(arguments, shown, run.messages)

    def _show(self, arguments: list[str], printed: str) -> None:
        run = self.project.dbt(*arguments).must_succeed()
        table = run.result.result.results[0].agate_table
        found = [["" if value is None else str(value) for value in row.values()] for row in table.rows]
        names, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()
        )
        self._must_be(arguments, [names, *rows], [list(table.column_names), *found])

    def _run_operation(self, arguments: list[str], printed: str) -> None:
        # Spark's folder is not dbt's here: all projects of the tests share one JVM.
        with contextlib.redirect_stdout(io.StringIO()) as output:
            run = self.project.dbt(
                *(part.replace("later.jsonl", f"'{self.project.folder}/later.jsonl'") for part in arguments)
            )
        assert run.result.success, run.failure
        if printed not in output.getvalue():
            self._must_be(arguments, printed, output.getvalue())

    def _spark_cdc(self, arguments: list[str], printed: str) -> None:
        typed = [
            file
            for part in arguments
            for file in (sorted(map(str, Path().glob(part))) if "*" in part else [part])
        ]
        done = CliRunner().invoke(main, typed)
        assert done.exit_code == 0, done.output
        assert printed
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        if any(line not in lines for line in printed.splitlines()):
            self._must_be(arguments, printed, done.stdout)

    def _must_be(self, command: object, on_page: object, found: object) -> None:
        if on_page != found:
            self.differences.append({"command": command, "page": on_page, "found": found})
