"""`spark-cdc explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dbt_spark_cdc.cli_options import STANDARD_INPUT, columns_of, keys_of, library_of, source_of
from dbt_spark_cdc.dbt_rows import DbtError, DbtProject
from dbt_spark_cdc.decode import AUTO, Options, UsageError
from dbt_spark_cdc.explain.message import Explainer
from dbt_spark_cdc.explain.project import Destination
from dbt_spark_cdc.explain.show import shown
from dbt_spark_cdc.inputs import Message, read_messages
from dbt_spark_cdc.spark_of_command import spark_of_command


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
    help="The message's format, such as canal or debezium, or auto, which detects it from the message, or "
    "else from the file's first messages.  [default: auto]",
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
@click.option(
    "--project-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also show where the message goes in this dbt project, and what it does to the tables there.",
)
@click.option(
    "--profiles-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="As dbt's option, for the project.",
)
@click.option("--target", metavar="NAME", help="As dbt's option, for the project.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def explain(
    file: str,
    line: int | None,
    format_: str,
    dialect: str | None,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    variables: tuple[str, ...],
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
) -> None:
    """Explain one message of FILE: its format, its row changes, or the rule that rejects it.

    FILE has one message a line, as `spark-cdc decode` reads it. Without FILE, or as `-`, it is standard
    input. The exit code is 0 also if a rule rejects the message, and 2 if the message does not show its
    format.

    \b
    spark-cdc explain orders.jsonl --line 14
    spark-cdc explain orders.jsonl --line 14 --project-dir shop
    kcat -C -b broker -t shop -p 0 -o 7 -c 1 -e | spark-cdc explain
    """
    context = click.get_current_context()
    try:
        library = library_of(variables)
        explainer = Explainer(library, Options(format_, dialect, columns_of(columns), keys_of(key)))
        if project_dir is None and (profiles_dir is not None or target is not None):
            raise UsageError(
                "option --project-dir must be the folder of a dbt project if --profiles-dir or --target is "
                "given; got none."
            )
        name = "standard input" if file == STANDARD_INPUT else file
        source = source_of(file)
        messages = read_messages(source.topic, source.data)
        place = _place(messages, line, name)
        project = None if project_dir is None else DbtProject(project_dir, profiles_dir, target)
        facts = _explained(explainer, messages, place, source.topic, name, project)
    except UsageError as error:
        raise click.UsageError(str(error), context) from None
    except DbtError as error:
        raise click.ClickException(f"option --project-dir: {error}") from None
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=True))
    else:
        click.echo(shown(name, facts), nl=False)


def _explained(
    explainer: Explainer,
    messages: list[Message],
    place: int,
    topic: str,
    name: str,
    project: DbtProject | None,
) -> dict[str, Any]:
    with spark_of_command("explain", len(messages[place].value or b"")) as spark:
        facts = explainer.explain(spark, messages, place, topic, name)
        if project is not None and facts["format"] is not None:
            with project:
                destination = Destination(project, explainer.library)
                facts["project"] = destination.of(spark, facts, messages[place])
        return facts


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
