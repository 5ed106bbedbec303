"""`spark-cdc explain`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from dbt_spark_cdc.cli_options import columns_of, keys_of, library_of
from dbt_spark_cdc.decode import AUTO, Options, UsageError
from dbt_spark_cdc.explain.message import Explainer
from dbt_spark_cdc.explain.show import shown
from dbt_spark_cdc.inputs import Message, read_messages

STANDARD_INPUT = "-"


@click.command()
@click.argument("file", default=STANDARD_INPUT, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--line",
    type=click.IntRange(min=0),
    metavar="N",
    help="The line of the message, counted from 0. It may be left out if the file has one message.",
)
@click.option(
    "--format",
    "format_",
    default=AUTO,
    metavar="NAME",
    help="The message's format, such as canal or debezium, or auto, which tells it from the message, or else "
    "from the file's first messages.  [default: auto]",
)
@click.option("--dialect", metavar="NAME", help="Whose way of writing the format, such as flat for debezium.")
@click.option(
    "--columns",
    metavar="NAME:TYPE,...",
    multiple=True,
    help="Show these columns, typed as a model types them: id:bigint,price:decimal(10,2).",
)
@click.option(
    "--key",
    metavar="[TABLE=]NAME,...",
    multiple=True,
    help="The columns that identify a row. Without it the key that the message names.",
)
@click.option(
    "--var",
    "variables",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable of the project. Where it is a list, name it once for each entry.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def explain(
    file: str,
    line: int | None,
    format_: str,
    dialect: str | None,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    variables: tuple[str, ...],
    as_json: bool,
) -> None:
    """Explain one message of FILE: its format, its row changes, or the rule that rejects it.

    FILE has one message a line, as `spark-cdc decode` reads it. Without FILE, or as `-`, it is standard
    input. The exit code is 0 also if a rule rejects the message, and 2 if the message does not show its
    format.

    \b
    spark-cdc explain orders.jsonl --line 14
    kcat -C -b broker -t shop -p 0 -o 7 -c 1 -e | spark-cdc explain
    """
    context = click.get_current_context()
    try:
        explainer = Explainer(
            library_of(variables), Options(format_, dialect, columns_of(columns), keys_of(key))
        )
        name = "standard input" if file == STANDARD_INPUT else file
        messages = _messages(file)
        place = _place(messages, line, name)
        facts = _explained(explainer, messages, place, file, name)
    except UsageError as error:
        raise click.UsageError(str(error), context) from None
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=True))
    else:
        click.echo(shown(name, facts), nl=False)


def _explained(
    explainer: Explainer, messages: list[Message], place: int, file: str, name: str
) -> dict[str, Any]:
    try:
        from dbt_spark_cdc.local_spark import local_spark, quiet_spark
        from dbt_spark_cdc.registry import UnsupportedSparkError

        topic = "stdin" if file == STANDARD_INPUT else Path(file).stem
        with quiet_spark(), local_spark(len(messages[place].value or b"")) as spark:
            return explainer.explain(spark, messages, place, topic, name)
    except ImportError as error:
        raise click.ClickException(
            f"explain needs Spark, which is not installed ({error}); type pip install 'dbt-spark-cdc[dbt]'."
        ) from None
    except UnsupportedSparkError as error:
        raise click.ClickException(f"explain needs Spark 4.0 or newer: {error}.") from None


def _messages(file: str) -> list[Message]:
    if file == STANDARD_INPUT:
        return read_messages("stdin", sys.stdin.buffer.read())
    path = Path(file)
    return read_messages(path.stem, path.read_bytes())


def _place(messages: list[Message], line: int | None, name: str) -> int:
    if not messages:
        raise UsageError(f"argument FILE must have a message; got {name}, which is empty.")
    if line is None and len(messages) > 1:
        raise UsageError(
            f"option --line must be a line from 0 to {len(messages) - 1}, because {name} has {len(messages)} "
            "messages; got none."
        )
    if line is not None and line >= len(messages):
        raise UsageError(
            f"option --line must be a line from 0 to {len(messages) - 1} of {name}, counted from 0; "
            f"got `{line}`."
        )
    return line or 0
