"""Which format and dialect wrote a file, where the options do not say it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dbt_spark_cdc.decode.files import AUTO, File, Options, Source, UsageError, Writer
from dbt_spark_cdc.functions.detect import alike, detect
from dbt_spark_cdc.functions.fingerprints import READS_ALL
from dbt_spark_cdc.inputs import Message, read_messages

DETECT_FROM = 200


class Writers:
    """Tells the writers of files, by their first messages and by what each would read in them."""

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

    def _check_dialect(self, name: str) -> None:
        allowed = self.formats[name]
        if self.options.dialect is not None and self.options.dialect not in allowed:
            raise UsageError(
                f"option --dialect must be one of {', '.join(allowed)} for the format {name}; "
                f"got `{self.options.dialect}`."
            )

    def files(self, sources: Sequence[Source], names: Sequence[str] | None = None) -> list[File]:
        """Read the sources and settle each one's format.

        A file whose format cannot be known is left empty, with its `refusal`; where that is every file,
        UsageError is raised.
        """
        files = []
        for source, name in zip(sources, names or [source.topic for source in sources], strict=True):
            messages = read_messages(source.topic, source.data)
            told, dialect, refusal = self.options.format, self.options.dialect, None
            writers: list[Writer] = []
            if told == AUTO:
                try:
                    writers = self._detected(messages, name)
                    told, found = writers[0]
                    self._check_dialect(told)
                    dialect = dialect or found
                except UsageError as error:
                    messages, refusal = [], str(error)
            keys = source.keys or self.options.keys
            files.append(File(source.topic, name, messages, told, dialect, keys, writers, refusal=refusal))
        if files and all(file.refusal is not None for file in files):
            raise UsageError(files[0].refusal)
        return files

    def _detected(self, messages: list[Message], name: str) -> list[Writer]:
        """Return the format of most of the first messages, and its dialect where the macros know it.

        Several where these write such messages alike.
        """
        if not messages:
            return [(next(iter(self.formats)), None)]  # nothing to read
        votes: Counter[tuple[str, str | None]] = Counter()
        values = [
            message.value.decode("utf-8", "replace")
            for message in itertools.islice((m for m in messages if m.value is not None), DETECT_FROM)
        ]
        detected = [detect(value) for value in values]
        for told in detected:
            if told.format in self.formats:
                votes[told.format, self._voted(told.format, told.dialect)] += 1
        # A heartbeat, which more than one format writes alike, says nothing of the rows beside it.
        rows_are_told = any(told.format and told.confidence == 1 for told in detected)
        if not votes or not (rows_are_told or all(told.format for told in detected)):
            return self._alike(values, name)
        formats: Counter[str] = Counter()
        for (told, _), count in votes.items():
            formats[told] += count
        winner = formats.most_common(1)[0][0]
        found = [
            dialect for (told, dialect), _ in votes.most_common() if told == winner and dialect is not None
        ]
        return [(winner, next((d for d in found if (winner, d) in READS_ALL), next(iter(found), None)))]

    def _voted(self, name: str, dialect: str | None) -> str | None:
        """A dialect of the macros; the first of them also reads what only the fingerprints tell apart."""
        known = self.formats[name]
        return dialect if dialect is None or dialect in known else next(iter(known), None)

    def _alike(self, values: list[str], name: str) -> list[Writer]:
        """Return all that write such messages."""
        told = Counter(itertools.chain.from_iterable(map(alike, values)))
        # What a writer of some of the messages cannot have written speaks against it.
        writers: list[Writer] = [writer for writer, count in told.items() if count == max(told.values())]
        if self.options.dialect is not None:
            writers = [writer for writer in writers if writer[1] == self.options.dialect]
        if not writers:
            raise UsageError(
                f"option --format must be one of {', '.join(self.formats)} for {name}, because its messages "
                f"do not tell their format; got `{AUTO}`."
            )
        return writers

    def agreed(
        self, files: list[File], read: Callable[[list[File]], list[list[dict[str, Any]]]]
    ) -> list[list[dict[str, Any]]]:
        """Read each file as each of its writers would; it is refused where they mean other things by it."""
        copies = [
            [replace(file, format=name, dialect=dialect, rows=[]) for name, dialect in file.writers]
            if file.is_open
            else [file]
            for file in files
        ]
        results = iter(read(list(itertools.chain.from_iterable(copies))))
        agreed = []
        for file, readings in zip(files, copies, strict=True):
            contents = [next(results) for _ in readings]
            # What one of them cannot have written, because it is an error to its readers, others have.
            unreadable = [sum(row["kind"] == "unreadable" for row in reading.rows) for reading in readings]
            kept = [place for place, count in enumerate(unreadable) if count == min(unreadable)]
            file.writers = [(readings[place].format, readings[place].dialect) for place in kept]
            file.format, file.dialect = file.writers[0]
            first, *others = [contents[place] for place in kept]
            if any(_content(other) != _content(first) for other in others):
                file.refusal = (
                    f"option --format must be {options(file.writers, 'or')} for {file.name}, because "
                    f"these write its messages alike and mean different things by them; got `{AUTO}`."
                )
                first = []
            agreed.append(first)
        return agreed


def _content(result: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """What a result says, and the order of its rows: each format has numbers of its own for it."""
    sequences = {
        place: [-1 if part is None else part for part in entry["sequence"]]
        for place, entry in enumerate(result)
        if entry.get("sequence") is not None
    }
    return [{**entry, "sequence": None} for entry in result], sorted(sequences, key=sequences.__getitem__)


def options(writers: Sequence[Writer], word: str) -> str:
    """Return the command's options for some formats and dialects, with a word before the last."""
    *most, last = [
        f"--format {name}" + (f" --dialect {dialect}" if dialect else "") for name, dialect in writers
    ]
    return f"{', '.join(most)} {word} {last}" if most else last
