"""Messages and a project -> the files to write in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_spark_cdc.decode import Options, Source, UsageError
from dbt_spark_cdc.decode.writers import Writers
from dbt_spark_cdc.generate.plan import Plan, put_names
from dbt_spark_cdc.generate.raw_table import newest
from dbt_spark_cdc.generate.reading import Reader, Topics, topics
from dbt_spark_cdc.generate.routes import Routes, load, routed
from dbt_spark_cdc.generate.writing import Outcome, State, merged, outcome, read_state
from dbt_spark_cdc.inputs import Message, read_messages
from dbt_spark_cdc.macros import MacroLibrary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = re.compile(r"[a-z][a-z0-9_]*")
RAW = "raw"
# As `messages` reads its argument `topics`.
PLAIN_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
LANDS = re.compile(r"spark_cdc\.(?:kafka|file)_messages\s*\(")


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
        if target.landing is not None:
            _require_landing(target.project, target.landing)
        self.routes = load(target.routes) if target.routes else Routes()
        for topic in target.topics:
            _require_topic(topic)
        before = self.state.sources.get(target.source)
        self.asked_topics = list(dict.fromkeys(target.topics))
        noted = before.topics if before else []
        if not self.asked_topics or set(self.asked_topics) == set(noted):
            self.asked_topics = noted

    def topics(self, sources: Sequence[Source], names: Sequence[str]) -> Topics:
        """Find the format of the topics in files; raises UsageError."""
        messages = [m for source in sources for m in read_messages(source.topic, source.data)]
        # A line that is a bare value has the name of its file in place of a topic.
        asked = [m for m in messages if not m.names_topic or self._is_asked(m.topic)]
        return self._topics(asked, ", ".join(names))

    def topics_of_raw_table(self, profiles_dir: Path | None, dbt_target: str | None, limit: int) -> Topics:
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

    def _topics(self, messages: list[Message], origin: str, has_headers: bool = False) -> Topics:
        if self.asked_topics and not messages:
            noted = "" if self.target.topics else " of an earlier run"
            raise UsageError(
                f"option --topics must fit topics of the messages; got {', '.join(self.asked_topics)}"
                f"{noted}, and no message in {origin} has such a topic."
            )
        return topics(self.writers, messages, origin, has_headers)

    def _is_asked(self, topic: str) -> bool:
        return not self.asked_topics or any(
            topic == name if PLAIN_TOPIC.fullmatch(name) else re.fullmatch(name, topic)
            for name in self.asked_topics
        )

    def outcome(self, spark: SparkSession, read: Topics, overwrite: bool) -> Outcome:
        """Return the files to write; raises UsageError."""
        reader = Reader(spark, self.library, read)
        found = reader.tables()
        notices: list[str] = []
        tables = routed(self.routes, found, self.library, notices)
        known = self.library.formats()[read.format]
        plan = merged(
            self.state.sources.get(self.target.source),
            Plan(
                source=self.target.source,
                raw_schema=self.raw_schema,
                raw_table=self.raw_table,
                is_landed=self.target.landing is not None,
                topics=self.asked_topics,
                format=read.format,
                dialect=None if read.dialect in (None, next(iter(known), None)) else read.dialect,
                # A landing model always has the column.
                has_headers=read.has_headers or self.target.landing is not None,
                tables=tables,
            ),
            [table for table in found if table not in tables],
            notices,
        )
        self._name(plan, found)
        result = outcome(self.target.project, self.state, plan, overwrite)
        return result._replace(notices=[*read.notices, *reader.notices, *notices, *result.notices])

    def _name(self, plan: Plan, found: Sequence) -> None:
        before = self.state.sources.get(plan.source)
        known = {table.identity: table.model for table in before.tables} if before else {}
        for table in plan.tables:
            table.model = table.model or known.get(table.identity, "")
        put_names(plan.tables, found)


def _require_topic(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(
            f"option --topics must be a topic or a regular expression; got `{text}`: {error}."
        ) from None
    if not text.strip():
        raise UsageError("option --topics must be a topic or a regular expression; got an empty text.")


def _require_landing(project: Path, name: str) -> None:
    """Raise UsageError if the project has no landing model of this name."""
    files = sorted((project / "models").glob(f"**/{name}.sql"))
    if not files:
        raise UsageError(
            f"option --landing must be a model of the project that lands the messages; got `{name}`, and "
            f"there is no {name}.sql under {project / 'models'}. Write it first: docs/how-to/land-a-topic.md."
        )
    if not LANDS.search(files[0].read_text(encoding="utf-8")):
        raise UsageError(
            "option --landing must be a model that calls spark_cdc.kafka_messages or "
            f"spark_cdc.file_messages; got {files[0].relative_to(project).as_posix()}. To read another "
            "table, name it with --raw-table."
        )
