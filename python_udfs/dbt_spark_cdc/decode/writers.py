"""The format and dialect that wrote a file, if the options do not name them."""

from __future__ import annotations

import importlib.util
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dbt_spark_cdc.decode.files import (
    AUTO,
    File,
    Options,
    Refusal,
    Source,
    UsageError,
    Writer,
    joined,
    refusals,
)
from dbt_spark_cdc.decode.sights import sight
from dbt_spark_cdc.functions.detect import alike, detect_bytes, unwrapped
from dbt_spark_cdc.functions.fingerprints import READS_ALL
from dbt_spark_cdc.inputs import Message, read_messages

DETECT_FROM = 200
SIGHTS_SHOWN = 5
ALIKE = "these write such messages alike"


class Look(NamedTuple):
    """Who may have written a message: one with the confidence of `detect`, or several alike with none."""

    writers: tuple[Writer, ...]
    confidence: float


UNKNOWN = Look((), 0.0)


class Writers:
    """Finds the writers of files from their first messages, and from how each writer's format reads them."""

    def __init__(self, formats: dict[str, list[str]], options: Options) -> None:
        """Check the options; raises UsageError."""
        self.formats = formats
        self.options = options
        allowed = [AUTO, *formats]
        if options.format not in allowed:
            raise UsageError(f"option --format must be one of {', '.join(allowed)}; got `{options.format}`.")
        if options.format != AUTO:
            self._check_dialect(options.format)
        elif options.dialect is not None:
            known = list(dict.fromkeys(itertools.chain.from_iterable(formats.values())))
            if options.dialect not in known:
                raise UsageError(
                    f"option --dialect must be one of {', '.join(known)}; got `{options.dialect}`."
                )
        self.candidates = [name for name, known in formats.items() if options.dialect in (None, *known)]

    def _check_dialect(self, name: str) -> None:
        allowed = self.formats[name]
        if self.options.dialect is not None and self.options.dialect not in allowed:
            raise UsageError(
                f"option --dialect must be one of {', '.join(allowed)} for the format {name}; "
                f"got `{self.options.dialect}`."
            )

    def files(self, sources: Sequence[Source], names: Sequence[str] | None = None) -> list[File]:
        """Read the sources and find each one's format.

        If a file's format is not certain, its `refusal` says why and it has no messages. If that holds for
        every file, UsageError is raised.
        """
        files = [
            self._file(source, name)
            for source, name in zip(sources, names or [source.topic for source in sources], strict=True)
        ]
        if files and all(file.refusal is not None for file in files):
            raise UsageError(" ".join(refusals(files)))
        return files

    def _file(self, source: Source, name: str) -> File:
        return self.file_of(read_messages(source.topic, source.data), source.topic, name, source.keys)

    def file_of(
        self, messages: list[Message], topic: str, name: str, keys: dict[str | None, list[str]] | None = None
    ) -> File:
        """Return a file of these messages, with its format or the reason why it is not certain."""
        told, dialect = self.options.format, self.options.dialect
        file = File(topic, name, messages, told, dialect, keys or self.options.keys, [])
        if told == AUTO and messages:
            writers = self._detected(messages)
            if isinstance(writers, Refusal):
                return replace(file, messages=[], refusal=writers)
            file.writers = writers
            file.format, file.dialect = writers[0]
        return file

    def of(self, messages: list[Message]) -> Writer | Refusal:
        """Return the one writer of messages, or why it is not certain."""
        if self.options.format != AUTO:
            return self.options.format, self.options.dialect
        writers = self._detected(messages)
        if isinstance(writers, Refusal) or len(writers) == 1:
            return writers if isinstance(writers, Refusal) else writers[0]
        return Refusal("format", options(writers, "or"), ALIKE, AUTO)

    def look(self, value: bytes) -> Look:
        """Find who may have written a message."""
        try:
            told = detect_bytes(value)
        except ImportError:  # perhaps a record: `_untold` names the option that decides
            return UNKNOWN
        if told.format in self.formats:
            return Look(((told.format, self._known(told.format, told.dialect)),), told.confidence)
        return Look(alike(unwrapped(value).decode("utf-8", "replace")), 0.0)

    def _known(self, name: str, dialect: str | None) -> str | None:
        """Return a dialect of the macros: the first also reads dialects that only the fingerprints have."""
        known = self.formats[name]
        return dialect if dialect is None or dialect in known else next(iter(known), None)

    def _detected(self, messages: list[Message]) -> list[Writer] | Refusal:
        """Return the format of most of the first messages, and its dialect if the macros know it.

        Return several if they write such messages alike.
        """
        values = [
            message.value
            for message in itertools.islice((m for m in messages if m.value is not None), DETECT_FROM)
        ]
        looks = [self.look(value) for value in values]
        # More than one format writes the same heartbeat, so it does not show the format of the rows.
        if not any(look.confidence == 1 for look in looks) and not all(look.confidence for look in looks):
            looks = [look for look in looks if not look.confidence]
        votes = Counter(itertools.chain.from_iterable(dict(look.writers) for look in looks))
        candidates = [name for name in votes if name in self.candidates]
        if not candidates:
            return self._without_dialect(votes) if votes else self._untold(values)
        told = Counter(look.writers[0] for look in looks if look.confidence)
        told_formats = dict(told.keys())
        winner = max(candidates, key=lambda name: (votes[name], name in told_formats))
        if winner in told_formats:
            return [(winner, self.options.dialect or self._dialect(winner, told))]
        return self._alike([look for look in looks if not look.confidence])

    def _dialect(self, name: str, told: Counter[Writer]) -> str | None:
        """Return the dialect of most messages, or one of them that reads the others too."""
        found = [dialect for (other, dialect), _ in told.most_common() if other == name and dialect]
        return next((dialect for dialect in found if (name, dialect) in READS_ALL), next(iter(found), None))

    def _alike(self, looks: list[Look]) -> list[Writer]:
        """Return all that write such messages, unless the option --dialect excludes them."""
        told = Counter(itertools.chain.from_iterable(look.writers for look in looks))
        told = {writer: count for writer, count in told.items() if writer[0] in self.candidates}
        # A writer that cannot have written some of the messages is excluded.
        writers = [writer for writer, count in told.items() if count == max(told.values())]
        dialect = self.options.dialect
        if dialect is None:
            return writers
        named = [writer for writer in writers if writer[1] == dialect]
        return named or [(name, dialect) for name in dict(writers)]

    def _without_dialect(self, votes: Counter[str]) -> Refusal:
        """No format of the messages has the dialect of the options."""
        found = [name for name, count in votes.items() if count == max(votes.values())]
        allowed = dict.fromkeys(itertools.chain.from_iterable(self.formats[name] for name in found))
        return Refusal(
            "dialect",
            _one_of(allowed),
            f"the messages are of the format {joined(found, 'or')}",
            str(self.options.dialect),
        )

    def _untold(self, values: list[bytes]) -> Refusal:
        seen = Counter(map(sight, values))
        parts = [
            f"{count} of {len(values)}: {found.what} ({found.advice})"
            for found, count in seen.most_common(SIGHTS_SHOWN)
        ]
        more = sum(seen.values()) - sum(count for _, count in seen.most_common(SIGHTS_SHOWN))
        reason = "the messages do not tell their format"
        if parts:
            reason += f"; {'; '.join(parts)}" + (f"; {more} others" if more else "")
        is_binary = any(value and not value.startswith(b"{") for value in values)
        if is_binary and importlib.util.find_spec("fastavro") is None:
            reason += "; records of Alibaba DTS are told after pip install 'dbt-spark-cdc[dts]' only"
        return Refusal("format", _one_of(self.candidates), reason, AUTO)

    def agreed(
        self, files: list[File], read: Callable[[list[File]], list[list[dict[str, Any]]]]
    ) -> list[list[dict[str, Any]]]:
        """Read each file as each of its writers would; reject it if its messages have several meanings."""
        copies = [
            [
                replace(file, format=name, dialect=dialect, rows=[], columns={})
                for name, dialect in file.writers
            ]
            if file.is_open
            else [file]
            for file in files
        ]
        results = iter(read(list(itertools.chain.from_iterable(copies))))
        agreed = []
        for file, readings in zip(files, copies, strict=True):
            contents = [next(results) for _ in readings]
            # If a message is an error for one writer's format, another writer wrote it.
            unreadable = [sum(row["kind"] == "unreadable" for row in reading.rows) for reading in readings]
            kept = [place for place, count in enumerate(unreadable) if count == min(unreadable)]
            file.writers = [(readings[place].format, readings[place].dialect) for place in kept]
            file.format, file.dialect = file.writers[0]
            first, *others = [contents[place] for place in kept]
            if any(_content(other) != _content(first) for other in others):
                reason = f"{ALIKE} and mean different things by them"
                file.refusal = Refusal("format", options(file.writers, "or"), reason, AUTO)
                first = []
            file.rows, file.columns = readings[kept[0]].rows, readings[kept[0]].columns
            agreed.append(first)
        return agreed


def _one_of(names: Iterable[str]) -> str:
    names = list(names)
    return f"one of {', '.join(names)}" if len(names) > 1 else names[0]


def _content(result: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return a result's content and the order of its rows, without the numbers that differ by format."""
    sequences = {
        place: [-1 if part is None else part for part in entry["sequence"]]
        for place, entry in enumerate(result)
        if entry.get("sequence") is not None
    }
    return [{**entry, "sequence": None} for entry in result], sorted(sequences, key=sequences.__getitem__)


def options(writers: Sequence[Writer], word: str) -> str:
    """Return the command's options for some formats and dialects, with a word before the last."""
    return joined(
        [f"--format {name}" + (f" --dialect {dialect}" if dialect else "") for name, dialect in writers], word
    )
