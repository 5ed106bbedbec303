"""The command line of `spark-cdc report`."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from dbt_spark_cdc.dbt_rows import DbtError, DbtProject
from dbt_spark_cdc.message_text import one_line


@click.command()
@click.option(
    "--project-dir",
    "folder",
    default=".",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the dbt project.  [default: this folder]",
)
@click.option(
    "--output",
    default="spark-cdc-report.html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: spark-cdc-report.html]",
)
@click.option(
    "--profiles-dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="As dbt's option.",
)
@click.option("--target", metavar="NAME", help="As dbt's option.")
def report(folder: Path, output: Path, profiles_dir: Path | None, target: str | None) -> None:
    """Write one HTML file about the models of a dbt project: rows, lag, rejected messages, runs, schemas.

    The file needs no network. It has counts, times, offsets, error codes and names, but no value of a row
    and no key. dbt reads the tables with the project's profile, and nothing is changed.

    \b
    spark-cdc report
    spark-cdc report --project-dir shop --output report.html
    """
    from dbt_spark_cdc.report.page import page_of
    from dbt_spark_cdc.report.reading import Reading, last_command

    context = click.get_current_context()
    if not output.parent.is_dir():
        raise click.UsageError(
            f"option --output must be a file in a folder that exists; got {output}.", context
        )
    try:
        # Before dbt starts: the file is of the user's own command.
        command = last_command(folder)
        with DbtProject(folder, profiles_dir, target) as project:
            reading = Reading(project)
            figures = reading.figures(command, datetime.now(timezone.utc))
    except DbtError as error:
        raise click.ClickException(f"option --project-dir: {error}") from None
    page = page_of(figures)
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(
            f"option --output must be a file that can be written; got {error}.", context
        ) from None
    for notice in reading.notices:
        click.echo(one_line(notice), err=True)
    click.echo(f"{output}: {len(page.encode()) // 1000} kB")
