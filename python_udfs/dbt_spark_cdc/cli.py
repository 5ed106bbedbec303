"""The command line: `spark-cdc`."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from dbt_spark_cdc import __version__
from dbt_spark_cdc.cli_options import STANDARD_INPUT, columns_of, keys_of, library_of, source_of
from dbt_spark_cdc.decode import AUTO, Decoder, Options, UsageError, refusals
from dbt_spark_cdc.explain.command import explain
from dbt_spark_cdc.generate.command import generate
from dbt_spark_cdc.message_text import one_line
from dbt_spark_cdc.report.command import report
from dbt_spark_cdc.spark_of_command import spark_of_command

# A terminal acts on some of these, and some tools read others as the end of a line.
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029]")


class _OneSentence(click.Group):
    """A group that reports errors of use as one line on standard error, with exit code 2."""

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **kwargs)
        try:
            sys.exit(super().main(*args, standalone_mode=False, **kwargs) or 0)
        except click.ClickException as error:
            where = (
                error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "spark-cdc"
            )
            click.echo(f"{where}: {one_line(error.format_message())}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(130)


@click.group(cls=_OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spark-cdc")
def main() -> None:
    """Change messages of vendor formats, read as the dbt package spark_cdc reads them."""


main.add_command(explain)
main.add_command(generate)
main.add_command(report)


@main.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option(
    "--format",
    "format_",
    default=AUTO,
    metavar="NAME",
    help="The messages' format, such as canal or debezium, or auto, which detects it from each file's first "
    "messages; where several write such messages alike, all of them must read the same. Of a file that holds "
    "messages of other formats too, it says so on standard error.  [default: auto]",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="Whose way of writing the format, such as flat for debezium. With auto only formats that have it "
    "count.",
)
@click.option(
    "--columns",
    metavar="NAME:TYPE,...",
    multiple=True,
    help="Show these columns, typed as a model types them: id:bigint,price:decimal(10,2). A type may say how "
    "the source writes it: at:timestamp from microseconds. Without it every column that is found is shown, "
    "as the text that the message has.",
)
@click.option(
    "--key",
    metavar="[TABLE=]NAME,...",
    multiple=True,
    help="The columns that identify a row, for all tables or for one: --key id --key lines=order_id,line. "
    "Without it the key that the messages name. A table that no message is of, and a column that no row of a "
    "table has, are said on standard error.",
)
@click.option(
    "--var",
    "variables",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable of the project as dbt_project.yml does: --var "
    "spark_cdc__debezium_other_connectors=singlestoredb. Where it is a list, name it once for each entry.",
)
@click.option("--state", is_flag=True, help="Show, for each table, its rows after all changes instead.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file of results for each input there, under the input's name. Without it results go to "
    "standard output.",
)
def decode(
    files: tuple[str, ...],
    format_: str,
    dialect: str | None,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    variables: tuple[str, ...],
    state: bool,
    out: Path | None,
) -> None:
    """Show what FILES of messages hold: one line of JSON per message or row change.

    A line of a file is a message's value; or an object around it that has `value` (a text or null) and
    `topic` or `offset`, or has `value_base64` where the value is no text. Such an object may have partition,
    timestamp, key and headers too; any other is itself the value. The line `null` is a tombstone. `-` reads
    standard input.

    The answer names the message's lines, counted from 0. A message that cannot be read is a line of kind
    `error`, and the exit code stays 0. It is 2 where a file does not show its format; the others are read.

    \b
    spark-cdc decode orders.jsonl
    spark-cdc decode --format debezium --state --key id customers.jsonl
    spark-cdc decode captures/*.jsonl --out decoded
    """
    context = click.get_current_context()
    try:
        decoder = Decoder(library_of(variables), Options(format_, dialect, columns_of(columns), keys_of(key)))
        targets = _targets(files, out)
        sources = [source_of(file) for file in files]
        opened = decoder.files(sources, files)
    except UsageError as error:
        raise click.UsageError(str(error), context) from None
    results = _run(decoder, opened, state, sum(len(source.data) for source in sources), context)
    if out is None:
        for result in results:
            _write(sys.stdout.buffer, result)
        sys.stdout.buffer.flush()
    else:
        read = [place for place, file in enumerate(opened) if file.refusal is None]
        try:
            out.mkdir(parents=True, exist_ok=True)
            for place in read:
                with targets[place].open("wb") as file:
                    _write(file, results[place])
        except OSError as error:
            raise click.UsageError(
                f"option --out must be a folder that can be written; got {error}.", context
            ) from None
        if not state:
            _summary([(opened[place].format, targets[place], results[place]) for place in read])
    for notice in decoder.notices(opened):
        click.echo(one_line(notice), err=True)
    if refused := refusals(opened):
        raise click.UsageError(" ".join(refused), context)


def _run(
    decoder: Decoder, files: list[Any], state: bool, size: int, context: click.Context
) -> list[list[Any]]:
    if not any(file.messages for file in files):
        return [[] for _ in files]
    with spark_of_command("decode", size) as spark:
        return decoder.states(spark, files) if state else decoder.changes(spark, files)


def _targets(files: tuple[str, ...], out: Path | None) -> list[Path]:
    """The result files; an input is never overwritten, and no two share a result."""
    if out is None:
        return []
    names = ["stdin.jsonl" if file == STANDARD_INPUT else Path(file).name for file in files]
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"option --out must be given with files of different names; got {count} files named {name}."
            )
    targets = [out / name for name in names]
    for file, target in zip(files, targets, strict=True):
        if file != STANDARD_INPUT and target.exists() and target.samefile(file):
            raise UsageError(f"option --out must be another folder than the input's; got {out}.")
    return targets


def _write(file: Any, result: list[dict[str, Any]]) -> None:
    for entry in result:
        text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        file.write(ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8") + b"\n")


def _summary(written: list[tuple[str, Path, list[dict[str, Any]]]]) -> None:
    """What was written, on standard error: counts only."""
    table = Table(box=None, pad_edge=False)
    for heading in ("file", "format", "rows", "other", "pending", "errors"):
        table.add_column(heading, justify="left" if heading in ("file", "format") else "right")
    for name, target, result in written:
        kinds = Counter(entry["kind"] for entry in result)
        rows, pending, errors = kinds["row"], kinds["pending"], kinds["error"]
        other = len(result) - rows - pending - errors
        format_ = "-" if name == AUTO else name
        table.add_row(one_line(str(target)), format_, *map(str, (rows, other, pending, errors)))
    Console(stderr=True, markup=False, emoji=False).print(table)


if __name__ == "__main__":
    main()
