"""Notes that a reader of the results needs and no result contains: one sentence each."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dbt_spark_cdc.decode.files import NAME, File, Writer, given_key, joined, spellings
from dbt_spark_cdc.decode.writers import Look, Writers, options
from dbt_spark_cdc.functions.fingerprints import READS_ALL

NAMES_SHOWN = 20


def notices(files: Sequence[File], writers: Writers) -> Iterator[str]:
    """Yield the notes about decoded files."""
    read = [file for file in files if file.refusal is None]
    for file in read:
        if file.is_open:
            alike = options(file.writers, "and")
            yield f"{file.name}: {alike} write these messages alike and mean the same by them."
        yield from _other_writers(file, writers)
        yield from _missing_columns(file)
    yield from _missing_tables(read)


def _other_writers(file: File, writers: Writers) -> Iterator[str]:
    counts: Counter[tuple[Writer, ...]] = Counter()
    first: dict[tuple[Writer, ...], int] = {}
    for line, look in _looks(file, writers):
        if not any(_is_of(file, writer, writers) for writer in look.writers):
            counts[look.writers] += 1
            first.setdefault(look.writers, line)
    if counts:
        others = ", ".join(
            f"{count} like {options(found, 'or')} (the first in line {first[found]})"
            for found, count in counts.items()
        )
        yield (
            f"{file.name}: read as {options([(file.format, file.dialect)], 'or')}, but some of its messages "
            f"look otherwise: {others}, lines counted from 0; give each format a file of its own."
        )


def _looks(file: File, writers: Writers) -> Iterator[tuple[int, Look]]:
    """Return who may have written the rejected messages and those with a row, if there is proof."""
    kinds = {line: row["kind"] for row in file.rows for line in row["lines"]}
    for message in file.messages:
        kind = kinds.get(message.line)
        if message.value is None or kind not in ("rows", "unreadable"):
            continue
        look = writers.look(message.value)
        if look.writers and (kind == "unreadable" or look.confidence == 1):
            yield message.line, look


def _is_of(file: File, writer: Writer, writers: Writers) -> bool:
    name, dialect = writer
    if name != file.format or dialect is None or writers.options.dialect is not None:
        return name == file.format
    read_as = file.dialect or writers.formats[name][0]
    return dialect == read_as or (name, read_as) in READS_ALL


def _missing_columns(file: File) -> Iterator[str]:
    for name, columns in file.columns.items():
        missing = [column for column in given_key(file.keys, name) or () if column not in columns]
        if columns and missing:
            table = _dotted(name) or "the table without a name"
            yield (
                f"{file.name}: no row of {table} has the key column {joined(missing, 'or')} of option --key; "
                f"its columns are {_listed(columns)}."
            )


def _missing_tables(files: Sequence[File]) -> Iterator[str]:
    found = {name: None for file in files for name in file.columns}
    known = set(itertools.chain.from_iterable(map(spellings, found)))
    tables = _listed(filter(None, map(_dotted, found)))
    for table in dict.fromkeys(itertools.chain.from_iterable(file.keys for file in files)):
        if table is not None and table not in known:
            yield (
                f"option --key: no message that was read is of a table {table}; "
                f"{f'the tables are {tables}' if tables else 'none names a table'}."
            )


def _dotted(name: NAME) -> str:
    return ".".join(part for part in name if part is not None)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
