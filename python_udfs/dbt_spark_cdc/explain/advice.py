"""What to do about an error code: its section of docs/reference/error-codes.md, which is in the package."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from dbt_spark_cdc.project import project_root

PAGE = "docs/reference/error-codes.md"
_SECTION = re.compile(r"^### (.+)\n\n?((?:(?!#).*\n?)*)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Advice(NamedTuple):
    """The text of a section, and where to read it with its links."""

    text: str
    section: str


def advice_of(code: str) -> Advice | None:
    """Return the advice for an error code, or None for a code of a format of the project's own."""
    return _sections().get(code)


@cache
def _sections() -> dict[str, Advice]:
    page = (project_root() / PAGE).read_text(encoding="utf-8")
    found = {}
    for heading, text in _SECTION.findall(page):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for code in heading.split(", "):
            found[code] = Advice(_plain(text), f"{PAGE}#{anchor}")
    return found


def _plain(text: str) -> str:
    """Markdown as a terminal shows it: paragraphs without the breaks of lines, links as their texts."""
    paragraphs = re.split(r"\n\n|\n(?=- )", _LINK.sub(r"\1", text).strip())
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
