"""Messages and a project -> the files to write in it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_spark_cdc.decode import Options, Source, UsageError
from dbt_spark_cdc.decode.writers import Writers
from dbt_spark_cdc.generate.plan import Plan, Table, keep_keys_apart, put_names, without_models
from dbt_spark_cdc.generate.raw_table import newest
from dbt_spark_cdc.generate.reading import Reader, Topics, notices_of_base64, notices_of_slips, topics
from dbt_spark_cdc.generate.routes import Routes, load, of_tables, routed
from dbt_spark_cdc.generate.writing import Outcome, State, merged, outcome, read_state
from dbt_spark_cdc.inputs import Message, read_messages
from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = re.compile(r"[a-z][a-z0-9_]*")
RAW = "raw"
# As `messages` reads its argument `topics`.
PLAIN_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
LANDS = re.compile(r"spark_cdc\.(?P<what>kafka|file)_messages\s*\(")
# A line of a file that is no captured message has the file's path in place of a topic.
PATHS = ".*/.*"


@dataclass(frozen=True)
class Target:
    """Where the files go, and what the models read: a raw table, or a landing model of the project."""

    project: Path
    source: str
    raw_table: str | None
    routes: Path | None = None
    landing: str | None = None
    # As the argument of `messages`: none for all.
    topics: tuple[str, ...] = ()


class Generator:
    """Makes the files of one source."""

    def __init__(self, library: MacroLibrary, options: Options, target: Target) -> None:
        """Check all that needs no Spark; raises UsageError."""
        self.library = library
        self.target = target
        self.writers = Writers(library.formats(), options)
        if target.landing is not None and target.raw_table is not None:
            raise UsageError(
                "options --landing and --raw-table must not be given together, because the messages model "
                "reads one table; got both."
            )
        if target.landing is None:
            option, path = "--raw-table", (target.raw_table or RAW).split(".")
        else:
            option, path = "--landing", [target.landing]
        *schema, self.raw_table = path
        self.raw_schema = ".".join(schema) or target.source
        for name, text in (("--source", target.source), (option, self.raw_table), (option, self.raw_schema)):
            if not NAME.fullmatch(text):
                raise UsageError(
                    f"option {name} must be small letters, digits and underscores; got `{text}`."
                )
        self.state: State = read_state(target.project)
        self.lands_files = target.landing is not None and _landed_by(target.project, target.landing) == "file"
        file = target.routes or self._noted_routes()
        self.routes = load(file) if file else Routes()
        if target.routes is not None:
            self._note_routes(target.routes)
        for topic in target.topics:
            _require_topic(topic)
        self.asked_topics = list(dict.fromkeys(target.topics)) or self._noted_topics()

    def _note_routes(self, file: Path) -> None:
        """For the next run; what is no file, such as a pipe, will not be there then."""
        self.state.routes.pop(self.target.source, None)
        if file.is_file():
            path = os.path.relpath(file.resolve(), self.target.project.resolve())
            self.state.routes[self.target.source] = Path(path).as_posix()

    def _noted_routes(self) -> Path | None:
        """Return the file of routes that an earlier run was given; raises UsageError if it is gone."""
        noted = self.state.routes.get(self.target.source)
        if noted is None:
            return None
        file = self.target.project.resolve() / noted
        if not file.is_file():
            raise UsageError(
                f"option --routes must name the file again that the last run of {self.target.source} read, "
                f"because {noted} is not there any more. An empty file has no routes."
            )
        return file

    def _noted_topics(self) -> list[str]:
        """Return the topics that an earlier run was asked for; none if it read all."""
        before = self.state.sources.get(self.target.source)
        if before is None or not before.topics:
            return []
        plans = [before, *self._plans_of_source()]
        return list(dict.fromkeys(topic for plan in plans for topic in plan.topics))

    def _plans_of_source(self) -> list[Plan]:
        """Return the plans of this source, or of a format of it, that read the same raw table."""
        return [
            plan
            for plan in self.state.sources.values()
            if plan.source in _names(self.target.source, plan.format, plan.dialect)
            and (plan.raw_schema, plan.raw_table) == (self.raw_schema, self.raw_table)
            and plan.is_landed == (self.target.landing is not None)
        ]

    def topics(self, sources: Sequence[Source], names: Sequence[str]) -> list[Topics]:
        """Find the format of the topics in files; raises UsageError."""
        messages = [m for source in sources for m in read_messages(source.topic, source.data)]
        # A line that is a bare value has the name of its file in place of a topic.
        asked = [m for m in messages if not m.names_topic or self._is_asked(m.topic)]
        return self._topics(asked, ", ".join(names))

    def topics_of_raw_table(
        self, profiles_dir: Path | None, dbt_target: str | None, limit: int
    ) -> list[Topics]:
        """Find the format of the topics in the raw table; raises UsageError."""
        landing = self.target.landing
        table = landing or f"{self.raw_schema}.{self.raw_table}"
        condition = self.library.call("_topics_condition", None, self.asked_topics)
        messages, has_headers = newest(
            self.target.project,
            profiles_dir,
            dbt_target,
            table,
            limit,
            condition,
            is_landed=landing is not None,
        )
        return self._topics(messages, table, has_headers)

    def _topics(self, messages: list[Message], origin: str, has_headers: bool = False) -> list[Topics]:
        if self.asked_topics and not messages:
            noted = "" if self.target.topics else " of an earlier run"
            raise UsageError(
                f"option --topics must fit topics of the messages; got {', '.join(self.asked_topics)}"
                f"{noted}, and no message in {origin} has such a topic."
            )
        return topics(self.writers, messages, origin, has_headers)

    def _is_asked(self, topic: str) -> bool:
        return not self.asked_topics or any(_fits(topic, name) for name in self.asked_topics)

    def outcome(self, spark: SparkSession, reads: Sequence[Topics], overwrite: bool) -> Outcome:
        """Return the files to write; raises UsageError."""
        notices: list[str] = []
        found: list[list[Table]] = []
        for read in reads:
            reader = Reader(spark, self.library, read)
            found.append(reader.tables())
            notices += [*read.notices, *reader.notices]
        all_found = [table for tables in found for table in tables]
        plans: list[Plan] = []
        # If each model reads its topics by name, one of them reads the broken lines, too, and rejects them.
        for_broken_lines = (
            self.lands_files
            and len(reads) > 1
            and not any("/" in message.topic for read in reads for message in read.messages)
        )
        known = [table for plan in self._plans_of_source() for table in plan.tables]
        for read, its in zip(reads, found, strict=True):
            routes = of_tables(self.routes, its, all_found)
            tables = routed(
                routes,
                its,
                self.library,
                notices,
                known,
                is_noted=self.target.routes is None,
                of_all_formats=all_found,
            )
            notices += [*notices_of_base64(tables), *notices_of_slips(tables)]
            keep_keys_apart(tables)
            plan = self._planned(read, len(reads) == 1, plans, tables)
            if for_broken_lines and not plans and PATHS not in plan.topics:
                plan.topics.append(PATHS)
            left_out = [table for table in its if table not in tables]
            plan = merged(self.state.sources.get(plan.source), plan, left_out, notices)
            notices += filter(None, map(without_models, tables))
            self._name(plan, its, plans)
            plans.append(plan)
        result = outcome(self.target.project, self.state, plans, overwrite)
        return result._replace(notices=list(dict.fromkeys([*notices, *result.notices])))

    def _planned(self, read: Topics, is_alone: bool, others: Sequence[Plan], tables: list[Table]) -> Plan:
        known = self.library.formats()[read.format]
        dialect = None if read.dialect in (None, next(iter(known), None)) else read.dialect
        names = _names(self.target.source, read.format, dialect)
        of_format = [
            plan for plan in self._plans_of_source() if (plan.format, plan.dialect) == (read.format, dialect)
        ]
        taken = {*self.state.sources, *(plan.source for plan in others)}
        if of_format:
            source = of_format[0].source
        elif is_alone:
            source = names[0]
        else:
            source = next((name for name in names[1:] if name not in taken), names[0])
        return Plan(
            source=source,
            raw_schema=self.raw_schema,
            raw_table=self.raw_table,
            is_landed=self.target.landing is not None,
            topics=self._topics_of(source, read, is_alone),
            format=read.format,
            dialect=dialect,
            # A landing model always has the column.
            has_headers=read.has_headers or self.target.landing is not None,
            tables=tables,
        )

    def _topics_of(self, source: str, read: Topics, is_alone: bool) -> list[str]:
        """Return the topics of the messages model: as they were asked for, or by name; empty for all."""
        before = self.state.sources.get(source)
        noted = before.topics if before else []
        if is_alone and self.target.topics:
            return noted if set(noted) == set(self.asked_topics) else self.asked_topics
        if is_alone and not noted:
            return []
        new = sorted({m.topic for m in read.messages if not any(_fits(m.topic, name) for name in noted)})
        # What has other signs is read as a regular expression.
        return [*noted, *(name if PLAIN_TOPIC.fullmatch(name) else re.escape(name) for name in new)]

    def _name(self, plan: Plan, found: Sequence[Table], others: Sequence[Plan]) -> None:
        """Give each table its model, as a route or the last run has it; `others` are of this run, too."""
        before = self.state.sources.get(plan.source)
        known = {table.identity: table.model for table in before.tables} if before else {}
        for table in plan.tables:
            table.model = table.model or known.get(table.identity, "")
        unnamed = [table for table in plan.tables if not table.model]
        put_names(plan.tables, found)
        taken = {name for other in others for table in other.tables for name in table.models}
        for table in unnamed:
            # One table may come in two formats, as while a source changes its producer.
            if not taken.isdisjoint(table.models):
                table.model = f"{plan.source}_{table.model}"


def _names(source: str, format_: str, dialect: str | None) -> list[str]:
    """Return the names that a source may have; if its topics have several formats, the longer ones."""
    return [source, f"{source}_{format_}", f"{source}_{format_}_{dialect or 'default'}"]


def _fits(topic: str, name: str) -> bool:
    return topic == name if PLAIN_TOPIC.fullmatch(name) else re.fullmatch(name, topic) is not None


def _require_topic(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(
            f"option --topics must be a topic or a regular expression; got `{text}`: {error}."
        ) from None
    if not text.strip():
        raise UsageError("option --topics must be a topic or a regular expression; got an empty text.")


def _landed_by(project: Path, name: str) -> str:
    """Return what a landing model of the project lands, kafka or file; raises UsageError without one."""
    files = sorted((project / "models").glob(f"**/{name}.sql"))
    if not files:
        raise UsageError(
            f"option --landing must be a model of the project that lands the messages; got `{name}`, and "
            f"there is no {name}.sql under {project / 'models'}. Write it first: docs/how-to/land-a-topic.md."
        )
    if (call := LANDS.search(files[0].read_text(encoding="utf-8"))) is None:
        raise UsageError(
            "option --landing must be a model that calls spark_cdc.kafka_messages or "
            f"spark_cdc.file_messages; got {files[0].relative_to(project).as_posix()}. To read another "
            "table, name it with --raw-table."
        )
    return call["what"]
