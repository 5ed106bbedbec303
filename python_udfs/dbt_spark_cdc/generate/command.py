"""The command line of `spark-cdc generate`: importable without the packages that only it needs."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_spark_cdc.cli_options import library_of, source_of
from dbt_spark_cdc.decode import AUTO, Options, UsageError
from dbt_spark_cdc.message_text import one_line
from dbt_spark_cdc.spark_of_command import spark_of_command


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--source",
    required=True,
    metavar="NAME",
    help="The dbt source that the messages land in, such as shop: it names folders and models.",
)
@click.option(
    "--raw-table",
    metavar="[SCHEMA.]NAME",
    help="The raw table that the messages land in. Its schema is the source's name if it has none.  "
    "[default: raw]",
)
@click.option(
    "--landing",
    metavar="MODEL",
    help="In place of a raw table: the model of your project that lands the messages, so that one dbt build "
    "lands and reads them.",
)
@click.option(
    "--topics",
    metavar="TOPIC",
    multiple=True,
    help="Only messages of this topic, or of topics that a regular expression fits, such as 'shop[.].*'. "
    "Give it again for more. A later run without it keeps them.",
)
@click.option(
    "--format",
    "format_",
    default=AUTO,
    metavar="NAME",
    help="The messages' format, or auto, which detects it from each topic's first messages.  [default: auto]",
)
@click.option("--dialect", metavar="NAME", help="Whose way of writing the format, such as flat for debezium.")
@click.option(
    "--var",
    "variables",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a variable of the project, as decode does.",
)
@click.option(
    "--routes",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file: which tables get models (include, exclude), and of some tables the model's name, the "
    "key and the types of columns (route). A later run without it reads the same file.",
)
@click.option(
    "--project-dir",
    "project",
    default=".",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the dbt project.  [default: this folder]",
)
@click.option(
    "--limit",
    default=10_000,
    type=click.IntRange(min=1),
    metavar="N",
    help="Without FILES: how many of the newest messages of each topic to read.  [default: 10000]",
)
@click.option("--target", metavar="NAME", help="Without FILES: dbt's target, as its own option.")
@click.option(
    "--profiles-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Without FILES: the folder of dbt's profiles.yml, as its own option.",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; list the files to write, with exit code 1 if any."
)
@click.option("--overwrite", is_flag=True, help="Write files that you edited or deleted as if you had not.")
def generate(
    files: tuple[str, ...],
    source: str,
    raw_table: str | None,
    landing: str | None,
    topics: tuple[str, ...],
    format_: str,
    dialect: str | None,
    variables: tuple[str, ...],
    routes: Path | None,
    project: Path,
    limit: int,
    target: str | None,
    profiles_dir: Path | None,
    check: bool,
    overwrite: bool,
) -> None:
    """Write the dbt files for the tables in FILES of messages: sources, models, tests, descriptions.

    A line of a file is a message, as decode reads it. Without FILES the newest messages of the raw table or
    the landing model are read, with the profile of the dbt project. Keys and types are those that the
    messages name; where they name none, the values decide, and the file says that it is a guess.

    Run it again with newer messages: it adds new tables and columns, and keeps what you edited or deleted.

    \b
    spark-cdc generate orders.jsonl --source shop
    spark-cdc generate captures/*.jsonl --source shop --routes routes.yml --check
    spark-cdc generate captures/*.jsonl --source shop --landing raw_shop
    spark-cdc generate --source shop --raw-table landing.raw
    spark-cdc generate --source crm --raw-table landing.raw --topics 'crm[.].*'
    """

    context = click.get_current_context()
    try:
        from dbt_spark_cdc.generate.generator import Generator, Target
        from dbt_spark_cdc.generate.writing import write
    except ImportError as error:
        raise click.ClickException(
            f"generate needs packages that are not installed ({error}); type "
            "pip install 'dbt-spark-cdc[dbt,generate]'."
        ) from None
    try:
        generator = Generator(
            library_of(variables),
            Options(format_, dialect),
            Target(project, source, raw_table, routes, landing, topics),
        )
        reads = (
            generator.topics([source_of(file) for file in files], files)
            if files
            else generator.topics_of_raw_table(profiles_dir, target, limit)
        )
        size = sum(len(message.value or b"") for read in reads for message in read.messages)
        with spark_of_command("generate", size) as spark:
            outcome = generator.outcome(spark, reads, overwrite)
        if not check:
            write(project, outcome)
    except UsageError as error:
        raise click.UsageError(str(error), context) from None
    except OSError as error:
        raise click.UsageError(
            f"option --project-dir must be a folder that can be written; got {error}.", context
        ) from None
    for notice in outcome.notices:
        click.echo(one_line(notice), err=True)
    for path, why, _ in outcome.changes:
        click.echo(f"{why}: {path}")
    if not outcome.changes:
        click.echo("Nothing to write: all files are as the messages ask for.", err=True)
    if check and outcome.changes:
        context.exit(1)
